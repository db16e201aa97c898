//! Makes files for tests.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Compresses bytes as a PDF file does.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A PDF file that is being written: its objects, and their offsets.
pub struct Pdf {
    pub bytes: Vec<u8>,
    places: Vec<(u32, usize)>,
}

impl Pdf {
    pub fn new() -> Self {
        Self { bytes: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(), places: Vec::new() }
    }

    pub fn object(&mut self, number: u32, object: &str) -> &mut Self {
        self.places.push((number, self.bytes.len()));
        self.bytes.extend_from_slice(format!("{number} 0 obj\n{object}\nendobj\n").as_bytes());
        self
    }

    pub fn stream(&mut self, number: u32, dict: &str, bytes: &[u8]) -> &mut Self {
        self.places.push((number, self.bytes.len()));
        let head = format!("{number} 0 obj\n<<{dict}/Length {}>>\nstream\n", bytes.len());
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\nendstream\nendobj\n");
        self
    }

    pub fn end(&mut self, trailer: &str) -> Vec<u8> {
        let at = self.bytes.len();
        let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", self.places.len() + 1);
        for (_, place) in &self.places {
            writeln!(table, "{place:010} 00000 n ").unwrap();
        }
        write!(
            table,
            "trailer\n<</Size {}/Root 1 0 R{trailer}>>\nstartxref\n{at}\n%%EOF\n",
            self.places.len() + 1
        )
        .unwrap();
        self.bytes.extend_from_slice(table.as_bytes());
        std::mem::take(&mut self.bytes)
    }
}

fn hex(codes: impl Iterator<Item = usize>) -> String {
    codes.fold(String::new(), |mut out, code| {
        write!(out, "{code:04X}").unwrap();
        out
    })
}

/// A PDF with these lines, as programs write them today: the font has its own glyph numbers, which only
/// its map explains, and everything is compressed.
pub fn pdf(lines: &[&str]) -> Vec<u8> {
    let mut letters: Vec<char> = lines.iter().flat_map(|line| line.chars()).collect();
    letters.sort_unstable();
    letters.dedup();
    let glyph = |c: char| letters.iter().position(|known| *known == c).unwrap() + 3;
    let mut map = String::from(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n\
         1 begincodespacerange <0000> <FFFF> endcodespacerange\n",
    );
    for c in &letters {
        let code = hex(c.encode_utf16(&mut [0; 2]).iter().map(|unit| usize::from(*unit)));
        writeln!(map, "1 beginbfchar <{:04X}> <{code}> endbfchar", glyph(*c)).unwrap();
    }
    map.push_str("endcmap end end");
    let mut content = String::from("BT /F1 11 Tf 72 720 Td 14 TL\n");
    for line in lines {
        let codes = hex(line.chars().map(glyph));
        writeln!(content, "<{codes}> Tj T*").unwrap();
    }
    content.push_str("ET");
    Pdf::new()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F1 5 0 R>>>>>>")
        .object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R>>")
        .stream(4, "/Filter/FlateDecode", &packed(content.as_bytes()))
        .object(5, "<</Type/Font/Subtype/Type0/BaseFont/ABCDEF+Sans/Encoding/Identity-H/DescendantFonts[6 0 R]/ToUnicode 7 0 R>>")
        .object(6, "<</Type/Font/Subtype/CIDFontType2/BaseFont/ABCDEF+Sans/DW 500/W[3[500 500]5 90 520]>>")
        .stream(7, "/Filter/FlateDecode", &packed(map.as_bytes()))
        .end("")
}

/// A page that draws `content` in a font with one byte per letter.
pub fn page(font: &str, content: &[u8]) -> Vec<u8> {
    Pdf::new()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
        .object(
            3,
            "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>>>",
        )
        .stream(4, "/Filter/FlateDecode", &packed(content))
        .object(5, font)
        .end("")
}

/// An archive of these members.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
