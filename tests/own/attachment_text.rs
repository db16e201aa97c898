//! An invoice that arrived as a PDF: imported, granted, found by a word in it.

use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use super::granted::{call, grant};
use crate::support::env::TestEnv;

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A page with one line, in glyphs that only the font's map knows, with compressed streams.
fn pdf(line: &str) -> Vec<u8> {
    let (mut map, mut codes) = (String::new(), String::new());
    for (glyph, c) in (7..).zip(line.chars()) {
        writeln!(map, "1 beginbfchar <{glyph:04X}> <{:04X}> endbfchar", u32::from(c)).unwrap();
        write!(codes, "{glyph:04X}").unwrap();
    }
    let mut bytes = b"%PDF-1.7\n".to_vec();
    for (number, object) in [
        (1, "<</Type/Catalog/Pages 2 0 R>>"),
        (2, "<</Type/Pages/Kids[3 0 R]/Count 1>>"),
        (3, "<</Type/Page/Parent 2 0 R/Contents 5 0 R/Resources<</Font<</F 4 0 R>>>>>>"),
        (
            4,
            "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType2>>]/ToUnicode 6 0 R>>",
        ),
    ] {
        bytes.extend_from_slice(format!("{number} 0 obj\n{object}\nendobj\n").as_bytes());
    }
    for (number, text) in [
        (5, format!("BT /F 11 Tf 72 720 Td <{codes}> Tj ET")),
        (6, format!("begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n{map}endcmap")),
    ] {
        let text = packed(&text);
        let head = format!("{number} 0 obj\n<</Filter/FlateDecode/Length {}>>\nstream\n", text.len());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(&text);
        bytes.extend_from_slice(b"\nendstream\nendobj\n");
    }
    bytes.extend_from_slice(b"trailer\n<</Root 1 0 R>>\n%%EOF\n");
    bytes
}

#[test]
fn o5_7_an_invoice_that_came_as_a_pdf_is_found_by_a_word_in_it() {
    let env = TestEnv::new();
    let mail = |subject: &str, text: &str, bytes: &[u8]| {
        format!(
            "From eva@example.org Tue Jan  2 03:04:05 2024\nFrom: Eva Moe <eva@example.org>\nTo: ana@example.org\n\
             Delivered-To: ana@example.org\nSubject: {subject}\nDate: Tue, 2 Jan 2024 09:59:00 +0000\n\
             Content-Type: multipart/mixed; boundary=b\n\n--b\n\n{text}\n--b\nContent-Type: application/pdf\n\
             Content-Disposition: attachment; filename=\"scan-0017.pdf\"\nContent-Transfer-Encoding: base64\n\n{}\n--b--\n\n",
            base64::engine::general_purpose::STANDARD.encode(bytes)
        )
    };
    let invoice = pdf("Rechnung für den Zählerstand");
    let file = env.home().join("mail.mbox");
    let mails = mail("power", "see below", &invoice)
        + &mail("Sign in", "Your verification code is 482913.", &pdf("Geheimzeichen"));
    std::fs::write(&file, mails).unwrap();
    let ran = env.run(&["import", "--yes", "--json", &file.display().to_string()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    grant(&env, &["--stream", "attachments", "--stream", "messages"]);
    // A word of the document alone, and together with one of the subject and the sender.
    for q in ["zahlerstand", "ZÄHLERSTAND power moe"] {
        let found = call(&env, "search", &json!({ "q": q }), &[]);
        let hits = found["structuredContent"]["results"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{q}: {found}");
        assert!(found.to_string().contains("<mark>Zählerstand</mark>"), "{q}: {found}");
        let whole = call(&env, "fetch", &json!({ "id": hits[0]["id"] }), &[]).to_string();
        for beside in ["Rechnung für den Zählerstand", "power", "Eva Moe", "eva@example.org", "scan-0017.pdf"]
        {
            assert!(whole.contains(beside), "{beside}: {whole}");
        }
    }
    let hidden = call(&env, "search", &json!({"q": "geheimzeichen"}), &[]);
    assert_eq!(
        hidden["structuredContent"]["results"],
        json!([]),
        "of a mail that is a key nothing stands here"
    );
}
