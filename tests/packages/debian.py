"""The Debian source package builds, its packages hold what their names promise, and all works from a root apart."""
import os
import pathlib
import shutil

from installed import check_loads_by_name, check_static_application, folder_of, scripts_of, version_of
from scratch import expect_equal, run

CONTENTS = {
    "libsqlite3-mod-tidemark": {"lib/tidemark.so", "share/man/man7/tidemark.7.gz"},
    "libsqlite3-mod-tidemark-net": {"lib/tidemark_net.so"},
    "libtidemark-dev": {"include/tidemark.h", "lib/libtidemark.a", "lib/pkgconfig/tidemark.pc"},
}


def cache_variables():
    """debhelper gives the build a home of its own, in which ccache would find nothing."""
    if not shutil.which("ccache"):
        return {}
    return {"CCACHE_DIR": run("ccache", "-k", "cache_dir").strip(), "CCACHE_BASEDIR": "/", "CCACHE_NOHASHDIR": "1"}


def contents_of(package, machine):
    """Files below /usr but for the documents that every package has; <multiarch> is left out of their names."""
    names = [line.split()[5] for line in run("dpkg-deb", "-c", package).splitlines() if not line.startswith("d")]
    return {name.removeprefix("./usr/").replace(f"lib/{machine}/", "lib/") for name in names
            if not name.startswith(("./usr/share/doc/", "./usr/share/lintian/"))}


def check_debian(build, root, scratch):
    out, tree = scratch / "debian", scratch / "root"
    # Not optimized, which halves the time; the packages of a release are.
    run("sh", root / "ext/packages/debian.sh", out, seconds=400,
        DEB_BUILD_OPTIONS=f"noopt noautodbgsym parallel={min(2, os.cpu_count())}", **cache_variables())
    machine = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    version = version_of(build)
    packages = {path.name.split("_")[0]: path for path in pathlib.Path(out).glob("*.deb")}
    wanted = {name: set(files) for name, files in CONTENTS.items()}
    wanted["libsqlite3-mod-tidemark"] |= {f"share/tidemark/{script}" for script in scripts_of(root)}
    expect_equal({name: contents_of(path, machine) for name, path in packages.items()}, wanted, "the packages' files")
    expect_equal(len(list(out.glob(f"tidemark_{version}-*.dsc"))), 1, f"source packages of version {version}")
    for path in packages.values():
        run("dpkg-deb", "-x", path, tree)
    check_loads_by_name(folder_of(tree, "tidemark.so"), version)
    check_static_application(tree, root, build, scratch)
