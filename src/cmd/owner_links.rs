//! The links with which an owner decides, printed on the terminal that serves a vault.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use crate::advice::Command;
use crate::error::{Error, Result};
use crate::runtime::{self, StopSignals};
use crate::text;
use crate::ui::Ui;
use crate::vault::oauth::owner::{Announce, News, Notice};
use crate::vault::server::Handle;

/// The most characters of a program's name that are printed.
const MOST_NAME: usize = 40;
/// The most requests that can wait to be printed.
const MAX_UNSAID: usize = 200;

/// The links of the waiting requests. A separate thread writes them, so that no answer waits for a terminal
/// that has stopped reading.
pub struct OwnerLinks {
    sender: Arc<Mutex<Option<SyncSender<String>>>>,
    announced: Receiver<String>,
}

impl OwnerLinks {
    /// Creates an empty set of links.
    pub fn new() -> Self {
        let (sender, announced) = sync_channel(MAX_UNSAID);
        Self { sender: Arc::new(Mutex::new(Some(sender))), announced }
    }

    /// The callback that adds a request's link here.
    pub fn announce(&self) -> Announce {
        let sender = Arc::clone(&self.sender);
        let say = move |text| {
            if let Some(sender) = &*sender.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = sender.try_send(text);
            }
        };
        let say_news = say.clone();
        Announce::by(move |notice| say(ask_to_decide(notice))).with_news(move |news| say_news(told(news)))
    }

    /// Prints where `handle` is served, after what `tell` prints about it. Then prints the links of its
    /// requests until a signal stops it. With `is_json`, also prints the address as one line of JSON on
    /// standard output.
    ///
    /// # Errors
    /// The code `no_signals` if the system cannot report signals; `output_failed`.
    pub fn serve(
        self,
        ui: &Ui,
        handle: Handle,
        is_json: bool,
        no_signals: &'static str,
        tell: impl FnOnce(&str),
    ) -> Result<()> {
        let runtime = runtime::of_this_thread()
            .map_err(|error| Error::no_events(no_signals, "Could not wait for signals").because(error))?;
        // Listens before announcing that it is ready: the reader of the announcement may stop it at once.
        let mut stop = runtime.block_on(async { StopSignals::of_server() });
        let (url, mcp_url) = (handle.url(), handle.mcp_url());
        tell(url);
        ui.explain(&format!("  for hosts that speak MCP over HTTP: {mcp_url}"));
        if let Some(public) = handle.public() {
            ui.explain(&format!(
                "  for others at {}: forward a proxy or tunnel to http://{}",
                public.url, public.listen
            ));
        }
        if let Some(code) = handle.pairing_code() {
            ui.explain(&format!("  pairing code for the first app that connects from there: {code}"));
        }
        ui.note(&format!("  next: {}\n  stop: Ctrl-C", Command::connect(url)));
        if is_json {
            let mut place = json!({ "url": url, "mcp_url": mcp_url, "pid": std::process::id() });
            if let Some(public) = handle.public() {
                place["public_url"] = public.url.base().into();
                place["public_listen"] = format!("http://{}", public.listen).into();
            }
            ui.json(&place);
        }
        if let Some(lost) = ui.lost_output() {
            handle.stop();
            return Err(lost);
        }
        let Self { sender, announced } = self;
        std::thread::scope(|scope| {
            scope.spawn(move || announced.iter().for_each(|text| ui.explain(&text)));
            runtime.block_on(stop.next());
            handle.stop();
            // The thread ends when there is no sender.
            *sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
        });
        Ok(())
    }
}

/// The message that asks the owner to decide on a request.
fn ask_to_decide(notice: &Notice<'_>) -> String {
    format!(
        "\n“{}” asks to read your data, code {}. If you started this, decide within ten minutes. This link works once, and for \
         you alone:\n  {}",
        quoted(notice.client),
        notice.code,
        notice.link
    )
}

/// The message that tells the owner what came of a request.
fn told(news: &News<'_>) -> String {
    match news {
        News::Paired { client: "", next, .. } => {
            format!("\nThe pairing code was used for an app that could not ask.\n  next pairing code: {next}")
        }
        News::Paired { client, code, next } => format!(
            "\nThe pairing code was used: “{}” asks to read your data, code {code}. Decide in the browser where the code was typed. If \
             that was not you, the app can read nothing without your passphrase.\n  next pairing code: {next}",
            quoted(client)
        ),
        News::Approved { client, until: Some(until) } => {
            format!("Approved: “{}” can read what you allowed until {}", quoted(client), minute(until))
        }
        News::Approved { client, until: None } => {
            format!("Approved: “{}” can read what you allowed until you end the grant", quoted(client))
        }
        News::Denied { client } => format!("Denied: “{}” can read nothing", quoted(client)),
    }
}

/// Formats a time as `2026-05-06 07:08 UTC`.
fn minute(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

/// A program's own name, for use between quotation marks: it cannot close them, or fill a line so that a link
/// in the name appears on the next line.
fn quoted(name: &str) -> String {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let marks = |c: char| matches!(c, '“' | '”' | '„' | '‟' | '"' | '＂' | '″' | '〝' | '〞');
    let name = text::one_line(&words).replace(marks, "'");
    if name.chars().count() <= MOST_NAME {
        name
    } else {
        name.chars().take(MOST_NAME).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_name_stays_between_its_marks() {
        assert_eq!(quoted("PDPP CLI"), "PDPP CLI");
        let name =
            "PDPP CLI” asks to read your data. Decide at:                    http://127.0.0.1:9/consent";
        assert_eq!(quoted(name), "PDPP CLI' asks to read your data. Decide…");
        assert_eq!(quoted("a\n\tb"), "a b");
        assert_eq!(quoted("a\u{1b}[2J"), text::one_line("a\u{1b}[2J"));
    }
}
