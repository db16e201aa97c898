//! What is read from attachments, and what hostile ones must not do.

use proptest::prelude::*;

use super::samples::{Pdf, archive, packed, page, pdf};
use super::*;

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

fn document(bytes: &[u8]) -> Found {
    read(Kind::Document, None, bytes, &mut Budget::default())
}

/// The text of a document that is read to the end.
fn text(bytes: &[u8]) -> String {
    let found = document(bytes);
    assert_eq!(found.status, "read", "{found:?}");
    found.text.unwrap()
}

#[test]
fn o5_7_what_is_read_is_known_by_type_and_content() {
    for (media_type, name, head, kind) in [
        ("text/plain", None, "x", Some(Kind::Plain)),
        ("text/csv", None, "x", Some(Kind::Plain)),
        ("text/html", None, "x", Some(Kind::Html)),
        ("text/calendar", None, "x", Some(Kind::Calendar)),
        ("application/pdf", None, "x", Some(Kind::Document)),
        ("application/octet-stream", None, "%PDF-1.4", Some(Kind::Document)),
        ("application/octet-stream", Some("a.jpg"), "PK\u{3}\u{4}", Some(Kind::Document)),
        ("application/octet-stream", Some("a.TXT"), "x", Some(Kind::Plain)),
        ("application/octet-stream", Some("a.txt"), "x\0", None),
        ("application/octet-stream", Some("a.bin"), "x", None),
        ("application/octet-stream", None, "x", None),
        ("image/png", Some("a.txt"), "x", None),
        ("message/rfc822", None, "x", None),
        ("text/vcard", None, "x", None),
    ] {
        assert_eq!(is(media_type, name, head.as_bytes()), kind, "{media_type} {name:?} {head}");
        assert!(kind.is_none() || may_be(media_type).is_some());
    }
}

#[test]
fn o5_7_text_html_and_calendars_are_read() {
    let of = |kind, charset, bytes: &[u8]| read(kind, charset, bytes, &mut Budget::default());
    assert_eq!(of(Kind::Plain, None, b"gr\xfc\xdfe\r\nb\0").text.as_deref(), Some("grüße\nb"));
    assert_eq!(of(Kind::Plain, Some("utf-8"), b" \n"), Found::none("empty"));
    assert_eq!(
        of(Kind::Html, None, b"<p hidden>x</p><p>Seen &amp; read").text.as_deref(),
        Some("Seen & read")
    );
    let calendar = "BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nDTSTART:16010101T000000\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n\
        SUMMARY;LANGUAGE=en:Boat trip\\, with lu\r\n nch\r\nDESCRIPTION:Bring\\nwarm clothes\r\nLOCATION:Pier 4\r\n\
        DTSTART;TZID=\"Europe/Oslo\":20260704T090000\r\nORGANIZER;CN=\"Moe, Eva\":MAILTO:eva@example.org\r\n\
        UID:secret-id\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    assert_eq!(
        of(Kind::Calendar, None, calendar.as_bytes()).text.as_deref(),
        Some("Boat trip, with lunch\nBring\nwarm clothes\nPier 4\n20260704T090000\nMoe, Eva eva@example.org")
    );
    assert_eq!(of(Kind::Calendar, None, b"x"), Found::none("failed"));
}

#[test]
fn o5_7_a_pdf_is_read_whatever_its_glyphs_are_called() {
    assert_eq!(
        text(&pdf(&["Invoice 2026-07", "Grüße – 東京 😀", "Total 12,50 €"])),
        "Invoice 2026-07\nGrüße – 東京 😀\nTotal 12,50 €"
    );
    let simple = |content: &[u8]| text(&page(HELVETICA, content));
    assert_eq!(simple(b"BT /F1 12 Tf 1 0 0 1 72 700 Tm (caf\\351) Tj 0 -14 Td (two) Tj ET"), "café\ntwo");
    assert_eq!(simple(b"BT /F1 12 Tf [(Wo)20(rd)-400(next)]TJ ET"), "Word next");
    assert_eq!(simple(b"BT /F1 12 Tf (a) ' (b) ' 14 TL (c) ' 0 0 (d) \" ET"), "ab\nc\nd");
    assert_eq!(simple(b"BI /W 1 /H 1 ID \x00(x) Tj EI BT /F1 1 Tf (y) Tj ET"), "y");
    let differences = "<</Subtype/Type1/Encoding<</Differences[1/W/eacute/f_i/uni0041/g77 65/zcaron]>>>>";
    assert_eq!(text(&page(differences, b"BT /F1 9 Tf (\\001\\002\\003\\004\\005A) Tj ET")), "WéfiAž");
    let widths = "<</Subtype/TrueType/Encoding/WinAnsiEncoding/FirstChar 65/Widths[600 600 600]>>";
    // Each glyph has its own position: glyphs close to each other make a word.
    let placed = b"BT /F1 10 Tf 1 0 0 1 0 0 Tm (A) Tj 1 0 0 1 6 0 Tm (B) Tj 1 0 0 1 16 0 Tm (C) Tj 1 0 0 1 0 -12 Tm (A) Tj ET";
    assert_eq!(text(&page(widths, placed)), "AB C\nA");
    let japanese = "<</Subtype/Type0/Encoding/90ms-RKSJ-H/DescendantFonts[<</DW 1000>>]>>";
    assert_eq!(text(&page(japanese, b"BT /F1 9 Tf <93FA967B8CEA> Tj ET")), "日本語");
}

