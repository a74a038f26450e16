#!/usr/bin/env python3
"""Holds the documents against the product:  run.py MODULE PAGE...

  examples  a page's SQL, from top to bottom through the stock shell: none of it may fail, and what a block of `text` behind
            it shows is what it prints
  names     every function, module, table, column and option that the product has stands in the reference, and the
            functions, tables and columns that the pages name are there
  links     files and headings that a page points to are there, and its text has lines of 120 characters

Without --only all three. The last line of what is wrong names the page.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "sql"))
import run as shell_run  # noqa: E402

REFERENCE = ROOT / "sql/REFERENCE.md"
BLOCK = re.compile(r"^```sql\n(?P<sql>.*?)^```\n(?:\n```text\n(?P<text>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


# ---- examples ----

def wrong_examples(page, arguments):
    """The page's SQL runs in a scratch folder instead of the places that it names."""
    blocks = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    parts = [".echo off", ".system mkdir archive"]
    for at, block in enumerate(blocks):
        parts += [f".print @begin {at}", block["sql"], f".print @end {at}"]
    sql = "\n".join(parts).replace("build/ext/tidemark", "@MODULE@").replace("/tmp/archive", "@DIR@/archive") + "\n"
    output = shell_run.run(sql, page.parent, arguments.module.resolve(), arguments.shell, arguments.preload)
    wrong = re.findall(r"^(?:Error:|the shell ended).*(?:\n.*){0,3}", output, re.MULTILINE)
    for at, block in enumerate(blocks):
        printed = re.search(rf"^@begin {at}\n(.*?)^@end {at}$", output, re.MULTILINE | re.DOTALL)
        if printed is None:
            wrong.append(f"block {at + 1} of SQL did not come to its end")
        elif block["text"] is not None and block["text"] != printed[1]:
            wrong.append(f"block {at + 1} of SQL printed\n{printed[1]}instead of\n{block['text']}")
    if not blocks and page == REFERENCE:
        wrong.append("no example was found")
    return wrong


# ---- names ----

SURFACE = """
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, partition_by=source);
.separator ' '
SELECT DISTINCT 'function', name FROM pragma_function_list WHERE name LIKE 'tidemark%';
SELECT 'module', name FROM pragma_module_list WHERE name LIKE 'tidemark%';
SELECT DISTINCT 'column', m.name, p.name FROM sqlite_schema m, pragma_table_xinfo(m.name) p
 WHERE m.type IN ('table', 'view') AND m.name LIKE 'tidemark%';
SELECT 'option', o.key FROM json_each(tidemark_set('logs', 'autoflush', 1)) o WHERE o.key <> 'dataset';
"""
# Tables that are Tidemark's own are named in the reference, their columns are not.
INNER = {"tidemark_registry", "tidemark_sink_state", "tidemark_sink_count", "tidemark_sink_fork", "tidemark_guard"}
# Named in the pages, and not in SQL: programs, files, C functions.
OTHERS = {"tidemark_net", "tidemark_init"}
# Targets and formats that have all options of sinks between them; Tidemark says which when it is given none of these.
SINKS = [("s3://bucket/prefix", "parquet"), ("http://127.0.0.1/path", "ndjson.zst"), ("file:///tmp", "csv")]


def surface(arguments):
    """What the product has, as words: ["function", name], ["column", table, name] and so on."""
    command = [arguments.shell, "-batch", "-cmd", f".load '{arguments.module.resolve()}'", ":memory:"]
    environment = dict(os.environ, **({"LD_PRELOAD": arguments.preload} if arguments.preload else {}))
    done = subprocess.run(command, input=SURFACE, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    words = [line.split(" ") for line in done.stdout.splitlines()]
    tries = "".join(f"INSERT INTO tidemark_sink(sink, dataset, target, format, options)"
                    f" VALUES ('s', 'logs', '{target}', '{form}', '{{\"nope\": 1}}');\n" for target, form in SINKS)
    net = arguments.module.resolve().with_name("tidemark_net.so")
    done = subprocess.run(command, input=f".load '{net}'\nCREATE VIRTUAL TABLE logs USING tidemark(a);\n{tries}",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
    for known in re.findall(r'"nope".*: expected (?:one of )?([a-z0-9_]+(?:(?:, | or )[a-z0-9_]+)*)', done.stdout):
        words += [["option", name] for name in re.split(", | or ", known)]
    return words


def table_text(reference, table):
    """The part of the reference that is about the table: the section of its name, or the lines that name it."""
    section = re.search(rf"^### {table}$\n(.*?)(?=^##)", reference, re.MULTILINE | re.DOTALL)
    if section is not None:
        return section[1]
    return "".join(re.findall(rf"`{table}\((?:[^)]*)\)", reference))


def wrong_names(pages, arguments):
    reference = REFERENCE.read_text(encoding="utf-8")
    wrong = []
    names, columns = set(), {}
    for kind, name, *column in surface(arguments):
        names.add(name)
        if kind == "function" and f"`{name}(" not in reference:
            wrong.append(f"{REFERENCE.name} has no function {name}")
        elif kind == "module" and name not in reference or kind == "option" and not re.search(rf'[`"]{name}\b', reference):
            wrong.append(f"{REFERENCE.name} has no {kind} {name}")
        elif kind == "column" and name not in reference:
            wrong.append(f"{REFERENCE.name} has no table {name}")
        elif kind == "column" and name not in INNER and not re.search(rf"\b{column[0]}\b", table_text(reference, name)):
            wrong.append(f"{REFERENCE.name} has no column {name}.{column[0]}")
        elif kind == "column":
            columns.setdefault(name, set()).add(column[0])
    for table, there in columns.items():
        section = re.search(rf"^### {table}$\n(.*?)(?=^##)", reference, re.MULTILINE | re.DOTALL)
        for row in re.findall(r"^\| (`.*?) \|", section[1] if section else "", re.MULTILINE):
            wrong += [f"{REFERENCE.name} lists {table}.{name}, which is not there"
                      for name in re.findall(r"`(\w+)`", row) if name not in there]
    if "token_env" not in names or "part_size" not in names or len(names) < 60:
        wrong.append(f"the product seems to have {len(names)} names")
    for page in pages:
        text = re.sub(r"tidemark_metrics_\w+", "", page.read_text(encoding="utf-8"))
        for name in sorted(set(re.findall(r"(?<![\w/.-])tidemark_[a-z_]*[a-z](?=[`(,. )'\"])", text)) - names):
            if name not in OTHERS and f"# TYPE {name}" not in text and f"`{name}` |" not in text:
                wrong.append(f"{page.relative_to(ROOT)} names {name}, which is not there")
    return wrong


# ---- links ----

def anchors(page):
    """As web pages of repositories make them out of headings."""
    lines = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL).splitlines()
    titles = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def wrong_links(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    wrong = [f"a line of more than 120 characters: {line}" for line in text.splitlines()
             if len(line) > 120 and not line.startswith(("|", "<details"))]
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            wrong.append(f"{link}: there is no such file")
        elif anchor and anchor not in anchors(target):
            wrong.append(f"{link}: there is no such heading")
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", choices=["examples", "names", "links"])
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    pages = [page.resolve() for page in arguments.pages]
    wrong = []
    for page in pages:
        found = wrong_examples(page, arguments) if arguments.only in (None, "examples") else []
        found += wrong_links(page) if arguments.only in (None, "links") else []
        wrong += [f"{page.relative_to(ROOT)}: {what}" for what in found]
    if arguments.only in (None, "names"):
        wrong += wrong_names(pages, arguments)
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
