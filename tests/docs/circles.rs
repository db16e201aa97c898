//! Finds files that use each other in a circle, from the sources' `use` lines and the paths in their code.
//!
//! A file uses another if it names something that is defined there: `use super::store::StoreKind;`, or
//! `store::file::delete(…)` in a function. A name that a module only re-exports counts for the file that defines it.
//! Tests may use anything.

use std::collections::{BTreeMap, BTreeSet};

/// The module of a file below `src`: `cache/store/mod.rs` is `["cache", "store"]`.
type Module = Vec<String>;

/// What one file uses of others: their modules, and the names.
type Uses = BTreeMap<Module, BTreeSet<String>>;

/// The names in a source file.
#[derive(Default)]
struct File {
    path: String,
    /// What it names, as absolute paths; a path may begin at a module of a file, and end within it.
    named: BTreeSet<Vec<String>>,
    /// Names that it only re-exports, with what they stand for.
    re_exported: BTreeMap<String, Vec<String>>,
}

/// The circles among the files of `parent`, a module of the crate; `sources` are all files, by their path below
/// `src`. Describes each circle as text: its files, and the names that connect them.
pub fn circles(parent: &str, sources: &[(String, String)]) -> Vec<String> {
    let is_inside = |path: &str| {
        let rest = path.strip_prefix(parent);
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/')) && !path.ends_with("/tests.rs")
    };
    let files = sources.iter().filter(|(path, _)| is_inside(path));
    let files: BTreeMap<Module, File> = files.map(|(path, source)| file(path, source)).collect();
    let uses: BTreeMap<Module, Uses> =
        files.keys().map(|module| (module.clone(), uses(module, &files))).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for module in uses.keys() {
        let circle: Vec<&Module> = reached(module, &uses)
            .into_iter()
            .filter(|other| reached(other, &uses).contains(module))
            .collect();
        if circle.len() > 1 && circle.iter().all(|module| seen.insert(*module)) {
            circles.push(described(&circle, &files, &uses));
        }
    }
    circles
}

/// What `module` uses, directly or indirectly.
fn reached<'a>(module: &Module, uses: &'a BTreeMap<Module, Uses>) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = uses[module].keys().collect();
    while let Some(used) = next.pop() {
        if found.insert(used) {
            next.extend(uses[used].keys());
        }
    }
    found
}

fn described(circle: &[&Module], files: &BTreeMap<Module, File>, uses: &BTreeMap<Module, Uses>) -> String {
    let paths: Vec<&str> = circle.iter().map(|module| files[*module].path.as_str()).collect();
    let mut text = paths.join(", ");
    for from in circle {
        for (to, names) in uses[*from].iter().filter(|(to, _)| circle.contains(to)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            text += &format!("\n  {} -> {}: {}", files[*from].path, files[to].path, names.join(", "));
        }
    }
    text
}

/// The files whose names `module` uses, with the names.
fn uses(module: &Module, files: &BTreeMap<Module, File>) -> Uses {
    let mut uses = Uses::new();
    for path in &files[module].named {
        if let Some((used, name)) = defined(path, files).filter(|(used, _)| used != module) {
            uses.entry(used).or_default().insert(name);
        }
    }
    uses
}

/// The module of the file that defines `path`, and its name there; `None` for a module itself.
fn defined(path: &[String], files: &BTreeMap<Module, File>) -> Option<(Module, String)> {
    let mut path = path.to_vec();
    // A re-export may lead to a re-export.
    for _ in 0..8 {
        let length = (0..=path.len()).rev().find(|length| files.contains_key(&path[..*length]))?;
        let name = path.get(length)?;
        let Some(meant) = files[&path[..length]].re_exported.get(name) else {
            return Some((path[..length].to_vec(), name.clone()));
        };
        path = meant.iter().chain(&path[length + 1..]).cloned().collect();
    }
    None
}

