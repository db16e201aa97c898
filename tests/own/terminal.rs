//! A person at a terminal: waits for output, and answers with keys.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::LocalModes;

use crate::support::env::{Ran, TestEnv};

/// The longest wait for output of a terminal.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Terminal {
    keys: File,
    said: Arc<(Mutex<String>, Condvar)>,
    read: usize,
    running: Child,
}

impl Terminal {
    /// Runs `pdpp` with these arguments at a separate terminal.
    pub fn run(env: &TestEnv, arguments: &[&str]) -> Self {
        Self::run_into(env, arguments, Stdio::piped())
    }

    /// The same, with its standard output.
    pub fn run_into(env: &TestEnv, arguments: &[&str], stdout: Stdio) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = env.pdpp(arguments);
        command.env("TERM", "xterm").stdin(open()).stderr(open()).stdout(stdout);
        let running = command.spawn().unwrap();
        drop(command);
        let ours = File::from(ours);
        let mut screen = ours.try_clone().unwrap();
        let said = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // Ends with an error once nobody has the other end open.
            while let Ok(read @ 1..) = screen.read(&mut part) {
                heard.0.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..read]));
                heard.1.notify_all();
            }
        });
        Self { keys: ours, said, read: 0, running }
    }

    /// Waits for `text` after what was waited for before, then types `keys`.
    pub fn answer(&mut self, text: &str, keys: &str) {
        let (lock, heard) = &*self.said;
        let from = self.read;
        let (said, waited) = heard
            .wait_timeout_while(lock.lock().unwrap(), PATIENCE, |said| !said[from..].contains(text))
            .unwrap();
        assert!(!waited.timed_out(), "no {text:?} in {:?}", &said[from..]);
        self.read = from + said[from..].find(text).unwrap() + text.len();
        drop(said);
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Like [`Terminal::answer`], once the terminal does not show what is typed.
    pub fn answer_unseen(&mut self, text: &str, keys: &str) {
        self.answer(text, "");
        let begun = std::time::Instant::now();
        while rustix::termios::tcgetattr(&self.keys).unwrap().local_modes.contains(LocalModes::ECHO) {
            assert!(begun.elapsed() < PATIENCE, "what is typed is shown");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for `text` and the end of its line; returns the rest of that line.
    pub fn line_with(&mut self, text: &str) -> String {
        self.answer(text, "");
        let from = self.read;
        self.answer("\n", "");
        self.said.0.lock().unwrap()[from..self.read].trim().to_owned()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.running.id()
    }

    /// The output until now.
    pub fn so_far(&self) -> String {
        self.said.0.lock().unwrap().clone()
    }

    /// Presses Ctrl-C like a terminal that controls it.
    pub fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.running);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    /// The output, and how it ended.
    pub fn end(self) -> Ran {
        let output = self.running.wait_with_output().unwrap();
        let stderr = self.said.0.lock().unwrap().clone();
        Ran { code: output.status.code(), stdout: String::from_utf8(output.stdout).unwrap(), stderr }
    }
}
