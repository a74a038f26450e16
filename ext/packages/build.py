#!/usr/bin/env python3
"""The npm package and the Python wheel of a build folder:  build.py BUILD OUT

Links the extensions once more, with zstd and xxHash inside, and writes OUT/sqlite-tidemark-VERSION.tgz and
OUT/sqlite_tidemark-VERSION-py3-none-linux_MACHINE.whl, whose names it prints. The version is meson.build's. The same
extensions give the same bytes.
"""
import base64
import gzip
import hashlib
import io
import json
import pathlib
import platform
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "sqlite-tidemark"
SUMMARY = "Tidemark for SQLite: partitioned, compressed, append-only logs with exactly-once export"
EXTENSIONS = ("tidemark.so", "tidemark_net.so")
LONG_AGO = 499162500  # 1985, the time that npm pack gives to every file
CPUS = {"x86_64": "x64", "aarch64": "arm64", "i686": "ia32", "armv7l": "arm"}


def read_version(build):
    return json.loads((build / "meson-info" / "intro-projectinfo.json").read_text())["version"]


def link_extensions(build):
    targets = [f"ext/packages/{name}" for name in EXTENSIONS]
    done = subprocess.run(["ninja", "-C", build, *targets], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}ninja cannot make {' and '.join(targets)}: expected a folder of meson setup, and "
                 "libzstd.a and libxxhash.a where pkg-config finds them (set up anew when they came later)")
    return {name: (build / "ext/packages" / name).read_bytes() for name in EXTENSIONS}


def read_licenses():
    return {"LICENSE": (HERE.parent.parent / "LICENSE").read_bytes(), "NOTICE": (HERE / "NOTICE").read_bytes()}


def npm_manifest(version):
    machine = platform.machine()
    return {
        "name": NAME, "version": version, "description": SUMMARY, "license": "Apache-2.0",
        "main": "index.js", "types": "index.d.ts",
        "exports": {".": {"types": "./index.d.ts", "import": "./index.mjs", "require": "./index.js"},
                    "./package.json": "./package.json"},
        "os": ["linux"], "cpu": [CPUS.get(machine, machine)], "libc": ["glibc"],
        "keywords": ["sqlite", "sqlite-extension", "log", "export"],
    }


def npm_files(version, extensions):
    files = {path.name: path.read_bytes() for path in (HERE / "npm").iterdir()}
    files["package.json"] = json.dumps(npm_manifest(version), indent=2).encode() + b"\n"
    return {**files, **extensions, **read_licenses()}


def write_tarball(path, files):
    """npm's layout: everything below package/."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"package/{name}")
            member.size, member.mtime, member.mode = len(content), LONG_AGO, 0o644
            tar.addfile(member, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def wheel_metadata(version):
    readme = (HERE / "python" / "README.md").read_text()
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
            f"License-File: LICENSE\nLicense-File: NOTICE\n"
            f"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}")


def record_of(files, record):
    """PEP 376's list of files with their hashes; its own line has none."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{record},,\n"


def wheel_files(version, tag, extensions):
    module = HERE / "python" / "sqlite_tidemark"
    info = f"sqlite_tidemark-{version}.dist-info"
    files = {f"sqlite_tidemark/{path.name}": path.read_bytes() for path in sorted(module.glob("*.py"))}
    files.update((f"sqlite_tidemark/{name}", content) for name, content in extensions.items())
    files.update((f"{info}/{name}", content) for name, content in read_licenses().items())
    files[f"{info}/METADATA"] = wheel_metadata(version).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: tidemark {version}\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
    files[f"{info}/RECORD"] = record_of(files, f"{info}/RECORD").encode()
    return files


def write_wheel(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, (1985, 10, 26, 8, 15, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    build, out = pathlib.Path(argv[1]), pathlib.Path(argv[2])
    extensions = link_extensions(build)
    version = read_version(build)
    out.mkdir(parents=True, exist_ok=True)
    # Not manylinux: glibc, and tidemark_net's libcurl and OpenSSL, are this machine's.
    tag = f"py3-none-linux_{platform.machine()}"
    tarball = out / f"{NAME}-{version}.tgz"
    wheel = out / f"sqlite_tidemark-{version}-{tag}.whl"
    write_tarball(tarball, npm_files(version, extensions))
    write_wheel(wheel, wheel_files(version, tag, extensions))
    print(tarball, wheel, sep="\n")


if __name__ == "__main__":
    main(sys.argv)
