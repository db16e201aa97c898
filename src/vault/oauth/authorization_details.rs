//! Resolves what a client asks for to the existing data: the choices that the owner sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::vault::declaration::{Connector, Stream};
use crate::vault::grant::Source;
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::ApiError;

/// The only supported type of authorization details.
pub const DETAILS_TYPE: &str = "https://pdpp.dev/data-access";

/// A checked request for access.
#[derive(Debug, Clone)]
pub struct AuthorizationDetails {
    /// One source, or this provider with all of them.
    pub source: Source,
    /// The purpose, as far as the client states it.
    pub purpose: Purpose,
    /// Whether one reading session is enough.
    pub single_use: bool,
    /// The client's further promises, in its words.
    pub commitments: Vec<String>,
    /// When the client says that it no longer needs access, in milliseconds. This is a suggestion to the owner.
    pub expires_ms: Option<i64>,
    /// The client asks only for records from here on, in milliseconds. The form begins with this value.
    pub since: Option<i64>,
    /// The client asks only for records before this.
    pub until: Option<i64>,
    /// What can be granted.
    pub choices: Vec<Choice>,
    /// Streams without a time, left out of a request for everything because it has bounds in time.
    pub undated: Undated,
}

/// Connections, each with the name of a stream.
pub type Undated = Vec<(String, String)>;

/// What a client wants the data for.
#[derive(Debug, Clone, Default)]
pub struct Purpose {
    /// The URI, if the client declared one.
    declared: Option<String>,
    /// The description in the client's words, if it gave one.
    pub description: Option<String>,
}

impl Purpose {
    /// Checks what a client states.
    ///
    /// # Errors
    /// Returns `invalid_request` if it is not a URI or is too long.
    pub fn read(declared: Option<&str>, description: Option<&str>) -> Result<Self, ApiError> {
        if declared.is_some_and(|code| url::Url::parse(code).is_err() || code.len() > MAX_TEXT) {
            return Err(ApiError::invalid("purpose_code must be an absolute URI").param("purpose_code"));
        }
        if description.is_some_and(|text| text.len() > MAX_TEXT) {
            return Err(ApiError::invalid(format!("purpose_description must be at most {MAX_TEXT} bytes"))
                .param("purpose_description"));
        }
        Ok(Self { declared: declared.map(str::to_owned), description: description.map(str::to_owned) })
    }

    /// The URI for the grant.
    pub fn code(&self) -> &str {
        self.declared.as_deref().unwrap_or(ASSISTANT)
    }

    /// Whether the client declared that URI.
    pub const fn is_declared(&self) -> bool {
        self.declared.is_some()
    }
}

/// One stream of one connection that can be granted.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The connector's key.
    pub connector: String,
    /// The connection's id.
    pub connection: String,
    /// The stream's name.
    pub stream: String,
    /// The fields that were asked for, in the order they are declared.
    pub fields: Vec<String>,
    /// The start, in milliseconds, inclusive.
    pub since: Option<i64>,
    /// The end, in milliseconds, exclusive.
    pub until: Option<i64>,
    /// Only these records.
    pub resources: Option<Vec<String>>,
    /// Whether the request names it, so that it is ticked from the start.
    pub is_named: bool,
    /// Whether it is one of several accounts between which the request does not choose.
    pub is_ambiguous: bool,
}

impl AuthorizationDetails {
    /// A fingerprint of all choices. A form with another fingerprint was made for other choices.
    pub fn fingerprint(&self) -> String {
        let choices = self.choices.iter().map(|choice| (&choice.connection, &choice.stream, &choice.fields));
        let mut digest = crate::hex::sha256(format!("{:?}", choices.collect::<Vec<_>>()).as_bytes());
        digest.truncate(16);
        digest
    }
}

/// A program's request, checked as far as possible without looking at the existing data. A program without a grant
/// learns nothing about that data.
#[derive(Debug, Clone)]
pub struct Requested {
    details: Details,
    purpose: Purpose,
    is_whole: bool,
    single_use: bool,
    expires_ms: Option<i64>,
}

/// The purpose of a request that names none.
pub const ASSISTANT: &str = "https://pdpp.dev/purpose/personal_assistant";
/// The purpose of a program with a model.
pub const AI_ASSISTANT: &str = "https://pdpp.dev/purpose/personal_ai_assistant";
/// The only purpose that needs a separate consent (draft §6).
pub const AI_TRAINING: &str = "https://pdpp.dev/purpose/ai_training";
/// The maximum size of a client's text, in bytes.
const MAX_TEXT: usize = 2_048;
const MAX_COMMITMENTS: usize = 10;
const MAX_STREAMS: usize = 500;
const MAX_RESOURCES: usize = 1_000;

