use proptest::prelude::*;
use serde_json::json;

use super::*;

const PLACE: EntryPath<'_> = EntryPath { container: "mcpServers", name: "pdpp" };
const TOML: EntryPath<'_> = EntryPath { container: "mcp_servers", name: "pdpp" };
const YAML: EntryPath<'_> = EntryPath { container: "extensions", name: "pdpp" };

fn fields() -> Fields {
    Fields(vec![
        ("command", Field::Text("/usr/local/bin/pdpp".to_owned()), Whose::Ours),
        ("args", Field::Texts(vec!["mcp".to_owned(), "serve".to_owned()]), Whose::Ours),
        ("timeout", Field::Number(30), Whose::Theirs),
        ("enabled", Field::Flag(true), Whose::Needed),
    ])
}

fn place(format: Format) -> EntryPath<'static> {
    match format {
        Format::Json | Format::Jsonc => PLACE,
        Format::Toml => TOML,
        Format::Yaml => YAML,
    }
}

/// Adds the entry, checks that it is there and that adding it again changes nothing, and removes it.
fn round_trip(format: Format, text: &str) -> String {
    let place = place(format);
    let added = match put(format, Some(text), place, &fields()) {
        Ok(Edited::Added(added)) => added,
        other => panic!("{other:?} for {text:?}"),
    };
    assert_eq!(entry(&read(format, &added).unwrap(), place), Some(&fields().to_json()));
    assert_eq!(put(format, Some(&added), place, &fields()), Ok(Edited::Unchanged));
    assert_eq!(take(format, &added, place), Ok(Edited::Removed(text.to_owned())), "{added}");
    assert_eq!(take(format, text, place), Ok(Edited::Unchanged));
    added
}

#[test]
fn a_new_file_is_made_and_goes_again() {
    for format in [Format::Json, Format::Jsonc, Format::Toml, Format::Yaml] {
        let Ok(Edited::Added(made)) = put(format, None, place(format), &fields()) else {
            panic!("{format:?}")
        };
        assert!(made.ends_with('\n'));
        assert_eq!(take(format, &made, place(format)), Ok(Edited::RemovedWithFile), "{made}");
        assert_eq!(folders(&made), 0);
        // The folders that were made with it are noted at its end, and change nothing that a host reads.
        for count in 0..4 {
            let noted = with_folders(made.clone(), count);
            assert_eq!(folders(&noted), count, "{noted:?}");
            assert_eq!(read(format, &noted), read(format, &made));
            assert_eq!(take(format, &noted, place(format)), Ok(Edited::RemovedWithFile), "{noted:?}");
        }
    }
}

#[test]
fn json_keeps_what_is_not_ours() {
    for text in [
        "",
        "\n",
        "  \n",
        "{}",
        "{ }",
        "{\n}\n",
        "{}\n",
        "{\"a\":1}",
        "{ \"a\": 1 }\n",
        "{\"mcpServers\":{}}",
        "{\"mcpServers\": { }}",
        "{\"mcpServers\": null}",
        "{\"a\": 1, \"mcpServers\":null , \"b\": 2}",
        "{\r\n\t\"mcpServers\": null,\r\n\t\"b\": {}\r\n}",
        "{\n  \"mcpServers\": {\n\n  }\n}\n",
        "{\n\t\"mcpServers\": {\n\t}\n}",
        "{\n  \"mcpServers\": {  \n  }\n}\n",
        "{\n  \"mcpServers\": {\n  }\n}\n",
        "{\n  \"mcpServers\": {},\n  \"z\": 1.10\n}",
        "{\n\t\"mcpServers\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"n\": 12345678901234567890\n}\n",
        "{\r\n    \"mcpServers\": {\r\n        \"other\": {}\r\n    }\r\n}\r\n",
        "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"a\":[1,2,{}]}",
        "{\n  \"mcpServers\": {\"other\": {}}\n}",
        "{\"mcpServ\\u0065rs\": {}}",
    ] {
        round_trip(Format::Json, text);
        round_trip(Format::Jsonc, text);
    }
}

#[test]
fn jsonc_keeps_comments_and_trailing_commas() {
    for text in [
        "// only a comment\n",
        "{\n  // before\n  \"mcpServers\": {\n    \"other\": {}, // behind\n    // after\n  }, // end\n}\n",
        "{\n  \"mcpServers\": {\n    \"other\": {} // behind\n    /* after */\n  }\n}\n",
        "{ /* empty */ }",
        "{\n  // empty\n}",
        "{\"a\": 1, /* x */}",
        "{\"a\": 1 // x\n}",
        "/* a */ {\"mcpServers\": {/* b */\"o\": {}/* c */,/* d */}} // e",
    ] {
        round_trip(Format::Jsonc, text);
        assert!(read(Format::Json, text).is_err(), "{text} is not strict JSON");
    }
}

