//! Promise: what is about Windows alone holds there. `.ci/run windows` runs it under Wine, which copies Windows as far as it does.

mod files;
mod hosts;
mod program;

use std::path::PathBuf;
use std::process::Command;

/// A program that `.ci/run windows` has made for these tests.
fn helper(name: &str) -> PathBuf {
    let dir =
        std::env::var_os("PDPP_TEST_HELPERS").expect("PDPP_TEST_HELPERS names the folder of the helpers");
    PathBuf::from(dir).join(name)
}

/// Says `what` on the console of the process `pid`: `c` (Ctrl-C), `break` (Ctrl-Break), or `close` (the end of its console).
pub fn console(what: &str, pid: u32) {
    let said = Command::new(helper("console.exe")).args([what, &pid.to_string()]).output().unwrap();
    assert!(said.status.success(), "{what}: {said:?}");
}
