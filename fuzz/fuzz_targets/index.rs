//! The cache's index: read or refused; what is read is written back as the same (R1.2).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::cache::index::Index;

fuzz_target!(|data: &[u8]| {
    if let Ok(index) = Index::parse(data) {
        let written = index.to_bytes().expect("what was read can be written");
        assert_eq!(Index::parse(&written).expect("our own index"), index);
    }
});