#[test]
fn a_control_character_in_a_string_is_no_strict_json() {
    for control in '\0'..' ' {
        for (text, at) in [
            (format!("{{\n \"m{control}\": 1}}"), (2, 4)),
            (format!("{{\"a\":\n  [\"é{control}x\"]}}"), (2, 6)),
            (format!("{{\"mcpServers\": {{\"pdpp\": {{\"command\": \"{control}\"}}}}}}"), (1, 38)),
        ] {
            let error = read(Format::Json, &text).unwrap_err();
            assert_eq!(error.at(), Some(at), "{error} for {text:?}");
            assert!(put(Format::Json, Some(&text), place(Format::Json), &fields()).is_err(), "{text:?}");
            assert!(take(Format::Json, &text, place(Format::Json)).is_err(), "{text:?}");
            assert!(serde_json::from_str::<Value>(&text).is_err(), "a strict parser agrees: {text:?}");
        }
    }
    for (text, at) in
        [("{\u{b}}", (1, 2)), ("\u{a0}{}", (1, 1)), ("{}\n\u{c}", (2, 1)), ("{\"a\":\u{2028}1}", (1, 6))]
    {
        assert_eq!(read(Format::Json, text).unwrap_err().at(), Some(at), "{text:?}");
        assert!(read(Format::Jsonc, text).is_ok(), "{text:?}");
    }
    // Escaped control characters, DEL and white space between values are accepted.
    round_trip(Format::Json, "{\t\"a\\u0000\": \"\\t\u{7f}\",\r\n\"b\": 1}");
}

