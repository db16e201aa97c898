//! The map in `src/lib.rs` is the house: every room is on it, and arrows go the way that it says.

use std::collections::BTreeSet;

use super::{read, sources};

/// The modules of the crate.
fn modules() -> BTreeSet<String> {
    let declared = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    read("src/lib.rs").lines().filter_map(declared).collect()
}

/// The line of arrows in the map, from the highest floor down: modules on one floor do not know each other.
fn floors() -> Vec<Vec<String>> {
    let map = read("src/lib.rs");
    let line = map.lines().find_map(|line| line.strip_prefix("//! Arrows go one way: `")).unwrap();
    let floors = line.split('`').next().unwrap().split(" → ");
    floors.map(|floor| floor.trim_matches(['{', '}']).split(", ").map(str::to_owned).collect()).collect()
}

/// The modules of the crate that `source` names: `crate::a`, and what stands in the braces of `crate::{a, b::c}`.
fn named(source: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let first = |path: &str| path.trim_start().split(|c| !is_name(c)).next().unwrap().to_owned();
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = BTreeSet::new();
    for rest in code.join("\n").split("crate::").skip(1) {
        let Some(rest) = rest.strip_prefix('{') else {
            found.insert(first(rest));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (at, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    found.insert(first(&rest[start..at]));
                    start = at + 1;
                }
                _ => {}
            }
            if c == '}' && depth == 0 && start > at {
                break;
            }
        }
    }
    found.remove("");
    found
}

#[test]
fn every_module_is_on_the_map() {
    let map = read("src/lib.rs");
    for module in modules() {
        assert!(map.contains(&format!("[`{module}`]")), "`{module}` is not on the map in src/lib.rs");
    }
}

#[test]
fn arrows_go_the_way_that_the_map_says() {
    let (modules, floors) = (modules(), floors());
    assert!(floors.len() > 3, "{floors:?}");
    // What is not in the line is the ground.
    let floor_of = |module: &str| {
        floors.iter().position(|floor| floor.iter().any(|known| known == module)).unwrap_or(floors.len())
    };
    for name in floors.iter().flatten() {
        assert!(modules.contains(name), "`{name}` in the line of arrows is no module");
    }
    for (path, source) in sources() {
        let inside = path.strip_prefix(super::root().join("src")).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let is_below = |used: &&String| {
            floor_of(used) <= floor_of(module) && floor_of(used) < floors.len() && *used != module
        };
        let against: Vec<_> = named(&source).into_iter().filter(|name| modules.contains(name)).collect();
        let against: Vec<_> = against.iter().filter(is_below).collect();
        assert!(
            against.is_empty() || matches!(module, "lib" | "main"),
            "{} uses {against:?}",
            inside.display()
        );
    }
}

#[test]
fn what_a_source_names_is_seen() {
    let source = "use crate::cache::Cache;\n// crate::not\nuse crate::{\n    advice, mcp::{self, pages},\n    text,\n};\nlet x = \
                  crate::hex::of(y), crate;\n";
    let found: Vec<_> = named(source).into_iter().collect();
    assert_eq!(found, ["advice", "cache", "hex", "mcp", "text"]);
}
