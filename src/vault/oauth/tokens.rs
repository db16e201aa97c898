//! Tokens: issued once for a grant, stored as a hash, and refused when the grant is over.

use axum::http::StatusCode;
use rusqlite::{Connection as Sqlite, OptionalExtension, params};
use serde_json::json;

use super::approval::{Approved, Granted};
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::id::{random_id, random_token, token_hash};
use crate::vault::time;
use crate::vault::wire::{ApiError, Reply, Request};

/// How long an access token of a family is valid, in seconds. A package's token has a shorter life, because it
/// opens more.
const CLIENT_TOKEN_SECONDS: i64 = 3_600;
const PACKAGE_TOKEN_SECONDS: i64 = 600;

fn insert_grant(tx: &Sqlite, grant: &Grant) -> Result<(), ApiError> {
    let body =
        serde_json::to_string(grant).map_err(|_| ApiError::invalid("Could not serialize the grant"))?;
    let expires_ms = grant.expires_at.as_deref().and_then(time::parse_ms);
    tx.execute(
        "INSERT INTO grants (grant_id, body, expires_ms) VALUES (?1, ?2, ?3)",
        params![grant.grant_id, body, expires_ms],
    )?;
    Ok(())
}

fn insert_client_token(tx: &Sqlite, token: &str, grant_id: &str) -> Result<(), ApiError> {
    tx.execute(
        "INSERT INTO token (hash, kind, grant_id) VALUES (?1, 'client', ?2)",
        params![token_hash(token), grant_id],
    )?;
    Ok(())
}

impl Vault {
    /// Stores a grant without asking anyone and issues its only token, which is valid as long as the grant.
    ///
    /// # Errors
    /// Returns the errors of the database.
    pub fn issue(&self, grant: Grant) -> Result<Approved, ApiError> {
        let token = random_token("pdpp_ct_")?;
        self.grants.write(|tx, _| {
            insert_grant(tx, &grant)?;
            insert_client_token(tx, &token, &grant.grant_id)
        })?;
        Ok(Approved { grant, token })
    }
}

/// Stores what was approved; its tokens come later.
///
/// # Errors
/// Returns the errors of the database.
pub fn keep(vault: &Vault, client_id: &str, grants: Vec<Grant>) -> Result<Granted, ApiError> {
    let package_id = if grants.len() > 1 { Some(random_id("pkg_")?) } else { None };
    let ids: Vec<&str> = grants.iter().map(|grant| grant.grant_id.as_str()).collect();
    vault.grants.write(|tx, _| {
        for grant in &grants {
            insert_grant(tx, grant)?;
        }
        if let Some(package_id) = &package_id {
            tx.execute(
                "INSERT INTO package (package_id, client_id, grants) VALUES (?1, ?2, ?3)",
                params![package_id, client_id, json!(ids).to_string()],
            )?;
        }
        Ok::<_, ApiError>(())
    })?;
    Ok(Granted { client_id: client_id.to_owned(), grants, package_id })
}

/// Issues the only token of a stored grant, for a device. It is valid as long as the grant.
///
/// # Errors
/// Returns the errors of the database.
pub fn issue_kept(vault: &Vault, grant: &Grant) -> Result<String, ApiError> {
    let token = random_token("pdpp_ct_")?;
    vault.grants.write(|tx, _| insert_client_token(tx, &token, &grant.grant_id))?;
    Ok(token)
}

/// The tokens of a family: an access token for a limited time, and a refresh token for the next one.
#[derive(Debug)]
pub struct Issued {
    /// The family.
    pub family_id: String,
    /// The access token.
    pub access_token: String,
    /// Its life, in seconds.
    pub expires_in: i64,
    /// Valid for one use. `None` for a grant for one reading session only.
    pub refresh_token: Option<String>,
}

/// What a family covers, and for which client.
#[derive(Debug, Clone)]
struct Family {
    id: String,
    client_id: String,
    grant_id: Option<String>,
    package_id: Option<String>,
    resource: Option<String>,
}