fn file(path: &str, source: &str) -> (Module, File) {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    let tokens = without_tests(&tokens(source));
    let mut file = File { path: path.to_owned(), ..File::default() };
    // What each first word of a path stands for: an imported name, or a module that is declared here.
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut paths = Vec::new();
    // Modules within the file, each with its depth of braces.
    let (mut depth, mut inner): (usize, Vec<(String, usize)>) = (0, Vec::new());
    let mut is_public = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let here: Module = module.iter().cloned().chain(inner.iter().map(|(name, _)| name.clone())).collect();
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inner.retain(|(_, stands_at)| *stands_at < depth);
            }
            "mod" if is_name(tokens.get(at + 1)) => {
                let name = tokens[at + 1].clone();
                at += 1;
                if tokens.get(at + 1).is_some_and(|next| next == "{") {
                    inner.push((name, depth));
                } else {
                    known.insert(name.clone(), here.iter().chain([&name]).cloned().collect());
                }
            }
            "use" => {
                let end =
                    tokens[at..].iter().position(|token| token == ";").map_or(tokens.len(), |end| at + end);
                for (path, alias) in leaves(&tokens[at + 1..end]) {
                    let alias = alias.or_else(|| path.last().cloned()).unwrap_or_default();
                    paths.push((here.clone(), path, Some((alias, is_public))));
                }
                at = end;
            }
            _ if is_name(Some(token)) && tokens.get(at + 1).is_some_and(|next| next == "::") => {
                let mut path = vec![token.clone()];
                while tokens.get(at + 1).is_some_and(|next| next == "::") && is_name(tokens.get(at + 2)) {
                    path.push(tokens[at + 2].clone());
                    at += 2;
                }
                paths.push((here, path, None));
            }
            _ => {}
        }
        // `pub use`, `pub(crate) use`: the word before, without brackets.
        is_public = match token.as_str() {
            "pub" => true,
            "(" | ")" | "crate" | "super" | "in" => is_public,
            _ => false,
        };
        at += 1;
    }
    // Imports may name each other, in any order.
    for _ in 0..3 {
        for (here, path, import) in &paths {
            if let (Some(path), Some((alias, _))) = (absolute(here, path, &known), import) {
                known.insert(alias.clone(), path);
            }
        }
    }
    for (here, path, import) in paths {
        let Some(path) = absolute(&here, &path, &known) else { continue };
        match import {
            Some((alias, true)) => drop(file.re_exported.insert(alias, path)),
            _ => drop(file.named.insert(path)),
        }
    }
    (module, file)
}

/// `path` from the root of the crate, as the module `here` understands it; `None` for a path of another crate.
fn absolute(here: &[String], path: &[String], known: &BTreeMap<String, Vec<String>>) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut start = match first.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => here.to_vec(),
        name => known.get(name)?.clone(),
    };
    if first == "super" {
        start.pop();
    }
    let up = rest.iter().take_while(|word| *word == "super").count();
    start.truncate(start.len().saturating_sub(up));
    Some(start.into_iter().chain(rest[up..].iter().cloned()).collect())
}

/// The paths of a `use` tree, each with its name here if it is renamed.
fn leaves(tree: &[String]) -> Vec<(Vec<String>, Option<String>)> {
    let mut prefix: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tree.len() {
        match tree[at].as_str() {
            "::" => {}
            "{" => {
                let inside = &tree[at + 1..tree.len() - 1];
                let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
                for (at, token) in inside.iter().enumerate() {
                    match token.as_str() {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        "," if depth == 0 => {
                            parts.push(&inside[start..at]);
                            start = at + 1;
                        }
                        _ => {}
                    }
                }
                parts.push(&inside[start..]);
                let of_part = |part: &[String]| {
                    let whole = |(path, alias): (Vec<String>, Option<String>)| {
                        let path = path.iter().filter(|word| *word != "self");
                        (prefix.iter().chain(path).cloned().collect(), alias)
                    };
                    leaves(part).into_iter().map(whole).collect::<Vec<_>>()
                };
                return parts.into_iter().filter(|part| !part.is_empty()).flat_map(of_part).collect();
            }
            "as" => return vec![(prefix, tree.get(at + 1).cloned())],
            word => prefix.push(word.to_owned()),
        }
        at += 1;
    }
    vec![(prefix, None)]
}

