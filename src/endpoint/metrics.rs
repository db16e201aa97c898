//! The endpoint's counters, in Prometheus' text exposition format 0.0.4. Every label has few values, all of them this
//! program's own words: nothing from a caller, a grant or a record.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::introspection::Unusable;
use crate::listener::places::Counter;

/// Upper bounds of the duration histogram, in milliseconds.
const BUCKETS: [u64; 10] = [5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000];

/// Label values that exist from the start with 0: `increase()` does not see a series begin, and an alert should fire
/// the first time.
const REFUSED: [&str; 6] = [
    "endpoint_busy",
    "internal_error",
    "introspection_busy",
    "misdirected_request",
    "rate_limited",
    "request_timeout",
];
const INTROSPECTIONS: [&str; 12] = [
    "cached",
    "active",
    Unusable::Inactive.code(),
    Unusable::WrongIssuer.code(),
    Unusable::WrongAudience.code(),
    Unusable::Owner.code(),
    Unusable::Package.code(),
    Unusable::UnknownKind.code(),
    "introspection_unavailable",
    "introspection_refused",
    "introspection_malformed",
    "introspection_busy",
];
const RELOADS: [&str; 2] = ["ok", "failed"];
const HUNG_UP: [&str; 2] = ["room", "address"];

/// The counters. Cheap to increment from many tasks.
#[derive(Debug)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    refused: Mutex<BTreeMap<&'static str, u64>>,
    introspections: Mutex<BTreeMap<&'static str, u64>>,
    reloads: Mutex<BTreeMap<&'static str, u64>>,
    hung_up: Mutex<BTreeMap<&'static str, u64>>,
    buckets: [AtomicU64; BUCKETS.len()],
    duration_ms: AtomicU64,
    served: AtomicU64,
    bytes: AtomicU64,
    log_lines_lost: AtomicU64,
    /// Open connections.
    pub connections: Gauge,
    /// Requests to the endpoint that are running.
    pub in_flight: Gauge,
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Adds one.
    pub fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Subtracts one.
    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The current number.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        fn at_0(values: &[&'static str]) -> Mutex<BTreeMap<&'static str, u64>> {
            Mutex::new(values.iter().map(|value| (*value, 0)).collect())
        }
        Self {
            requests: Mutex::default(),
            refused: at_0(&REFUSED),
            introspections: at_0(&INTROSPECTIONS),
            reloads: at_0(&RELOADS),
            hung_up: at_0(&HUNG_UP),
            buckets: Default::default(),
            duration_ms: AtomicU64::default(),
            served: AtomicU64::default(),
            bytes: AtomicU64::default(),
            log_lines_lost: AtomicU64::default(),
            connections: Gauge::default(),
            in_flight: Gauge::default(),
        }
    }
}

impl Counter for Metrics {
    fn entered(&self) {
        self.connections.enter();
    }

    fn left(&self) {
        self.connections.leave();
    }

    fn hung_up(&self, why: &'static str) {
        add(&self.hung_up, why);
    }
}

