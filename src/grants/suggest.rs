//! Suggests names that a provider knows for a name that it does not know or that is missing: those that it
//! lists itself, or otherwise those from its earlier grants, the closest first.

use crate::cache::credential::Credential;
use crate::provider::approve::wanted::{StreamRequest, Wanted};
use crate::provider::approve::{ApproveError, Choice};
use crate::provider::oauth_error::Part;
use crate::provider::url::ProviderUrl;

/// `error` with the available names, if it is about a name that is unknown or missing.
pub fn with_names(
    error: ApproveError,
    wanted: &Wanted,
    provider: &ProviderUrl,
    credentials: &[Credential],
) -> ApproveError {
    let before = |part| of_before(part, wanted, provider, credentials);
    let (part, error, mut choices) = match error {
        ApproveError::Unknown { part, error, choices } => (part, error, choices),
        ApproveError::SourceRequired { choices } if choices.is_empty() => {
            return ApproveError::SourceRequired { choices: before(Part::Source) };
        }
        ApproveError::InstanceRequired { choices } if choices.is_empty() => {
            return ApproveError::InstanceRequired { choices: before(Part::Instance) };
        }
        error => return error,
    };
    if choices.is_empty() {
        choices = before(part);
    }
    let refusal = error.message.as_deref().unwrap_or_default();
    let asked = asked(part, wanted);
    // Of several names, the one that the refusal repeats.
    if let Some(meant) = asked.iter().find(|name| refusal.contains(**name)).or(asked.first()) {
        let meant = meant.to_lowercase();
        choices.sort_by_key(|choice| strsim::levenshtein(&meant, &choice.id.to_lowercase()));
    }
    // Names fields in the form that the option accepts.
    if let (Part::Field, Some(stream)) = (part, stream_of_field(refusal, wanted)) {
        for choice in &mut choices {
            choice.id = format!("{stream}.{}", choice.id);
        }
    }
    ApproveError::Unknown { part, error, choices }
}

/// The stream whose fields a refusal is about: the one that it names, or otherwise the one whose fields were
/// asked for.
fn stream_of_field<'a>(refusal: &str, wanted: &'a Wanted) -> Option<&'a str> {
    let with_fields = || wanted.streams.iter().filter(|stream| !stream.fields.is_empty());
    let is_named =
        |stream: &&StreamRequest| refusal.split([' ', '\'', '"', ',']).any(|word| word == stream.name);
    let named = with_fields().find(is_named).or_else(|| with_fields().next());
    named.map(|stream| stream.name.as_str())
}

/// The names of this kind in the request.
fn asked(part: Part, wanted: &Wanted) -> Vec<&str> {
    let source = wanted.source.iter();
    match part {
        Part::Source => source.map(|source| source.id.as_str()).collect(),
        Part::Instance => source.flat_map(|source| &source.instance_ids).map(String::as_str).collect(),
        Part::Stream => wanted.streams.iter().map(|stream| stream.name.as_str()).collect(),
        Part::Field => wanted.streams.iter().flat_map(|stream| &stream.fields).map(String::as_str).collect(),
    }
}

/// The names that grants of this provider on this computer have shown.
fn of_before(part: Part, wanted: &Wanted, provider: &ProviderUrl, credentials: &[Credential]) -> Vec<Choice> {
    let sources = credentials
        .iter()
        .filter(|credential| credential.provider == *provider)
        .flat_map(|credential| &credential.sources);
    let is_meant = |id: Option<&str>| wanted.source.as_ref().is_none_or(|source| id == Some(&*source.id));
    let mut known: Vec<Choice> = Vec::new();
    let mut add = |id: &str, label: Option<String>| {
        if known.iter().all(|choice| choice.id != id) {
            known.push(Choice { id: id.to_owned(), label });
        }
    };
    for source in sources {
        match (part, source.id.as_deref()) {
            (Part::Source, Some(id)) if source.kind.as_deref() != Some("provider_native") => {
                add(id, Some(source.label()));
            }
            (Part::Instance, id) if is_meant(id) => {
                for connection in &source.connections {
                    add(&connection.id, connection.display_name.clone());
                }
            }
            (Part::Stream, id) if is_meant(id) => source.streams.iter().for_each(|name| add(name, None)),
            _ => {}
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;
    use crate::provider::approve::wanted::SourceRequest;
    use crate::provider::grant::{GrantedConnection, GrantedSource};
    use crate::provider::oauth_error::OAuthError;

    const MAIL: &str = "https://s.example/mail";

    fn names(part: Part, wanted: &Wanted, refusal: &str, choices: &[&str]) -> Vec<String> {
        let mut of_two = credential("https://a.example", "g1");
        let source = |id: &str, streams: &[&str]| GrantedSource {
            id: Some(id.to_owned()),
            streams: streams.iter().map(ToString::to_string).collect(),
            connections: vec![GrantedConnection { id: format!("c-{}", streams.len()), display_name: None }],
            ..GrantedSource::default()
        };
        of_two.sources = vec![
            source(MAIL, &["threads", "messages", "labels"]),
            source("https://s.example/chat", &["messages", "users"]),
        ];
        let mut other = credential("https://b.example", "g2");
        other.sources = vec![source("https://s.example/bank", &["mesages"])];
        let error = OAuthError { status: 400, code: None, message: Some(refusal.to_owned()) };
        let choices =
            choices.iter().map(|id| Choice { id: (*id).to_owned(), label: None }).collect::<Vec<_>>();
        let error = ApproveError::Unknown { part, error, choices };
        match with_names(error, wanted, &"https://a.example".parse().unwrap(), &[of_two, other]) {
            ApproveError::Unknown { choices, .. } => choices.into_iter().map(|choice| choice.id).collect(),
            error => vec![error.code().to_owned()],
        }
    }

    #[test]
    fn the_nearest_of_this_provider_comes_first() {
        let of = |id: &str, streams: &[&str]| Wanted {
            source: Some(SourceRequest { id: id.to_owned(), instance_ids: vec!["c-9".to_owned()] }),
            streams: streams
                .iter()
                .map(|name| StreamRequest {
                    name: (*name).to_owned(),
                    fields: vec!["subjekt".to_owned()],
                    ..StreamRequest::default()
                })
                .collect(),
            ..Wanted::default()
        };
        let mail = of(MAIL, &["labels", "mesages"]);
        let found = names(Part::Stream, &mail, "Unknown stream: mesages", &[]);
        assert_eq!(
            (found[0].as_str(), found.len()),
            ("messages", 3),
            "closest to the typing mistake, and of this source: {found:?}"
        );
        let everywhere = Wanted { source: None, ..mail.clone() };
        let found = names(Part::Stream, &everywhere, "", &[]);
        assert_eq!((found[0].as_str(), found.len()), ("labels", 4), "{found:?}");
        assert_eq!(
            names(Part::Source, &of("https://s.example/cat", &[]), "", &[])[0],
            "https://s.example/chat"
        );
        assert_eq!(names(Part::Instance, &mail, "", &[]), ["c-3"]);
        assert_eq!(names(Part::Field, &mail, "", &["id", "subject"]), ["labels.subject", "labels.id"]);
        let refusal = "Unknown field: subjekt of stream mesages";
        assert_eq!(names(Part::Field, &mail, refusal, &["subject"]), ["mesages.subject"]);
        assert_eq!(names(Part::Stream, &mail, "", &["of_the_provider"]), ["of_the_provider"]);
    }
}
