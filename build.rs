//! How the optimised binary is laid out on Linux, where its linker can (LLVM's, which Rust brings, and mostly GNU's), and
//! what it tells the allocator there.
#![allow(clippy::print_stdout, reason = "that is how a build script answers")]

use std::env::var;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=link/start.ld");
    let is = |name, value: &str| var(name).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("PROFILE", "release") {
        return;
    }
    let directory = var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let mut arguments = vec![
        // What a start runs stands together: the system maps 64 KiB round each touched page.
        format!("-T{directory}/link/start.ld"),
        // Equal functions are kept once. Their addresses are nobody's business in Rust, nor in SQLite.
        "-Wl,--icf=all".to_owned(),
    ];
    if is("TARGET", &var("HOST").unwrap_or_default()) {
        // The addresses that a start adjusts, in a fortieth of the bytes. Needs glibc 2.36 where it runs, and is asked for
        // where this machine's own can do it: a release for older systems is built on one.
        arguments.push("-Wl,-z,pack-relative-relocs".to_owned());
    }
    if is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rerun-if-changed=link/malloc.c");
        for object in cc::Build::new().file("link/malloc.c").compile_intermediates() {
            println!("cargo:rustc-link-arg-bins={}", object.display());
        }
    }
    for argument in arguments.iter().filter(|argument| works(argument)) {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}

/// Whether an empty program links with `argument`, and runs where it is one for this machine.
fn works(argument: &str) -> bool {
    let (Ok(rustc), Ok(host), Ok(target), Ok(out)) =
        (var("RUSTC"), var("HOST"), var("TARGET"), var("OUT_DIR"))
    else {
        return false;
    };
    let mut command = Command::new(rustc);
    command.args(["-", "--crate-name=probe", "--crate-type=bin", "--target", &target, "--out-dir", &out]);
    if let Ok(linker) = var("RUSTC_LINKER") {
        command.arg(format!("-Clinker={linker}"));
    }
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    command
        .arg(format!("-Clink-arg={argument}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let written = child.stdin.take().map(|mut input| std::io::Write::write_all(&mut input, b"fn main() {}"));
    let linked =
        child.wait().is_ok_and(|ended| ended.success()) && written.is_some_and(|written| written.is_ok());
    linked
        && (host != target
            || Command::new(format!("{out}/probe")).status().is_ok_and(|ended| ended.success()))
}
