"""The picture of the README: an SVG without fonts or colours from elsewhere, on a ground of its own."""
import math

import table

WIDTH, LEFT, RIGHT, TOP, STEP = 900, 300, 150, 64, 22
INK, FAINT, GROUND, BETTER, WORSE, OTHER = "#24292f", "#8c959f", "#ffffff", "#1a7f64", "#c4532d", "#9aa7b4"
WORST, BEST = math.log10(1 / 20), math.log10(300)  # the ends of the scale


def text(x, y, words, anchor="start", colour=INK, size=13, weight="normal"):
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"'
            f' font-weight="{weight}">{words}</text>')


def box(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height}" rx="2" fill="{colour}"/>'


def place(factor):
    """The x of so many times better, on a logarithmic scale; what is off it stands at its end."""
    at = (math.log10(factor) - WORST) / (BEST - WORST)
    return LEFT + min(max(at, 0), 1) * (WIDTH - LEFT - RIGHT)


def times(factor):
    return f"{table.number(factor)} times" if factor >= 1 else f"1/{table.number(1 / factor)}"


def comparison(figures, rows, top):
    parts = [text(20, top - 36, f"How many times better than an ordinary table, or than the peer that is named; {rows:,} rows", weight="bold", size=15)]
    lines = [(line, table.times_better(line, figures, rows)) for line in table.LINES]
    lines = [(line, factor) for line, factor in lines if factor is not None]
    bottom = top + STEP * len(lines)
    for factor, words in ((0.1, "1/10"), (1 / 3, "1/3"), (1, "the same"), (3, "3 times"), (10, "10 times"),
                          (30, "30 times"), (100, "100 times")):
        x = place(factor)
        parts.append(f'<line x1="{x:.1f}" y1="{top - 8}" x2="{x:.1f}" y2="{bottom - 4}" stroke="{FAINT}"'
                     f' stroke-width="{1.5 if factor == 1 else 0.4}"/>')
        parts.append(text(x, top - 14, words, "middle", FAINT, 11))
    for i, (line, factor) in enumerate(lines):
        y = top + STEP * i
        x = place(factor)
        parts.append(text(LEFT - 24, y + 11, line.what, "end"))
        parts.append(box(min(x, place(1)), y, abs(x - place(1)), 14, BETTER if factor >= 1 else WORSE))
        peer = "" if line.peer == "table" else f" ({line.peer})"
        parts.append(text(max(x, place(1)) + 6, y + 11, times(factor) + peer, size=11))
    return parts, bottom


def sizes(figures, rows, top):
    """Bytes a row, in every form that was measured."""
    found = figures[rows].get("sizes", {})
    parts = [text(20, top, "Bytes a row", weight="bold", size=15)]
    widest = max(found.values(), default=1)
    for i, (name, size) in enumerate(sorted(found.items(), key=lambda item: -item[1])):
        y = top + 14 + STEP * i
        width = size / widest * (WIDTH - LEFT - RIGHT)
        parts.append(text(LEFT - 24, y + 11, name, "end"))
        parts.append(box(LEFT, y, width, 14, BETTER if name.startswith("Tidemark") else OTHER))
        parts.append(text(LEFT + width + 6, y + 11, table.number(size), size=11))
    return parts, top + 14 + STEP * len(found)


def svg(figures, rows):
    upper, bottom = comparison(figures, rows, TOP)
    lower, bottom = sizes(figures, rows, bottom + 30) if figures[rows].get("sizes") else ([], bottom)
    height = bottom + 12
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="system-ui, sans-serif" role="img" aria-label="Tidemark beside its peers">',
        box(0, 0, WIDTH, height, GROUND), *upper, *lower, "</svg>"]) + "\n"
