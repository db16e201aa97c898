//! The cache's files: the index with the streams of each grant, a secret's file, and the lines of the access log. Each is read or
//! refused, and what was read is written back unchanged (R1.2).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::access_log::Entry;
use pdpp::cache::credential::{Given, Secrets};
use pdpp::cache::index::Index;
use secrecy::{ExposeSecret, SecretString};

fuzz_target!(|data: &[u8]| {
    if let Ok(index) = Index::parse(data) {
        let written = index.to_bytes().expect("what was read can be written");
        assert_eq!(Index::parse(&written).expect("our own index"), index);
        for credential in &index.credentials {
            // The streams are parsed only when a renewal needs them, not with the index.
            if let Ok(streams) = credential.given.streams() {
                let written = Given::from(streams.clone());
                assert_eq!(written.streams().expect("our own streams"), streams);
            }
        }
        return;
    }
    if let Some(secrets) = text(data).as_ref().and_then(Secrets::from_text) {
        let written = secrets.to_text();
        let again = Secrets::from_text(&written).expect("our own secret");
        assert_eq!(again.to_text().expose_secret(), written.expose_secret());
        assert_eq!(again.access_token.expose_bearer(), secrets.access_token.expose_bearer());
        let refresh = |secrets: &Secrets| secrets.refresh_token.as_ref().map(|token| token.expose_secret().to_owned());
        assert_eq!(refresh(&again), refresh(&secrets));
        return;
    }
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
            let written = serde_json::to_vec(&entry).expect("what was read can be written");
            assert!(!written.contains(&b'\n'));
            assert_eq!(serde_json::from_slice::<Entry>(&written).expect("our own line"), entry);
        }
    }
});

fn text(data: &[u8]) -> Option<SecretString> {
    std::str::from_utf8(data).ok().map(SecretString::from)
}