/// A form that draws another, a page with filled-in fields, and objects in a stream of objects.
fn nested() -> Vec<u8> {
    let objects = "7 0 8 32 <</Type/Pages/Kids[3 0 R]>>     <</Subtype/Type1/BaseFont/Helvetica>>";
    Pdf::new()
        .stream(9, &format!("/Type/ObjStm/N 2/First {}/Filter/FlateDecode", 9), &packed(objects.as_bytes()))
        .object(1, "<</Type/Catalog/Pages 7 0 R>>")
        .object(3, "<</Type/Page/Parent 7 0 R/Contents[4 0 R 10 0 R]/Annots[<</AP<</N 6 0 R>>>>]/Resources<</Font 11 0 R/XObject<</X 5 0 R>>>>>>")
        .stream(4, "", b"BT /F1 10 Tf 0 100 Td (on the page) Tj ET /X D")
        .stream(10, "", b"o q /X Do Q")
        .stream(5, "/Subtype/Form/Matrix[1 0 0 1 0 -50]/Resources<</Font 11 0 R/XObject<</X 5 0 R>>>>", b"BT /F1 10 Tf (in a form) Tj ET /X Do")
        .stream(6, "/Subtype/Form/Resources<</Font 11 0 R>>", b"BT /F1 10 Tf (filled in) Tj ET")
        .object(11, "<</F1 8 0 R>>")
        .end("")
}

#[test]
fn o5_7_forms_notes_and_packed_objects_are_read() {
    let text = text(&nested());
    assert!(text.starts_with("on the page\nin a form\n"), "{text}");
    assert!(text.ends_with("filled in"), "{text}");
    assert_eq!(text.matches("in a form").count(), 8, "a form that draws itself ends");
}

#[test]
fn o5_7_a_pdf_whose_end_is_lost_is_read_and_an_encrypted_one_is_not() {
    let whole = pdf(&["one", "two"]);
    let trailer = memchr::memmem::find(&whole, b"xref").unwrap();
    assert_eq!(text(&whole[..trailer]), "one\ntwo");
    assert_eq!(document(&page(HELVETICA, b"")), Found::none("empty"));
    // If a file is cut, or has lost what its page draws, the result must not be that there was no text.
    let content = memchr::memmem::find(&whole, b"stream").unwrap();
    for at in [content, content + 8, whole.len() / 4] {
        assert_eq!(document(&whole[..at]), Found::none("failed"), "{at}");
    }
    let lost = Pdf::new()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[3 0 R]>>")
        .object(3, "<</Type/Page/Contents 4 0 R>>")
        .end("");
    assert_eq!(document(&lost), Found::none("failed"));
    let locked = Pdf::new().object(1, "<</Type/Catalog>>").end("/Encrypt 2 0 R");
    assert_eq!(document(&locked), Found::none("encrypted"));
    let said = page(HELVETICA, b"BT /F1 9 Tf (a /Encrypt word) Tj ET");
    assert_eq!(text(&said), "a /Encrypt word");
    assert_eq!(document(b"%PDF-1.4\nnothing"), Found::none("failed"));
    // A later version of an object counts.
    let mut changed = pdf(&["old"]);
    changed.extend_from_slice(b"4 0 obj\n<</Length 3>>stream\n   \nendstream endobj\n");
    assert_eq!(document(&changed), Found::none("empty"));
}

const DOCX: &str = "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>Dear </w:t></w:r><w:r><w:t>Eva &amp; &#x42;o</w:t></w:r></w:p>\
    <w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r><w:r><w:delText>gone</w:delText></w:r></w:p>\
    <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>\
    </w:body></w:document>";

