#!/usr/bin/env python3
"""Holds the README's list of messages against the sources and the shell:  errors.py MODULE

Every message that src/ and ext/ can set is covered by a row of the list, every row covers one, and what is marked
(SQLite) and can be had with a statement is said by the stock shell. A row's message covers those that hold it, `<...>`
standing for anything. Damage that is named by number and place within a table is one row's for all: the files that look
for it are left out.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# What is wrong with stored bytes, or with a place in a database: the sentence around it names them.
DAMAGE = re.compile(r"/(codec|segment)/|/(check\w*|catalog\w*|tail\w*|chunks|stats|rank|stream|seal|compact|cut|prune_partition|"
                    r"plan|unique|holds|frozen|dead|sink_count|sink_row|sink_totals|log_objects|parquet_hash|s3_xml|"
                    r"target_memory)\.c$")
SETS = re.compile(r"\b(tide_err_set|RAISE|\w*(?:refuse|fail|error|complain|deny|say|set_error)\w*)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
PLACE = re.compile(r"%[-+ #0!,]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:ll|l|z|h)?[a-zA-Z]")

# Statements after which the shell says what the list marks as SQLite's.
SAID = {
    "no such module: tidemark": ("plain", "CREATE VIRTUAL TABLE t USING tidemark(a)"),
    "no such function: tidemark_<name>": ("plain", "SELECT tidemark_flush('logs')"),
    "no such table: tidemark_<name>": ("loaded", "SELECT * FROM tidemark_lag"),
    "wrong number of arguments to function <name>()": ("loaded", "SELECT tidemark_flush()"),
    "table <name> already exists": ("dataset", "CREATE VIRTUAL TABLE logs USING tidemark(a)"),
    "virtual tables may not be altered": ("dataset", "ALTER TABLE logs ADD COLUMN b"),
    "virtual tables may not be indexed": ("dataset", "CREATE INDEX i ON logs(a)"),
    "cannot create triggers on virtual tables": ("dataset", "CREATE TRIGGER r AFTER INSERT ON logs BEGIN SELECT 1; END"),
    "cannot open shared object file": ("plain", ".load ./no_such_file"),
}
# Said where a statement alone does not lead: by hosts (tests/clients), with two connections, full disks, signals.
ELSEWHERE = {"not authorized", "database is locked", "interrupted", "database or disk is full",
             "database disk image is malformed"}


def call_at(text, start):
    """The arguments of the call whose parenthesis opens before start."""
    depth, at = 1, start
    while depth and at < len(text):
        if text[at] == '"':
            at = LITERAL.match(text, at).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at]


def messages():
    """(file, skeleton) of each message, X for what is filled in."""
    for path in sorted([*(ROOT / "src").rglob("*.c"), *(ROOT / "ext").glob("*.c")]):
        if DAMAGE.search(str(path)):
            continue
        text = path.read_text(encoding="utf-8")
        for call in SETS.finditer(text):
            skeleton = PLACE.sub("X", "".join(LITERAL.findall(call_at(text, call.end()))).replace('\\"', '"'))
            if len(re.findall(r"[a-z]{2,}", skeleton)) >= 3:
                yield path.name, skeleton


def rows():
    """Each message of the list, and whether it is SQLite's."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Errors\n")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| (`.*?) \| .* \|$", section, re.MULTILINE):
        for message, mark in re.findall(r"`([^`]+)`( \(SQLite\))?", row):
            yield message, bool(mark)


def pattern(message):
    return re.compile(".+?".join(re.escape(part) for part in re.split(r"<[^>]*>", message)))


def shell_says(arguments, state, sql):
    load = f".load '{arguments.module.resolve()}'\n"
    before = {"plain": "", "loaded": load, "dataset": load + "CREATE VIRTUAL TABLE logs USING tidemark(a);\n"}[state]
    environment = dict(os.environ, **({"LD_PRELOAD": arguments.preload} if arguments.preload else {}))
    done = subprocess.run([arguments.shell, "-batch", ":memory:"], env=environment, text=True, check=False,
                          input=f"{before}{sql}\n" + (";\n" if sql[0] != "." else ""),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("module", type=pathlib.Path)
    arguments = parser.parse_args()
    listed = list(rows())
    said = list(messages())
    own = [(message, pattern(message)) for message, sqlite in listed if not sqlite]
    wrong = [f"{file}: no row of the README's errors covers: {skeleton}" for file, skeleton in said
             if not any(covers.search(skeleton) for _, covers in own)]
    sources = [*(ROOT / "src").rglob("*.c"), *(ROOT / "ext").glob("*.c")]
    every = "\n".join([skeleton for _, skeleton in said] + [
        PLACE.sub("X", literal.replace('\\"', '"')) for path in sources for literal in LITERAL.findall(
            re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8")))])
    wrong += [f"README.md, errors: nothing says: {message}" for message, covers in own if not covers.search(every)]
    if len(said) < 200 or len(own) < 50:
        wrong.append(f"{len(said)} messages and {len(own)} rows were found, expected more")
    wrong += [f"README.md, errors: nobody asks whether SQLite says: {message}" for message, sqlite in listed
              if sqlite and message not in SAID and message not in ELSEWHERE]
    for message, (state, sql) in SAID.items():
        if (message, True) not in listed:
            wrong.append(f"README.md, errors: {message} (SQLite) is not listed")
        elif not pattern(message).search(shell_says(arguments, state, sql)):
            wrong.append(f"README.md, errors: the shell does not say {message}, but {shell_says(arguments, state, sql)}")
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
