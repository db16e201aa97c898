//! The system's browser: whether there is one to come back from, and how it gets an address.

use std::time::Duration;

use url::Url;

/// Why the owner's browser is probably not on this machine, from its environment; `None` if it may be.
/// `BROWSER`, where it is set, is somebody's word that there is one.
pub fn why_none_here() -> Option<&'static str> {
    let has_docker_file = std::path::Path::new("/.dockerenv").exists();
    why_none(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()), has_docker_file)
}

fn why_none(is_set: impl Fn(&str) -> bool, has_docker_file: bool) -> Option<&'static str> {
    if is_set("BROWSER") {
        return None;
    }
    if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
        return Some("this is an SSH session");
    }
    if has_docker_file || is_set("container") || is_set("KUBERNETES_SERVICE_HOST") {
        return Some("this is a container");
    }
    let is_wsl = is_set("WSL_DISTRO_NAME");
    if cfg!(all(unix, not(target_os = "macos")))
        && !is_wsl
        && !is_set("DISPLAY")
        && !is_set("WAYLAND_DISPLAY")
    {
        return Some("there is no display here");
    }
    None
}

/// Hands `url` to the system's browser as one argument; whether that worked. Some openers block until
/// the browser closes, so they get a thread of their own and two seconds.
pub async fn open(url: &Url) -> bool {
    // The discovery checks leave nothing else; a browser's other schemes must never be reached from here.
    if !crate::provider::url::is_secure(url) {
        return false;
    }
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let url = url.to_string();
    std::thread::spawn(move || {
        let _ = sender.send(webbrowser::open(&url).is_ok());
    });
    match tokio::time::timeout(Duration::from_secs(2), receiver).await {
        Ok(opened) => opened.unwrap_or(false),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_browser_is_to_be_expected() {
        let why = |set: &[&str], docker| why_none(|name| set.contains(&name), docker);
        assert_eq!(why(&["SSH_TTY", "DISPLAY"], false), Some("this is an SSH session"));
        assert_eq!(why(&["SSH_CONNECTION"], true), Some("this is an SSH session"));
        assert_eq!(why(&["DISPLAY"], true), Some("this is a container"));
        assert_eq!(why(&["container", "WAYLAND_DISPLAY"], false), Some("this is a container"));
        assert_eq!(why(&["DISPLAY"], false), None);
        // An editor that forwards a browser says so.
        assert_eq!(why(&["BROWSER", "SSH_CONNECTION"], true), None);
        if cfg!(target_os = "linux") {
            assert_eq!(why(&[], false), Some("there is no display here"));
            assert_eq!(why(&["WSL_DISTRO_NAME"], false), None);
        }
    }
}
