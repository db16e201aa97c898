//! The names of accounts in a list of several.

use super::store::Catalog;

/// The name of the account `id`: the name that its owner gave it. If another account has the same name, the label
/// adds what tells them apart: the kind of source, or the id.
pub fn label(catalog: &Catalog, id: &str) -> String {
    let Some(known) = catalog.connection(id) else { return id.to_owned() };
    let name = known.display_name.as_str();
    let alike = || {
        let others = catalog.connections.iter().filter(|other| other.id != known.id);
        others.filter(|other| other.display_name.trim().to_lowercase() == name.trim().to_lowercase())
    };
    if alike().next().is_none() {
        return name.to_owned();
    }
    let kind = catalog.connector(&known.connector).map_or(known.connector.as_str(), |known| &known.name);
    if alike().any(|other| other.connector == known.connector) {
        format!("{name} ({kind}, {id})")
    } else {
        format!("{name} ({kind})")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::vault::declaration::Connector;
    use crate::vault::store::Connection;

    #[test]
    fn o7_10_accounts_of_one_name_are_told_apart() {
        let connector = |key: &str, name: &str| {
            let (key, id, name) = (key.to_owned(), format!("https://x.example/{key}"), name.to_owned());
            Arc::new(Connector { key, id, name, streams: Vec::new() })
        };
        let account = |id: &str, connector: &str, name: &str| {
            let (id, connector, display_name) = (id.to_owned(), connector.to_owned(), name.to_owned());
            Arc::new(Connection { id, connector, display_name })
        };
        let mut catalog = Catalog::default();
        catalog.connectors = vec![connector("mail", "Mail"), connector("chat", "Chat")];
        catalog.connections =
            vec![account("c1", "mail", "Ana"), account("c2", "chat", "ana "), account("c3", "mail", "Bo")];
        let all = |catalog: &Catalog| ["c1", "c2", "c3", "c4"].map(|id| label(catalog, id));
        assert_eq!(all(&catalog), ["Ana (Mail)", "ana  (Chat)", "Bo", "c4"]);
        catalog.connections.push(account("c4", "mail", "Ana"));
        assert_eq!(all(&catalog), ["Ana (Mail, c1)", "ana  (Chat)", "Bo", "Ana (Mail, c4)"]);
    }
}
