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

/// Types Ctrl-C on the console of the process `pid`, which shares it with nobody.
pub fn ctrl_c(pid: u32) {
    let said = Command::new(helper("console.exe")).arg(pid.to_string()).output().unwrap();
    assert!(said.status.success(), "{said:?}");
}

/// The same, of a process that may be over by then.
pub fn ctrl_c_if_there(pid: u32) {
    let _ = Command::new(helper("console.exe")).arg(pid.to_string()).output().unwrap();
}