#[test]
fn o5_7_office_files_are_read() {
    let docx = archive(&[
        ("[Content_Types].xml", b"<x/>"),
        ("word/footnotes.xml", b"<w:p><w:t>a note</w:t></w:p>"),
        ("word/document.xml", DOCX.as_bytes()),
    ]);
    assert_eq!(text(&docx), "Dear Eva & Bo\na b\nbox\na note");
    let xlsx = archive(&[
        ("xl/workbook.xml", b"<workbook><sheets><sheet name=\"Costs &amp; more\"/></sheets></workbook>"),
        ("xl/sharedStrings.xml", "<sst><si><t>Rent</t><rPh><t>x</t></rPh></si><si><r><t>Wa</t></r><r><t>ter</t></r></si></sst>".as_bytes()),
        ("xl/worksheets/sheet10.xml", b"<x><row><c t=\"inlineStr\"><is><t>last</t></is></c></row></x>"),
        (
            "xl/worksheets/sheet2.xml",
            b"<x><row><c t=\"s\"><v>0</v></c><c><v>12.5</v></c></row><row><c t=\"s\"><v>1</v></c><c t=\"s\"><v>99</v></c></row></x>",
        ),
    ]);
    assert_eq!(text(&xlsx), "Costs & more\nRent\t12.5\nWater\nlast");
    let odt = archive(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", b"<manifest/>"),
        (
            "content.xml",
            b"<d><styles>no</styles><body><text><tracked-changes><p>gone</p></tracked-changes> <h>Title</h>\n<p>one<s/>two<line-break/>three</p></text></body></d>",
        ),
    ]);
    assert_eq!(text(&odt), "Title\none two\nthree");
    let slides = archive(&[
        ("ppt/presentation.xml", b"<p/>"),
        ("ppt/slides/slide2.xml", b"<a:p><a:r><a:t>second</a:t></a:r></a:p>"),
        ("ppt/slides/slide1.xml", b"<a:p><a:r><a:t>first</a:t></a:r></a:p>"),
    ]);
    assert_eq!(text(&slides), "first\nsecond");
}

#[test]
fn o5_7_office_files_that_are_not_read_say_why() {
    let ole = [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0; 512]].concat();
    assert_eq!(document(&ole), Found::none("unsupported"));
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(document(&[&ole[..], &name].concat()), Found::none("encrypted"));
    assert_eq!(document(&archive(&[("a.txt", b"x")])), Found::none("unsupported"));
    let locked = archive(&[
        ("mimetype", b"x"),
        ("META-INF/manifest.xml", b"<manifest:encryption-data/>"),
        ("content.xml", b"x"),
    ]);
    assert_eq!(document(&locked), Found::none("encrypted"));
    assert_eq!(document(b"PK\x03\x04 and no more"), Found::none("failed"));
    assert_eq!(document(b"no document"), Found::none("failed"));
}

#[test]
fn o4_14_what_has_no_end_is_cut_or_refused() {
    let body = |text: &str| archive(&[("word/document.xml", text.as_bytes())]);
    // Ten megabytes from a file of ten kilobytes.
    let bomb = body(&format!("<w:t>{}</w:t>", "a ".repeat(5 << 20)));
    assert!(bomb.len() < 100_000);
    let found = document(&bomb);
    assert_eq!((found.status, found.text.map(|text| text.len())), ("cut", Some(LONGEST - 1)));
    let silent = body(&format!("<w:x>{}</w:x>", " ".repeat(LARGEST_SILENT)));
    assert_eq!(document(&silent), Found::none("too_large"));
    assert_eq!(document(&body(&"<w:p>".repeat(100_000))), Found::none("failed"));
    let entities = "<!DOCTYPE d [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;&a;\">]><w:t>&b;</w:t>";
    assert_eq!(document(&body(entities)), Found::none("failed"));
    // A text that every cell repeats.
    let repeated = archive(&[
        ("xl/workbook.xml", b"<x/>"),
        ("xl/sharedStrings.xml", format!("<si><t>{}</t></si>", "b".repeat(900_000)).as_bytes()),
        ("xl/worksheets/sheet1.xml", "<c t=\"s\"><v>0</v></c>".repeat(100_000).as_bytes()),
    ]);
    let mut budget = Budget::default();
    let statuses: Vec<&str> =
        (0..100).map(|_| read(Kind::Document, None, &repeated, &mut budget).status).collect();
    assert_eq!((statuses[0], statuses[99]), ("cut", "too_large"), "all attachments of an item share a limit");
    assert_eq!(
        read(Kind::Plain, None, &vec![b'x'; LARGEST + 1], &mut Budget::default()),
        Found::none("too_large")
    );
    assert_eq!(read(Kind::Plain, None, &vec![b'x'; LONGEST + 1], &mut Budget::default()).status, "cut");
}

