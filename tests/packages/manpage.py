"""sql/tidemark.7 is well-formed, and names what the extension registers: all of it, in its place, and nothing else."""
import re
import subprocess

from scratch import expect, expect_equal, run, shell

# Targets and formats that have all options of sinks between them; tidemark says which when it is given none of these.
SINKS = [("s3://bucket/prefix", "parquet"), ("http://127.0.0.1/path", "ndjson.zst"), ("file:///tmp", "csv")]

# What people leave alone: named, without columns.
INTERNAL = {"tidemark_sink_state", "tidemark_sink_count", "tidemark_sink_fork", "tidemark_registry", "tidemark_guard"}


class Product:
    """What is there once both extensions are loaded and a dataset is made, as SQL tells it."""

    def __init__(self, extensions):
        self.extensions = extensions
        self.start = [f".load {extensions / name}" for name in ("tidemark", "tidemark_net")]
        self.start.append("CREATE VIRTUAL TABLE logs USING tidemark(body TEXT)")

    def added(self, pragma):
        kept = f"CREATE TEMP TABLE before AS SELECT name FROM {pragma}"
        return set(shell(kept, *self.start, f"SELECT name FROM {pragma} EXCEPT SELECT name FROM before").split())

    def tables(self):
        """Each table's columns, hidden ones too, in order."""
        answer = shell(*self.start,
                       "SELECT t.name, group_concat(c.name) FROM sqlite_schema t, pragma_table_xinfo(t.name) c "
                       "WHERE t.name LIKE 'tidemark~_%' ESCAPE '~' AND t.type <> 'trigger' GROUP BY 1")
        return {name: columns.split(",") for name, columns in (line.split("|") for line in answer.splitlines())}

    def known_options(self, statement):
        """Those that the refusal of one called nope says are known."""
        done = subprocess.run(["sqlite3", "-batch", "-bail", ":memory:", *self.start, statement], text=True,
                              capture_output=True, check=False, timeout=60)
        refusal = re.search(r'"nope".*: expected (?:one of )?([a-z0-9_]+(?:(?:, | or )[a-z0-9_]+)*)', done.stderr)
        expect(done.returncode != 0 and refusal is not None, f"an option called nope gives: {done.stderr}")
        return set(re.split(", | or ", refusal[1]))

    def options(self):
        names = self.known_options("CREATE VIRTUAL TABLE x USING tidemark(body TEXT, nope=1)") | {"adopt"}
        for target, form in SINKS:
            names |= self.known_options("INSERT INTO tidemark_sink(sink, dataset, target, format, options) VALUES "
                                        f"('s', 'logs', '{target}', '{form}', '{{\"nope\": 1}}')")
        return names

    def variables(self):
        """Those of the environment that it asks for by itself."""
        code = (self.extensions / "tidemark_net.so").read_bytes()
        return {name.decode() for name in re.findall(rb"\bAWS_[A-Z_]+\b", code)}


def plain(page):
    """As a reader sees it, but for the requests: without changes of font, every hyphen a hyphen."""
    return re.sub(r"\\f[A-Z]", "", page.replace("\\-", "-"))


def entries(page):
    """The tags of its lists, each with what follows: the words that they begin with -> the text."""
    found = {}
    for tag, text in re.findall(r"^\.TP\n\.\w+ (.*)\n((?:(?!\.TP|\.S[HS]|\.P$).*\n)*)", page, re.MULTILINE):
        for word in re.findall(r"[A-Za-z_0-9]+", tag.split("(")[0]):
            found[word] = text
    return found


def columns_in(text):
    listed = re.search(r"Columns: ([^.]*)\.", text)
    return re.split(r",\s+", listed[1].strip()) if listed else []


def check_man_page(build, root, _scratch):
    path = root / "sql" / "tidemark.7"
    said = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path, LC_ALL="C.UTF-8")
    expect("warning" not in said, f"man warns:\n{said}")
    run("mandoc", "-T", "lint", "-W", "warning", path)
    page = plain(path.read_text())
    named, product = entries(page), Product(build / "ext")
    functions, modules, tables = (product.added("pragma_function_list"), product.added("pragma_module_list"),
                                  product.tables())
    expect(len(functions) > 15 and len(modules) > 3 and len(tables) > 9, "SQL tells of less than there is")
    missing = (functions | modules | product.options() | product.variables()) - named.keys()
    expect(not missing, f"sql/tidemark.7 has no entry for {', '.join(sorted(missing))}")
    mentioned = set(re.findall(r"(?<![/_])\btidemark_[a-z_]+\b", page))
    for name, columns in tables.items():
        expect(name in mentioned, f"sql/tidemark.7 does not name {name}")
        if name not in INTERNAL:
            expect_equal(columns_in(named.get(name, "")), columns, f"the columns of {name} in sql/tidemark.7")
    unknown = mentioned - functions - modules - tables.keys() - {"tidemark_net"}
    expect(not unknown, f"sql/tidemark.7 names {', '.join(sorted(unknown))}, which tidemark does not have")
