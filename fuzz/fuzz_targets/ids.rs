//! Record handles: each value that parses has one handle, which reads back as the same record (R3.70 to R3.73).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::mcp::id::{RecordId, check_segment};

fn reads_back(id: &RecordId) {
    let Some(handle) = id.handle() else { return };
    let back = RecordId::parse(&handle).expect("our own handle parses");
    if id.is_self_contained() {
        assert_eq!(&back, id, "{handle:?}");
        assert_eq!(back.handle().as_deref(), Some(handle.as_str()), "one form");
    } else {
        assert_eq!((&back.stream, &back.record), (&id.stream, &id.record), "{handle:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(id) = RecordId::parse(text) {
        assert!(!id.stream.is_empty() && !matches!(id.record.as_str(), "" | "." | ".."));
        for part in id.connection.iter().chain([&id.stream]) {
            assert!(!part.contains(['/', '\\']) && !part.contains(".."), "{part:?}");
        }
        reads_back(&id);
    }
    let mut parts = text.splitn(3, '\n');
    if let (Some(connection), Some(stream), Some(record)) = (parts.next(), parts.next(), parts.next())
        && let Ok(id) = RecordId::from_parts(connection, stream, record)
    {
        assert_eq!((id.stream.as_str(), id.record.as_str()), (stream, record), "nothing is decoded");
        reads_back(&id);
    }
    if check_segment("stream", text).is_ok() {
        assert!(!text.is_empty() && text != "." && text != "..");
    }
});
