//! The steps so far, and how to undo them.

use crate::error::Error;

/// Undoes a step; the error is the reason why that failed.
type Back<'a> = Box<dyn FnOnce() -> Result<(), String> + 'a>;

/// The steps so far, the last one last.
#[derive(Default)]
pub struct Undo<'a>(Vec<(String, Back<'a>)>);

impl<'a> Undo<'a> {
    /// Adds a step: `what` now exists, until `back` removes it.
    pub fn push<E: ToString>(&mut self, what: impl Into<String>, back: impl FnOnce() -> Result<(), E> + 'a) {
        self.0.push((what.into(), Box::new(move || back().map_err(|error| error.to_string()))));
    }

    /// Undoes all steps, the last one first, and adds to `error` what is left.
    pub fn roll_back(self, error: &Error) -> Error {
        let mut left = Vec::new();
        for (what, back) in self.0.into_iter().rev() {
            if let Err(why) = back() {
                left.push(format!("{what} ({why})"));
            }
        }
        let end = match left.as_slice() {
            [] => "Everything is as it was before".to_owned(),
            left => format!("This could not be undone: {}", left.join("; ")),
        };
        let told = Error::new(
            error.kind(),
            error.code(),
            format!("{}. {end}", error.in_full().trim_end_matches('.')),
        );
        match error.next() {
            Some(next) => told.hint(next.clone()),
            None => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn steps_go_back_in_turn_and_what_stays_is_said() {
        let taken = RefCell::new(Vec::new());
        let failed = || Error::new(Kind::Refused, "code", "It failed").because("the disk is full").hint("df");
        let mut undo = Undo::default();
        for step in ["user", "folder", "unit"] {
            let taken = &taken;
            undo.push(step, move || {
                taken.borrow_mut().push(step);
                Ok::<_, String>(())
            });
        }
        let told = undo.roll_back(&failed());
        assert_eq!(*taken.borrow(), ["unit", "folder", "user"]);
        assert_eq!(told.message(), "It failed: the disk is full. Everything is as it was before");
        assert_eq!(
            (told.kind(), told.code(), told.next_step().as_deref()),
            (Kind::Refused, "code", Some("df"))
        );

        let mut undo = Undo::default();
        undo.push("the user pdpp-ana", || Err("it is busy".to_owned()));
        undo.push("the unit", || Ok::<_, String>(()));
        let told = undo.roll_back(&failed());
        assert!(
            told.message().ends_with(". This could not be undone: the user pdpp-ana (it is busy)"),
            "{told}"
        );
    }
}
