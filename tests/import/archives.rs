//! Archives are streamed, whatever they contain.

use std::io::{Cursor, Write as _};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{Desk, counts, json, table};

pub(super) fn zip(members: &[(&str, &[u8])], how: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(how)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // Not with the library, which refuses such a name.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn o4_14_names_in_archives_lead_nowhere_and_nothing_is_unpacked() {
    let text = table(200);
    let slips =
        [("../../up.csv", text.as_bytes()), ("/etc/abs.csv", text.as_bytes()), ("a\\..\\b.csv", b"x")];
    let archives = [
        ("s.zip", zip(&slips, CompressionMethod::Stored)),
        ("d.zip", zip(&slips, CompressionMethod::Deflated)),
        ("t.tar", tar(&slips)),
        ("t.tgz", gzip(&tar(&slips))),
    ];
    for (name, bytes) in archives {
        let desk = Desk::new();
        let path = desk.file(name, bytes);
        let ran = desk.run(&path, &["--yes", "--json", "--account", "a"]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        let read: u64 = json(&ran)["sources"].as_array().unwrap().iter().map(|one| counts(one)[0]).sum();
        assert_eq!(read, 400, "{name}: {}", ran.stdout);
        let files = |dir: &std::path::Path| std::fs::read_dir(dir).unwrap().count();
        assert_eq!(files(desk.exports.path()), 1, "{name}");
        assert!(desk.env.files().iter().all(|file| file.contains("/own/")), "{:?}", desk.env.files());
        // O8.2: no part of an unchanged archive is read.
        let ran = desk.run(&path, &["--yes", "--json", "--account", "a"]);
        let same: u64 = json(&ran)["sources"].as_array().unwrap().iter().map(|one| counts(one)[3]).sum();
        assert_eq!(same, 400, "{name}");
    }
}

#[test]
fn o4_14_encrypted_members_are_named_and_the_rest_is_read() {
    let desk = Desk::new();
    let mut bytes = zip(
        &[("open.csv", table(5).as_bytes()), ("shut.csv", table(7).as_bytes())],
        CompressionMethod::Stored,
    );
    // The encryption flag, in the second member's local and central header.
    for (magic, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(magic)).collect();
        bytes[at[1] + flags] |= 1;
    }
    let path = desk.file("a.zip", bytes);
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("left out (encrypted): shut.csv"), "{}", ran.stderr);
    assert!(ran.stdout.contains("5 read = 5 new"), "{}", ran.stdout);
}

#[test]
fn o4_14_a_truncated_archive_is_told_of() {
    let whole = zip(&[("a.csv", table(500).as_bytes())], CompressionMethod::Deflated);
    let tgz = gzip(&tar(&[("a.csv", table(5000).as_bytes())]));
    for (name, bytes) in [("a.zip", &whole[..whole.len() / 2]), ("a.tgz", &tgz[..tgz.len() / 2])] {
        let desk = Desk::new();
        let path = desk.file(name, bytes);
        let ran = desk.run(&path, &["--yes"]);
        assert_eq!(
            (ran.code, ran.stderr.contains("code: import_path")),
            (Some(1), true),
            "{name}: {}",
            ran.stderr
        );
        // In a folder, the other files are imported.
        desk.file("b.csv", table(5));
        let ran = desk.run(desk.exports.path(), &["--yes", "--account", "a"]);
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot be read") && ran.stderr.contains(name), "{name}: {}", ran.stderr);
        assert!(ran.stdout.contains("5 read = 5 new"), "{name}: {}", ran.stdout);
    }
}

#[test]
fn o2_5_a_damaged_member_is_told_of_and_the_rest_is_read() {
    let desk = Desk::new();
    let (good, broken) = (table(5), table(500));
    let mut bytes =
        zip(&[("good.csv", good.as_bytes()), ("broken.csv", broken.as_bytes())], CompressionMethod::Deflated);
    // The checksum of the second member, in the central directory.
    let at: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"PK\x01\x02")).collect();
    bytes[at[1] + 16] ^= 1;
    let path = desk.file("a.zip", bytes);
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cannot be read (it is damaged: its checksum does not match): broken.csv"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("5 read = 5 new"), "{}", ran.stdout);
}

#[test]
fn o8_2_an_archive_in_a_folder_is_not_read_again() {
    let desk = Desk::new();
    desk.file("box/a.zip", zip(&[("a.csv", table(5).as_bytes())], CompressionMethod::Deflated));
    let items = || {
        let store = pdpp::own::open_store(&desk.own()).unwrap();
        let ended = |db: &rusqlite::Connection, _: &_| {
            db.query_row("SELECT count(*) FROM checkpoint WHERE has_ended = 1 AND size > 0", [], |row| {
                row.get(0)
            })
        };
        store.read::<i64, rusqlite::Error>(ended).unwrap()
    };
    assert_eq!(desk.import(&desk.path("box")), [5, 5, 0, 0]);
    assert_eq!(items(), 1);
    assert_eq!(desk.import(&desk.path("box")), [5, 0, 0, 5]);
}

#[test]
fn o4_14_archives_nest_to_two_and_links_are_left_out() {
    let desk = Desk::new();
    let inner = zip(&[("deep.csv", table(3).as_bytes())], CompressionMethod::Deflated);
    let third = zip(&[("inner.zip", &inner)], CompressionMethod::Deflated);
    let outer = zip(&[("inner.zip", &inner), ("third.zip", &third)], CompressionMethod::Deflated);
    desk.file("box/outer.zip", outer);
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", desk.path("box/link.csv")).unwrap();
    let ran = desk.run(&desk.path("box"), &["--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("3 read = 3 new"), "{}", ran.stdout);
    #[cfg(unix)]
    assert!(ran.stderr.contains("left out (a link): link.csv"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nested too deeply in others): outer.zip/third.zip/inner.zip"),
        "{}",
        ran.stderr
    );
}
