"""Pinned tarballs of the npm registry, for tests/hosts, tests/interop and tests/bench; no npm program is needed.
NPM_CONFIG_REGISTRY names another registry.
"""
import base64
import collections
import concurrent.futures
import hashlib
import io
import os
import pathlib
import platform
import shutil
import tarfile
import urllib.error
import urllib.request

REGISTRY = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")


class Failure(Exception):
    """What the person who runs this must know; str() is a sentence."""


def integrity_of(content, wanted):
    """content's checksum in the way that `wanted` is written: sha256 in hexadecimal, or npm's "sha512-<base64>"."""
    if wanted.startswith("sha512-"):
        return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    return hashlib.sha256(content).hexdigest()


def keep(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)


def fetch(package, version, integrity, path):
    """The tarball's bytes, from the file `path` when it holds the right ones, which it does afterwards."""
    if path.exists():
        content = path.read_bytes()
        if integrity_of(content, integrity) == integrity:
            return content
    url = f"{REGISTRY}/{package}/-/{package.rsplit('/', 1)[-1]}-{version}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except (OSError, urllib.error.URLError) as error:
        raise Failure(f"cannot fetch {url}: {error}") from error
    found = integrity_of(content, integrity)
    if found != integrity:
        raise Failure(f"{url} has the checksum {found}, expected {integrity}")
    keep(path, content)
    return content


Package = collections.namedtuple("Package", "reader name version integrity machine")


def read_packages(path):
    """Those that the file pins for this machine (tests/interop/packages.txt says how)."""
    lines = path.read_text().splitlines()
    packages = [Package(*line.split()) for line in lines if line and not line.startswith("#")]
    return [package for package in packages if package.machine in ("any", platform.machine())]


def unpack(package, folder):
    """Makes folder/node_modules/NAME what the tarball holds, unless it is."""
    place = folder / "node_modules" / package.name
    mark = place / ".integrity"
    if mark.exists() and mark.read_text() == package.integrity:
        return
    tarball = folder / "fetched.tgz" / package.name.replace("/", "__")
    content = fetch(package.name, package.version, package.integrity, tarball)
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        for member in files.getmembers():
            parts = pathlib.PurePosixPath(member.name).parts[1:]
            if member.isfile() and parts and ".." not in parts:
                to = place.joinpath(*parts)
                to.parent.mkdir(parents=True, exist_ok=True)
                with to.open("wb") as into:
                    shutil.copyfileobj(files.extractfile(member), into)
    mark.write_text(package.integrity)
    tarball.unlink()


def try_unpack(package, folder):
    try:
        unpack(package, folder)
    except Failure as failure:
        return str(failure)
    return None


def unpack_all(packages, folder):
    """Four at a time; gives the sentences of what failed."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return [problem for problem in pool.map(lambda package: try_unpack(package, folder), packages) if problem]
