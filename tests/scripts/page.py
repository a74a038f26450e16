"""Reads a page of HTML strictly: what is open is closed, in order; no element or attribute but the report's own."""
from html.parser import HTMLParser

VOID = {"meta", "rect", "polygon", "br"}
ELEMENTS = VOID | set("html head title style body header main section article h1 h2 h3 p b q code dl dt dd div ul li"
                      " span figure figcaption svg desc table caption thead tbody tr th td".split())
ATTRIBUTES = set("lang charset name content http-equiv class style scope id role aria-labelledby viewbox"
                 " preserveaspectratio x y width height points".split())


class Page(HTMLParser):
    """text: all of it that is shown; rows: cells of the tables, by the section's heading."""

    def __init__(self, data):
        super().__init__(convert_charrefs=True)
        text = data.decode("utf-8")  # strict
        self.open, self.errors, self.shown, self.rows, self.heading = [], [], [], {}, ""
        self.svg = {"title": 0, "desc": 0, "svg": 0, "role": 0}
        self.unscoped = 0
        self.errors += [f"control character {ord(c):#x}" for c in text
                        if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
        self.feed(text)
        self.close()
        self.errors += [f"<{tag}> is not closed" for tag in self.open]
        self.text = " ".join("".join(self.shown).split())

    def handle_starttag(self, tag, attrs):
        if tag not in ELEMENTS:
            self.errors.append(f"<{tag}>")
        self.errors += [f"<{tag} {name}>" for name, _ in attrs if name not in ATTRIBUTES]
        if tag in self.svg and (tag == "svg" or "svg" in self.open):
            self.svg[tag] += 1
            self.svg["role"] += tag == "svg" and ("role", "img") in attrs
        self.unscoped += tag == "th" and "scope" not in dict(attrs)
        if tag == "h2":
            self.heading = ""
        if tag == "tr":
            self.rows.setdefault(self.heading, []).append([])
        if tag in ("td", "th"):
            self.rows[self.heading][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.shown.append(data)
        if self.open[-1:] == ["h2"]:
            self.heading += data
        if "td" in self.open or "tr" in self.open and "th" in self.open:
            self.rows[self.heading][-1][-1] += data

    def handle_comment(self, data):
        self.errors.append("a comment")
