//! Turns a decision into grants: the request, narrowed by what the owner kept of it.

use super::approval::Selection;
use super::authorization_details::{AuthorizationDetails, Choice};
use super::flows::{Asked, Pending, Way};
use crate::vault::Profile;
use crate::vault::grant::{Client, Declaration, Grant, GrantStream, Source, Subject, TimeConstraint};
use crate::vault::id::random_id;
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::ApiError;

/// The grants that an approval makes: one for the request as it is, or one per source if the owner selected out of
/// everything for a program that can receive several grants, or whose token can cover several.
///
/// # Errors
/// Returns `invalid_request` if nothing is left, or if a choice does not belong to the request.
pub fn grants(
    catalog: &Catalog,
    profile: &Profile,
    pending: &Pending,
    asked: &AuthorizationDetails,
    selection: &Selection,
) -> Result<Vec<Grant>, ApiError> {
    let client = &pending.client.id;
    match (&pending.way, &pending.asked) {
        (Way::Redirect(_), Asked::Everything(_)) | (Way::Here, _) => {
            resolve_each(catalog, profile, client, asked, selection)
        }
        _ => resolve(catalog, profile, client, asked, selection).map(|grant| vec![grant]),
    }
}

/// Makes the grant for `asked`, narrowed by `selection`.
fn resolve(
    catalog: &Catalog,
    profile: &Profile,
    client_id: &str,
    asked: &AuthorizationDetails,
    selection: &Selection,
) -> Result<Grant, ApiError> {
    let native = asked.source.kind == "provider_native";
    let mut streams: Vec<GrantStream> = Vec::new();
    for (number, kept) in &selection.kept {
        let gone = || ApiError::invalid("A choice does not belong to this request; reload the page");
        let choice = asked.choices.get(*number).ok_or_else(gone)?;
        let connector = catalog.connector(&choice.connector).ok_or_else(gone)?;
        let stream = connector.stream(&choice.stream).ok_or_else(gone)?;
        let (since, until) = selection.bounds(choice);
        let time_constraint =
            stream.consent_time_field.as_ref().filter(|_| since.is_some() || until.is_some());
        let has_end = time_constraint.is_some() && until.is_some();
        let is_given = |name: &String| {
            let field = stream.field(name).filter(|_| stream.gives(name, has_end));
            field.is_some_and(|field| match &field.copy_of {
                Some(original) => has_original(asked, selection, choice, original, name),
                None => field.required || kept.contains(name),
            })
        };
        let fields: Vec<String> = choice.fields.iter().filter(|name| is_given(name)).cloned().collect();
        let granted = GrantStream {
            name: stream.name.clone(),
            instance_ids: vec![choice.connection.clone()],
            fields,
            time_constraint: time_constraint.map(|field| TimeConstraint {
                field: field.clone(),
                since: since.map(time::format_ms),
                until: until.map(time::format_ms),
            }),
            resources: choice.resources.clone(),
            source: native.then(|| Source { kind: "connector".to_owned(), id: connector.id.clone() }),
        };
        // Connections with the same grant become one entry with several instances.
        let alike = streams.iter_mut().find(|known| {
            GrantStream { instance_ids: Vec::new(), ..(*known).clone() }
                == GrantStream { instance_ids: Vec::new(), ..granted.clone() }
        });
        match alike {
            Some(known) => known.instance_ids.extend(granted.instance_ids),
            None => streams.push(granted),
        }
    }
    if streams.is_empty() {
        return Err(ApiError::invalid("Nothing is ticked: approve at least one stream, or deny"));
    }
    Ok(Grant {
        version: "0.1.0".to_owned(),
        grant_id: random_id("grt_")?,
        issued_at: time::format_ms(time::now_ms()),
        expires_at: selection.expires_ms.map(time::format_ms),
        subject: Subject { id: profile.subject_id.to_owned() },
        client: Client { client_id: client_id.to_owned() },
        source: asked.source.clone(),
        source_declaration: Declaration { version: profile.declaration_version.to_owned() },
        purpose_code: asked.purpose.code().to_owned(),
        purpose_description: asked.purpose.description.clone(),
        access_mode: if asked.single_use { "single_use" } else { "continuous" }.to_owned(),
        streams,
    })
}

/// Whether `selection` keeps the field `name` of the stream `original` for all that it keeps of `copied`, which has
/// copies of it. The owner decides about both by the one box of the original (O6.7).
fn has_original(
    asked: &AuthorizationDetails,
    selection: &Selection,
    copied: &Choice,
    original: &str,
    name: &String,
) -> bool {
    let (since, until) = selection.bounds(copied);
    selection.kept.iter().any(|(number, kept)| {
        asked.choices.get(*number).is_some_and(|choice| {
            let (from, to) = selection.bounds(choice);
            choice.connection == copied.connection
                && choice.stream == original
                && choice.resources.is_none()
                && choice.fields.contains(name)
                && kept.contains(name)
                && from <= since
                && to.is_none_or(|to| until.is_some_and(|until| until <= to))
        })
    })
}

/// Makes the grants for `asked`, narrowed by `selection`, one per source.
fn resolve_each(
    catalog: &Catalog,
    profile: &Profile,
    client_id: &str,
    asked: &AuthorizationDetails,
    selection: &Selection,
) -> Result<Vec<Grant>, ApiError> {
    let connector_of = |number: usize| asked.choices.get(number).map(|choice| choice.connector.as_str());
    let mut grants = Vec::new();
    for connector in &catalog.connectors {
        let mut kept = selection.kept.clone();
        kept.retain(|(number, _)| connector_of(*number) == Some(connector.key.as_str()));
        if kept.is_empty() {
            continue;
        }
        let source = Source { kind: "connector".to_owned(), id: connector.id.clone() };
        let part = AuthorizationDetails { source, ..asked.clone() };
        grants.push(resolve(catalog, profile, client_id, &part, &Selection { kept, ..selection.clone() })?);
    }
    if grants.is_empty() {
        return Err(ApiError::invalid("Nothing is ticked: approve at least one stream, or deny"));
    }
    Ok(grants)
}
