//! The commands with which docs/endpoint.md tries the endpoint, one by one, unchanged.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use clap::Parser as _;
use serde_json::Value;

use crate::support::env::TestEnv;

/// A command in the background. It ends with the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The commands of the guide's first block, each complete.
fn commands() -> Vec<String> {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/endpoint.md")).unwrap();
    let block = guide.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    block.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

/// The command lines in packaging/ are valid for this program, and an existing profile builds it.
#[test]
fn the_examples_start_this_program_as_it_is() {
    let read = |path: &str| {
        std::fs::read_to_string(format!("{}/packaging/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let parse = |words: &[String]| {
        let parsed = pdpp::cmd::Cli::try_parse_from(words);
        assert!(parsed.is_ok(), "{words:?}: {}", parsed.err().unwrap());
    };
    let unit = read("systemd/pdpp-host.service").replace("\\\n", " ");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let start = start
        .replace("${PROVIDER_URL}", "https://p.example")
        .replace("${PUBLIC_URL}", "https://p.example/mcp");
    parse(&start.split_whitespace().map(str::to_owned).collect::<Vec<_>>());

    let docker = read("docker/Dockerfile").replace("\\\n", " ");
    let entry = docker.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
    let entry: Vec<String> = serde_json::from_str(entry).unwrap();
    parse(&[&entry[..], &["--provider-url".to_owned(), "https://p.example".to_owned()]].concat());
    assert!(docker.contains("RUN cargo build --locked --release\n"));
    assert!(docker.contains("/src/target/release/pdpp /usr/bin/pdpp\n"));

    let kubernetes = read("kubernetes/pdpp-host.yaml");
    let given = kubernetes.lines().filter_map(|line| line.trim().strip_prefix("- --"));
    let given = given.map(|argument| format!("--{argument}")).collect::<Vec<_>>();
    assert!(given.len() > 2, "{given:?}");
    parse(&[entry, given].concat());
}

#[test]
fn the_guides_five_commands_lead_from_nothing_to_an_answer() {
    let env = TestEnv::new();
    // Both are held until both are known, so that they are two.
    let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = held.each_ref().map(|listener| listener.local_addr().unwrap().port());
    drop(held);
    let shell = |script: &str| {
        let pdpp = env.pdpp(&[]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env_clear().current_dir(pdpp.get_current_dir().unwrap());
        for (name, value) in pdpp.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let own = std::path::Path::new(env!("CARGO_BIN_EXE_pdpp")).parent().unwrap();
        command.env("PATH", format!("{}:/usr/bin:/bin", own.display()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    assert!(shell("command -v curl").status().unwrap().success(), "the guide's commands need curl");
    let commands = commands();
    assert_eq!(commands.len(), 5, "{commands:?}");
    let (mut running, mut kept, mut rest) = (Vec::new(), Vec::new(), String::new());
    for command in commands {
        let command = command.replace("7377", &ports[0].to_string()).replace("8484", &ports[1].to_string());
        let Some(command) = command.strip_suffix(" &") else {
            rest.push_str(&command);
            rest.push('\n');
            continue;
        };
        let mut child = shell(&format!("exec {command}")).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let child = Background(child);
        // A sandbox listens before its directory is filled: both report when they are ready.
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it was ready");
        }
        kept.push(stderr);
        running.push(child);
    }
    assert_eq!(running.len(), 2);
    let ran = shell(&rest).output().unwrap();
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let result = &answer["result"];
    assert!(result["isError"] != true, "{answer}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("1 hit for \"invoice\""), "{answer}");
}
