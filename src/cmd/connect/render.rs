//! What `connect` shows while it gets a grant.

use std::fmt::Write as _;

use crate::advice::Command;
use crate::cache::credential::Credential;
use crate::cmd::doors::{framed, needs_ports, type_code};
use crate::cmd::granted::source_line;
use crate::grants::{Difference, Event, Invitation, Shown, Than};
use crate::provider::approve::{ApproveError, Attempt};
use crate::provider::register::CLIENT_NAME;
use crate::text::{one_line, prefix};
use crate::time_text::minutes;
use crate::ui::Ui;

/// Shows one step.
pub(super) fn show(event: &Event<'_>, ui: &Ui) {
    match event {
        Event::UsesDeviceCode { why } => {
            ui.explain(&format!("Using a device code because {why} (--flow picks another way).\n"));
        }
        Event::PickTheSame { refused, old } => ui.explain(&pick_the_same(refused, old)),
        Event::Store(note) => ui.explain(note),
        Event::AccountsDiffer(streams) => ui.explain(&format!(
            "The accounts of the old grant give different parts of {}. A request cannot express that, so check it on the \
             provider's page. pdpp warns you if the new grant is wider or narrower than the old one.",
            one_line(prefix(&streams.join(", "), 300))
        )),
        Event::Approve(invitation) => ui.explain(&invite(invitation)),
        Event::Holds(holds) => {
            ui.explain("What a grant of your own data stops on this computer, and what it does not:");
            for (title, list) in [("It stops", holds.against), ("It does not stop", holds.not)] {
                ui.explain(&format!("  {title}:"));
                for line in list {
                    ui.explain(&format!("    - {line}"));
                }
            }
            if cfg!(target_os = "linux") {
                ui.explain("  For an agent with a shell, use the separate set-up: sudo pdpp provider install");
            }
        }
        Event::AsksHere { why } => {
            ui.explain(&format!("No browser is opened because {why}: decide here (Esc denies)."));
        }
        Event::ApproveHere { shown: Shown::Typed { address, code } } => ui.explain(&format!(
            "Open this address and decide what may be read:\n\n  {address}\n\nThe page asks for this code:\n\n{}",
            framed(code)
        )),
        Event::ApproveHere { .. } => ui.explain("Your browser opens the page where you decide what may be read."),
        Event::NeedsPorts(ports) => ui.explain(&needs_ports(ports)),
        Event::NotOpened { why: Some(why) } => {
            ui.explain(&format!("No browser is opened because {why}: open that address yourself."));
        }
        Event::NotOpened { why: None } => {
            ui.explain("pdpp could not open a browser here: open that address yourself.");
        }
        Event::TypeCode { address, code, is_opened } => ui.explain(&type_code(address, code, *is_opened)),
        Event::Waits { at_most } if !ui.is_interactive() => {
            ui.explain(&format!("Waiting for your approval, for at most {}.", minutes(*at_most)));
        }
        // The progress line shows it.
        Event::Waits { .. } => {}
        Event::Differs(difference, than) => {
            let than = match than {
                Than::Asked => "than pdpp asked for",
                Than::Before => "than the old grant had",
            };
            for more in &difference.more {
                ui.warn(&format!("the grant gives more {than}: {}", one_line(more)));
            }
            for beside in &difference.beside {
                ui.explain(&format!("The grant also gives this, possibly because the provider requires it: {}", one_line(beside)));
            }
            for less in &difference.less {
                ui.explain(&format!("The grant gives less {than}: {}", one_line(less)));
            }
            if let Some(note) = not_compared(difference) {
                ui.explain(&note);
            }
        }
        Event::Kept { provider, label } => {
            ui.done(&format!("{provider} is connected, as {}", one_line(label)), Command::new("status"));
        }
        Event::UnkeptEnded => ui.explain("pdpp then ended the approved grant at the provider."),
        Event::UnkeptStands => {
            ui.warn("the approved grant is still valid at the provider: end it on the provider's own pages");
        }
        Event::OldTokenLeft { old, why } => {
            let again = Command::new("disconnect").value(old.grant_id.as_str());
            ui.warn(&format!("pdpp could not delete the old token here ({why}). To try again: {again}"));
        }
    }
}

