"""What `meson install` puts where, found by the loader and by pkg-config and used from there."""
import json

from scratch import expect, expect_equal, files_below, run, shell


def version_of(build):
    return json.loads((build / "meson-info" / "intro-projectinfo.json").read_text())["version"]


def folder_of(tree, name):
    found = [path.parent for path in tree.rglob(name)]
    expect(len(found) == 1, f"{name} is in {len(found)} folders of {tree}, expected 1")
    return found[0]


def check_loads_by_name(folder, version):
    """As the shell does it once the folder is one that the loader searches."""
    answer = shell(".load tidemark", ".load tidemark_net", "SELECT tidemark_version()",
                   "CREATE VIRTUAL TABLE logs USING tidemark(body TEXT)",
                   "INSERT INTO tidemark_sink(sink, dataset, target, format) "
                   "VALUES ('s', 'logs', 's3://bucket/prefix', 'parquet')",
                   "SELECT count(*) FROM tidemark_sink", LD_LIBRARY_PATH=str(folder))
    expect_equal(answer, f"{version}\n1\n", "the shell's answer")


def scripts_of(root):
    """The files of sql/ that people run, as they lie below share/tidemark."""
    return {str(path.relative_to(root)) for path in (root / "sql").rglob("*") if path.is_file()
            and "__pycache__" not in path.parts
            and (path.parent.name != "sql" or (path.suffix == ".sql" and not path.name.startswith("demo")))}


def check_meson_install(build, root, scratch):
    tree = scratch / "installed"
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", tree)
    names = files_below(tree)
    scripts = {name.partition("/share/tidemark/")[2] for name in names if "/share/tidemark/" in name}
    expect_equal(scripts, scripts_of(root), "installed scripts")
    others = [name for name in names if not name.endswith((".a", ".h")) and "/share/tidemark/" not in name]
    expect_equal([name.rsplit("/", 1)[1] for name in others],
                 ["tidemark.pc", "tidemark.so", "tidemark_net.so", "tidemark.7"], "installed files")
    folder = folder_of(tree, "tidemark.so")
    check_loads_by_name(folder, version_of(build))
    where = {"PKG_CONFIG_PATH": str(folder / "pkgconfig")}
    version = run("pkg-config", "--modversion", "tidemark", **where).strip()
    expect_equal(version, version_of(build), "tidemark.pc's version")
    extension = run("pkg-config", "--variable=extension", "tidemark", **where).strip()
    expect((tree / extension.lstrip("/")).is_file(), f"tidemark.pc says {extension}, which was not installed")


def compile_static(tree, root, program, *sqlite):
    """The example, linked with what pkg-config says of the tree below a root, and `sqlite`: the system's or its own."""
    found = {"PKG_CONFIG_PATH": str(folder_of(tree, "tidemark.pc")), "PKG_CONFIG_SYSROOT_DIR": str(tree)}
    flags = run("pkg-config", "--cflags", "--libs", "tidemark", **found).split()
    run("cc", "-Wall", "-Wextra", "-Werror", root / "ext/packages/static/main.c", *sqlite, *flags, "-o", program)


def check_static_application(tree, root, build, scratch):
    archive = folder_of(tree, "libtidemark.a") / "libtidemark.a"
    symbols = run("nm", "--defined-only", archive)
    expect("sqlite3_tidemark_init" in symbols, "libtidemark.a has no sqlite3_tidemark_init")
    expect("tide_target_dir_step" not in symbols, "libtidemark.a was built with the hooks of the tests")
    program, version = scratch / "static_application", version_of(build)
    compile_static(tree, root, program, "-lsqlite3")
    own = build / "clients/node_modules/better-sqlite3/deps/sqlite3"  # an amalgamation, if --clients fetched it
    if own.exists():
        compile_static(tree, root, scratch / "compiled_in", f"-I{own}", "-w", own / "sqlite3.c")
        needed = run("readelf", "-d", scratch / "compiled_in")
        expect("libsqlite3" not in needed, "the application with its own SQLite is linked to the system's too")
    for each in [program, scratch / "compiled_in"]:
        if each.exists():
            starts = [run(each, each.with_suffix(".db")) for _ in range(2)]
            expect_equal(starts, [f"start {n}, Tidemark {version}\n" for n in (1, 2)], f"what {each.name} prints")
