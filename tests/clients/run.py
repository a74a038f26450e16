#!/usr/bin/env python3
"""The programs of sql/examples/clients, run as people run them:  run.py [--preload LIBRARY] BUILD [NAME...]

A NAME is a host (shell, python, node, perl, php, ruby, tcl); without one, all of them. Each host goes through the cases
of cases.py by itself, then all that were named together on one file. For Node it makes better-sqlite3 in BUILD/clients,
unless it is there (node_host.py). The last line is "N passed, N failed"; a host that is not there has failed.

What claims/NAME.expected holds beside Tidemark's own sentences are the words of Debian 12's packages.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent))
import cases  # noqa: E402
from node_host import prepare  # noqa: E402
from npm import Failure  # noqa: E402


def find_hosts(build):
    php = ["php", "-d", f"sqlite3.extension_dir={build / 'ext'}"]
    return {host.name: host for host in [
        cases.Host("shell", "shell.sh", ["sh"], {}),
        cases.Host("python", "python.py", ["/usr/bin/python3"], {}),
        cases.Host("node", "node.js", ["node"], {"NODE_PATH": str(build / "clients/node_modules")}),
        cases.Host("perl", "perl.pl", ["perl"], {}),
        cases.Host("php", "php.php", php, {}),
        cases.Host("ruby", "ruby.rb", ["ruby"], {}),
        cases.Host("tcl", "tcl.tcl", ["tclsh"], {})]}


def attempt(what, case, hosts, bench):
    """Whether it passed; says so, or what is wrong."""
    with tempfile.TemporaryDirectory(prefix="tidemark.") as scratch:
        try:
            case(hosts, bench, pathlib.Path(scratch).resolve())
        except (AssertionError, OSError, ValueError, AttributeError) as error:
            print(f"{what}, {case.__name__}: {type(error).__name__}: {error}", flush=True)
            return False
    print(f"{what}, {case.__name__}: ok", flush=True)
    return True


def ready(host, build):
    """Whether it can be run; says what is missing."""
    try:
        if shutil.which(host.command[0]) is None:
            raise Failure(f"there is no {host.command[0]}")
        if host.name == "node":
            prepare(build)
    except Failure as failure:
        print(f"{host.name}: {failure}", flush=True)
        return False
    return True


def alone(host, build, bench):
    """Whether each case passed; None when it cannot be run."""
    if not ready(host, build):
        return None
    return [attempt(host.name, case, [host], bench) for case in cases.EACH]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--preload", metavar="LIBRARY", default="", help="a library for LD_PRELOAD: the sanitizer's")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    known = find_hosts(build)
    unknown = set(arguments.names) - set(known)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))}: expected {', '.join(known)}")
    hosts = [known[name] for name in arguments.names or known]
    bench = cases.Bench(build / "ext/tidemark.so", build / "tests/clients/libkill_at.so", arguments.preload)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda host: alone(host, build, bench), hosts))
    there = [host for host, result in zip(hosts, results) if result is not None]
    passed = [ok for result in results for ok in (result or [False])]
    if len(there) > 1:
        passed += [attempt("all", case, there, bench) for case in cases.ALL]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
