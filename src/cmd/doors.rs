//! Explains how a person's browser gets to a page of this computer.

use std::fmt::Write as _;

use crate::text::one_line;

/// How a browser elsewhere gets to `ports` of this computer, which listen on loopback only.
pub(super) fn needs_ports(ports: &[u16]) -> String {
    let (plural, numbers) = match ports {
        [_] => ("port", "number"),
        _ => ("ports", "numbers"),
    };
    let all = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" and ");
    let (mut ssh, mut kubectl) = (String::new(), String::new());
    for port in ports {
        let _ = write!(ssh, " -L {port}:127.0.0.1:{port}");
        let _ = write!(kubectl, " {port}");
    }
    format!(
        "That address is on this computer. Open it in a browser here, or forward {plural} {all} to the machine where your browser \
         is, under the same {numbers}. Over SSH: ssh{ssh} HOST. From a pod: kubectl port-forward POD{kubectl}. From a \
         container: start it with --network host. An editor can forward ports too.",
    )
}

/// A code that a person types or compares, in a frame.
pub(super) fn framed(code: &str) -> String {
    let line = "─".repeat(code.chars().count() + 4);
    format!("    ┌{line}┐\n    │  {}  │\n    └{line}┘\n", one_line(code))
}

/// Says that the page at `address` asks for `code`.
pub(super) fn type_code(address: &str, code: &str, is_opened: bool) -> String {
    let how = if is_opened {
        "The page that opened in your browser"
    } else {
        "Open this address in a browser here; its page"
    };
    format!("{how} asks for a code:\n\n  {address}\n\n{}", framed(code))
}
