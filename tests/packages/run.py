#!/usr/bin/env python3
"""What people install, made from a build folder and used:  run.py BUILD [NAME...]

The checks are install, manpage, npm, wheel and debian; names choose some. Everything is made in a folder that goes
again. The last line is "N passed, N failed".
"""
import pathlib
import sys
import tempfile
import time

from debian import check_debian
from installed import check_meson_install
from manpage import check_man_page
from registries import check_npm, check_wheel
from scratch import Failure

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHECKS = {"install": check_meson_install, "manpage": check_man_page, "npm": check_npm, "wheel": check_wheel,
          "debian": check_debian}


def passes(name, build):
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidemark-packages-") as scratch:
        try:
            CHECKS[name](build, ROOT, pathlib.Path(scratch))
            verdict = "ok"
        except (Failure, OSError, ValueError, LookupError) as failure:
            verdict = f"FAILED\n{type(failure).__name__}: {failure}"
    print(f"{name}: {verdict} ({time.monotonic() - started:.1f} s)", flush=True)
    return verdict == "ok"


def main(argv):
    unknown = [name for name in argv[2:] if name not in CHECKS]
    if len(argv) < 2 or unknown:
        sys.exit(__doc__)
    build = pathlib.Path(argv[1]).resolve()
    results = [passes(name, build) for name in argv[2:] or CHECKS]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
