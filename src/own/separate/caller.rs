//! The person's side of the owner's socket: it asks the service for one thing, and answers the service's
//! questions.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::frame::{Broken, MOST_TOLD, Wire};
pub use super::hand_over::Handed;
use super::hand_over::hand_over;
use super::peer::{self, Socket};
pub use super::person::{News, Person};
use super::words::{Asked, Hello, ImportAsked, Said, Told, Which};
use crate::advice::Command;
use crate::error::{Error, Kind, Result};
use crate::own::import::Plan;
use crate::secret::Passphrase;

/// A conversation with the service.
pub struct Caller {
    wire: Wire,
}

impl Caller {
    /// Begins a conversation.
    ///
    /// # Errors
    /// `owner_service_away` (69); `owner_socket_unsafe` (77).
    pub fn begin(socket: &Socket) -> Result<Self> {
        Self::begin_as(socket, peer::own_user())
    }

    /// Begins a conversation for the person with the user id `person`.
    ///
    /// # Errors
    /// The errors of [`Caller::begin`].
    pub fn begin_as(socket: &Socket, person: u32) -> Result<Self> {
        let stream = UnixStream::connect(&socket.path).map_err(|error| {
            let message = format!("The service at {} does not answer", socket.path.display());
            Error::new(Kind::Unavailable, "owner_service_away", message)
                .because(error)
                .hint(format!("To start it: {}", peer::start()))
        })?;
        peer::check_service(socket, &stream, person)?;
        Ok(Self { wire: Wire::new(stream, MOST_TOLD) })
    }

    /// Asks who answers.
    ///
    /// # Errors
    /// `owner_service_gone`; the errors of the service.
    pub fn hello(self) -> Result<Hello> {
        match self.ask(&Asked::Hello, None, &mut Nobody)? {
            Told::Hello(hello) => Ok(hello),
            _ => Err(misunderstood()),
        }
    }

    /// A link to the owner's page that works once.
    ///
    /// # Errors
    /// `owner_page_missing`; the errors of [`Caller::hello`].
    pub fn owner_link(self) -> Result<String> {
        match self.ask(&Asked::Open, None, &mut Nobody)? {
            Told::Link { url } => Ok(url),
            _ => Err(misunderstood()),
        }
    }

    /// Asks for one thing, with an open file if it needs one, and returns the result.
    ///
    /// # Errors
    /// The errors of `person` and of the service; `owner_service_gone`.
    pub fn ask(self, asked: &Asked, file: Option<&File>, person: &mut dyn Person) -> Result<Told> {
        let sent = match file {
            Some(file) => self.wire.send_with(asked, file.as_fd()),
            None => self.wire.send(asked),
        };
        // If the service accepted nothing, it has sent the reason.
        drop(sent);
        self.heard(person)
    }

    /// Hands `paths` over, and has the service import them; with `is_dry`, it only returns what an import
    /// would do. Also returns what was handed over.
    ///
    /// # Errors
    /// `import_path`; the errors of `person` and of the service; `interrupted` (130);
    /// `owner_service_gone`.
    pub fn import(
        &self,
        asked: ImportAsked,
        paths: &[PathBuf],
        stop: &AtomicBool,
        person: &mut dyn Person,
    ) -> Result<(Told, Vec<Handed>)> {
        let is_dry = asked.is_dry;
        let sent = self.wire.send(&Asked::Import(asked));
        let handed = match sent {
            Ok(()) => hand_over(&self.wire, paths, stop, person)?,
            Err(_) => None,
        };
        let mut planned = Planned { person, is_dry, plan: None };
        let heard = self.heard(&mut planned);
        if let Some(plan) = planned.plan.take() {
            return Ok((Told::Plan { plan }, Vec::new()));
        }
        Ok((heard?, handed.unwrap_or_default()))
    }

    /// Makes an import stop after the current batch.
    pub fn stop(&self) {
        self.wire.send_aside(&Said::Stop);
    }

    /// What the service sends, up to the result.
    fn heard(&self, person: &mut dyn Person) -> Result<Told> {
        let say = |said: &Said| self.wire.send(said).map_err(|error| gone(&Broken::Socket(error)));
        loop {
            let received = self.wire.receive(None).map_err(|broken| gone(&broken))?;
            match received.plain::<Told>().map_err(|_| misunderstood())? {
                Told::Passphrase { which, is_wrong } => {
                    let typed = person.passphrase(which, is_wrong)?;
                    self.wire.send_secret(&typed).map_err(|error| gone(&Broken::Socket(error)))?;
                }
                Told::Question { text, choices } => {
                    say(&Said::Answer { text: person.answer(&text, &choices) })?;
                }
                Told::Plan { plan } => {
                    person.plan(&plan)?;
                    say(&Said::Go { is_agreed: true })?;
                }
                Told::Account { name } => {
                    person.account(&name)?;
                    say(&Said::Go { is_agreed: true })?;
                }
                Told::Progress(progress) => person.hear(News::Progress(progress)),
                Told::Bad(item) => person.hear(News::Bad(&item)),
                Told::Unread(member) => person.hear(News::Unread(&member)),
                Told::Does { what } => person.hear(News::Does(&what)),
                Told::Failed(failure) => return Err(failure.into()),
                told => return Ok(told),
            }
        }
    }
}

/// A person who is shown a plan; the plan is kept, in case it is all that was asked for.
struct Planned<'a> {
    person: &'a mut dyn Person,
    is_dry: bool,
    plan: Option<Plan>,
}

impl Person for Planned<'_> {
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase> {
        self.person.passphrase(which, is_wrong)
    }

    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        self.person.answer(question, choices)
    }

    fn plan(&mut self, plan: &Plan) -> Result<()> {
        if self.is_dry {
            self.plan = Some(plan.clone());
            return Err(misunderstood());
        }
        self.person.plan(plan)
    }

    fn hear(&mut self, news: News<'_>) {
        self.person.hear(news);
    }
}

/// A person who is never asked.
struct Nobody;

impl Person for Nobody {
    fn passphrase(&mut self, _: Which, _: bool) -> Result<Passphrase> {
        Err(misunderstood())
    }
}

pub(super) fn gone(broken: &Broken) -> Error {
    Error::failed(
        "owner_service_gone",
        "The service stopped before it was done; what was imported is kept, and the next import \
         continues from there",
    )
    .because(broken.to_string())
    .run(Command::typed_again("provider"))
}

fn misunderstood() -> Error {
    Error::failed("owner_service", "The service and this pdpp do not understand each other")
        .hint("Update both to the same release")
}
