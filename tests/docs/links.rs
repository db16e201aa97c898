//! Promise: every relative link of every Markdown file leads to an existing file, and to a heading in it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::{documents, root};
use crate::support::sources::rust_files;

/// Every Markdown file of the clone, except installed or built ones.
fn markdown() -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", "node_modules", ".git"].contains(&name.as_str()) {
                    walk(&path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(root(), &mut found);
    found.sort();
    found
}

/// The text without its code, in which nothing is a link or a heading.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// The anchors that GitHub gives to the headings of a text.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose(text).lines() {
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let slug: String = title
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect();
            // A second heading with the same words gets a number.
            let free = (0..).map(|n| if n == 0 { slug.clone() } else { format!("{slug}-{n}") });
            found.insert(free.into_iter().find(|slug| !found.contains(slug)).unwrap());
        }
    }
    found
}

/// The targets of a text's links and pictures.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    // Even pieces are outside code spans.
    let outside: String = prose.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let targets = outside.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.map(str::to_owned).collect()
}

/// `a/b/../c` → `a/c`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
        plain
    })
}

/// The dead links of the file at `path`.
fn dead_links(path: &Path, text: &str) -> Vec<String> {
    let mut dead = Vec::new();
    for target in targets(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').map_or((target.as_str(), None), |(f, a)| (f, Some(a)));
        let there = if file.is_empty() { path.to_owned() } else { plain(&path.parent().unwrap().join(file)) };
        let is_dead = match anchor {
            _ if !there.exists() || !there.starts_with(root()) => true,
            None => false,
            Some(anchor) => !anchors(&std::fs::read_to_string(&there).unwrap_or_default()).contains(anchor),
        };
        if is_dead {
            dead.push(target);
        }
    }
    dead
}

#[test]
fn every_link_and_anchor_leads_somewhere() {
    let files = markdown();
    let mut links = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        links += targets(&text).len();
        let dead = dead_links(file, &text);
        assert!(dead.is_empty(), "{} links to {dead:?}", file.strip_prefix(root()).unwrap().display());
    }
    assert!(files.len() > 5 && links > 20, "{links} links in {} files", files.len());
}

#[test]
fn readme_leads_to_every_document() {
    let linked = targets(&super::read("README.md"));
    for document in documents().iter().filter(|document| document.starts_with("docs/")) {
        let is_linked = linked.iter().any(|target| target.split('#').next() == Some(document.as_str()));
        assert!(is_linked, "README does not lead to {document}");
    }
}

#[test]
fn a_dead_link_is_seen_and_code_is_none() {
    let text = "# One `two` & three\n[a](#one-two--three) [b](#nowhere) `[c](d.md)`\n```sh\n[e](f.md)\n# no heading\n```\n\
        [g](README.md) [h](https://h.example/x) [i](no/such.md) [j](../outside.md)\n";
    let dead = dead_links(&root().join("made-up.md"), text);
    // An anchor of a missing file is dead too.
    assert_eq!(dead, ["#one-two--three", "#nowhere", "no/such.md", "../outside.md"]);
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["one-two--three"]);
}

/// The code spans of a text.
fn spans(text: &str) -> Vec<String> {
    let prose = prose(text);
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The names of all functions in src/ and tests/.
fn functions() -> BTreeSet<String> {
    let files = ["src", "tests"].into_iter().flat_map(rust_files);
    let names = |text: &str| -> Vec<String> {
        text.split("fn ")
            .skip(1)
            .filter_map(|rest| rest.split(['(', '<']).next())
            .map(str::to_owned)
            .collect()
    };
    files.flat_map(|(_, text)| names(&text)).collect()
}

#[test]
fn files_and_tests_that_are_named_are_there() {
    let functions = functions();
    let (mut files, mut tests) = (0, 0);
    for document in ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/security.md"] {
        for span in spans(&super::read(document)) {
            let is_path = ["src/", "tests/", "docs/", "packaging/", "fuzz/", "benches/", ".ci/"]
                .iter()
                .any(|dir| span.starts_with(dir));
            // Nothing else has so many underscores.
            let is_test =
                span.matches('_').count() > 3 && span.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_path {
                let path = span.split(' ').next().unwrap();
                assert!(root().join(path).exists(), "{document} names {path}, which is not there");
                files += 1;
            } else if is_test {
                assert!(functions.contains(&span), "{document} names {span}, which is no test");
                tests += 1;
            }
        }
    }
    assert!(files > 30 && tests > 20, "{files} files, {tests} tests");
}