/// More blanks than a member may have.
const LARGEST_SILENT: usize = 66 << 20;

#[test]
fn o4_14_hostile_pdfs_end() {
    let bomb = |content: &[u8]| document(&page(HELVETICA, content));
    // Inflates without a limit, once or twice.
    assert_eq!(bomb(&vec![b' '; 40 << 20]), Found::none("too_large"));
    let twice = Pdf::new()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[3 0 R]>>")
        .object(3, "<</Type/Page/Contents 4 0 R>>")
        .stream(4, "/Filter[/Fl/Fl]", &packed(&packed(&vec![b' '; 200 << 20])))
        .end("");
    assert_eq!(document(&twice), Found::none("too_large"));
    // Objects that refer to themselves, or contain each other.
    for (object, number) in [("2 0 R", 2), ("<</Kids[2 0 R 2 0 R]>>", 2), ("<</Kids 3 0 R>>", 2)] {
        let looped = Pdf::new()
            .object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .object(number, object)
            .object(3, "3 0 R")
            .end("");
        assert!(matches!(document(&looped).status, "failed" | "empty"), "{object}");
    }
    let length = Pdf::new()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[3 0 R]>>")
        .object(3, "<</Type/Page/Contents 4 0 R>>")
        .stream(4, "/Length 4 0 R", b"x")
        .end("");
    assert_eq!(document(&length), Found::none("empty"));
    // Forms that draw two of the next: together they would take forever.
    let mut tree = Pdf::new();
    tree.object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[3 0 R]>>")
        .object(3, "<</Type/Page/Contents 4 0 R/Resources<</XObject<</X 10 0 R>>>>>>")
        .stream(4, "", b"/X Do");
    for number in 10..18 {
        let dict = format!("/Subtype/Form/Resources<</XObject<</X {} 0 R>>>>", number + 1);
        tree.stream(number, &dict, "/X Do ".repeat(60).as_bytes());
    }
    assert_eq!(document(&tree.end("")), Found::none("too_large"));
    // Something that opens and never closes.
    for piece in [
        "<<",
        "[",
        "(",
        "1 0 obj ",
        "1 0 obj stream ",
        "1 0 obj <</Type/ObjStm/N 99999999/First 0>> stream ",
        "/Root 1 0 R ",
        "/Encrypt ",
        "BI ID ",
    ] {
        let all = [
            b"%PDF-1.7\n1 0 obj <</Pages 1 0 R/Type/Page/Contents 1 0 R>> endobj /Root 1 0 R ".as_slice(),
            &piece.as_bytes().repeat(300_000),
        ]
        .concat();
        let found = document(&all);
        assert!(found.text.is_none(), "{piece}: {found:?}");
    }
    // Streams of objects, each of which is the whole file.
    let header = (0..50_000).map(|number| number.to_string()).collect::<Vec<_>>().join(" 0 ") + " 0 ";
    let objects = format!("{header}{}", "[1 1]".repeat(50_000));
    let all = Pdf::new()
        .stream(
            9,
            &format!("/Type/ObjStm/N 50000/First {}/Filter/Fl", header.len()),
            &packed(objects.as_bytes()),
        )
        .end("");
    assert!(document(&all).text.is_none());
    let matrices = bomb(b"BT /F1 1e99 Tf 1e300 0 0 1e300 1e300 1e300 Tm (a) Tj 1e300 1e300 Td (b) Tj 0 0 0 0 0 0 cm (c) Tj ET");
    assert_eq!(matrices.status, "read");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn o4_14_damaged_documents_panic_nowhere(
        at in any::<prop::sample::Index>(),
        with in prop::sample::select(&["", "<<", ">>", "[", "(", "0 R", "99999999999", "-1", "\0", "endstream", "obj", "/", "stream\n"][..]),
        cut in any::<prop::sample::Index>(),
    ) {
        let docx = archive(&[("word/document.xml", DOCX.as_bytes())]);
        for whole in [pdf(&["some text", "more of it"]), nested(), docx] {
            let at = at.index(whole.len());
            let changed = [&whole[..at], with.as_bytes(), &whole[at..]].concat();
            document(&changed);
            document(&changed[..cut.index(changed.len())]);
        }
    }

    #[test]
    fn any_text_comes_back_from_a_pdf(lines in prop::collection::vec("[a-zäß東€😀-]{1,12}( [a-zé]{1,5}){0,2}", 1..5)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert_eq!(text(&pdf(&lines)), lines.join("\n"));
    }
}