/// Begins a family for what was approved.
///
/// # Errors
/// Returns the errors of the database.
pub fn begin_family(vault: &Vault, granted: &Granted, resource: Option<&str>) -> Result<Issued, ApiError> {
    let grant_id = granted.grants.first().filter(|_| granted.package_id.is_none());
    let family = Family {
        id: random_id("fam_")?,
        client_id: granted.client_id.clone(),
        grant_id: grant_id.map(|grant| grant.grant_id.clone()),
        package_id: granted.package_id.clone(),
        resource: resource.map(str::to_owned),
    };
    // The first token uses up a grant for one reading session (draft §7).
    let lasts = granted.grants.iter().all(|grant| grant.access_mode == "continuous");
    vault.grants.write(|tx, _| {
        tx.execute(
            "INSERT INTO family (family_id, client_id, grant_id, package_id, resource) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![family.id, family.client_id, family.grant_id, family.package_id, family.resource],
        )?;
        issue_of(tx, &family, lasts)
    })
}

fn issue_of(tx: &Sqlite, family: &Family, with_refresh: bool) -> Result<Issued, ApiError> {
    let (kind, prefix, seconds) = match &family.package_id {
        Some(_) => ("mcp_package", "pdpp_pt_", PACKAGE_TOKEN_SECONDS),
        None => ("client", "pdpp_ct_", CLIENT_TOKEN_SECONDS),
    };
    let access_token = random_token(prefix)?;
    tx.execute(
        "INSERT INTO token (hash, kind, grant_id, package_id, family_id, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            token_hash(&access_token),
            kind,
            family.grant_id,
            family.package_id,
            family.id,
            time::now_ms() + seconds * 1000
        ],
    )?;
    let refresh_token = if with_refresh { Some(random_token("pdpp_rt_")?) } else { None };
    if let Some(token) = &refresh_token {
        tx.execute(
            "INSERT INTO refresh (hash, family_id) VALUES (?1, ?2)",
            params![token_hash(token), family.id],
        )?;
    }
    Ok(Issued { family_id: family.id.clone(), access_token, expires_in: seconds, refresh_token })
}

/// Ends a family: none of its tokens is valid any more.
///
/// # Errors
/// Returns the errors of the database.
pub fn revoke_family(vault: &Vault, family_id: &str) -> Result<(), ApiError> {
    vault.grants.write(|tx, _| end_family(tx, family_id).map(|_| ()).map_err(ApiError::from))
}

fn end_family(tx: &Sqlite, family_id: &str) -> rusqlite::Result<usize> {
    tx.execute(
        "UPDATE family SET revoked_ms = ?2 WHERE family_id = ?1 AND revoked_ms IS NULL",
        params![family_id, time::now_ms()],
    )
}

/// The result of presenting a refresh token.
#[derive(Debug)]
pub enum Refreshed {
    /// Its successors, and what they were issued for.
    Issued(Issued, Granted),
    /// It is unknown, belongs to another client, or its grant is over.
    Unknown,
    /// It was used before, so two parties have had it. The family is over.
    Reused,
    /// It is for a different resource than the one in the request.
    OtherResource,
}

/// Exchanges a refresh token for its successors, once.
///
/// # Errors
/// Returns the errors of the database.
pub fn refresh(
    vault: &Vault,
    request: &Request,
    token: &str,
    client_id: &str,
    resource: Option<&str>,
) -> Result<Refreshed, ApiError> {
    vault.grants.write(|tx, _| {
        let found = tx
            .query_row(
                "SELECT f.family_id, f.client_id, f.grant_id, f.package_id, f.resource, f.revoked_ms, r.used_ms
                 FROM refresh r JOIN family f ON f.family_id = r.family_id WHERE r.hash = ?1",
                [token_hash(token)],
                |row| {
                    let family = Family {
                        id: row.get(0)?,
                        client_id: row.get(1)?,
                        grant_id: row.get(2)?,
                        package_id: row.get(3)?,
                        resource: row.get(4)?,
                    };
                    Ok((family, row.get::<_, Option<i64>>(5)?, row.get::<_, Option<i64>>(6)?))
                },
            )
            .optional()?;
        // A token that is presented at another name than the one it was issued under counts as unknown, so that its
        // owner loses nothing.
        let is_of_client = |family: &Family| {
            family.client_id == client_id && vault.is_of_side(request, family.resource.as_deref())
        };
        let Some((family, revoked_ms, used_ms)) = found.filter(|(family, ..)| is_of_client(family)) else {
            return Ok(Refreshed::Unknown);
        };
        if used_ms.is_some() {
            end_family(tx, &family.id)?;
            return Ok(Refreshed::Reused);
        }
        if revoked_ms.is_some() {
            return Ok(Refreshed::Unknown);
        }
        if resource.is_some_and(|resource| Some(resource) != family.resource.as_deref()) {
            return Ok(Refreshed::OtherResource);
        }
        let grants = grants_of(tx, family.grant_id.as_deref(), family.package_id.as_deref())?;
        let live: Vec<Grant> = grants.into_iter().filter_map(KeptGrant::live).collect();
        if live.is_empty() {
            return Ok(Refreshed::Unknown);
        }
        let now = time::now_ms();
        tx.execute("UPDATE refresh SET used_ms = ?2 WHERE hash = ?1", params![token_hash(token), now])?;
        let issued = issue_of(tx, &family, true)?;
        let granted = Granted { client_id: family.client_id, grants: live, package_id: family.package_id };
        Ok(Refreshed::Issued(issued, granted))
    })
}

