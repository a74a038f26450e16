"""The pixels of a PNG of 8 bits, RGB or RGBA, not interlaced: what Chromium's screenshots are."""
import struct
import zlib


def paeth(left, above, corner):
    guess = left + above - corner
    distances = abs(guess - left), abs(guess - above), abs(guess - corner)
    return (left, above, corner)[distances.index(min(distances))]


def read(data):
    """Rows of bytes and the bytes of a pixel."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", data[at + 8:at + 21])
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    assert depth == 8 and color in (2, 6) and not interlaced
    step = 3 if color == 2 else 4
    raw, stride = zlib.decompress(packed), width * step
    rows, above = [], bytearray(stride)
    for y in range(height):
        how, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride if how else 0):
            left, corner = (row[x - step], above[x - step]) if x >= step else (0, 0)
            row[x] = row[x] + (0, left, above[x], (left + above[x]) // 2, paeth(left, above[x], corner))[how] & 255
        rows.append(row)
        above = row
    return rows, step


def shares(data):
    """The colours of a picture and how much of it each has."""
    rows, step = read(data)
    counts = {}
    for row in rows[::4]:
        for x in range(0, len(row), 4 * step):
            color = tuple(row[x:x + 3])
            counts[color] = counts.get(color, 0) + 1
    whole = sum(counts.values())
    return {color: count / whole for color, count in counts.items()}
