#!/usr/bin/env python3
"""A static binary for Linux, with musl, for x86-64 and arm64: built with Debian's Rust, gcc and musl, and run on an empty system. Needs root.

Both are built the same way: from Debian's packages of musl and of LLVM's unwinder for the processor, unpacked below target/, and the start
files of its gcc. The cross compiler links the one for arm64, which runs under qemu.
"""

import os
import shutil
import subprocess

import arm64
import person
import toolchain
from toolchain import ran

FOLDER = toolchain.ROOT / "target/musl"
SUITE = "trixie"
# Of the tests for Linux, those that depend on the C library, by name.
UNIT = []
INTEGRATION = []


# gcc's own unwinder asks glibc where a function is; LLVM's works with musl too, but uses glibc's functions for
# checked printing.
UNWINDER = "libunwind-14-dev"
PRINTS = """\
#include <stdarg.h>
#include <stdio.h>
int __fprintf_chk(FILE *to, int flag, const char *format, ...)
{
    va_list values;
    (void)flag;
    va_start(values, format);
    int written = vfprintf(to, format, values);
    va_end(values);
    return written;
}
"""


def musl(processor):
    """Debian's musl and unwinder for a processor: headers, static libraries, start files."""
    folder = FOLDER / f"musl-{processor}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        # A view of the registry for this processor alone: the machine's own list of architectures does not change.
        lists = folder / "apt"
        (lists / "lists/partial").mkdir(parents=True)
        # _apt may not have access here.
        options = ["-o", f"APT::Architecture={processor}", "-o", f"APT::Architectures={processor}", "-o", f"Dir::State::Lists={lists}/lists",
                   "-o", f"Dir::Cache={lists}", "-o", "APT::Sandbox::User=root"]
        toolchain.told("apt-get", *options, "update", "-qq")
        toolchain.told("apt-get", *options, "download", "-qq", "musl-dev", UNWINDER, cwd=folder)
        for package in folder.glob("*.deb"):
            toolchain.told("dpkg-deb", "-x", package, folder / "root")
        (package,) = folder.glob("musl-dev_*.deb")
        shutil.rmtree(lists)
        (folder / "done").write_text(toolchain.told("dpkg-deb", "-f", package, "Version").strip())
    return folder


def crt(processor, gcc, machine, ar):
    """A folder with everything that is linked statically: musl, the unwinder, and the start files of both musl and gcc."""
    folder = musl(processor) / "crt"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    library = musl(processor) / f"root/usr/lib/{machine}-linux-musl"
    for file in library.iterdir():
        if file.suffix in (".o", ".a"):
            shutil.copy(file, folder)
    for name in ("crtbegin.o", "crtbeginS.o", "crtbeginT.o", "crtend.o", "crtendS.o"):
        shutil.copy(toolchain.told(gcc, f"-print-file-name={name}").strip(), folder)
    shutil.copy(musl(processor) / "root/usr/lib/llvm-14/lib/libunwind.a", folder)
    (folder / "prints.c").write_text(PRINTS)
    toolchain.told(compiler(processor, gcc, machine), "-O2", "-fPIC", "-c", folder / "prints.c", "-o", folder / "prints.o")
    toolchain.told(ar, "r", folder / "libunwind.a", folder / "prints.o")
    return folder


def compiler(processor, gcc, machine):
    """gcc with musl's headers instead of those of its own C library."""
    root = musl(processor) / "root"
    path = FOLDER / f"cc-{processor}"
    inside = toolchain.told(gcc, "-print-file-name=include").strip()
    # Without _FORTIFY_SOURCE, which needs glibc.
    path.write_text(f'#!/bin/sh\nexec {gcc} "$@" -nostdinc -isystem {root}/usr/include/{machine}-linux-musl -isystem {inside} -U_FORTIFY_SOURCE\n')
    path.chmod(0o755)
    return path


def cargo(processor, machine, gcc, ar):
    return toolchain.Cargo(
        FOLDER, f"{machine}-unknown-linux-musl", linker=gcc, cc=compiler(processor, gcc, machine), ar=ar,
        rustflags=[f"-Lnative={crt(processor, gcc, machine, ar)}"],
    )