#[test]
fn json_is_laid_out_as_the_file_is() {
    let added = round_trip(Format::Json, "{\n    \"a\": 1\n}\n");
    let expected = r#"{
    "a": 1,
    "mcpServers": {
        "pdpp": {
            "command": "/usr/local/bin/pdpp",
            "args": ["mcp", "serve"],
            "timeout": 30,
            "enabled": true
        }
    }
}
"#;
    assert_eq!(added, expected);
    let added = round_trip(Format::Json, "{\r\n\t\"mcpServers\": {}\r\n}");
    assert!(added.starts_with("{\r\n\t\"mcpServers\": {\r\n\t\t\"pdpp\": {\r\n\t\t\t\"command\""), "{added}");
    assert!(added.ends_with("true\r\n\t\t} \r\n\t}\r\n}"), "{added}");
    let expected = "{\n  \"mcpServers\": {\n    \"pdpp\": {\n      \"command\": \"/usr/local/bin/pdpp\",\n";
    for empty in ["{}", "{\n  }", "null"] {
        let added = round_trip(Format::Json, &format!("{{\n  \"mcpServers\": {empty}\n}}\n"));
        assert!(added.starts_with(expected), "{added}");
    }
    // The smallest indentation is the file's.
    let added = round_trip(Format::Json, "{\"a\": {\n      \"b\": 1},\n  \"mcpServers\": {}}");
    assert!(added.contains("\n    \"pdpp\": {\n      \"command\""), "{added}");
    let added = round_trip(Format::Json, r#"{"mcpServers":{"other":{}}}"#);
    assert!(added.starts_with(r#"{"mcpServers":{"other":{}, "pdpp": {"command": "#), "{added}");
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_place() {
    let refused = |format, text| match put(format, Some(text), place(format), &fields()) {
        Err(error) => {
            assert!(matches!(take(format, text, place(format)), Err(_) | Ok(Edited::Unchanged)), "{text}");
            error.to_string()
        }
        other => panic!("{other:?} for {text}"),
    };
    for (text, expected) in [
        ("{\n  \"a\": ,\n}", "line 2, column 8"),
        ("{\"mcpServers\": {}", "line 1"),
        ("{\"mcpServers\": {},\n \"mcpServers\": {}}", "line 2, column 2: `mcpServers` occurs a second time"),
        ("{\"mcpServers\": {\"pdpp\": {},\n\"pdpp\": {}}}", "line 2, column 1: `pdpp`"),
        ("{\"mcpServers\":\n  []}", "line 2, column 3: `mcpServers` is not an object"),
        ("[]", "line 1, column 1: the file is not an object"),
        ("\"x\"", "line 1, column 1"),
        ("{'a': 1}", "line 1, column 2"),
    ] {
        let error = refused(Format::Jsonc, text);
        assert!(error.contains(expected), "{error} for {text}");
    }
    for (text, expected) in [
        ("a = 1\na = 2\n", "line 2, column 1"),
        ("[mcp_servers.x]\ncommand = \"a\"\n[mcp_servers.x]\n", "line 3"),
        ("x = \n", "line 1"),
        ("mcp_servers = 1\n", "line 1, column 15: `mcp_servers` is not a table"),
        ("[[mcp_servers]]\n", "line 1"),
    ] {
        let error = refused(Format::Toml, text);
        assert!(error.contains(expected), "{error} for {text}");
    }
    for (text, expected) in [
        ("a: [1\n", "line"),
        ("a: 1\na: 2\n", "line 2"),
        ("- 1\n", "line 1, column 1: the file is not an object"),
        ("a: 1\nextensions: []\n", "line 2, column 1: `extensions` is not a mapping"),
        ("---\na: 1\n---\nb: 1\n", "line 4, column 1: a second YAML document"),
        ("x: &x {a: 1}\nextensions: *x\n", "line 2, column 13: the alias `*x`"),
        ("extensions: &x\n  a: {cmd: y}\nother: *x\n", "line 3, column 8: the alias `*x`"),
        ("a: 1\n...\n", "line 2, column 1: `...` ends the document"),
        ("  a: 1\n", "line 1, column 3: the first key is indented"),
    ] {
        let error = refused(Format::Yaml, text);
        assert!(error.contains(expected), "{error} for {text}");
    }
}

#[test]
fn toml_keeps_what_is_not_ours() {
    for text in [
        "",
        "\n",
        "# c",
        "# c\n",
        "model = \"x\"",
        "model = \"x\"\r\n\r\n",
        "model = \"x\" # why\n\n[mcp_servers.other] # keep\ncommand = \"y\" # too\nargs = [\n  1, # one\n]\n",
        "[mcp_servers]\n",
        "mcp_servers = {}\n",
        "mcp_servers = { }\n",
        "mcp_servers = { other = { command = \"x\" } }\n[z]\n",
        "mcp_servers = {other = {command = \"x\"}}",
        "mcp_servers.other.command = \"x\"\n",
        "[mcp_servers.other]\ncommand = \"x\"\n[mcp_servers.other.env]\nA = \"1\"\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n",
        "a = '''\n[mcp_servers.pdpp]\n'''\n",
        "d = 2026-01-01\nf = 1.0e3\nh = 0xff\n",
    ] {
        round_trip(Format::Toml, text);
    }
}

#[test]
fn yaml_keeps_what_is_not_ours() {
    for text in [
        "",
        "\n",
        "# c\n",
        "# c",
        "---\n",
        "GOOSE_MODEL: x",
        "GOOSE_MODEL: x\r\nb: 1\r\n",
        "extensions:\n",
        "extensions: # none yet\n",
        "extensions: {}\n",
        "extensions: { }\na: 1\n",
        "{}",
        "{}\n",
        "{a: 1}\n",
        "extensions:\n  developer: # built in\n    enabled: true\n\n# model\nGOOSE_MODEL: x\n",
        "extensions:\n    # four\n    developer:\n        enabled: true\n",
        "extensions: {developer: {enabled: true}}\nx: |+\n  text\n\n",
        "x: |+\n  text\n\n",
        "\"extensions\":\n  a: {b: 1}",
    ] {
        round_trip(Format::Yaml, text);
    }
}

#[test]
fn an_entry_with_other_content_is_replaced_whole_and_nothing_else() {
    let replaced = |format, text: &str| match put(format, Some(text), place(format), &fields()) {
        Ok(Edited::Updated(text)) => text,
        other => panic!("{other:?} for {text}"),
    };
    let json = replaced(
        Format::Jsonc,
        "{\"mcpServers\": {\"a\": {}, /* x */ \"pdpp\": {\"url\": \"y\"}, \"b\": {}}, \"c\": 1.0}",
    );
    assert!(json.starts_with("{\"mcpServers\": {\"a\": {}, /* x */ \"pdpp\": {\"command\""), "{json}");
    assert!(json.ends_with("}, \"b\": {}}, \"c\": 1.0}"), "{json}");

    let toml = replaced(
        Format::Toml,
        "[mcp_servers.pdpp]\nurl = \"x\"\n\n[mcp_servers.b] # b\nx = 1\n\n[mcp_servers.pdpp.env]\nA = \"1\"\n\n[z]\n",
    );
    assert_eq!(
        toml,
        "[mcp_servers.pdpp]\ncommand = \"/usr/local/bin/pdpp\"\nargs = [\"mcp\", \"serve\"]\ntimeout = 30\nenabled = true\n\n\
         [mcp_servers.b] # b\nx = 1\n\n\n[z]\n"
    );
    assert_eq!(
        take(Format::Toml, &toml, TOML),
        Ok(Edited::Removed("\n[mcp_servers.b] # b\nx = 1\n\n\n[z]\n".to_owned()))
    );
    let inline = replaced(Format::Toml, "[mcp_servers]\npdpp = { url = \"x\" } # c\nb = {}\n");
    assert!(
        inline.starts_with("[mcp_servers]\npdpp = { command = ") && inline.ends_with("} # c\nb = {}\n"),
        "{inline}"
    );
    assert_eq!(take(Format::Toml, &inline, TOML), Ok(Edited::Removed("[mcp_servers]\nb = {}\n".to_owned())));

    let yaml = replaced(
        Format::Yaml,
        "extensions:\n  a: {}\n  pdpp:\n    cmd: x\n    args:\n    - y\n  # b is next\n  b: {}\n",
    );
    assert!(yaml.starts_with("extensions:\n  a: {}\n  pdpp:\n    command: "), "{yaml}");
    assert!(yaml.ends_with("enabled: true\n  # b is next\n  b: {}\n"), "{yaml}");
}

/// Sets command and args of an existing entry, and returns the file, which a second update leaves unchanged.
fn updated(format: Format, text: &str) -> String {
    let place = place(format);
    let new = match update(format, text, place, &fields()) {
        Ok(Edited::Updated(new)) => new,
        other => panic!("{other:?} for {text}"),
    };
    assert_eq!(update(format, &new, place, &fields()), Ok(Edited::Unchanged), "{new}");
    let entry = entry(&read(format, &new).unwrap(), place).cloned().unwrap();
    for (key, field, whose) in fields().0 {
        if whose == Whose::Ours {
            assert_eq!(entry[key], field.to_json(), "{new}");
        }
    }
    new
}

#[test]
fn r8_2_an_update_touches_command_and_arguments_only() {
    for (format, text) in [
        (
            Format::Json,
            "{\"mcpServers\":{\"pdpp\":{\"timeout\":9,\"command\":<C>,\"enabled\":false,\"args\":<A>,\"n\":1.10}}}",
        ),
        (
            Format::Jsonc,
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"pdpp\": { // mine\r\n\t\t\t\"command\": <C>, /* here */\r\n\t\t\t\"enabled\": true,\r\n\t\t\t\"args\": <A>,\r\n\t\t\t// later\r\n\t\t},\r\n\t},\r\n}",
        ),
        (
            Format::Toml,
            "[mcp_servers.pdpp] # mine\n# why\ntool_timeout_sec = 600 # long\ncommand   =   <C> # here\nargs = <A>\nenabled = false\n\n[mcp_servers.pdpp.env]\nA = '1'\n\n[z]\n",
        ),
        (
            Format::Toml,
            "[mcp_servers]\npdpp.command = <C> # c\r\npdpp.enabled = true\npdpp.args = <A>\nb.x = 1\n",
        ),
        (
            Format::Toml,
            "mcp_servers.pdpp.args = <A>\nmcp_servers.\"pdpp\".enabled = true\nmcp_servers . pdpp . command = <C> # c",
        ),
        (
            Format::Toml,
            "mcp_servers = { a = {}, pdpp = { enabled = true, command = <C>, args = <A> } } # c\n",
        ),
        (
            Format::Toml,
            "mcp_servers = { pdpp.command = <C>, pdpp.args = <A>, pdpp.enabled = true, a = {} } # c\n",
        ),
        (Format::Toml, "mcp_servers.pdpp = { command = <C>, args = <A>, enabled = true }\n"),
        (
            Format::Toml,
            "mcp_servers = {\n  pdpp = { # mine\n    command = <C>, # here\n    args = <A>,\n    enabled = true, # yes\n  }, # end\n}\n",
        ),
        (
            Format::Yaml,
            "extensions:\n  pdpp: # mine\n    command:   <C> # here\n    # why\n    args: <A> # there\n    enabled: false\n    timeout: 9\n  b: {}\n",
        ),
        (Format::Yaml, "extensions: {a: {}, pdpp: {args: <A>, enabled: true, command: <C>}} # c\n"),
    ] {
        let with = |command: &str, args: &str| text.replace("<C>", command).replace("<A>", args);
        let expected = with(r#""/usr/local/bin/pdpp""#, r#"["mcp", "serve"]"#);
        let old = with(r#""/old, path/pdpp""#, r#"[ "mcp","serve", "x # y" ]"#);
        assert_eq!(updated(format, &old), expected);
        assert_eq!(update(format, &expected, place(format), &fields()), Ok(Edited::Unchanged));
        let taken = take(format, &expected, place(format));
        assert!(matches!(taken, Ok(Edited::Removed(_))), "{taken:?} for {expected}");
    }
    // Lists with one line per item, and texts in other quotes.
    for (format, old, new) in [
        (
            Format::Yaml,
            "extensions:\n  pdpp:\n    command: /old path/pdpp # here\n    args:\n    - mcp\n    - serve # x\n    - 'it''s'\n    enabled: true\n",
            "extensions:\n  pdpp:\n    command: <C> # here\n    args: <A>\n    enabled: true\n",
        ),
        (
            Format::Yaml,
            "extensions:\n  pdpp:\n    enabled: true\n    command: 'a''b' # c\n    args:\n      # one\n      - mcp # two\n      - \"x\" # three\n",
            "extensions:\n  pdpp:\n    enabled: true\n    command: <C> # c\n    args: <A> # three\n",
        ),
        (
            Format::Toml,
            "[mcp_servers.pdpp]\ncommand = '/old/pdpp'\nargs = [\n  'mcp', # one\n] # all\nenabled = true\n",
            "[mcp_servers.pdpp]\ncommand = <C>\nargs = <A> # all\nenabled = true\n",
        ),
    ] {
        let new = new.replace("<C>", r#""/usr/local/bin/pdpp""#).replace("<A>", r#"["mcp", "serve"]"#);
        assert_eq!(updated(format, old), new);
    }
}

#[test]
fn what_an_entry_lacks_is_put_in_as_it_is_written() {
    for (format, old, new) in [
        (
            Format::Jsonc,
            "{\"mcpServers\": {\n  \"pdpp\": {\n    \"command\": \"x\", // c\n  }\n}}",
            "{\"mcpServers\": {\n  \"pdpp\": {\n    \"command\": <C>, // c\n    \"args\": <A>,\n    \"enabled\": true,\n  }\n}}",
        ),
        (
            Format::Json,
            "{\"mcpServers\":{\"pdpp\":{\"command\":\"x\"}}}",
            "{\"mcpServers\":{\"pdpp\":{\"command\":<C>, \"args\": <A>, \"enabled\": true}}}",
        ),
        (
            Format::Toml,
            "[mcp_servers.pdpp]\n  command = 'x' # c\n[mcp_servers.pdpp.env]\n",
            "[mcp_servers.pdpp]\n  command = <C> # c\n  args = <A>\n  enabled = true\n[mcp_servers.pdpp.env]\n",
        ),
        (
            Format::Toml,
            "[mcp_servers]\r\npdpp.command = 'x'",
            "[mcp_servers]\r\npdpp.command = <C>\r\npdpp.args = <A>\r\npdpp.enabled = true",
        ),
        (
            Format::Toml,
            "mcp_servers = { pdpp.command = 'x', b = {} }\n",
            "mcp_servers = { pdpp.command = <C>, pdpp.args = <A>, pdpp.enabled = true, b = {} }\n",
        ),
        (
            Format::Toml,
            "mcp_servers.pdpp = {command = 'x'}\n",
            "mcp_servers.pdpp = {command = <C>, args = <A>, enabled = true}\n",
        ),
        (
            Format::Yaml,
            "extensions:\n  pdpp:\n    # mine\n    command: x\n",
            "extensions:\n  pdpp:\n    # mine\n    enabled: true\n    args: <A>\n    command: <C>\n",
        ),
        (
            Format::Yaml,
            "extensions: {pdpp: {command: x}}\n",
            "extensions: {pdpp: {\"enabled\": true, \"args\": <A>, command: <C>}}\n",
        ),
    ] {
        let new = new.replace("<C>", r#""/usr/local/bin/pdpp""#).replace("<A>", r#"["mcp", "serve"]"#);
        assert_eq!(updated(format, old), new);
    }
    // Not through an alias for the same text, which other places may use too.
    let alias = "a: &x {command: x}\nextensions: {pdpp: *x}\n";
    assert!(matches!(update(Format::Yaml, alias, YAML, &fields()), Err(EditError::WrongType { .. })));
    let twice = r#"{"mcpServers": {"pdpp": {"command": "x", "command": "y"}}}"#;
    assert!(matches!(update(Format::Json, twice, PLACE, &fields()), Err(EditError::Duplicate { .. })));
}

#[test]
fn toml_tables_below_the_entry_go_with_it() {
    for (blank, between, end) in layouts() {
        let text = format!(
            "a = 1\n{blank}[mcp_servers.pdpp]\nx = 1\n{between}{blank}[mcp_servers.pdpp.env]\nX = \"y\"{end}"
        );
        let mut wanted = read(Format::Toml, &text).unwrap();
        wanted["mcp_servers"].as_object_mut().unwrap().remove("pdpp");
        wanted.retain(|name, value| name != "mcp_servers" || *value != json!({}));
        match take(Format::Toml, &text, TOML) {
            Ok(Edited::Removed(left)) => assert_eq!(read(Format::Toml, &left), Ok(wanted), "{text}"),
            other => panic!("{other:?} for {text}"),
        }
    }
}

/// What comes before each table, what comes between them, and how the file ends.
fn layouts() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let all = ["", "\n", "\n\n"].into_iter();
    all.flat_map(|blank| {
        let between = ["", "[mcp_servers.other]\ny = 2\n", "[b]\n"].into_iter();
        between.flat_map(move |between| ["", "\n", "\r\n"].map(|end| (blank, between, end)))
    })
}

#[test]
fn toml_is_edited_however_it_is_written() {
    for text in [
        "mcp_servers = {\n  other = { command = \"x\" }, # keep\n  # end\n}\n",
        "mcp_servers = {\r\n  other = { command = \"x\" } # keep, too\r\n}\r\n",
        "mcp_servers = {\n\tother = {\n\t\tcommand = \"x\", # c\n\t}, # d\n}\n",
        "mcp_servers = { # open\n}\n",
        "mcp_servers = { other.command = \"x\", other.env.A = \"1\" } # c\n",
        "[mcp_servers]\nother.command = \"x\" # c\n[z]\n",
    ] {
        round_trip(Format::Toml, text);
    }
    for (text, rest) in [
        (
            "[mcp_servers]\npdpp.command = \"x\" # c\na.b = 1\npdpp.env.A = '''\n1'''\n[z]\n",
            "[mcp_servers]\na.b = 1\n[z]\n",
        ),
        ("mcp_servers.pdpp.command = \"x\"\n# c\nb = 1\n", "# c\nb = 1\n"),
        ("mcp_servers = { pdpp.a = 1, b = {}, pdpp.c.d = [1, 2] }\n", "mcp_servers = { b = {} }\n"),
        ("mcp_servers = { a = {}, # c, d\n pdpp = {} }\n", "mcp_servers = { a = {} # c, d\n  }\n"),
        ("mcp_servers = { pdpp = {} # c\n , a = {} }\n", "mcp_servers = { # c\n  a = {} }\n"),
        ("[mcp_servers]\npdpp.a = 1\n[mcp_servers.pdpp.env]\nA = 1\n[z]\n", "[mcp_servers]\n[z]\n"),
    ] {
        assert_eq!(take(Format::Toml, text, TOML), Ok(Edited::Removed(rest.to_owned())), "{text}");
    }
    // An entry that starts something else is removed as a whole, wherever it is.
    for text in [
        "[mcp_servers]\npdpp.url = \"x\"\na.b = 1\n",
        "mcp_servers = { pdpp.url = \"x\", b = {} }\n",
        "mcp_servers.pdpp.url = \"x\"\nb = 1\n",
    ] {
        let new = match put(Format::Toml, Some(text), TOML, &fields()) {
            Ok(Edited::Updated(new)) => new,
            other => panic!("{other:?} for {text}"),
        };
        assert!(!new.contains("url") && new.contains('b'), "{new}");
    }
}

#[test]
fn an_entry_is_taken_out_wherever_it_stands() {
    for (text, rest) in [
        (r#"{"mcpServers": {"pdpp": {}, "b": {}}}"#, r#"{"mcpServers": { "b": {}}}"#),
        (r#"{"mcpServers": {"a": {}, "pdpp": {}, "b": {}}}"#, r#"{"mcpServers": {"a": {}, "b": {}}}"#),
        (r#"{"mcpServers": {"a": {}, "pdpp": {}}}"#, r#"{"mcpServers": {"a": {}}}"#),
        ("{\"mcpServers\": {\"a\": {}, // c\n \"pdpp\": {} }}", "{\"mcpServers\": {\"a\": {} // c\n  }}"),
        ("{\"mcpServers\": {// c\n \"pdpp\": {}, \"a\": {} }}", "{\"mcpServers\": {// c\n  \"a\": {} }}"),
        ("{\"mcpServers\": {\"pdpp\": {} /* c */, \"b\": {}}}", "{\"mcpServers\": { /* c */ \"b\": {}}}"),
    ] {
        assert_eq!(take(Format::Jsonc, text, PLACE), Ok(Edited::Removed(rest.to_owned())));
    }
    let inline = "mcp_servers = { pdpp = { a = 1 }, b = { } }\n";
    assert_eq!(
        take(Format::Toml, inline, TOML),
        Ok(Edited::Removed("mcp_servers = { b = { } }\n".to_owned()))
    );
}

#[test]
fn a_large_file_is_edited() {
    let mut text = "{\n  \"projects\": {\n".to_owned();
    for n in 0..13_000 {
        let _ = std::fmt::Write::write_fmt(
            &mut text,
            format_args!(
                "    \"/home/someone/projects/{n}\": {{\"history\": [\"a long line that was typed some time ago, number {n}\"], \"mcpServers\": {{}}, \"cost\": {n}.10}},\n"
            ),
        );
    }
    text.push_str("    \"/\": {}\n  },\n  \"mcpServers\": {\"other\": {}}\n}\n");
    assert!(text.len() > 1_800_000, "{}", text.len());
    round_trip(Format::Json, &text);
}

/// What may come between two tokens.
fn json_space() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()), 3 => Just(" ".to_owned()), 2 => Just("\n  ".to_owned()), 1 => Just("\r\n\t".to_owned()),
        1 => Just(" /* c, } \" */ ".to_owned()), 1 => Just(" // d, { \"\n".to_owned())
    ]
}

/// A JSON value as text, in any layout: the strategy generates the text itself.
fn jsonc_text() -> impl Strategy<Value = String> {
    let space = json_space;
    let scalar = prop_oneof![
        Just("1.10".to_owned()),
        Just("-0e5".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        "[a-z{}\\[\\],:/ ]{0,6}".prop_map(|text| quoted(&text)),
        Just(r#""\u00e9\"""#.to_owned()),
    ];
    let value = scalar.prop_recursive(3, 24, 4, move |inner| {
        let list = (prop::collection::vec((space(), inner.clone(), space()), 0..4), any::<bool>(), space());
        let array = list.prop_map(|(items, trailing, end)| {
            let comma = if trailing && !items.is_empty() { "," } else { "" };
            let items: Vec<_> = items.into_iter().map(|(a, b, c)| format!("{a}{b}{c}")).collect();
            format!("[{}{comma}{end}]", items.join(","))
        });
        prop_oneof![array, object(inner.boxed(), Vec::new())]
    });
    let value = value.boxed();
    let servers = object(value.clone(), Vec::new()).boxed();
    (
        space(),
        prop_oneof![
            object(value.clone(), Vec::new()),
            object(value, vec![("mcpServers".to_owned(), servers)])
        ],
        space(),
    )
        .prop_map(|(a, b, c)| format!("{a}{b}{c}"))
}

/// An object with members `k0`, `k1`, ... and the named ones.
fn object(
    value: BoxedStrategy<String>,
    named: Vec<(String, BoxedStrategy<String>)>,
) -> BoxedStrategy<String> {
    let space = || prop_oneof![3 => Just(String::new()), 2 => Just(" ".to_owned()), 3 => Just("\n    ".to_owned()), 1 => Just(" // e\n".to_owned()), 1 => Just("/* f */".to_owned())];
    let some = prop::collection::vec((space(), value, space(), space()), 0..4);
    let named: Vec<_> = named.into_iter().map(|(key, value)| (Just(key), value)).collect();
    (some, named, any::<bool>(), space(), any::<prop::sample::Index>())
        .prop_map(|(some, named, trailing, end, at)| {
            let mut members: Vec<_> = some
                .into_iter()
                .enumerate()
                .map(|(n, (a, value, b, c))| format!("{a}\"k{n}\"{b}:{c}{value}{a}"))
                .collect();
            for (key, value) in named {
                let at = at.index(members.len() + 1);
                members.insert(at, format!("{}: {value}", quoted(&key)));
            }
            let comma = if trailing && !members.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", members.join(","))
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn r8_2_remove_after_add_gives_back_the_bytes_of_json(text in jsonc_text()) {
        prop_assert!(read(Format::Jsonc, &text).is_ok(), "{text}");
        round_trip(Format::Jsonc, &text);
    }

    #[test]
    fn r8_2_remove_after_add_gives_back_the_bytes_of_toml(
        lines in prop::collection::vec(prop_oneof![
            Just("# a comment"), Just(""), Just("   "), Just("[[list]]"), Just("t = '''\n[x\n'''"), Just("n = [\n 1, # c\n]"),
            Just("[a.b] # c"), Just("[mcp_servers.other]"), Just("[mcp_servers.other.env]"), Just("x = \"]\""),
        ], 0..8),
        newline in prop_oneof![Just("\n"), Just("\r\n")], end in any::<bool>(),
    ) {
        let mut text = lines.join("\n").replace('\n', newline);
        if end && !text.is_empty() { text.push_str(newline); }
        // Some of these are not TOML (a key occurs twice): then they are refused.
        if read(Format::Toml, &text).is_ok() {
            round_trip(Format::Toml, &text);
        } else {
            prop_assert!(put(Format::Toml, Some(&text), TOML, &fields()).is_err());
        }
    }

    #[test]
    fn r8_2_remove_after_add_gives_back_the_bytes_of_yaml_or_nothing_is_done(
        lines in prop::collection::vec(prop_oneof![
            Just("# a comment"), Just(""), Just("extensions:"), Just("  other:"), Just("    cmd: x"), Just("    args: [a, 'b #']"),
            Just("key: |"), Just("  text"), Just("flow: {a: 1}"), Just("extensions: {}"), Just("  # indented"), Just("---"),
        ], 0..8),
        newline in prop_oneof![Just("\n"), Just("\r\n")], end in any::<bool>(),
    ) {
        let mut text = lines.join(newline);
        if end && !text.is_empty() { text.push_str(newline); }
        match put(Format::Yaml, Some(&text), YAML, &fields()) {
            Ok(Edited::Added(_)) => { round_trip(Format::Yaml, &text); }
            Ok(other) => prop_assert!(false, "{other:?} for {text}"),
            Err(_) => {}
        }
    }

    #[test]
    fn r8_2_an_update_keeps_every_byte_of_json_outside_command_and_arguments(
        text in jsonc_text(), extras in prop::collection::vec((json_space(), "[a-z]{1,3}", json_space()), 0..3),
        spaces in prop::collection::vec(json_space(), 6), first in any::<bool>(), comma in any::<bool>(),
    ) {
        let [a, b, c, d, e, f] = &spaces[..] else { unreachable!() };
        let mut members = vec![format!("{a}\"command\"{b}:{c}<C>{a}"), format!("{d}\"args\"{e}:{f}<A>{b}"), format!("{c}\"enabled\": false{d}")];
        let at = usize::from(!first);
        for (n, (space, value, after)) in extras.iter().enumerate() {
            members.insert(at, format!("{space}\"x{n}\"{after}: \"{value}\"{space}"));
        }
        let entry = format!("{{{}{}{f}}}", members.join(","), if comma { "," } else { "" });
        // Added where an empty entry would be.
        let Ok(Edited::Added(whole)) = put(Format::Jsonc, Some(&text), PLACE, &Fields(vec![("here", Field::Flag(true), Whose::Ours)])) else {
            return Err(TestCaseError::fail("not added"));
        };
        let at = whole.find("{\"here\"").or_else(|| whole.find("\"here\"").and_then(|at| whole[..at].rfind('{'))).unwrap();
        let end = at + whole[at..].find('}').unwrap() + 1;
        let whole = format!("{}{entry}{}", &whole[..at], &whole[end..]);
        let old = whole.replace("<C>", "\"/old\"").replace("<A>", "[ \"old\" ]");
        let new = whole.replace("<C>", "\"/usr/local/bin/pdpp\"").replace("<A>", "[\"mcp\", \"serve\"]");
        prop_assert_eq!(update(Format::Jsonc, &old, PLACE, &fields()), Ok(Edited::Updated(new)));
    }

    #[test]
    fn r8_2_an_update_keeps_every_byte_of_toml_outside_command_and_arguments(
        mut lines in prop::collection::vec(prop_oneof![
            Just("# c, }"), Just(""), Just("PREFIX.tool_timeout_sec = 9 # c"), Just("PREFIX.env = { A = '1' }"),
            Just("PREFIX.enabled = false"), Just("PREFIX.list = [\n 1, # c\n]"),
        ], 0..5),
        at in any::<prop::sample::Index>(), then in any::<prop::sample::Index>(), shape in 0..4_usize,
        newline in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        lines.insert(at.index(lines.len() + 1), "PREFIX.command = <C> # c");
        lines.insert(then.index(lines.len() + 1), "PREFIX.args\t=  <A>");
        let joined = lines.join("\n");
        let whole = match shape {
            0 => format!("[mcp_servers.pdpp]\n{}\n[z]\n", joined.replace("PREFIX.", "")),
            1 => format!("[mcp_servers]\na = {{}}\n{}\n", joined.replace("PREFIX.", "pdpp.")),
            2 => joined.replace("PREFIX.", "mcp_servers.pdpp."),
            _ => format!("mcp_servers = {{ a = {{}}, pdpp = {{\n{}\n}} }} # c\n", lines.iter().map(|line| {
                // A member needs a comma, before its comment.
                let line = line.replace("PREFIX.", "");
                match line.find(" # c") {
                    Some(at) if !line.contains('\n') => format!("{},{}", &line[..at], &line[at..]),
                    _ if line.is_empty() || line.starts_with('#') => line,
                    _ => line + ",",
                }
            }).collect::<Vec<_>>().join("\n")),
        }.replace('\n', newline);
        let old = whole.replace("<C>", "'/old'").replace("<A>", "[ 'old', ]");
        if read(Format::Toml, &old).is_err() {
            return Ok(()); // A key twice.
        }
        let new = whole.replace("<C>", "\"/usr/local/bin/pdpp\"").replace("<A>", "[\"mcp\", \"serve\"]");
        match update(Format::Toml, &old, TOML, &Fields(fields().0[..2].to_vec())) {
            Ok(Edited::Updated(got)) => prop_assert_eq!(got, new),
            other => prop_assert!(false, "{:?} for {}", other, old),
        }
    }

    #[test]
    fn r8_2_an_update_keeps_every_byte_of_yaml_outside_command_and_arguments(
        mut lines in prop::collection::vec(prop_oneof![
            Just("    # c, }"), Just(""), Just("    timeout: 9 # c"), Just("    env: {A: '1'}"), Just("    text: |"), Just("      folded"),
            Just("    list:\n    - a"),
        ], 0..5),
        at in any::<prop::sample::Index>(), then in any::<prop::sample::Index>(), newline in prop_oneof![Just("\n"), Just("\r\n")],
        (command, args) in (prop_oneof![Just("/old, path"), Just("\"a \\\" #\""), Just("'it''s'")], prop_oneof![
            Just("[ old ]"), Just("[\"a ] b\", 'c']"), Just("[]")
        ]),
    ) {
        lines.insert(at.index(lines.len() + 1), "    command:  <C> # c");
        lines.insert(then.index(lines.len() + 1), "    args: <A>");
        let whole = format!("a: 1\nextensions:\n  pdpp: # mine\n{}\n  b: {{}}\n", lines.join("\n")).replace('\n', newline);
        let old = whole.replace("<C>", command).replace("<A>", args);
        // A key occurs twice, or the command or arguments are inside the text of another.
        let has = |entry: &Value| entry.get("command").is_some() && entry.get("args").is_some();
        if !read(Format::Yaml, &old).is_ok_and(|root| entry(&root, YAML).is_some_and(has)) {
            return Ok(());
        }
        let new = whole.replace("<C>", "\"/usr/local/bin/pdpp\"").replace("<A>", "[\"mcp\", \"serve\"]");
        match update(Format::Yaml, &old, YAML, &Fields(fields().0[..2].to_vec())) {
            Ok(Edited::Updated(got)) => prop_assert_eq!(got, new),
            other => prop_assert!(false, "{:?} for {}", other, old),
        }
    }

    #[test]
    fn any_path_can_be_written_and_read_back(program in any::<String>(), word in "[ '\"%\\\\$#:{}\\[\\],&*!|>@`ü\u{1}\u{7f}\u{85}\u{2028}\u{feff}a-]{0,12}") {
        let fields = Fields(vec![
            ("command", Field::Text(program.clone()), Whose::Ours), ("args", Field::Texts(vec![word.clone()]), Whose::Ours)
        ]);
        for format in [Format::Json, Format::Jsonc, Format::Toml, Format::Yaml] {
            let Ok(Edited::Added(new)) = put(format, None, place(format), &fields) else {
                return Err(TestCaseError::fail(format!("{format:?}: {program:?}, {word:?}")));
            };
            let root = read(format, &new).unwrap();
            prop_assert_eq!(entry(&root, place(format)), Some(&json!({"command": program, "args": [word]})));
        }
    }

    #[test]
    fn any_text_is_edited_or_refused(text in "[\\[\\]{}:,\"a-c \n\r#/*=.\\-|&]{0,40}") {
        for format in [Format::Json, Format::Jsonc, Format::Toml, Format::Yaml] {
            let put = put(format, Some(&text), place(format), &fields());
            prop_assert!(matches!(put, Ok(Edited::Added(_)) | Err(_)), "{put:?}");
        }
    }
}

#[test]
fn positions_count_characters_and_lines_from_one() {
    assert_eq!(position("é\nab", 4), (2, 2));
    assert_eq!(position("", 0), (1, 1));
    assert_eq!(json!({"a": 1}), read(Format::Json, "{\"a\":1}").map(Value::Object).unwrap());
}
