#!/usr/bin/env python3
"""How much of src/ and ext/ the tests have run:  report.py BUILD

BUILD was configured with -Db_coverage=true, and tests have run in it. A line or branch counts as taken when any of the
objects built from it took it: a source is compiled for the module and for the static library. Branches of asserts are
left out, since the way that ends the process has to stay untaken. Writes what was not taken to BUILD/uncovered.txt, a
source line each, and prints the shares of each layer, the functions that nothing calls and the files that lack most.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
AT_ONCE = 40  # objects in one call of gcov
FILES_SHOWN = 12


class Source:
    """What was taken of one file, over all objects."""

    def __init__(self, path):
        self.path = path
        self.text = (ROOT / path).read_text().splitlines()
        self.asserts = find_asserts(self.text)
        self.lines = collections.Counter()  # line number: times
        self.branches = {}  # (line number, function): [times of each]
        self.functions = collections.Counter()

    def add(self, report):
        for function in report["functions"]:
            self.functions[function["name"]] += function["execution_count"]
        branches = collections.defaultdict(list)
        for line in report["lines"]:
            number = line["line_number"]
            self.lines[number] += line["count"]
            if number not in self.asserts:
                branches[number, line.get("function_name")] += [each["count"] for each in line["branches"]]
        for key, counts in branches.items():
            old = self.branches.get(key, [])
            # One object may have fewer of them: what is constant there is no branch.
            if len(old) == len(counts):
                counts = [a + b for a, b in zip(old, counts)]
            if len(counts) >= len(old):
                self.branches[key] = counts

    def shares(self):
        taken = [count > 0 for counts in self.branches.values() for count in counts]
        return Shares(sum(count > 0 for count in self.lines.values()), len(self.lines), sum(taken), len(taken))

    def uncovered(self):
        """(line number, what is missing) of each line that is not whole."""
        missing = {number: "line" for number, count in self.lines.items() if not count}
        for (number, _), counts in self.branches.items():
            if number not in missing and not all(counts):
                missing[number] = f"{counts.count(0)} of {len(counts)} branches"
        return sorted(missing.items())


class Shares(collections.namedtuple("Shares", "lines lines_all branches branches_all")):
    def __add__(self, other):
        return Shares(*(a + b for a, b in zip(self, other)))

    def __str__(self):
        return f"{percent(self.lines, self.lines_all)} of {self.lines_all:6} lines" \
               f"{percent(self.branches, self.branches_all):>10} of {self.branches_all:6} branches"


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def find_asserts(text):
    """The numbers of the lines of all asserts, from the word to the end of the statement."""
    numbers = set()
    inside = False
    for number, line in enumerate(text, 1):
        inside = inside or re.match(r"\s*assert\(", line) is not None
        if inside:
            numbers.add(number)
        inside = inside and not line.rstrip().endswith(";")
    return numbers


def gcov(build, objects):
    """The reports of gcov on these, one for each object."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *objects], cwd=build,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def read(build):
    sources = {}
    objects = sorted(str(path.relative_to(build)) for path in build.glob("ext/*.p/*.gcno"))
    for start in range(0, len(objects), AT_ONCE):
        for report in gcov(build, objects[start:start + AT_ONCE]):
            for file in report["files"]:
                path = (build / file["file"]).resolve()
                if path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "ext"):
                    name = str(path.relative_to(ROOT))
                    sources.setdefault(name, Source(name)).add(file)
    return [sources[name] for name in sorted(sources)]


def print_layers(sources):
    layers = collections.defaultdict(lambda: Shares(0, 0, 0, 0))
    for source in sources:
        layers[str(pathlib.Path(source.path).parent)] += source.shares()
    for name, shares in sorted(layers.items()):
        print(f"{name:14}{shares}")
    print(f"{'all':14}{sum(layers.values(), Shares(0, 0, 0, 0))}")


def print_gaps(sources):
    never = [f"{source.path}: {name}" for source in sources for name, count in sorted(source.functions.items()) if not count]
    print(f"\nfunctions that no test calls: {len(never)}", *never, sep="\n  ")
    print("\nwhere most branches are not taken:")
    for source in sorted(sources, key=lambda each: each.shares().branches - each.shares().branches_all)[:FILES_SHOWN]:
        print(f"  {source.path:36}{source.shares()}")


def write_uncovered(build, sources):
    path = build / "uncovered.txt"
    with path.open("w") as file:
        for source in sources:
            for number, what in source.uncovered():
                print(f"{source.path}:{number}: {what}: {source.text[number - 1].strip()}", file=file)
    print(f"\neach line that is not covered: {path}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    sources = read(build)
    if not any(source.lines.total() for source in sources):
        sys.exit(f"{build} has no counts: configure it with -Db_coverage=true and run the tests in it")
    print_layers(sources)
    print_gaps(sources)
    write_uncovered(build, sources)


main()
