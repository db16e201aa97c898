//! Query parameters. Known ones may occur once, typed ones are checked, and others are refused (draft §8).

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::read::Read;
use crate::vault::enforcement::{Access, Compare, Filter};
use crate::vault::wire::ApiError;

/// The parameters of one request.
pub struct Params<'a>(&'a [(String, String)]);

/// The number of rows on a page if a request does not say.
pub const DEFAULT_LIMIT: usize = 25;
/// The maximum number of rows on a page.
pub const MAX_LIMIT: usize = 100;

impl<'a> Params<'a> {
    /// Reads the parameters. `known` are the allowed names. A name that ends in `[` allows all names that begin
    /// with it.
    ///
    /// # Errors
    /// Returns `invalid_request` for any other name.
    pub fn read(read: &'a Read, known: &[&str]) -> Result<Self, ApiError> {
        let params = read.params();
        for (name, _) in params {
            let is_known =
                known.iter().any(|known| known == name || (known.ends_with('[') && name.starts_with(known)));
            if !is_known {
                if name == "filter" {
                    return Err(ApiError::invalid(
                        "filter must use filter[field]=value or filter[field][op]=value",
                    )
                    .param("filter"));
                }
                return Err(ApiError::invalid(format!("Unsupported query parameter: {name}")).param(name));
            }
        }
        Ok(Self(params))
    }

    /// A parameter that may occur once.
    ///
    /// # Errors
    /// Returns `invalid_request` if it occurs twice.
    pub fn single(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let first = values.next().map(|(_, value)| value.as_str());
        if values.next().is_some() {
            return Err(ApiError::invalid(format!("{name} may occur only once")).param(name));
        }
        Ok(first.filter(|value| !value.is_empty()))
    }

    /// Every value of a parameter that may be repeated (`name`, `name[]`) or separated by commas.
    pub fn many(&self, name: &str) -> Vec<&str> {
        let brackets = format!("{name}[]");
        self.0
            .iter()
            .filter(|(known, _)| known == name || *known == brackets)
            .flat_map(|(_, value)| value.split(','))
            .map(str::trim)
            .filter(|value| !value.is_empty())
            .collect()
    }

    /// Whether a parameter with this name, or of this family (`filter[`), occurs.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name || (name.ends_with('[') && known.starts_with(name)))
    }

    /// A whole number.
    ///
    /// # Errors
    /// Returns `invalid_request` for anything else.
    pub fn number(&self, name: &str) -> Result<Option<usize>, ApiError> {
        let Some(text) = self.single(name)? else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ApiError::invalid(format!("{name} must be a whole number")).param(name)),
        }
    }

    /// `limit`, with a warning if it was more than the maximum.
    ///
    /// # Errors
    /// Returns `invalid_request` for 0, or for a value that is not a number.
    pub fn limit(&self) -> Result<(usize, Vec<Value>), ApiError> {
        match self.number("limit")? {
            None => Ok((DEFAULT_LIMIT, Vec::new())),
            Some(0) => Err(ApiError::invalid("limit must be at least 1").param("limit")),
            Some(wanted) if wanted > MAX_LIMIT => Ok((
                MAX_LIMIT,
                vec![json!({
                    "code": "limit_clamped",
                    "message": format!(
                        "Requested limit={wanted} exceeds the maximum page size of {MAX_LIMIT}; page forward with \
                         the returned cursor."
                    ),
                    "param": "limit",
                    "detail": { "requested_limit": wanted, "max_limit": MAX_LIMIT },
                })],
            )),
            Some(wanted) => Ok((wanted, Vec::new())),
        }
    }

    /// `filter[field]=value` and `filter[field][op]=value`, in order.
    ///
    /// # Errors
    /// Returns `invalid_request` for any other form.
    pub fn conditions(&self) -> Result<Vec<(String, Compare, String)>, ApiError> {
        let mut conditions = Vec::new();
        for (name, value) in self.0 {
            let Some(rest) = name.strip_prefix("filter[") else { continue };
            let bad = || {
                ApiError::invalid(
                    "filter must use filter[field]=value or filter[field][op]=value with gte, gt, lte or lt",
                )
                .param(name.clone())
            };
            let rest = rest.strip_suffix(']').ok_or_else(bad)?;
            let (field, compare) = match rest.split_once("][") {
                None => (rest, Compare::Equal),
                Some((field, operator)) => {
                    let named = |compare: &Compare| compare.operator() == Some(operator);
                    (field, Compare::ALL.into_iter().find(named).ok_or_else(bad)?)
                }
            };
            if field.is_empty() || field.contains(['[', ']']) {
                return Err(bad());
            }
            conditions.push((field.to_owned(), compare, value.clone()));
        }
        Ok(conditions)
    }

    /// `fields`, or the fields of `view`, as far as `accesses` show them.
    ///
    /// # Errors
    /// Returns `unknown_field`, `field_not_granted` or `invalid_request`.
    pub fn projection(&self, accesses: &[Access]) -> Result<Option<BTreeSet<String>>, ApiError> {
        let fields = self.many("fields");
        let view = self.single("view")?;
        if view.is_some() && !fields.is_empty() {
            return Err(ApiError::invalid("view and fields are mutually exclusive"));
        }
        if let Some(view) = view {
            let declared = accesses
                .iter()
                .find_map(|access| access.stream().views.iter().find(|declared| declared.id == view));
            let declared = declared.ok_or_else(|| ApiError::invalid(format!("Unknown view: {view}")))?;
            // Fields of a view outside the grant are left out, like everything outside the grant.
            return Ok(Some(declared.fields.iter().cloned().collect()));
        }
        if fields.is_empty() {
            return Ok(None);
        }
        for access in accesses {
            for field in &fields {
                if access.stream().field(field).is_none() {
                    return Err(unknown_field(field).param("fields"));
                }
            }
            let refused: Vec<&str> =
                fields.iter().copied().filter(|field| access.field(field).is_none()).collect();
            if !refused.is_empty() {
                return Err(not_granted(&refused.join(", ")));
            }
        }
        Ok(Some(fields.into_iter().map(str::to_owned).collect()))
    }
}

/// The filter that `conditions` form over one access.
///
/// # Errors
/// Returns `unknown_field`, `field_not_granted` or `invalid_request`.
pub fn filter(access: &Access, conditions: &[(String, Compare, String)]) -> Result<Filter, ApiError> {
    for (name, compare, _) in conditions {
        if access.stream().field(name).is_none() {
            return Err(unknown_field(name).param(format!("filter[{name}]")));
        }
        let Some(field) = access.field(name) else { return Err(not_granted(name)) };
        if !compare.is_declared(field) {
            let kind = if compare.operator().is_some() { "Range" } else { "Exact" };
            return Err(ApiError::invalid(format!("{kind} filters are not supported on '{name}'")));
        }
    }
    access.filter(conditions).ok_or_else(|| ApiError::invalid("This filter is not supported"))
}

fn unknown_field(name: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "unknown_field", format!("Unknown field: {name}"))
}

/// 403 `field_not_granted`.
pub fn not_granted(names: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "field_not_granted", format!("Fields not in grant: {names}"))
}