#[derive(Debug, Clone, Deserialize)]
struct Details {
    #[serde(rename = "type")]
    kind: String,
    source: AskedSource,
    #[serde(default)]
    purpose_code: Option<String>,
    #[serde(default)]
    purpose_description: Option<String>,
    #[serde(default)]
    access_mode: Option<String>,
    #[serde(default)]
    expires_at: Option<String>,
    streams: Vec<AskedStream>,
    #[serde(default)]
    client_claims: Option<Claims>,
}

#[derive(Debug, Clone, Deserialize)]
struct AskedSource {
    id: String,
    #[serde(default)]
    kind: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Claims {
    #[serde(default)]
    commitments: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct AskedStream {
    name: String,
    #[serde(default)]
    instance_ids: Option<Vec<String>>,
    #[serde(default)]
    fields: Option<Vec<String>>,
    #[serde(default)]
    view: Option<String>,
    #[serde(default)]
    time_range: Option<Range>,
    #[serde(default)]
    resources: Option<Vec<String>>,
}

impl AskedStream {
    fn is_bounded(&self) -> bool {
        self.time_range.as_ref().is_some_and(|range| range.since.is_some() || range.until.is_some())
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Range {
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    until: Option<String>,
}

/// The request for everything, out of which the owner selects.
pub fn everything(catalog: &Catalog, base: &str, purpose: &Purpose) -> AuthorizationDetails {
    let mut choices = Vec::new();
    for connection in &catalog.connections {
        let Some(connector) = catalog.connector(&connection.connector) else { continue };
        for stream in &connector.streams {
            choices.push(Choice {
                connector: connector.key.clone(),
                connection: connection.id.clone(),
                stream: stream.name.clone(),
                fields: stream.fields.iter().map(|field| field.name.clone()).collect(),
                since: None,
                until: None,
                resources: None,
                is_named: false,
                is_ambiguous: false,
            });
        }
    }
    AuthorizationDetails {
        source: Source { kind: "provider_native".to_owned(), id: base.to_owned() },
        purpose: purpose.clone(),
        single_use: false,
        commitments: Vec::new(),
        expires_ms: None,
        since: None,
        until: None,
        choices,
        undated: Vec::new(),
    }
}

/// Reads `authorization_details` (RFC 9396) from the body of a request.
///
/// # Errors
/// Returns `invalid_request` with what is wrong.
pub fn read(base: &str, body: &Map<String, Value>) -> Result<Requested, ApiError> {
    let details = body
        .get("authorization_details")
        .ok_or_else(|| ApiError::invalid("Grant initiation requires authorization_details"))?;
    let mut details: Vec<Details> = serde_json::from_value(details.clone()).map_err(|error| {
        ApiError::invalid(format!("Could not parse authorization_details: {error}"))
            .param("authorization_details")
    })?;
    let (Some(details), true) = (details.pop(), details.is_empty()) else {
        return Err(ApiError::invalid("authorization_details must have exactly one entry"));
    };
    if details.kind != DETAILS_TYPE {
        return Err(ApiError::invalid(format!("The type in authorization_details must be {DETAILS_TYPE}")));
    }
    let single_use = match details.access_mode.as_deref() {
        None | Some("continuous") => false,
        Some("single_use") => true,
        Some(_) => return Err(ApiError::invalid("access_mode must be continuous or single_use")),
    };
    let purpose = Purpose::read(details.purpose_code.as_deref(), details.purpose_description.as_deref())?;
    let commitments = details.client_claims.iter().flat_map(|claims| &claims.commitments);
    if commitments.clone().count() > MAX_COMMITMENTS || commitments.clone().any(|text| text.len() > MAX_TEXT)
    {
        return Err(ApiError::invalid("client_claims is too long"));
    }
    let expires_ms = match details.expires_at.as_deref() {
        None => None,
        Some(text) => Some(
            time::parse_ms(text)
                .filter(|end| *end > time::now_ms())
                .ok_or_else(|| ApiError::invalid("expires_at must be in the future").param("expires_at"))?,
        ),
    };
    let is_whole = details.source.id == base;
    let expected = if is_whole { "provider_native" } else { "connector" };
    if details.source.kind.as_deref().is_some_and(|kind| kind != expected) {
        return Err(ApiError::invalid(format!("The kind of this source is {expected}")).param("source"));
    }
    if details.streams.is_empty() || details.streams.len() > MAX_STREAMS {
        return Err(ApiError::invalid("streams must name at least one stream").param("streams"));
    }
    let mut names = BTreeSet::new();
    for stream in &details.streams {
        if !names.insert(stream.name.as_str()) || (stream.name == "*" && details.streams.len() > 1) {
            return Err(ApiError::invalid("Stream names must be unique, and * must be the only entry")
                .param("streams"));
        }
        if stream.fields.is_some() && stream.view.is_some() {
            return Err(ApiError::invalid("view and fields are mutually exclusive"));
        }
        let bounds = stream.time_range.iter().flat_map(|range| range.since.iter().chain(&range.until));
        if bounds.into_iter().any(|text| time::parse_ms(text).is_none()) {
            return Err(ApiError::invalid("time_range must contain RFC 3339 timestamps").param("time_range"));
        }
        let is_empty = |keys: &Vec<String>| keys.is_empty() || keys.len() > MAX_RESOURCES;
        if stream.resources.as_ref().is_some_and(is_empty) {
            return Err(not_records());
        }
    }
    Ok(Requested { details, purpose, is_whole, single_use, expires_ms })
}

fn not_records() -> ApiError {
    ApiError::invalid("resources must contain record ids of this stream").param("resources")
}

impl Requested {
    /// The purpose.
    pub const fn purpose(&self) -> &Purpose {
        &self.purpose
    }

    /// Looks up the request in the existing data.
    ///
    /// # Errors
    /// Returns `invalid_request` with what does not exist and what does. This is for the owner.
    pub fn look_up(&self, catalog: &Catalog, base: &str) -> Result<AuthorizationDetails, ApiError> {
        let Self { details, purpose, is_whole, single_use, expires_ms } = self;
        let asked = details.source.id.as_str();
        let connectors: Vec<_> =
            catalog.connectors.iter().filter(|connector| *is_whole || connector.id == asked).collect();
        if connectors.is_empty() {
            let known: Vec<Value> = catalog
                .connectors
                .iter()
                .map(|connector| json!({ "id": connector.id, "name": connector.name }))
                .collect();
            return Err(ApiError::invalid(format!("Unknown source: {asked}"))
                .param("source")
                .with("available_sources", known));
        }
        let (choices, undated) = choices(catalog, &connectors, &details.streams, *is_whole)?;
        let common = |of: fn(&Choice) -> Option<i64>| {
            let first = choices.first().and_then(of);
            first.filter(|_| choices.iter().all(|choice| of(choice) == first))
        };
        let source = match connectors.as_slice() {
            [connector] if !is_whole => Source { kind: "connector".to_owned(), id: connector.id.clone() },
            _ => Source { kind: "provider_native".to_owned(), id: base.to_owned() },
        };
        Ok(AuthorizationDetails {
            source,
            purpose: purpose.clone(),
            single_use: *single_use,
            commitments: details.client_claims.clone().map(|claims| claims.commitments).unwrap_or_default(),
            expires_ms: *expires_ms,
            since: common(|choice| choice.since),
            until: common(|choice| choice.until),
            choices,
            undated,
        })
    }
}

/// Every stream of every connection in the request, and the streams that the bounds of a request for everything
/// leave out.
fn choices(
    catalog: &Catalog,
    connectors: &[&Arc<Connector>],
    asked_streams: &[AskedStream],
    is_whole: bool,
) -> Result<(Vec<Choice>, Undated), ApiError> {
    let mut choices = Vec::new();
    let mut undated = Vec::new();
    let wildcard = asked_streams.iter().any(|stream| stream.name == "*");
    for asked in asked_streams {
        let before = choices.len();
        let instances = asked.instance_ids.as_deref();
        let is_wanted = |id: &str| instances.is_none_or(|ids| ids.iter().any(|wanted| wanted == id));
        if let Some(unknown) = instances.into_iter().flatten().find(|id| {
            !catalog.connections.iter().any(|known| {
                known.id == **id && connectors.iter().any(|connector| connector.key == known.connector)
            })
        }) {
            let known: Vec<Value> = connectors
                .iter()
                .flat_map(|connector| catalog.connections_of(&connector.key))
                .map(|known| json!({ "connection_id": known.id, "display_name": known.display_name }))
                .collect();
            return Err(ApiError::invalid(format!("Unknown instance: {unknown}"))
                .param("instance_ids")
                .with("available_connections", known));
        }
        let mut is_known = false;
        let mut lacking = Vec::new();
        for connector in connectors {
            let streams: Vec<&Stream> = connector
                .streams
                .iter()
                .map(AsRef::as_ref)
                .filter(|stream| wildcard || stream.name == asked.name)
                .collect();
            is_known |= !streams.is_empty();
            let several = catalog.connections_of(&connector.key).count() > 1;
            for connection in catalog.connections_of(&connector.key).filter(|known| is_wanted(&known.id)) {
                for stream in &streams {
                    // The request does not name this stream, and must not be widened to include it.
                    if wildcard && asked.is_bounded() && stream.consent_time_field.is_none() {
                        undated.push((connection.id.clone(), stream.name.clone()));
                        continue;
                    }
                    // For the whole provider, the request means the sources that have the field.
                    let lacks = |name: &String| stream.field(name).is_none();
                    if is_whole && asked.fields.iter().flatten().any(lacks) {
                        lacking.push((connector.name.as_str(), *stream));
                        continue;
                    }
                    let mut choice = resolve(stream, asked)?;
                    choice.connector.clone_from(&connector.key);
                    choice.connection.clone_from(&connection.id);
                    // A request without instances never means all of them: if there are several, the owner picks.
                    // For the whole provider, it means all.
                    choice.is_ambiguous = !is_whole && instances.is_none() && several;
                    let names_nothing = is_whole && wildcard && instances.is_none();
                    choice.is_named = !choice.is_ambiguous && !names_nothing;
                    choices.push(choice);
                }
            }
        }
        if !is_known {
            let known: BTreeSet<&str> = connectors
                .iter()
                .flat_map(|connector| &connector.streams)
                .map(|stream| stream.name.as_str())
                .collect();
            return Err(ApiError::invalid(format!("Unknown stream: {}", asked.name))
                .param("streams")
                .with("available_streams", known.into_iter().collect::<Vec<_>>()));
        }
        if !lacking.is_empty() && choices.len() == before {
            return Err(no_source_has(asked.fields.as_deref().unwrap_or_default(), &asked.name, &lacking));
        }
        if choices.len() - before > MAX_STREAMS {
            return Err(ApiError::invalid("The request names too many streams").param("streams"));
        }
    }
    if choices.is_empty() && !undated.is_empty() {
        return Err(ApiError::invalid("None of the streams has a time field to limit by").param("time_range"));
    }
    Ok((choices, undated))
}

/// The error if no source's stream of this name has all fields. It lists each existing field with its sources.
fn no_source_has(asked: &[String], name: &str, streams: &[(&str, &Stream)]) -> ApiError {
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (source, stream) in streams {
        for field in &stream.fields {
            known.entry(&field.name).or_default().insert(source);
        }
    }
    let unknown = asked.iter().find(|field| !known.contains_key(field.as_str()));
    let message = match unknown {
        Some(unknown) => format!("Unknown field: {unknown} of stream {name}"),
        None => format!("Unknown field: no source's stream {name} has all of {}", asked.join(", ")),
    };
    let known = known.into_iter().map(
        |(field, sources)| json!({"id": field, "name": sources.into_iter().collect::<Vec<_>>().join(", ")}),
    );
    ApiError::invalid(message).param("fields").with("available_fields", known.collect::<Vec<_>>())
}

fn resolve(stream: &Stream, asked: &AskedStream) -> Result<Choice, ApiError> {
    let wanted: Option<Vec<String>> = match (&asked.fields, &asked.view) {
        (Some(fields), _) => {
            if let Some(unknown) = fields.iter().find(|name| stream.field(name).is_none()) {
                let known: Vec<&str> = stream.fields.iter().map(|field| field.name.as_str()).collect();
                return Err(ApiError::invalid(format!("Unknown field: {unknown} of stream {}", stream.name))
                    .param("fields")
                    .with("available_fields", known));
            }
            Some(fields.clone())
        }
        (None, Some(view)) => {
            let declared = stream.views.iter().find(|declared| declared.id == *view);
            let declared =
                declared.ok_or_else(|| ApiError::invalid(format!("Unknown view: {view}")).param("view"))?;
            Some(declared.fields.clone())
        }
        (None, None) => None,
    };
    // Required fields are always included. A record without them is not a record (draft §6).
    let fields = stream
        .fields
        .iter()
        .filter(|field| field.required || wanted.as_ref().is_none_or(|wanted| wanted.contains(&field.name)))
        .map(|field| field.name.clone())
        .collect();
    let bound = |of: fn(&Range) -> Option<&String>| {
        asked.time_range.as_ref().and_then(of).and_then(|text| time::parse_ms(text))
    };
    let (since, until) = (bound(|range| range.since.as_ref()), bound(|range| range.until.as_ref()));
    if (since.is_some() || until.is_some()) && stream.consent_time_field.is_none() {
        return Err(ApiError::invalid(format!("Stream '{}' has no time field to limit by", stream.name))
            .param("time_range"));
    }
    if let Some(keys) = &asked.resources {
        let fits = |key: &String| match stream.primary_key.len() {
            1 => !key.is_empty(),
            arity => serde_json::from_str::<Vec<String>>(key).is_ok_and(|parts| {
                parts.len() == arity && serde_json::to_string(&parts).is_ok_and(|minified| minified == *key)
            }),
        };
        if !keys.iter().all(fits) {
            return Err(not_records());
        }
    }
    Ok(Choice {
        connector: String::new(),
        connection: String::new(),
        stream: stream.name.clone(),
        fields,
        since,
        until,
        resources: asked.resources.clone(),
        is_named: true,
        is_ambiguous: false,
    })
}