def release_of_debian():
    """The base system of another release of Debian, unpacked once."""
    folder = FOLDER / SUITE
    if not (folder / "done").exists():
        # If an earlier run was stopped, its mounts still exist.
        for inside in ("proc", "sys"):
            subprocess.run(["umount", "--lazy", folder / inside], stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
        toolchain.told("debootstrap", "--variant=minbase", SUITE, folder)
        (folder / "done").touch()
    return folder


def fresh(name, of=None):
    """A new root: empty, or a copy of another."""
    root = FOLDER / "roots" / name
    if root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    if of:
        toolchain.told("mount", "-t", "tmpfs", "tmpfs", root)
        (root / "upper").mkdir()
        (root / "work").mkdir()
        (root / "all").mkdir()
        toolchain.told("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={of},upperdir={root}/upper,workdir={root}/work", root / "all")
        return root / "all"
    return root


def on_an_empty_root(binary, name):
    """An empty system with only the program, a home, /tmp, and what the kernel provides: /proc and /dev/null."""
    root = fresh(name)
    (root / "dev").mkdir()
    os.mknod(root / "dev/null", 0o20666, os.makedev(1, 3))
    (root / "dev/null").chmod(0o666)
    return person.Place(binary, root)


def bare(binary, name):
    """What works without even those."""
    place = person.Place(binary, fresh(name), proc=False)
    assert place.good("--version").startswith("pdpp "), "no version"
    assert "heating" not in place.good("mcp", "inspect")
    return "with the program alone, without even `/proc`: `--version`, `mcp inspect`"


def main():
    here = cargo("amd64", "x86_64", "x86_64-linux-gnu-gcc", "x86_64-linux-gnu-ar")
    there = cargo("arm64", "aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-ar")
    unit, integration, _ = here.tests()
    environment = os.environ | {"PROPTEST_CASES": "32", "RUST_TEST_THREADS": "6", "INSTA_UPDATE": "no"}
    # A real keyring, over D-Bus, from a static binary.
    told = subprocess.run([integration, "cache::keyring::", "--ignored", "--test-threads=1"], env=environment, cwd=toolchain.ROOT, stdout=subprocess.PIPE, text=True)
    keyring = ran.tests(told.stdout)["passed"]
    assert told.returncode == 0 and len(keyring) == 7, told.stdout[-3000:]
    counted, left_out = {}, []
    for what, test, rows in (("unit tests, x86-64", unit, UNIT), ("integration tests, x86-64", integration, INTEGRATION)):
        counted[what], rows = toolchain.run_tests(test, rows, environment, keyring)
        left_out += rows
    counted["tests of a real keyring, x86-64"] = [len(keyring), len(keyring), 0]

    programs = {"x86-64": here.release(), "arm64": there.release()}
    for processor, program in programs.items():
        assert person.is_static(program), f"{program} asks for a library"
        print(f"{processor}: {os.path.getsize(program):,} bytes", flush=True)
    # Rust links the one for arm64 to a fixed address.
    assert [person.is_movable(program) for program in programs.values()] == [True, False]
    base = release_of_debian()
    arm64.emulate()
    person.own_network()
    everywhere = [person.demo, person.sandbox, person.own_data]
    did = ["static: it needs no interpreter and no library; loaded at any address on x86-64, at a fixed one on arm64, as Rust defines these targets"]
    for processor, program in programs.items():
        with_qemu = ", under qemu" if processor == "arm64" else ""
        place = on_an_empty_root(program, f"empty-{processor}")
        deeds = [*everywhere, person.zones, person.names_and_certificates]
        did += [f"{processor}{with_qemu}, on an empty root (`/proc`, `/tmp`, `/dev/null`): {deed(place)}" for deed in deeds]
        if processor == "x86-64":
            did.append(f"{processor}, on an empty root: {person.memory(place)}")
            did.append(f"{processor}, {bare(program, 'bare')}")
        place = person.Place(program, fresh(f"{SUITE}-{processor}", base))
        did += [f"{processor}{with_qemu}, on Debian {SUITE}: {deed(place)}" for deed in everywhere]
    ran.write("musl", {
        "platform": "Linux with a static binary (musl)", "target": [here.target, there.target],
        "how": "built on Debian 12; run here on x86-64 and, for arm64, under qemu",
        "toolchain": {"rustc": toolchain.rustc(), "gcc": toolchain.version("x86_64-linux-gnu-gcc", "-dumpfullversion"),
                      "musl": toolchain.upstream((musl("amd64") / "done").read_text()), "qemu": toolchain.version("qemu-aarch64-static", "--version"), "Debian": SUITE},
        "ran": counted, "did": did, "checked": [], "left_out": left_out,
        "unproven": [
            "on a machine with an arm64 processor: it ran under qemu only",
            "answers of a name server that do not fit a datagram: musl before 1.2.4 does not repeat the question over TCP",
        ],
    })


if __name__ == "__main__":
    main()
