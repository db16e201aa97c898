//! Promise: what is specific to Windows works there. `.ci/run windows` runs it under Wine, as far as Wine copies
//! Windows.

mod files;
mod hosts;
mod program;

use std::path::PathBuf;
use std::process::Command;

/// A program that `.ci/run windows` has built for these tests.
fn helper(name: &str) -> PathBuf {
    let dir =
        std::env::var_os("PDPP_TEST_HELPERS").expect("PDPP_TEST_HELPERS names the folder of the helpers");
    PathBuf::from(dir).join(name)
}

/// Types Ctrl-C on the console of the process `pid`, which shares it with no other process.
pub fn ctrl_c(pid: u32) {
    let said = Command::new(helper("console.exe")).arg(pid.to_string()).output().unwrap();
    assert!(said.status.success(), "{said:?}");
}

/// The same, for a process that may have ended by then.
pub fn ctrl_c_if_there(pid: u32) {
    let _ = Command::new(helper("console.exe")).arg(pid.to_string()).output().unwrap();
}