/// A grant as the store holds it.
#[derive(Debug)]
pub(super) struct KeptGrant {
    pub(super) grant: Grant,
    pub(super) is_revoked: bool,
}

impl KeptGrant {
    fn live(self) -> Option<Grant> {
        (!self.is_revoked && !self.grant.is_expired(time::now_ms())).then_some(self.grant)
    }
}

/// One grant, or the grants of a package. An entry that cannot be parsed grants nothing.
fn grants_of(
    db: &Sqlite,
    grant_id: Option<&str>,
    package_id: Option<&str>,
) -> rusqlite::Result<Vec<KeptGrant>> {
    let mut ids: Vec<String> = grant_id.map(str::to_owned).into_iter().collect();
    if let Some(package_id) = package_id {
        let list: Option<String> = db
            .query_row("SELECT grants FROM package WHERE package_id = ?1", [package_id], |row| row.get(0))
            .optional()?;
        ids = list.and_then(|list| serde_json::from_str(&list).ok()).unwrap_or_default();
    }
    let mut grants = Vec::new();
    for id in ids {
        let found: Option<(String, Option<i64>)> = db
            .prepare_cached("SELECT body, revoked_ms FROM grants WHERE grant_id = ?1")?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((body, revoked_ms)) = found
            && let Ok(grant) = serde_json::from_str(&body)
        {
            grants.push(KeptGrant { grant, is_revoked: revoked_ms.is_some() });
        }
    }
    Ok(grants)
}

/// The grant with this id, if it is live.
///
/// # Errors
/// Returns the errors of the database.
pub fn live(vault: &Vault, grant_id: &str) -> Result<Option<Grant>, ApiError> {
    let known = vault.grants.read::<_, ApiError>(|db, _| Ok(grants_of(db, Some(grant_id), None)?))?;
    Ok(known.into_iter().next().and_then(KeptGrant::live))
}

/// Every grant, newest first, with the time at which it was revoked, in milliseconds. Leaves out entries that
/// cannot be parsed.
///
/// # Errors
/// Returns the errors of the database.
pub fn all(vault: &Vault) -> Result<Vec<(Grant, Option<i64>)>, ApiError> {
    vault.grants.read(|db, _| {
        let mut rows = db.prepare_cached("SELECT body, revoked_ms FROM grants")?;
        let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let mut all: Vec<(Grant, Option<i64>)> = Vec::new();
        for row in rows {
            let (body, revoked_ms) = row?;
            all.extend(serde_json::from_str(&body).ok().map(|grant| (grant, revoked_ms)));
        }
        all.sort_by(|(one, _), (other, _)| other.issued_at.cmp(&one.issued_at));
        Ok(all)
    })
}

/// A token as the store holds it.
pub(super) enum Known {
    Owner,
    Client {
        kept: Box<KeptGrant>,
        expires_ms: Option<i64>,
        resource: Option<String>,
    },
    Package {
        package_id: String,
        client_id: String,
        grants: Vec<Grant>,
        expires_ms: Option<i64>,
        resource: Option<String>,
    },
}

