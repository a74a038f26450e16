"""better-sqlite3 with the SQLite that it brings, in BUILD/clients/node_modules, without npm, node-gyp, prebuilt files:
its sources are two, and Node's own headers are beside Node or in Debian's libnode-dev.
"""
import ast
import os
import pathlib
import re
import shutil
import subprocess

from npm import Failure, keep, read_packages, unpack_all

HERE = pathlib.Path(__file__).resolve().parent


def node_headers():
    node = shutil.which("node")
    beside = [pathlib.Path(node).resolve().parent.parent / "include/node"] if node else []
    for folder in [*beside, pathlib.Path("/usr/include/node")]:
        if (folder / "node.h").exists():
            return folder
    raise Failure("Node's headers are not there: expected node.h beside node, or Debian's libnode-dev")


def defines(package):
    """What the package compiles its SQLite with: its .gypi is a literal of Python with comments."""
    text = (package / "deps/defines.gypi").read_text()
    return [f"-D{define}" for define in ast.literal_eval(re.sub(r"^#.*$", "", text, flags=re.MULTILINE))["defines"]]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {done.stdout.decode(errors='replace').strip()}")


def compile_into(package, made):
    """Not optimized, for the tests are short and the build would be long."""
    headers = node_headers()
    mark = made.with_suffix(".recipe")
    version = subprocess.check_output(["node", "--version"], text=True)
    wanted = f"{(package / '.integrity').read_text()} {headers} {version}"
    if made.exists() and mark.exists() and mark.read_text() == wanted:
        return
    flags = ["-O0", "-g0", "-w", "-fPIC", *defines(package), f"-I{package / 'deps/sqlite3'}"]
    parts = [package / "sqlite3.o", package / "better_sqlite3.o"]
    run(os.environ.get("CC", "cc"), *flags, "-c", package / "deps/sqlite3/sqlite3.c", "-o", parts[0])
    run("c++", *flags, "-std=c++20", "-fno-exceptions", f"-I{headers}", "-c", package / "src/better_sqlite3.cpp", "-o",
        parts[1])
    part = package / "better_sqlite3.part"
    run("c++", "-shared", "-Wl,-Bsymbolic", "-Wl,--exclude-libs,ALL", *parts, "-o", part, "-lpthread", "-ldl", "-lm")
    keep(made, part.read_bytes())
    mark.write_text(wanted)


def prepare(build):
    """Gives the folder for NODE_PATH."""
    folder = build / "clients"
    problems = unpack_all(read_packages(HERE / "packages.txt"), folder)
    if problems:
        raise Failure("; ".join(problems))
    package = folder / "node_modules/better-sqlite3"
    compile_into(package, package / "build/Release/better_sqlite3.node")
    return folder / "node_modules"
