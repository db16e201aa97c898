//! Promise: cron, systemd, launchd and Task Scheduler accept the timers of docs/refresh.md, as far as their form
//! shows it, and the timers run an existing command.

use super::read;

/// The code blocks of the page in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = read("docs/refresh.md");
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Checks that these are arguments of `pdpp import` that cause no question.
fn is_import(arguments: &[&str]) -> bool {
    arguments == ["import", "--yes"]
}

#[test]
fn o2_2_the_line_for_cron_has_five_times_and_a_command() {
    let [line] = blocks("cron").try_into().unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
    for (word, (least, most)) in words.iter().zip(bounds) {
        let is_time = word.parse::<u32>().is_ok_and(|number| (least..=most).contains(&number));
        assert!(*word == "*" || is_time, "{word}");
    }
    assert!(words[5].starts_with('/') && words[5].ends_with("/pdpp"), "{line}");
    assert!(is_import(&words[6..8]), "{line}");
    // A percent sign means a new line there.
    assert!(words[8..] == [">/dev/null"] && !line.contains('%') && line.ends_with('\n'), "{line}");
}

#[test]
fn o2_2_the_units_for_systemd_have_the_sections_and_keys_that_they_need() {
    let [service, timer] = blocks("ini").try_into().unwrap();
    let keys = |unit: &str| {
        let mut section = String::new();
        let mut all = Vec::new();
        for line in unit.lines().filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix('[') {
                name.strip_suffix(']').unwrap().clone_into(&mut section);
            } else {
                let (key, value) = line.split_once('=').unwrap();
                all.push((format!("{section}.{key}"), value.to_owned()));
            }
        }
        all
    };
    let service = keys(&service);
    let of = |all: &[(String, String)], key: &str| {
        let found = all.iter().find(|(known, _)| known == key);
        found.unwrap_or_else(|| panic!("no {key}")).1.clone()
    };
    assert_eq!(of(&service, "Service.Type"), "oneshot");
    let command = of(&service, "Service.ExecStart");
    let words: Vec<&str> = command.split(' ').collect();
    assert!(words[0].starts_with('/') && is_import(&words[1..]), "{command}");
    let timer = keys(&timer);
    assert_eq!(of(&timer, "Timer.OnCalendar"), "hourly");
    assert_eq!(of(&timer, "Install.WantedBy"), "timers.target");
}

/// The elements of an XML text, opened and closed, with the text in them.
fn elements(xml: &str) -> Vec<(String, String)> {
    let mut open: Vec<String> = Vec::new();
    let mut all = Vec::new();
    let mut rest = xml.trim_start();
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('&') && !text.contains('>'), "{text}");
        let end = rest.find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with(['?', '!']) {
            assert!(open.is_empty(), "{tag}");
        } else if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            all.push((name.to_owned(), text.trim().to_owned()));
        } else {
            assert!(!tag.ends_with('/') && (open.len() < 10), "{tag}");
            open.push(tag.split(' ').next().unwrap().to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    all
}

#[test]
fn o2_2_the_plist_and_the_task_are_well_formed_and_run_the_import() {
    let [plist, task] = blocks("xml").try_into().unwrap();
    let values: Vec<String> = elements(&plist)
        .into_iter()
        .filter(|(name, _)| ["key", "string", "integer"].contains(&name.as_str()))
        .map(|(_, text)| text)
        .collect();
    let after = |key: &str| {
        let at = values.iter().position(|value| value == key).unwrap_or_else(|| panic!("no {key}"));
        &values[at + 1..]
    };
    assert_eq!(after("Label")[0], "dev.pdpp.import");
    let program: Vec<&str> = after("ProgramArguments")[..3].iter().map(String::as_str).collect();
    assert!(program[0].starts_with('/') && is_import(&program[1..]), "{program:?}");
    assert_eq!(after("StartInterval")[0], "3600");
    let task = elements(&task);
    let of =
        |key: &str| task.iter().find(|(name, _)| name == key).unwrap_or_else(|| panic!("no {key}")).1.clone();
    assert_eq!(of("Interval"), "PT1H");
    assert!(of("Command").ends_with(r"\pdpp.exe"));
    assert!(is_import(&of("Arguments").split(' ').collect::<Vec<_>>()));
    // The order that the schema requires.
    let at = |key: &str| task.iter().position(|(name, _)| name == key).unwrap();
    assert!(
        at("RegistrationInfo") < at("Triggers")
            && at("Triggers") < at("Settings")
            && at("Settings") < at("Actions")
    );
}