/// What a token was issued for; `None` if it is unknown or has expired itself.
pub(super) fn look_up(vault: &Vault, token: &str) -> Result<Option<Known>, ApiError> {
    if token_hash(token) == vault.owner_token_hash {
        return Ok(Some(Known::Owner));
    }
    if let Some(grant_id) = vault.child_bearers.grant_of(&token_hash(token)) {
        let grant = vault.grants.read(|db, _| grants_of(db, Some(&grant_id), None))?.pop();
        return Ok(grant.map(|kept| Known::Client {
            kept: Box::new(kept),
            expires_ms: None,
            resource: None,
        }));
    }
    vault.grants.read(|db, _| {
        type Found =
            (Option<String>, Option<String>, Option<i64>, Option<i64>, Option<String>, Option<String>);
        let found: Option<Found> = db
            .prepare_cached(
                "SELECT t.grant_id, t.package_id, t.expires_ms, f.revoked_ms, p.client_id, f.resource FROM token t
                 LEFT JOIN family f ON f.family_id = t.family_id
                 LEFT JOIN package p ON p.package_id = t.package_id WHERE t.hash = ?1",
            )?
            .query_row([token_hash(token)], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            })
            .optional()?;
        let Some((grant_id, package_id, expires_ms, revoked_ms, client_id, resource)) = found else {
            return Ok(None);
        };
        if revoked_ms.is_some() || expires_ms.is_some_and(|end| end <= time::now_ms()) {
            return Ok(None);
        }
        let mut grants = grants_of(db, grant_id.as_deref(), package_id.as_deref())?;
        Ok(match package_id {
            Some(package_id) => Some(Known::Package {
                package_id,
                client_id: client_id.unwrap_or_default(),
                grants: grants.into_iter().filter_map(KeptGrant::live).collect(),
                expires_ms,
                resource,
            }),
            None => grants.pop().map(|kept| Known::Client { kept: Box::new(kept), expires_ms, resource }),
        })
    })
}

/// What a bearer may do at the provider's own `/mcp` (R7.3).
#[derive(Debug)]
pub enum Standing {
    /// It is for one grant.
    Client(Box<Grant>),
    /// It is for the live grants of the package with this id; at least one.
    Package(String, Vec<Grant>),
    /// It is the owner's.
    Owner,
    /// It belongs to a revoked grant, or to a package that has only revoked grants.
    Revoked,
    /// It belongs to an expired grant.
    Expired,
    /// It is for a different resource (RFC 8707).
    OtherResource,
    /// It is unknown or has expired itself.
    Unknown,
}

/// What a bearer may do at the provider's `/mcp`. `is_ours` recognises this provider's own resources.
///
/// # Errors
/// Returns the errors of the database.
pub fn standing(
    vault: &Vault,
    token: &str,
    is_ours: impl Fn(Option<&str>) -> bool,
) -> Result<Standing, ApiError> {
    let is_other = |resource: &Option<String>| !is_ours(resource.as_deref());
    Ok(match look_up(vault, token)? {
        None => Standing::Unknown,
        Some(Known::Owner) => Standing::Owner,
        Some(Known::Client { resource, .. } | Known::Package { resource, .. }) if is_other(&resource) => {
            Standing::OtherResource
        }
        Some(Known::Client { kept, .. }) if kept.is_revoked => Standing::Revoked,
        Some(Known::Client { kept, .. }) => {
            kept.live().map_or(Standing::Expired, |grant| Standing::Client(Box::new(grant)))
        }
        Some(Known::Package { grants, .. }) if grants.is_empty() => Standing::Revoked,
        Some(Known::Package { package_id, grants, .. }) => Standing::Package(package_id, grants),
    })
}

