//! What a client asks for, resolved to what there is: the choices that the owner is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::vault::declaration::{Connector, Stream};
use crate::vault::grant::Source;
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::ApiError;

/// The one type of authorization details.
pub const DETAILS_TYPE: &str = "https://pdpp.dev/data-access";

/// A request for access, checked.
#[derive(Debug, Clone)]
pub struct AuthorizationDetails {
    /// One source, or this provider with all of them.
    pub source: Source,
    /// What for, as far as the client says.
    pub purpose: Purpose,
    /// Whether one reading session is enough.
    pub single_use: bool,
    /// What the client says beside, in its words.
    pub commitments: Vec<String>,
    /// When the client says it has no more use for it, in milliseconds: a suggestion to the owner.
    pub expires_ms: Option<i64>,
    /// Only records from here on are asked for, in milliseconds: what the form says at first.
    pub since: Option<i64>,
    /// Only records before here.
    pub until: Option<i64>,
    /// What can be granted.
    pub choices: Vec<Choice>,
    /// Connections and streams of a request for all, which has bounds in time that these cannot have.
    pub undated: Undated,
}

/// Connections, each with the name of a stream.
pub type Undated = Vec<(String, String)>;

/// What a client wants data for.
#[derive(Debug, Clone, Default)]
pub struct Purpose {
    /// A URI, if it named one.
    declared: Option<String>,
    /// In its words, if it had any.
    pub description: Option<String>,
}

impl Purpose {
    /// What a client says, checked.
    ///
    /// # Errors
    /// `invalid_request` for what is no URI, or too long.
    pub fn read(declared: Option<&str>, description: Option<&str>) -> Result<Self, ApiError> {
        if declared.is_some_and(|code| url::Url::parse(code).is_err() || code.len() > MAX_TEXT) {
            return Err(ApiError::invalid("purpose_code has to be an absolute URI").param("purpose_code"));
        }
        if description.is_some_and(|text| text.len() > MAX_TEXT) {
            return Err(ApiError::invalid(format!("purpose_description has to be {MAX_TEXT} bytes at most"))
                .param("purpose_description"));
        }
        Ok(Self { declared: declared.map(str::to_owned), description: description.map(str::to_owned) })
    }

    /// The URI that a grant has.
    pub fn code(&self) -> &str {
        self.declared.as_deref().unwrap_or(ASSISTANT)
    }

    /// Whether the client named that URI.
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
    /// From here on, in milliseconds.
    pub since: Option<i64>,
    /// Up to here, in milliseconds.
    pub until: Option<i64>,
    /// Only these records.
    pub resources: Option<Vec<String>>,
    /// Whether the request names it, so that it is ticked before the owner did anything.
    pub is_named: bool,
    /// Whether it is one of several accounts between which the request does not choose.
    pub is_ambiguous: bool,
}

impl AuthorizationDetails {
    /// Of all that can be picked: a form with another one was made for other choices.
    pub fn fingerprint(&self) -> String {
        let choices = self.choices.iter().map(|choice| (&choice.connection, &choice.stream, &choice.fields));
        let mut digest = crate::hex::sha256(format!("{:?}", choices.collect::<Vec<_>>()).as_bytes());
        digest.truncate(16);
        digest
    }
}

/// What a program asks for, as far as it can be read without looking at what there is: a program that has no grant
/// learns nothing of that.
#[derive(Debug, Clone)]
pub struct Requested {
    details: Details,
    purpose: Purpose,
    is_whole: bool,
    single_use: bool,
    expires_ms: Option<i64>,
}

/// Purpose of a request that names none.
pub const ASSISTANT: &str = "https://pdpp.dev/purpose/personal_assistant";
/// What a program with a model is for.
pub const AI_ASSISTANT: &str = "https://pdpp.dev/purpose/personal_ai_assistant";
/// The one purpose that needs a consent of its own (draft §6).
pub const AI_TRAINING: &str = "https://pdpp.dev/purpose/ai_training";
/// Bytes of a client's text at most.
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

/// The request that asks for everything: the owner picks.
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

