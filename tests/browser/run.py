#!/usr/bin/env python3
"""sql/report.sql's page in headless Chromium:  run.py BUILD [name...]

Each page is opened in light and dark, on a desk and on a phone, and printed: it asks for nothing, the console stays
empty, it is no wider than the screen, hostile names are text, colours are those of the scheme and can be read.
"""
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/scripts"))
import devtools  # noqa: E402
import pixels  # noqa: E402
import world  # noqa: E402

SHOWN = "document.body.innerText"
FILL = "getComputedStyle(document.querySelector('.rate')).fill.match(/\\d+/g).map(Number)"
# What sticks out of the screen, by name; what scrolls within itself does so for somebody with a finger only.
TOO_WIDE = """[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
  || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX == 'auto')
  .map(e => e.tagName + '.' + e.className)"""
# WCAG 2.1's contrast of each text with what is behind it: those below 4.5 to 1.
PALE = """(() => {
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b };
  const rgb = s => s.match(/[\\d.]+/g).map(Number);
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c.slice(0, 3) } return [255, 255, 255] };
  return [...document.querySelectorAll('body *')].filter(e => !e.closest('svg') && [...e.childNodes].some(
    n => n.nodeType == 3 && n.data.trim())).filter(e => { const a = light(rgb(getComputedStyle(e).color).slice(0, 3)),
    b = light(ground(e)); return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5 })
    .map(e => e.tagName + e.className)
})()"""


class Tests:
    def __init__(self, browser, folder):
        self.browser, self.folder, self.passed, self.failed = browser, folder, 0, 0

    def check(self, name, what, *seen):
        self.passed, self.failed = self.passed + bool(what), self.failed + (not what)
        if not what:
            print("FAILED:", name, *seen)

    def page(self, name):
        path = self.folder / f"{name}.html"
        for width, scheme, media in ((1200, "light", ""), (1200, "dark", ""), (360, "light", ""), (360, "dark", ""),
                                     (700, "light", "print")):
            case = f"{name}, {scheme}, {width} wide{media and ', printed'}"
            seen = self.browser.open(path, width, scheme, media)
            self.check(f"{case}: asks for nothing, says nothing", not seen, seen)
            wide = self.browser.evaluate(TOO_WIDE)
            across = self.browser.evaluate("document.documentElement.scrollWidth")
            self.check(f"{case}: fits", not wide and across <= width, across, wide[:5])
            pale = self.browser.evaluate(PALE)
            self.check(f"{case}: can be read", not pale, pale[:5])
        self.check(f"{name}: the title", self.browser.evaluate("document.title") == "Tidemark report")
        self.check(f"{name}: headings in order", self.browser.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].every((h, i, all) =>"
            " i ? h.tagName[1] - all[i - 1].tagName[1] < 2 : h.tagName == 'H1')"))

    def colours(self):
        path = self.folder / "months.html"
        grounds, fills = [], []
        for scheme in ("light", "dark"):
            self.browser.open(path, 700, scheme)
            self.browser.evaluate("document.querySelector('.rate').closest('article').scrollIntoView()")
            fill = self.browser.evaluate(FILL)
            share = pixels.shares(self.browser.picture())
            grounds.append(sum(max(share, key=share.get)))
            fills.append(fill)
            self.check(f"{scheme}: bars are drawn", share.get(tuple(fill), 0) > 0.001, fill, share.get(tuple(fill)))
        self.check("light is light and dark is dark", grounds[0] > 700 and grounds[1] < 120, grounds)
        self.check("bars have a colour for each", fills[0] != fills[1], fills)

    def names(self):
        self.browser.open(self.folder / "hostile.html", 360, "light")
        shown = self.browser.evaluate(SHOWN)
        name = re.sub("[\x1b\x9b\u202e]", "\ufffd", world.HOSTILE)
        self.check("a hostile name is text", name in shown, shown[:300])
        self.check("no element of it", self.browser.evaluate(
            "document.querySelectorAll('script,u,i,[onload]').length") == 0)
        self.check("no script would run", "default-src 'none'" in self.browser.evaluate(
            "document.querySelector('meta[http-equiv]').content"))


def make_pages(build, folder):
    shell = world.Shell("sqlite3", build / "ext/tidemark.so", build / "tests/scripts/clock.so", folder)
    databases = [world.months(shell), world.hostile(shell), world.many(shell), "nothing.db"]
    for database in databases:
        done = shell.script(database, "report")
        if done.returncode != 0:
            raise SystemExit(done.stderr.decode())
        (folder / database).with_suffix(".html").write_bytes(done.stdout)
    return [database[:-3] for database in databases]


def main():
    build, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="tidemark.", dir=world.QUICK, ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder).resolve()
        names = make_pages(build, folder)
        os.mkdir(folder / "profile")
        browser = devtools.Browser("chromium", folder / "profile")
        tests = Tests(browser, folder)
        for name in names:
            if not words or any(word in name for word in words):
                tests.page(name)
        tests.colours()
        tests.names()
        browser.close()
    print(f"{tests.passed} passed, {tests.failed} failed")
    raise SystemExit(1 if tests.failed else 0)


if __name__ == "__main__":
    main()