/// The grant that a bearer was issued for.
///
/// # Errors
/// Returns 401 without a token or for an unknown one; 403 `grant_revoked` or `grant_expired`, and 403 for an
/// owner's token; 404 for a package's token.
pub fn authorize(vault: &Vault, bearer: Option<&str>) -> Result<Grant, ApiError> {
    let token = bearer.ok_or_else(no_bearer)?;
    match look_up(vault, token)? {
        None => Err(ApiError::challenge("context.active_false", "The token is not active")),
        Some(Known::Owner) => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "owner_token_not_accepted",
            "This server does not accept owner tokens. Ask the owner for a grant with `pdpp connect`",
        )),
        // As in the reference: a package is for /mcp, and here nothing exists for it.
        Some(Known::Package { .. }) => Err(ApiError::not_found("Unknown source: unknown")),
        Some(Known::Client { kept, .. }) if kept.is_revoked => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "grant_revoked", "The grant has been revoked"))
        }
        Some(Known::Client { kept, .. }) if kept.grant.is_expired(time::now_ms()) => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "grant_expired", "The grant has expired"))
        }
        Some(Known::Client { kept, .. }) => Ok(kept.grant),
    }
}

/// Checks that the bearer of a request belongs to the side that the request came in by. Other code checks whether
/// it is valid.
///
/// # Errors
/// Returns 401 `wrong_audience`, or the errors of the database.
pub fn check_side(vault: &Vault, request: &Request) -> Result<(), ApiError> {
    let Some(token) = request.bearer().filter(|_| vault.is_public(request)) else { return Ok(()) };
    match look_up(vault, token)? {
        Some(Known::Client { resource, .. } | Known::Package { resource, .. })
            if !vault.is_of_side(request, resource.as_deref()) =>
        {
            Err(ApiError::challenge("wrong_audience", "The token is for another name of this provider"))
        }
        _ => Ok(()),
    }
}

fn no_bearer() -> ApiError {
    ApiError::challenge("authentication_error", "Missing Bearer token")
}

/// `POST /grants/{grant_id}/revoke`, with the grant's own token. A package's token ends all of its grants with the
/// package's id, or one of them with that grant's id.
///
/// # Errors
/// Returns the errors of [`authorize`]; `permission_error` for another grant's token.
pub fn revoke(vault: &Vault, request: &Request, grant_id: &str) -> Result<Reply, ApiError> {
    let token = request.bearer().ok_or_else(no_bearer)?;
    check_side(vault, request)?;
    let ended: Option<Vec<String>> = match look_up(vault, token)? {
        None => return Err(ApiError::challenge("context.active_false", "The token is not active")),
        Some(Known::Owner) => None,
        Some(Known::Client { kept, .. }) => {
            (kept.grant.grant_id == grant_id).then(|| vec![kept.grant.grant_id])
        }
        Some(Known::Package { package_id, grants, .. }) => {
            let ids = grants.into_iter().map(|grant| grant.grant_id);
            if package_id == grant_id {
                Some(ids.collect())
            } else {
                ids.into_iter().find(|id| id == grant_id).map(|id| vec![id])
            }
        }
    };
    let Some(ended) = ended else {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "permission_error",
            "Only a grant's own token can revoke it",
        ));
    };
    // Revoking again succeeds, because the caller wants the grant gone. An expired grant can be revoked too.
    end_grants(vault, ended.iter().map(String::as_str))?;
    Ok(Reply::ok(&json!({ "revoked": true })))
}

/// Removes the account `instance_id` from `grants`. Data that arrives under that id later belongs to none of them.
///
/// # Errors
/// Returns the errors of the database.
pub fn narrow_grants(vault: &Vault, grants: Vec<Grant>, instance_id: &str) -> Result<(), ApiError> {
    vault.grants.write(|tx, _| {
        for mut grant in grants {
            for stream in &mut grant.streams {
                stream.instance_ids.retain(|id| id != instance_id);
            }
            grant.streams.retain(|stream| !stream.instance_ids.is_empty());
            let body = serde_json::to_string(&grant)
                .map_err(|_| ApiError::invalid("Could not serialize the grant"))?;
            tx.execute("UPDATE grants SET body = ?2 WHERE grant_id = ?1", params![grant.grant_id, body])?;
        }
        Ok(())
    })
}

/// Ends grants: none of their tokens is valid any more.
///
/// # Errors
/// Returns the errors of the database.
pub fn end_grants<'a>(vault: &Vault, grants: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
    vault.grants.write(|tx, _| {
        for grant_id in grants {
            tx.execute(
                "UPDATE grants SET revoked_ms = ?2 WHERE grant_id = ?1 AND revoked_ms IS NULL",
                params![grant_id, time::now_ms()],
            )?;
        }
        Ok(())
    })
}
