//! `pdpp sandbox`, as the real program.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::env::TestEnv;

/// The sandbox, which approves automatically; gone when dropped.
pub struct Sandbox {
    child: Child,
    pub url: String,
}

impl Sandbox {
    pub fn start(env: &TestEnv) -> Self {
        let mut child = env
            .pdpp(&["sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { child, url: ready["url"].as_str().unwrap().to_owned() }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
