"""The npm package and the wheel, installed offline by npm and pip, and used."""
import base64
import csv
import hashlib
import io
import pathlib
import re
import sys
import zipfile

from installed import version_of
from scratch import expect, expect_equal, run, shell

# Only tidemark_net knows this target.
SINK = "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 's3://bucket/prefix', 'csv')"

PYTHON = f"""
import sqlite3, sqlite_tidemark
conn = sqlite3.connect(":memory:")
sqlite_tidemark.load(conn)
sqlite_tidemark.load_net(conn)
conn.execute("CREATE VIRTUAL TABLE logs USING tidemark(body TEXT)")
conn.execute("INSERT INTO logs VALUES ('a'), ('b')")
conn.execute("{SINK}")
print(conn.execute("SELECT max(since) FROM logs").fetchone()[0], sqlite_tidemark.__version__)
print(sqlite_tidemark.loadable_path())
try:
    conn.load_extension(sqlite_tidemark.loadable_path())
    print("loaded")
except sqlite3.OperationalError as error:
    print(error)
"""

NODE = """
const tidemark = require('sqlite-tidemark');
const loaded = [];
tidemark.load({ loadExtension: (path) => loaded.push(path) });
tidemark.loadNet({ loadExtension: (path) => loaded.push(path) });
console.log(loaded.join() === [tidemark.getLoadablePath(), tidemark.getNetLoadablePath()].join(),
  require('sqlite-tidemark/package.json').version);
console.log(tidemark.getLoadablePath());
import('sqlite-tidemark').then((module) => console.log(module.getNetLoadablePath()));
"""

BETTER = f"""
const Database = require(process.argv[1]);
const tidemark = require('sqlite-tidemark');
const db = new Database(':memory:');
tidemark.load(db);
tidemark.loadNet(db);
db.exec("CREATE VIRTUAL TABLE logs USING tidemark(body TEXT); INSERT INTO logs VALUES ('a'), ('b'); {SINK}");
console.log(db.prepare('SELECT max(since) FROM logs').pluck().get());
"""


def build_packages(build, root, out):
    names = run(sys.executable, root / "ext/packages/build.py", build, out).split()
    expect(len(names) == 2, f"build.py wrote {names}, expected a tarball and a wheel")
    return names


def libraries_of(extension):
    return set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", extension)))


def check_record(wheel):
    """As PEP 427 has it, which pip does not look at: the tag; each file, its size and its hash, but for RECORD's."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    tag = pathlib.Path(wheel).stem.split("-", 2)[2]
    expect(f"\nTag: {tag}\n" in files[record.replace("RECORD", "WHEEL")].decode(), f"WHEEL does not have the tag {tag}")
    recorded = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(files[record].decode()))}
    wanted = {name: ("sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("="),
                     str(len(content))) for name, content in files.items()}
    expect_equal(recorded, {**wanted, record: ("", "")}, "the wheel's RECORD")


def check_wheel(build, root, scratch):
    wheel = build_packages(build, root, scratch / "wheel")[1]
    check_record(wheel)
    place = scratch / "venv"
    # A pip of its own would take most of the time; Debian's does it, too.
    run("/usr/bin/python3", "-m", "venv", "--without-pip", place)
    pip = ("/usr/bin/python3", "-m", "pip", "--python", place / "bin/python", "--disable-pip-version-check", "--quiet")
    run(*pip, "install", "--no-index", wheel)
    answer, path, refused = run(place / "bin/python", "-c", PYTHON).splitlines()
    expect_equal(answer, f"2 {version_of(build)}", "what Python reads")
    expect(path.startswith(str(place)), f"loadable_path() is {path}, expected a path in {place}")
    expect_equal(refused, "not authorized", "another extension after load()")


def check_npm(build, root, scratch):
    tarball = build_packages(build, root, scratch / "npm")[0]
    project = scratch / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", tarball, cwd=project,
        npm_config_cache=str(scratch / "cache"))
    expect_equal(libraries_of(project / "node_modules/sqlite-tidemark/tidemark.so"), {"libc.so.6", "libm.so.6"},
                 "what tidemark.so needs of the machine")
    same, path, net = run("node", "-e", NODE, cwd=project).splitlines()
    expect_equal(same, f"true {version_of(build)}", "what Node reads")
    expect(pathlib.Path(path).is_file() and pathlib.Path(net).is_file(), f"there is no file {path}, or no {net}")
    expect_equal(shell(f".load {path}", f".load {net}", "SELECT tidemark_version()").strip(), version_of(build),
                 "the version that the package's extensions load")
    better = build / "clients/node_modules/better-sqlite3"
    if (better / "build/Release/better_sqlite3.node").exists():
        expect_equal(run("node", "-e", BETTER, better, cwd=project), "2\n", "what better-sqlite3 reads")
