"""A database in a scratch folder with the module loaded, driven through the sqlite3 shell."""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile


class Database:
    def __init__(self, arguments, home):
        self.home = home
        self.command = [arguments.shell, "-batch", "-bail", "-cmd", f".load '{arguments.module.resolve()}'",
                        os.path.join(home, "test.db")]
        self.environment = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8", HOME=home)
        if arguments.preload:
            self.environment["LD_PRELOAD"] = arguments.preload
            self.environment["ASAN_OPTIONS"] = "detect_leaks=0"

    def run(self, sql):
        done = subprocess.run(self.command, input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.environment, cwd=self.home, check=False)
        output = done.stdout.decode("utf-8", "backslashreplace")
        if done.returncode != 0:
            raise RuntimeError(f"{sql}\n{output}")
        return output

    def rows(self, sql):
        """The rows of a statement, each a list, by way of SQLite's JSON."""
        return [json.loads(line) for line in self.run(sql).splitlines()]


def main(check):
    """Calls check(database) with an empty database."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("module", type=pathlib.Path)
    with tempfile.TemporaryDirectory(prefix="tidemark.") as home:
        check(Database(parser.parse_args(), os.path.realpath(home)))
