#!/usr/bin/env python3
"""macOS, from Linux: what can be checked without its linker. Zig, which has the headers, compiles the C of some crates; nothing is linked or run."""

import sys

import toolchain
from toolchain import ran

TARGETS = {"aarch64-apple-darwin": "aarch64-macos", "x86_64-apple-darwin": "x86_64-macos"}
FOLDER = toolchain.ROOT / "target/macos"
ZIG = "0.15.2"


def zig():
    """The Zig in a pip package."""
    folder = FOLDER / f"ziglang-{ZIG}"
    if not (folder / "done").exists():
        toolchain.told(sys.executable, "-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--disable-pip-version-check",
                       "--no-deps", "--target", folder, f"ziglang=={ZIG}")
        (folder / "done").touch()
    return folder / "ziglang/zig"


def wrapper(name, text):
    path = FOLDER / name
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        path.chmod(0o755)
    return path


def compilers(program, target, zigs):
    """Zig as the C compiler and archiver of a target, without the options that only Apple's compiler accepts."""
    # Zig disables this by default, and then refuses functions of libdeflate that are for processors with this
    # feature.
    more = " -mevex512" if zigs.startswith("x86_64") else ""
    cc = wrapper(f"cc-{target}", f"""#!/bin/bash
words=()
while [ $# -gt 0 ]; do
  case $1 in
    -arch | -isysroot) shift ;;
    --target=* | -mmacosx-version-min=* | -mmacos-version-min=*) ;;
    *) words+=("$1") ;;
  esac
  shift
done
exec {program} cc -target {zigs}{more} "${{words[@]}}"
""")
    return cc, wrapper("ar", f"#!/bin/sh\nexec {program} ar \"$@\"\n")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = zig()
    for target, zigs in TARGETS.items():
        cc, ar = compilers(program, target, zigs)
        cargo = toolchain.Cargo(FOLDER, target, cc=cc, ar=ar)
        cargo.environment |= {"ZIG_GLOBAL_CACHE_DIR": str(FOLDER / "zig-cache"), "ZIG_LOCAL_CACHE_DIR": str(FOLDER / "zig-cache"), "SDKROOT": "/"}
        # This is `cargo check` plus the lints.
        cargo.run("clippy", "--lib", "--bins", "--benches", "--", "-D", "warnings")
        cargo.run("clippy", "--lib", "--profile", "test", "--", "-D", "warnings")
    ran.write("macos", {
        "platform": "macOS", "target": list(TARGETS), "how": "checked on Linux, never run",
        "toolchain": {"rustc": toolchain.rustc(), "Zig": ZIG},
        "ran": {}, "did": [],
        "checked": [
            "`cargo clippy`, which is `cargo check` plus the lints, without a warning for both processors: library, program, unit tests and benches",
            "read, not run: each line that is for macOS only, the paths of hosts and of their administrators' rules, and the keychain's answers, compared with the documents of Apple and of the hosts",
        ],
        "left_out": [["every test", "nothing is linked without Apple's SDK", 0], ["the integration tests", "not compiled either: some are for Linux", 0]],
        "unproven": [
            "all of it: nobody has ever run `pdpp` on macOS",
            "the keychain: that it asks once for each token after an update, because it treats a program that Apple did not sign as another one",
        ],
    })


if __name__ == "__main__":
    main()