impl Metrics {
    /// Counts a request that was answered, or whose client left.
    pub fn answered(
        &self,
        method: &'static str,
        tool: &'static str,
        status: u16,
        passed: Duration,
        bytes: u64,
    ) {
        add(&self.requests, (method, tool, status));
        let ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        for (bound, bucket) in BUCKETS.iter().zip(&self.buckets) {
            if ms <= *bound {
                bucket.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.duration_ms.fetch_add(ms, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a request that was refused for the reason `code` before it reached a tool.
    pub fn refused(&self, code: &'static str) {
        add(&self.refused, code);
    }

    /// Counts a look-up of a bearer: `cached`, `active`, or the code of the refusal.
    pub fn introspected(&self, outcome: &'static str) {
        add(&self.introspections, outcome);
    }

    /// Counts a reload of secrets and certificates: `ok` or `failed`.
    pub fn reloaded(&self, outcome: &'static str) {
        add(&self.reloads, outcome);
    }

    /// Counts lines of the access log that found no room, or that stderr refused.
    pub fn log_lines_were_lost(&self, count: usize) {
        self.log_lines_lost.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// How many lines of the access log were lost.
    pub fn log_lines_lost(&self) -> u64 {
        self.log_lines_lost.load(Ordering::Relaxed)
    }

    /// All counters, in the text exposition format.
    pub fn render(&self) -> String {
        let mut out = String::new();
        family(&mut out, "pdpp_host_build_info", "gauge", "The running version");
        line(&mut out, "pdpp_host_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);

        family(
            &mut out,
            "pdpp_host_requests_total",
            "counter",
            "Requests to the MCP endpoint, by JSON-RPC method",
        );
        for ((method, tool, status), count) in &*lock(&self.requests) {
            let labels = [("method", *method), ("tool", *tool), ("status", &status.to_string())];
            line(&mut out, "pdpp_host_requests_total", &labels, *count);
        }
        let counters = [
            (&self.refused, "pdpp_host_refused_total", "reason", "Requests that were refused"),
            (&self.introspections, "pdpp_host_introspections_total", "outcome", "Look-ups of a bearer"),
            (&self.reloads, "pdpp_host_reloads_total", "outcome", "Reloads of secrets and certificates"),
            (
                &self.hung_up,
                "pdpp_host_hung_up_total",
                "reason",
                "Connections that were closed to limit their number",
            ),
        ];
        for (counts, name, label, help) in counters {
            family(&mut out, name, "counter", help);
            for (value, count) in &*lock(counts) {
                line(&mut out, name, &[(label, *value)], *count);
            }
        }

        let name = "pdpp_host_request_duration_seconds";
        family(&mut out, name, "histogram", "Time from a request's head to the end of its answer");
        let bucket = format!("{name}_bucket");
        for (bound, count) in BUCKETS.iter().zip(&self.buckets) {
            let bound = format!("{}.{:03}", bound / 1000, bound % 1000);
            line(&mut out, &bucket, &[("le", &bound)], count.load(Ordering::Relaxed));
        }
        let served = self.served.load(Ordering::Relaxed);
        line(&mut out, &bucket, &[("le", "+Inf")], served);
        let ms = self.duration_ms.load(Ordering::Relaxed);
        let _ = writeln!(out, "{name}_sum {}.{:03}\n{name}_count {served}", ms / 1000, ms % 1000);

        let single = [
            ("pdpp_host_answer_bytes_total", "counter", "Bytes of answers", signed(&self.bytes)),
            (
                "pdpp_host_log_lines_lost_total",
                "counter",
                "Log lines that were lost",
                signed(&self.log_lines_lost),
            ),
            ("pdpp_host_connections", "gauge", "Open connections", self.connections.get()),
            ("pdpp_host_requests_in_flight", "gauge", "Running requests", self.in_flight.get()),
        ];
        for (name, kind, help, value) in single {
            family(&mut out, name, kind, help);
            let _ = writeln!(out, "{name} {value}");
        }
        out
    }
}

fn signed(count: &AtomicU64) -> i64 {
    i64::try_from(count.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
}

fn lock<T>(counts: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add<K: Ord>(counts: &Mutex<BTreeMap<K, u64>>, key: K) {
    *lock(counts).entry(key).or_default() += 1;
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}");
}

/// No label value needs escaping: this program writes all of them.
fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: u64) {
    let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let _ = writeln!(out, "{name}{{{}}} {value}", labels.join(","));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counters that the alerts in docs/operators.md use exist with each label value that they name.
    #[test]
    fn what_an_alert_watches_is_there_before_it_happens() {
        let guide = include_str!("../../docs/operators.md");
        let exprs = guide.lines().filter_map(|line| line.trim().strip_prefix("expr: increase("));
        let text = Metrics::default().render();
        let mut watched = Vec::new();
        for expr in exprs {
            let selector = expr.split('[').next().unwrap();
            let Some((name, label)) = selector.trim_end_matches('}').split_once('{') else {
                watched.push(selector.to_owned());
                continue;
            };
            let (label, values) = label.split_once('=').unwrap();
            let values = values.trim_matches(['~', '"']).replace(')', "");
            let (before, several) = values.split_once('(').unwrap_or(("", values.as_str()));
            let series = |value: &str| format!("{name}{{{label}=\"{before}{value}\"}}");
            watched.extend(several.split('|').map(series));
        }
        assert!(watched.len() > 7, "{watched:?}");
        for series in watched {
            assert!(text.contains(&format!("\n{series} 0\n")), "{series}\n{text}");
        }
    }

    #[test]
    fn what_was_counted_is_there_in_prometheus_own_format() {
        let metrics = Metrics::default();
        metrics.answered("tools/call", "search", 200, Duration::from_millis(7), 120);
        metrics.answered("tools/call", "search", 200, Duration::from_millis(1_500), 80);
        metrics.answered("other", "", 401, Duration::ZERO, 10);
        metrics.refused("rate_limited");
        metrics.introspected("cached");
        metrics.connections.enter();
        let text = metrics.render();
        for wanted in [
            r#"pdpp_host_requests_total{method="tools/call",tool="search",status="200"} 2"#,
            r#"pdpp_host_requests_total{method="other",tool="",status="401"} 1"#,
            r#"pdpp_host_refused_total{reason="rate_limited"} 1"#,
            r#"pdpp_host_introspections_total{outcome="cached"} 1"#,
            r#"pdpp_host_request_duration_seconds_bucket{le="0.005"} 1"#,
            r#"pdpp_host_request_duration_seconds_bucket{le="0.010"} 2"#,
            r#"pdpp_host_request_duration_seconds_bucket{le="+Inf"} 3"#,
            "pdpp_host_request_duration_seconds_sum 1.507",
            "pdpp_host_request_duration_seconds_count 3",
            "pdpp_host_answer_bytes_total 210",
            "pdpp_host_connections 1",
        ] {
            assert!(text.lines().any(|line| line == wanted), "{wanted} in\n{text}");
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok() && name.starts_with("pdpp_host_"), "{line}");
        }
    }
}