fn is_name(token: Option<&String>) -> bool {
    token.is_some_and(|token| token.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Names, `::` and single signs; no comments or literals.
fn tokens(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match c {
            '/' if next == Some('/') => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '"' => at = end_of_string(&chars, at),
            'r' if matches!(next, Some('"' | '#')) => {
                let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
                let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                let inside = at + 2 + hashes;
                let length = chars[inside..].windows(end.len()).position(|window| window == end.as_slice());
                at = inside + length.unwrap() + end.len();
            }
            // A lifetime has no closing quote.
            '\'' if next == Some('\\') || chars.get(at + 2) == Some(&'\'') => {
                at += 3;
                while chars[at - 1] != '\'' || chars[at - 2] == '\\' && chars[at - 3] != '\\' {
                    at += 1;
                }
            }
            ':' if next == Some(':') => {
                found.push("::".to_owned());
                at += 2;
            }
            _ if c.is_alphanumeric() || c == '_' => {
                let word: String =
                    chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
                at += word.chars().count();
                found.push(word);
            }
            _ => {
                if !c.is_whitespace() {
                    found.push(c.to_string());
                }
                at += 1;
            }
        }
    }
    found
}

fn end_of_string(chars: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// `tokens` without the items that exist only for tests.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const FOR_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].iter().take(FOR_TESTS.len()).eq(FOR_TESTS) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += FOR_TESTS.len();
        // Up to the end of the item: its block, or a semicolon outside a block.
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => continue,
            }
            if token == "}" && depth == 0 {
                break;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::circles;

    fn sources(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, source)| ((*path).to_owned(), (*source).to_owned())).collect()
    }

    #[test]
    fn a_circle_is_named_with_what_ties_it() {
        let files = sources(&[
            ("lib.rs", "pub mod shop; pub mod text;"),
            ("text.rs", "use crate::shop::till::Till;"),
            ("shop/mod.rs", "mod till; mod stock; mod door; pub use till::{Till, open as open_till};"),
            ("shop/till.rs", "use super::stock::{self, Shelf};\nfn pay() { stock::count(1) }"),
            ("shop/stock/mod.rs", "pub mod label;\npub struct Shelf;\n// super::super::door::Door"),
            (
                "shop/stock/label.rs",
                "fn print() { crate::shop::door::ring(\"use super::Shelf;\", 'x', '\\'') }",
            ),
            (
                "shop/door.rs",
                "use super::open_till;\nuse crate::{text, shop::stock::label as tag};\nfn f() { tag::stick() }",
            ),
        ]);
        // `till` uses `stock`, which uses nothing; `door` and `label` use each other, and `door` uses `till`.
        let expected = "shop/door.rs, shop/stock/label.rs\n  shop/door.rs -> shop/stock/label.rs: stick\n  \
                        shop/stock/label.rs -> shop/door.rs: ring";
        assert_eq!(circles("shop", &files), [expected]);
        assert_eq!(circles("text", &files), [""; 0], "what another parent does counts for none");
    }

    #[test]
    fn a_parent_counts_where_it_has_code_of_its_own() {
        let child = ("shop/till.rs", "use super::Open;\nuse super::*;");
        let declares =
            ("shop/mod.rs", "mod till; mod hours; pub use hours::Open; pub(crate) use self::till::Till;");
        assert_eq!(
            circles("shop", &sources(&[child, declares, ("shop/hours.rs", "pub struct Open;")])),
            [""; 0]
        );
        let defines = ("shop/mod.rs", "mod till;\npub struct Open;\nfn f(_: till::Till) {}");
        let found = circles("shop", &sources(&[child, defines]));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("shop/mod.rs -> shop/till.rs: Till"), "{found:?}");
        assert!(found[0].contains("shop/till.rs -> shop/mod.rs: *, Open"), "{found:?}");
    }

    #[test]
    fn a_longer_circle_is_one_and_tests_may_use_what_they_like() {
        let files = sources(&[
            ("a/one.rs", "use super::two::Two;\nmod within { use super::super::three::Three; }"),
            ("a/two.rs", "use crate::a::three::Three;"),
            ("a/three.rs", "fn f(one: &super::one::One) -> r#\"}\"#\n{}"),
            (
                "a/four.rs",
                "use super::one::One;\n#[cfg(test)]\n#[allow(x)]\nmod tests { use super::super::five::Five; }",
            ),
            ("a/five.rs", "#[cfg(test)]\nuse super::six;\nuse super::four::Four;"),
        ]);
        let found = circles("a", &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a/one.rs, a/three.rs, a/two.rs\n"), "{found:?}");
        assert!(found[0].contains("a/one.rs -> a/three.rs: Three"), "{found:?}");
    }
}
