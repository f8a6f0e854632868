#!/usr/bin/env python3
"""Links of the book, for mdBook and for scripts/book.sh.

As a preprocessor of mdBook (book.toml) it has each link that leads to a file of the checkout which is no page of the book lead
to the repository. `book_links.py check FOLDER` reads a book that was built and says each link in it that leads nowhere: to a
file or an anchor that is not there. It asks no network.
"""

import json
import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/breadboard-ls/breadboard-ls"
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()([^)\s]+)(\))")
CODE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[^\n]*$|`[^`\n]*`)", re.M | re.S)


def led_out(target, page, pages):
    """The address of what is no page: the file or folder in the repository; any other target as it is."""
    parts = urlsplit(target)
    if parts.scheme or target.startswith("#"):
        return target
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), unquote(parts.path)))
    within = posixpath.relpath(path, "docs")
    if within in pages or not (ROOT / path).exists():
        return target
    # What is no page and lies beside them is copied along, but for a folder as such.
    if not within.startswith("..") and not within.endswith(".md") and (ROOT / path).is_file():
        return target
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"{REPOSITORY}/{kind}/main/{path}" + (f"#{parts.fragment}" if parts.fragment else "")


def rewritten(text, page, pages):
    pieces = CODE.split(text)
    for at in range(0, len(pieces), 2):
        pieces[at] = LINK.sub(lambda m: m[1] + led_out(m[2], page, pages) + m[3], pieces[at])
    # A label may be code, which stands between two pieces.
    return re.sub(r"(`\]\()([^)\s]+)(\))", lambda m: m[1] + led_out(m[2], page, pages) + m[3], "".join(pieces))


def chapters(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            yield chapter
            yield from chapters(chapter["sub_items"])


def preprocess():
    _, book = json.load(sys.stdin)
    items = book.get("items") or book.get("sections")
    pages = {chapter["path"] for chapter in chapters(items) if chapter["path"]}
    for chapter in chapters(items):
        if chapter["path"]:
            chapter["content"] = rewritten(chapter["content"], chapter["path"], pages)
    json.dump(book, sys.stdout)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.targets = {"", "top"}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := attrs.get(key)))
        self.targets += [value for key in ("href", "src") if (value := attrs.get(key)) is not None]


def check(folder):
    book = Path(folder).resolve()
    pages = {path: Page(path.read_text("utf8")) for path in sorted(book.rglob("*.html"))}
    broken, links, outside = [], 0, set()
    for path, page in pages.items():
        # Its own addresses are those of the server that shows it.
        if path.name == "404.html":
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                outside.add(target)
                continue
            links += 1
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists():
                broken.append(f"{path.relative_to(book)}: {target}: there is no such file")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors:
                broken.append(f"{path.relative_to(book)}: {target}: there is no such place in it")
    for target in sorted(outside):
        found = re.match(re.escape(REPOSITORY) + r"/(?:blob|tree)/main/([^#]*)", target)
        if found and not (ROOT / unquote(found[1])).exists():
            broken.append(f"{target}: there is no such file in the repository")
    for line in broken:
        print(line)
    print(f"{len(pages)} pages, {links} links within the book, {len(outside)} to elsewhere")
    if len(pages) < 10:
        print("that is no book")
    return 1 if broken or len(pages) < 10 else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0)
    if sys.argv[1:2] == ["check"]:
        sys.exit(check(sys.argv[2]))
    preprocess()
