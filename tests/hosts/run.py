#!/usr/bin/env python3
"""The same tidemark.so in other versions of SQLite:  run.py BUILD [VERSION...]

Takes the releases that releases.txt pins (or only the SQLite versions named) from the npm registry, checks their
hashes, builds a libsqlite3.so.0 of each in BUILD/hosts/VERSION, and runs BUILD/tests/hosts/smoke in it. What is there
already is not fetched or built again. NPM_CONFIG_REGISTRY names another registry. The last line is
"N passed, N failed"; a version that cannot be had has failed.
"""
import collections
import concurrent.futures
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from npm import Failure, fetch, keep  # noqa: E402

SOURCE = "package/deps/sqlite3/sqlite3.c"

# Debian's, as far as the amalgamation knows them; not optimized, for the smoke is short and the build would be long.
FLAGS = """-O0 -g0 -fPIC -shared -w -Wl,-soname,libsqlite3.so.0 -DSQLITE_THREADSAFE=1 -DSQLITE_SECURE_DELETE
  -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS3_PARENTHESIS
  -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_JSON1 -DSQLITE_ENABLE_LOAD_EXTENSION
  -DSQLITE_ENABLE_PREUPDATE_HOOK -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_STMTVTAB
  -DSQLITE_ENABLE_UNLOCK_NOTIFY -DSQLITE_LIKE_DOESNT_MATCH_BLOBS -DSQLITE_MAX_SCHEMA_RETRY=25
  -DSQLITE_MAX_VARIABLE_NUMBER=250000 -DSQLITE_SOUNDEX -DSQLITE_USE_URI -DHAVE_ISNAN""".split()

Release = collections.namedtuple("Release", "package sqlite sha256 expected")


def read_releases():
    lines = (HERE / "releases.txt").read_text().splitlines()
    return [Release(*line.split()) for line in lines if line and not line.startswith("#")]


def build(release, folder):
    """Makes folder/libsqlite3.so.0 unless it is there, made with these flags."""
    library = folder / "libsqlite3.so.0"
    recipe = folder / "recipe"
    wanted = " ".join([release.sha256, *FLAGS])
    if library.exists() and recipe.exists() and recipe.read_text() == wanted:
        return
    content = fetch("better-sqlite3", release.package, release.sha256, folder / "better-sqlite3.tgz")
    with tarfile.open(fileobj=io.BytesIO(content)) as tarball:
        source = tarball.extractfile(SOURCE).read()
    with tempfile.TemporaryDirectory(prefix="tidemark.") as scratch:
        made = pathlib.Path(scratch, "libsqlite3.so.0")
        pathlib.Path(scratch, "sqlite3.c").write_bytes(source)
        command = [os.environ.get("CC", "cc"), *FLAGS, "-o", str(made), "sqlite3.c", "-lm", "-lpthread", "-ldl"]
        done = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise Failure(f"SQLite {release.sqlite} does not compile: {done.stdout.decode(errors='replace').strip()}")
        keep(library, made.read_bytes())
    recipe.write_text(wanted)


def try_build(release, folder):
    try:
        build(release, folder)
    except Failure as failure:
        return str(failure)
    return None


def smoke(release, folder, build_folder, travelling):
    """What is wrong, or None."""
    command = [build_folder / "tests/hosts/smoke", build_folder / "ext/tidemark.so", release.sqlite, release.expected,
               travelling]
    environment = dict(os.environ, LD_LIBRARY_PATH=str(folder))
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    output = done.stdout.decode(errors="replace").strip()
    if done.returncode == 0 and re.search(r"100%: Checks: [1-9]", output):
        return None
    return f"status {done.returncode}: {output}"


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    build_folder = pathlib.Path(arguments[0]).resolve()
    named = set(arguments[1:])
    releases = [release for release in read_releases() if not named or release.sqlite in named]
    unknown = named - {release.sqlite for release in releases}
    if unknown:
        sys.exit(f"releases.txt has no SQLite {', '.join(sorted(unknown))}")
    folders = [build_folder / "hosts" / release.sqlite for release in releases]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = list(pool.map(try_build, releases, folders))
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tidemark.") as scratch:
        travelling = os.path.join(scratch, "travelling.db")
        for release, folder, problem in zip(releases, folders, wrong):
            problem = problem or smoke(release, folder, build_folder, travelling)
            failed += problem is not None
            print(f"SQLite {release.sqlite} {release.expected}: {'ok' if problem is None else problem}", flush=True)
    print(f"{len(releases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