fn invite(invitation: &Invitation<'_>) -> String {
    let Invitation { discovery, attempt, wanted, .. } = invitation;
    let name = discovery.name.as_deref().map(|name| format!("{}, ", one_line(prefix(name, 100))));
    let provider = format!("{}{}", name.unwrap_or_default(), discovery.provider);
    let mut text = match &invitation.shown {
        Shown::Nothing => format!(
            "Your browser opens the page where you approve the request of {CLIENT_NAME} at {provider}.\n"
        ),
        Shown::Typed { address, code } => format!(
            "Approve the request of {CLIENT_NAME} at {provider}:\n\n  {address}\n\nThat page, on this computer, forwards you to \
             the provider. It asks for this code:\n\n{}",
            framed(code)
        ),
        Shown::Provider => {
            format!("Approve the request of {CLIENT_NAME} at {provider}:\n\n  {}\n", attempt.url())
        }
    };
    match attempt {
        Attempt::DeviceCode(device) => {
            let _ = write!(
                text,
                "\nThe page where you approve must show this code. If {} asks for a code, type it there:\n\n",
                device.typed_at
            );
            text.push_str(&framed(&device.user_code));
        }
        Attempt::AgentConnect(attempt) => {
            if let Some(code) = &attempt.user_code {
                let _ = writeln!(
                    text,
                    "\nThe page where you approve must show the code {code}. If it shows another, deny."
                );
            }
        }
        Attempt::AuthorizationCode(_) => {}
    }
    text.push_str("\npdpp asks for:\n");
    let takes_purpose = discovery.authorization_server.takes_purpose;
    let lines = if invitation.is_sent() { wanted.summary() } else { wanted.unsent_summary(takes_purpose) };
    for line in lines {
        let _ = writeln!(text, "  {}", one_line(&line));
    }
    if invitation.is_sent() && !wanted.streams.is_empty() {
        text.push_str(
            "pdpp cannot check that these names exist. If the provider's page does not know one, stop here (Ctrl-C) and ask \
             again.\n",
        );
    }
    text
}

/// Says that more may have been left out than the listed differences show.
fn not_compared(difference: &Difference) -> Option<String> {
    let all = match difference.not_compared.as_slice() {
        [] => return None,
        _ if difference.less.is_empty() => return None,
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        [all, ..] => (*all).to_owned(),
    };
    Some(format!(
        "More may have been left out: pdpp does not know which {all} there are. `pdpp status --grant` lists what the grant \
         gives."
    ))
}

/// Says that the provider does not accept a request for exactly what the old grant has, and lists that, so that
/// the owner can pick the same.
fn pick_the_same(refused: &ApproveError, old: &Credential) -> String {
    let mut text = format!(
        "The provider does not accept a request for exactly what the old grant has ({}): pick the same on its page.\nThe old grant has:\n",
        one_line(&refused.to_string())
    );
    for source in &old.sources {
        let _ = writeln!(text, "  {}", source_line(source));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_is_not_said_to_be_all_where_that_is_not_known() {
        let said = |less: &[&str], not_compared: &[&'static str]| {
            let less = less.iter().map(ToString::to_string).collect();
            let not_compared = not_compared.to_vec();
            super::not_compared(&Difference { less, not_compared, ..Difference::default() })
        };
        let days = ["no records from before 2026-09-01 00:00 UTC: messages"];
        let all = said(&days, &["accounts", "streams", "fields"]).unwrap();
        assert!(
            all.contains("More may have been left out")
                && all.contains("which accounts, streams and fields there are"),
            "{all}"
        );
        assert!(said(&days, &["fields"]).unwrap().contains("which fields there are"));
        assert_eq!(said(&days, &[]), None, "each name was compared");
        assert_eq!(said(&[], &["accounts", "streams", "fields"]), None, "no difference is reported");
    }
}
