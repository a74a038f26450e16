#!/usr/bin/env python3
"""Looks for bytes that a reader does not bear:  run.py BUILD [--seconds N] [--keep] [target...]
(sh tests/run.sh --fuzz builds the targets and runs this)

  --seconds N  how long each target runs (default 600)
  --keep       take what it found worth keeping into tests/fuzz/corpus, made small

Each target goes on from tests/fuzz/corpus and from what earlier runs left in BUILD/corpus. It stops at its first
finding, which lies in BUILD/findings/TARGET then; `BUILD/tests/fuzz/fuzz_TARGET FILE` runs one again. The last line is
"N passed, N failed": a target with a finding has failed.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = HERE / "corpus"
LENGTH_MAX = 65536
# An input that takes longer, with the sanitizers and beside other work, or that much memory in one piece or in all, is a
# finding; what a reader may take of SQLite's allocator each target says by itself.
LIMITS = ["-timeout=25", "-rss_limit_mb=1024", "-malloc_limit_mb=256"]
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
               "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def run(command):
    process = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False)
    return process.returncode, process.stdout


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def count_files(folder):
    return sum(1 for _ in folder.iterdir())


def fuzz(build, name, seconds):
    """Runs a target and says what came of it; True when it found nothing."""
    program, corpus, findings = build / f"tests/fuzz/fuzz_{name}", build / "corpus" / name, build / "findings" / name
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    before = count_files(findings)
    words = HERE / f"{name}.dict"
    command = [program, f"-max_total_time={seconds}", f"-artifact_prefix={findings}/", f"-max_len={LENGTH_MAX}",
               "-print_final_stats=1", "-reload=0", *LIMITS, *([f"-dict={words}"] if words.exists() else []),
               corpus, SEEDS / name]
    status, output = run(command)
    runs = last_number(r"stat::number_of_executed_units:\s+(\d+)", output)
    ok = status == 0 and runs > 0
    if not ok:
        print(re.sub(r"(?m)^#\d+\s.*\n", "", output)[-8000:])
    coverage = last_number(r"cov: (\d+)", output)
    print(f"{name}: {seconds} s, {runs} runs, coverage {coverage}, {count_files(corpus)} in the corpus, "
          f"{count_files(findings) - before} findings", flush=True)
    return ok


def keep(build, name):
    """Makes the corpus in the tree the fewest files that reach what all of them reach."""
    with tempfile.TemporaryDirectory(dir=build) as merged:
        status, output = run([build / f"tests/fuzz/fuzz_{name}", "-merge=1", f"-max_len={LENGTH_MAX}", *LIMITS, merged,
                              SEEDS / name, build / "corpus" / name])
        if status != 0:
            print(output[-8000:])
            return False
        for file in (SEEDS / name).iterdir():
            if not file.name.startswith(("found-", "hand-")):  # those stay, whatever others reach
                file.unlink()
        for file in pathlib.Path(merged).iterdir():
            shutil.copy(file, SEEDS / name / file.name[:12])
    print(f"{name}: {count_files(SEEDS / name)} files are kept", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description="Looks for bytes that a reader does not bear.")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("targets", nargs="*")
    options = parser.parse_intermixed_args()
    known = sorted(file.stem[5:] for file in HERE.glob("fuzz_*.c"))
    unknown = set(options.targets) - set(known)
    if unknown:
        print(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    names = options.targets or known
    for name in names:
        ok = fuzz(options.build, name, options.seconds) and (not options.keep or keep(options.build, name))
        failed += not ok
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
