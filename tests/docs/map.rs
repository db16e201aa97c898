//! The map in `src/lib.rs` matches the source: every module is on it, and uses go only in the direction of its
//! arrows, between modules and within them.

use std::collections::BTreeSet;
use std::path::Path;

use super::circles::circles;
use super::{read, rust_files, sources};

/// Modules whose files form no circle. The others still have some.
const WITHOUT_CIRCLES: [&str; 10] =
    ["cache", "checks", "cmd", "endpoint", "fs", "grants", "mcp", "provider", "sandbox", "vault"];

/// The modules of the crate.
fn modules() -> BTreeSet<String> {
    let declared = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    read("src/lib.rs").lines().filter_map(declared).collect()
}

/// The line of arrows in the map, from the highest layer down: modules of one layer do not know each other. It is the code
/// span after "go one way", on one line of the module's documentation or on two.
fn layers(map: &str) -> Vec<Vec<String>> {
    let map = read(map);
    let documentation: Vec<&str> = map.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let documentation = documentation.join(" ");
    let (_, rest) = documentation.split_once("go one way").unwrap();
    let layers = rest.split('`').nth(1).unwrap().split(" → ");
    layers.map(|layer| layer.trim_matches(['{', '}']).split(", ").map(str::to_owned).collect()).collect()
}

/// The modules of the crate that `source` names: `crate::a`, and the names in the braces of `crate::{a, b::c}`.
fn named(source: &str) -> BTreeSet<String> {
    named_below("crate::", source)
}

/// The same for the modules below `parent`: the name that follows it, and the names in braces after it.
fn named_below(parent: &str, source: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let first = |path: &str| path.trim_start().split(|c| !is_name(c)).next().unwrap().to_owned();
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = BTreeSet::new();
    for rest in code.join("\n").split(parent).skip(1) {
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
    let (modules, layers) = (modules(), layers("src/lib.rs"));
    assert!(layers.len() > 3, "{layers:?}");
    // A module that is not in the line is below all layers.
    let layer_of = |module: &str| {
        layers.iter().position(|layer| layer.iter().any(|known| known == module)).unwrap_or(layers.len())
    };
    for name in layers.iter().flatten() {
        assert!(modules.contains(name), "`{name}` in the line of arrows is not a module");
    }
    for (path, source) in sources() {
        let inside = path.strip_prefix(super::root().join("src")).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let is_below = |used: &&String| {
            layer_of(used) <= layer_of(module) && layer_of(used) < layers.len() && *used != module
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
fn arrows_within_the_tool_core_go_the_way_that_its_map_says() {
    let layers = layers("src/mcp/mod.rs");
    let layer_of = |name: &str| layers.iter().position(|layer| layer.iter().any(|known| known == name));
    let mut seen = BTreeSet::new();
    for (path, source) in sources() {
        let Ok(inside) = path.strip_prefix(super::root().join("src/mcp")) else { continue };
        let own = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if own == "mod" {
            continue;
        }
        let layer = layer_of(own).unwrap_or_else(|| panic!("`{own}` is not in the line of src/mcp/mod.rs"));
        seen.insert(own.to_owned());
        for used in named_below("crate::mcp::", &source).iter().filter(|used| *used != own) {
            let below = layer_of(used).unwrap_or_else(|| panic!("{} uses `{used}`", inside.display()));
            assert!(below > layer, "{} uses `{used}`, which is not below it", inside.display());
        }
    }
    assert_eq!(seen.len(), layers.iter().flatten().count(), "{seen:?}");
}

/// The one file of the vault that is built from the client's modules.
const VAULTS_OWN_CLIENT: &str = "vault/mcp_endpoint.rs";

#[test]
fn the_vault_shares_nothing_with_the_provider_client_but_the_wire() {
    let mut seen = 0;
    for (path, source) in sources() {
        let inside = path.strip_prefix(super::root().join("src")).unwrap();
        if !inside.starts_with("vault") {
            continue;
        }
        seen += 1;
        let named = named(&source);
        let shares = named.contains("provider") || named.contains("mcp");
        assert_eq!(shares, inside == Path::new(VAULTS_OWN_CLIENT), "{} uses {named:?}", inside.display());
        let fiction = ["sandbox", "fictional", "Maren"].into_iter().find(|word| source.contains(word));
        assert_eq!(fiction, None, "{} knows of the fictional data", inside.display());
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn no_files_of_a_room_use_each_other_in_a_circle() {
    let src = super::root().join("src");
    let below = |path: &Path| path.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
    let files: Vec<_> = rust_files("src").into_iter().map(|(path, source)| (below(&path), source)).collect();
    for module in WITHOUT_CIRCLES {
        assert!(modules().contains(module), "`{module}` is not a module any more");
        let circles = circles(module, &files);
        assert!(circles.is_empty(), "circles in src/{module}:\n{}", circles.join("\n"));
    }
}

#[test]
fn what_a_source_names_is_seen() {
    let source = "use crate::cache::Cache;\n// crate::not\nuse crate::{\n    advice, mcp::{self, pages},\n    text,\n};\nlet x = \
                  crate::hex::of(y), crate;\n";
    let found: Vec<_> = named(source).into_iter().collect();
    assert_eq!(found, ["advice", "cache", "hex", "mcp", "text"]);
}
