#!/usr/bin/env python3
"""What Tidemark writes, read by programs that share no code with it:  run.py BUILD [NAME...]

Each script here but run.py and readers.py is one (parquet.py is "parquet"); a NAME is one of them, or a reader that is
fetched only when asked for ("chdb"). Takes the packages that packages.txt pins from the npm registry, checks their
hashes and unpacks them into BUILD/interop/node_modules, unless they are there, then runs the scripts (readers.py says
how). The last line is "N passed, N failed"; a script that does not come to its end has failed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from npm import read_packages, unpack_all  # noqa: E402

def run_script(script, environment):
    """Runs it in a folder of its own and gives its counts."""
    with tempfile.TemporaryDirectory(prefix="tidemark.") as scratch:
        command = ["/usr/bin/python3", str(HERE / f"{script}.py")]
        process = subprocess.Popen(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        last = ""
        for last in process.stdout:
            print(f"{script}: {last}", end="", flush=True)
        counts = re.fullmatch(r"(\d+) passed, (\d+) failed\n", last)
        if process.wait() != 0 and (counts is None or counts[2] == "0"):
            print(f"{script}: ended with status {process.returncode}")
            return (0, 1)
        return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    folder = build / "interop"
    packages = read_packages(HERE / "packages.txt")
    scripts = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("run", "readers"))
    large = {package.reader for package in packages} - {"-"}
    unknown = set(arguments[1:]) - large - set(scripts)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))}: expected {', '.join([*scripts, *sorted(large)])}")
    asked = large & set(arguments[1:])
    wanted = [package for package in packages if package.reader == "-" or package.reader in asked]
    problems = unpack_all(wanted, folder)
    for problem in problems:
        print(problem)
    for path in HERE.glob("*.mjs"):
        shutil.copy(path, folder)
    environment = dict(os.environ, TIDEMARK_MODULE=str(build / "ext/tidemark.so"), INTEROP_FOLDER=str(folder),
                       INTEROP_LARGE=" ".join(sorted(asked)))
    passed, failed = 0, len(problems)
    for script in [script for script in scripts if script in arguments[1:] or not set(arguments[1:]) - large]:
        counts = run_script(script, environment)
        passed, failed = passed + counts[0], failed + counts[1]
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
