"""sql/tidemark.7 is well-formed and names all that the extension registers."""
import re

from scratch import expect, expect_equal, run, shell

# The words of options are in no table; these sources hold them.
OPTION_SOURCES = {
    "src/model/options.c": r'^\s*\{?(?:.*= )?\{"([a-z_]+)", TIDE_OPTION_',
    "src/model/spec_parse.c": r'tide_word_is\(&[a-z.]+, "(partition_by|adopt)"',
    "src/sink/*.c": r'(?:tide_sink_options_take_\w+|take_variable)\(\s*\w+, "([a-z_]+)"',
}


def words_of(page):
    """As a reader sees them: without requests, with every escape of a hyphen a hyphen."""
    plain = re.sub(r"\\f[A-Z]", "", page.replace("\\-", "-"))
    return set(re.findall(r"[A-Za-z0-9_]+", plain))


def registered_names(extension):
    """Functions, modules, tables and their columns that are there once it is loaded and a dataset is made."""
    names = shell(
        "CREATE TEMP TABLE before AS SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list",
        f".load {extension}",
        "CREATE VIRTUAL TABLE logs USING tidemark(body TEXT)",
        "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list EXCEPT SELECT name FROM before",
        "SELECT name FROM sqlite_schema WHERE name LIKE 'tidemark%' AND type IN ('table', 'view')",
        "SELECT c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.name IN ('tidemark_dataset', "
        "'tidemark_stat', 'tidemark_segment', 'tidemark_lag', 'tidemark_sink', 'tidemark_export_log', "
        "'tidemark_export_total', 'tidemark_watermark', 'tidemark_batch', 'tidemark_dead')").split()
    expect(len(names) > 100, f"{extension} registers {len(names)} names, expected more than 100")
    return set(names)


def option_names(root):
    names = set()
    for pattern, form in OPTION_SOURCES.items():
        found = {name for path in root.glob(pattern) for name in re.findall(form, path.read_text(), re.MULTILINE)}
        expect(len(found) > 1, f"no options are found in {pattern}: the form of its words has changed")
        names |= found
    return names


def check_man_page(build, root, _scratch):
    path = root / "sql" / "tidemark.7"
    expect_equal(run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path, LC_ALL="C.UTF-8").count("warning"), 0,
                 "warnings of man")
    run("mandoc", "-T", "lint", "-W", "warning", path)
    missing = (registered_names(build / "ext" / "tidemark") | option_names(root)) - words_of(path.read_text())
    expect(not missing, f"sql/tidemark.7 does not name {', '.join(sorted(missing))}")
