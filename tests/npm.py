"""Pinned tarballs of the npm registry, for tests/hosts and tests/interop; no npm program is needed. NPM_CONFIG_REGISTRY
names another registry.
"""
import base64
import hashlib
import os
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
