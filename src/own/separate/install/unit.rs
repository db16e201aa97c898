//! The unit of a person's service.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::own::separate::place;

/// The values that a unit is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The person's name.
    pub person: String,
    /// Their user id.
    pub uid: u32,
    /// Where it listens.
    pub listen: SocketAddr,
}

impl Unit {
    /// The arguments of the service's command.
    pub fn command(&self) -> Vec<String> {
        let words = [
            place::PROGRAM,
            "provider",
            "serve",
            "--data-dir",
            &place::data_dir(self.uid).display().to_string(),
            "--listen",
            &self.listen.to_string(),
            "--owner-socket",
            &place::socket_path(self.uid).display().to_string(),
            "--owner-uid",
            &self.uid.to_string(),
        ];
        words.map(str::to_owned).to_vec()
    }

    /// The text of the file.
    ///
    /// Without `PrivateUsers=`, which would hide from the service who is at its socket. Without
    /// `ProcSubset=pid`, because the processors and the memory of the computer are read from `/proc`.
    pub fn to_text(&self) -> String {
        let user = place::system_user(&self.person);
        let mut text = String::from(
            "# Made by `pdpp provider install`, which rewrites it each time. Put your own changes into \
             a drop-in:\n",
        );
        let _ = writeln!(text, "# systemctl edit {}", place::unit_name(&self.person));
        let _ = write!(
            text,
            "
[Unit]
Description=Own data of user {uid}, behind grants (pdpp)
Documentation=man:pdpp-provider-serve(1)

[Service]
Type=exec
ExecStart={command}
User={user}
Group={user}
StateDirectory=pdpp/{uid}
StateDirectoryMode=0700
RuntimeDirectory=pdpp/{uid}
# Its owner must be able to reach the socket in it.
RuntimeDirectoryMode=0755
WorkingDirectory=/
Restart=on-failure
RestartSec=5
# A wrong command line, a refusal and a missing store do not fix themselves.
RestartPreventExitStatus=2 77 78
# An import finishes its batch.
TimeoutStopSec=30
{HARDENING}
# Loopback only, and only this port.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
IPAddressDeny=any
IPAddressAllow=localhost
SocketBindDeny=any
SocketBindAllow=tcp:{port}

[Install]
WantedBy=multi-user.target
",
            uid = self.uid,
            command = self.command().join(" "),
            port = self.listen.port(),
        );
        text
    }
}

/// Restricts the service to what it needs.
const HARDENING: &str = "
UMask=0077
LimitCORE=0
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
";

/// The address in the command of a unit of this set-up.
pub fn listen_of(text: &str) -> Option<SocketAddr> {
    option_of(text, "--listen")?.parse().ok()
}

/// The person in the command of a unit of this set-up.
pub fn owner_of(text: &str) -> Option<u32> {
    option_of(text, "--owner-uid")?.parse().ok()
}

fn option_of<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    let command = text.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let mut words = command.split_whitespace();
    words.find(|word| *word == option)?;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> Unit {
        Unit { person: "ana".to_owned(), uid: 1000, listen: SocketAddr::from(([127, 0, 0, 1], 7378)) }
    }

    #[test]
    fn o9_1_the_unit_is_hardened_and_runs_the_service_as_its_own_user() {
        insta::assert_snapshot!(unit().to_text());
    }

    #[test]
    fn a_unit_says_whose_it_is_and_where_it_listens() {
        let text = unit().to_text();
        assert_eq!((owner_of(&text), listen_of(&text)), (Some(1000), Some(unit().listen)));
        for other in [
            "",
            "ExecStart=/bin/true",
            "# --listen 127.0.0.1:1\nExecStart=x --listen",
            "ExecStart=x --owner-uid y",
        ] {
            assert_eq!((owner_of(other), listen_of(other)), (None, None), "{other}");
        }
        let six = Unit { listen: "[::1]:7379".parse().unwrap(), ..unit() };
        assert_eq!(listen_of(&six.to_text()), Some(six.listen));
    }

    #[test]
    fn nothing_in_the_unit_is_a_specifier_or_a_variable() {
        // Only simple parts of a user's name get in.
        let text = Unit { person: "a%n$a\nExecStartPre=/bin/sh".to_owned(), ..unit() }.to_text();
        assert!(!text.contains(['%', '$']), "{text}");
        assert_eq!(text.matches("\nExecStart").count(), 1);
    }
}
