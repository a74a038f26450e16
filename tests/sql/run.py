#!/usr/bin/env python3
"""Runs scripts of this folder through the stock sqlite3 shell and compares what it prints.

  run.py MODULE NNN_topic.sql...           compares with NNN_topic.expected and prints the difference
  run.py --update MODULE NNN_topic.sql...  writes .expected anew: then read every line of it against what was promised

The shell starts in an empty scratch folder, with the module loaded and test.db open, and echoes each statement before
its result. In a script @DIR@ stands for the scratch folder (a file:/// target needs an absolute path) and @MODULE@ for
the extension, to load it again after .open, and @HERE@ for the script's own folder; in the output they are put back.
"Runtime error near line 7:" becomes "Error:", so that a new line does not change all that follow.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ERROR = re.compile(r"^(Runtime|Parse) error( near line \d+)?:", re.MULTILINE)


def run(sql, here, module, shell, preload):
    environment = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8")
    if preload:
        environment["LD_PRELOAD"] = preload
    with tempfile.TemporaryDirectory(prefix="tidemark.") as home, tempfile.TemporaryFile() as stdin:
        home = os.path.realpath(home)
        environment["HOME"] = home  # without anybody's ~/.sqliterc
        scratch = os.path.join(home, "scratch")
        os.mkdir(scratch)
        stdin.write(sql.replace("@DIR@", scratch).replace("@MODULE@", str(module)).replace("@HERE@", str(here)).encode())
        stdin.seek(0)
        # stdbuf has the shell write line by line, so that its errors, which it never holds back, come where they belong.
        command = ["stdbuf", "-oL", shell, "-batch", "-echo", "-cmd", f".load '{module}'", "test.db"]
        done = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=scratch,
                              env=environment, check=False)
    output = done.stdout.decode("utf-8", "backslashreplace").replace(scratch, "@DIR@").replace(str(module), "@MODULE@")
    output = output.replace(str(here), "@HERE@")
    output = ERROR.sub("Error:", output)
    if done.returncode not in (0, 1):  # 1: there were errors, and they are part of what is compared
        output += f"the shell ended with status {done.returncode}\n"
    return output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("scripts", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    failed = False
    for script in arguments.scripts:
        sql = script.read_text(encoding="utf-8")
        output = run(sql, script.resolve().parent, arguments.module.resolve(), arguments.shell, arguments.preload)
        expected = script.with_suffix(".expected")
        if arguments.update:
            expected.write_text(output, encoding="utf-8")
            continue
        wanted = expected.read_text(encoding="utf-8")
        if output != wanted:
            failed = True
            sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), output.splitlines(True), str(expected),
                                                       "what came"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