/// Reads `authorization_details` (RFC 9396) of a request's body.
///
/// # Errors
/// `invalid_request`, saying what.
pub fn read(base: &str, body: &Map<String, Value>) -> Result<Requested, ApiError> {
    let details = body
        .get("authorization_details")
        .ok_or_else(|| ApiError::invalid("Grant initiation requires authorization_details"))?;
    let mut details: Vec<Details> = serde_json::from_value(details.clone()).map_err(|error| {
        ApiError::invalid(format!("authorization_details do not read: {error}"))
            .param("authorization_details")
    })?;
    let (Some(details), true) = (details.pop(), details.is_empty()) else {
        return Err(ApiError::invalid("authorization_details has to hold exactly one entry"));
    };
    if details.kind != DETAILS_TYPE {
        return Err(ApiError::invalid(format!("authorization_details type has to be {DETAILS_TYPE}")));
    }
    let single_use = match details.access_mode.as_deref() {
        None | Some("continuous") => false,
        Some("single_use") => true,
        Some(_) => return Err(ApiError::invalid("access_mode has to be continuous or single_use")),
    };
    let purpose = Purpose::read(details.purpose_code.as_deref(), details.purpose_description.as_deref())?;
    let commitments = details.client_claims.iter().flat_map(|claims| &claims.commitments);
    if commitments.clone().count() > MAX_COMMITMENTS || commitments.clone().any(|text| text.len() > MAX_TEXT)
    {
        return Err(ApiError::invalid("client_claims are too long to be read"));
    }
    let expires_ms = match details.expires_at.as_deref() {
        None => None,
        Some(text) => {
            Some(time::parse_ms(text).filter(|end| *end > time::now_ms()).ok_or_else(|| {
                ApiError::invalid("expires_at has to be a time to come").param("expires_at")
            })?)
        }
    };
    let is_whole = details.source.id == base;
    let expected = if is_whole { "provider_native" } else { "connector" };
    if details.source.kind.as_deref().is_some_and(|kind| kind != expected) {
        return Err(ApiError::invalid(format!("This source is of kind {expected}")).param("source"));
    }
    if details.streams.is_empty() || details.streams.len() > MAX_STREAMS {
        return Err(ApiError::invalid("streams has to name at least one stream").param("streams"));
    }
    let mut names = BTreeSet::new();
    for stream in &details.streams {
        if !names.insert(stream.name.as_str()) || (stream.name == "*" && details.streams.len() > 1) {
            return Err(
                ApiError::invalid("Stream names have to be unique, and * stands alone").param("streams")
            );
        }
        if stream.fields.is_some() && stream.view.is_some() {
            return Err(ApiError::invalid("view and fields are mutually exclusive"));
        }
        let bounds = stream.time_range.iter().flat_map(|range| range.since.iter().chain(&range.until));
        if bounds.into_iter().any(|text| time::parse_ms(text).is_none()) {
            return Err(ApiError::invalid("time_range has to hold RFC 3339 timestamps").param("time_range"));
        }
        let is_empty = |keys: &Vec<String>| keys.is_empty() || keys.len() > MAX_RESOURCES;
        if stream.resources.as_ref().is_some_and(is_empty) {
            return Err(not_records());
        }
    }
    Ok(Requested { details, purpose, is_whole, single_use, expires_ms })
}

fn not_records() -> ApiError {
    ApiError::invalid("resources has to hold record ids of this stream").param("resources")
}

impl Requested {
    /// What for.
    pub const fn purpose(&self) -> &Purpose {
        &self.purpose
    }

    /// Looks up what is asked for in what there is.
    ///
    /// # Errors
    /// `invalid_request`, saying what is not there and what is: for the owner.
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

/// Every stream of every connection that is asked for, and those of a request for all that its bounds leave out.
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
                    // Nobody named it, and what was asked for is not widened.
                    if wildcard && asked.is_bounded() && stream.consent_time_field.is_none() {
                        undated.push((connection.id.clone(), stream.name.clone()));
                        continue;
                    }
                    // Of a provider as a whole it is the sources that have the field which are meant.
                    let lacks = |name: &String| stream.field(name).is_none();
                    if is_whole && asked.fields.iter().flatten().any(lacks) {
                        lacking.push((connector.name.as_str(), *stream));
                        continue;
                    }
                    let mut choice = resolve(stream, asked)?;
                    choice.connector.clone_from(&connector.key);
                    choice.connection.clone_from(&connection.id);
                    // Leaving the instances out never asks for all of them: of several, the owner picks.
                    // A provider as a whole is all of them.
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
            return Err(ApiError::invalid("Too many streams are asked for").param("streams"));
        }
    }
    if choices.is_empty() && !undated.is_empty() {
        return Err(ApiError::invalid("None of the streams has a time to limit by").param("time_range"));
    }
    Ok((choices, undated))
}

/// Of several sources' streams of one name, none has all the fields; each field that there is, with whose it is.
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
    // Required fields are always part of it: without them it is not a record (draft §6).
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
        return Err(ApiError::invalid(format!("Stream '{}' has no time to limit by", stream.name))
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
