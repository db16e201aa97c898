//! The cache's files: read or refused; what is read is written back as the same (R1.2). The index, and the lines of
//! the access log.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::access_log::Entry;
use pdpp::cache::index::Index;

fuzz_target!(|data: &[u8]| {
    if let Ok(index) = Index::parse(data) {
        let written = index.to_bytes().expect("what was read can be written");
        assert_eq!(Index::parse(&written).expect("our own index"), index);
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
