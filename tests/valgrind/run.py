#!/usr/bin/env python3
"""A chosen part of the tests under valgrind's memcheck:  run.py BUILD [WORD...]

Programs of the unit tests, the scripts of tests/sql in the stock shell, a seed of the random twin and one of the random
history. With words only those whose name holds one of them. Any error that memcheck tells, and any block that is lost
when a process ends, is a failure. The last line is "N passed, N failed".
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = 900
MEMCHECK_STATUS = 99

# What reads bytes, holds statements, handles and cursors, or frees on the way of an error, as far as it is quick
# enough: memcheck takes forty times as long. Left out: what needs many rows, children that are killed, or a server.
UNIT = """add_column base batch codec csv delta enc_parquet filter_bounds frame host_closes http_answer json_walk ndjson
  open_reads partition poll retry_after s3_xml scheme secret segment_damage since_list stmt terms unique val
  without_triggers zframe""".split()


def memcheck(log):
    kinds = "definite,indirect"
    return ["valgrind", "--quiet", f"--error-exitcode={MEMCHECK_STATUS}", f"--log-file={log}", "--leak-check=full",
            f"--show-leak-kinds={kinds}", f"--errors-for-leak-kinds={kinds}"]


def jobs(build, wrapper):
    """(name, command) of each."""
    for name in UNIT:
        program = build / "tests" / "unit" / f"test_{name}"
        yield f"unit {name}", [wrapper, program]
    for script in sorted((TESTS / "sql").glob("*.sql")):
        transcript = [sys.executable, TESTS / "sql" / "run.py", "--shell", wrapper]
        yield f"sql {script.stem}", [*transcript, build / "ext" / "tidemark.so", script]
    yield "twin", [wrapper, build / "tests" / "twin" / "twin", "51"]
    yield "queries", [wrapper, build / "tests" / "twin" / "queries", "51"]
    yield "history", [wrapper, build / "tests" / "history" / "history", "51"]


def write_wrapper(path, log):
    """A program that runs others under memcheck; without a program, the shell."""
    command = " ".join(shlex.quote(word) for word in memcheck(log))
    path.write_text(f"""#!/bin/sh
case ${{1-}} in /*) ;; *) set -- sqlite3 "$@" ;; esac
exec {command} "$@"
""")
    path.chmod(0o755)


def run(command, logs):
    """What is wrong, or None."""
    environment = dict(os.environ, TZ="UTC")
    try:
        done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT_S} seconds"
    told = "".join(log.read_text(errors="replace") for log in sorted(logs.iterdir()))
    for log in logs.iterdir():
        log.unlink()
    if done.returncode == 0 and not told:
        return None
    output = done.stdout.decode(errors="replace")
    return f"status {done.returncode}\n{output[-2000:]}\n{told[:6000]}"


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    words = arguments[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="tidemark.") as scratch:
        logs = pathlib.Path(scratch, "logs")
        logs.mkdir()
        wrapper = pathlib.Path(scratch, "memcheck")
        write_wrapper(wrapper, logs / "%p")
        for name, command in jobs(build, wrapper):
            if words and not any(word in name for word in words):
                continue
            problem = run(command, logs)
            passed += problem is None
            failed += problem is not None
            print(f"{name}: {'ok' if problem is None else problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
