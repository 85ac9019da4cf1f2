"""Check the site that ``make docs`` has built: ``docs/check_site.py build/docs``.

Sphinx does not notice an anchor that is missing, a picture without a description or a
page that needs the network. Each of them is a line here, and the exit status is 1.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a page loads by itself, and where each tag names it. Links are only followed.
LOADED = {"img": "src", "script": "src", "link": "href", "source": "src"}
# Relations of <link> that name a page but load nothing.
NAMED_ONLY = {"canonical", "next", "prev", "search", "index", "author", "copyright"}


@dataclass
class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    without_text: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        address = values.get(LOADED.get(tag))
        if address and not set((values.get("rel") or "").split()) & NAMED_ONLY:
            self.loaded.add(address)
        if tag == "img" and not (values.get("alt") or "").strip():
            self.without_text.append(values.get("src", ""))


@cache
def read(path: Path) -> Page:
    """Return a page, parsed once."""
    page = Page()
    page.feed(path.read_text("utf-8"))
    return page


def problems(root: Path) -> Iterator[str]:
    """Yield what is wrong, page by page."""
    root = root.resolve()
    pages = sorted(root.rglob("*.html"))
    if not pages:
        yield f"{root}: no pages; build them with: make docs"
    for path in pages:
        # Parts of the theme and of other programs are not pages.
        if "_static" not in path.relative_to(root).parts:
            yield from (
                f"{path.relative_to(root)}: {each}" for each in _of_page(path, root)
            )


def _of_page(path: Path, root: Path) -> Iterator[str]:
    page = read(path)
    for address in sorted(page.loaded):
        if _is_elsewhere(address):
            yield f"needs the network for {address}"
    for address in sorted(page.links | page.loaded):
        if not _is_elsewhere(address) and (what := _missing(address, path, root)):
            yield f"{what} {address}"
    for address in page.without_text:
        yield f"no alt text for {address}"


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def _missing(address: str, path: Path, root: Path) -> str | None:
    """Return what of an address in the site is missing, or None."""
    parts = urlsplit(address)
    target = path
    if parts.path:
        target = (path.parent / unquote(parts.path)).resolve()
        if target.is_dir():
            target /= "index.html"
    if not target.is_relative_to(root) or not target.is_file():
        return "no file"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in read(target).anchors:
        return "no anchor"
    return None


def main(arguments: list[str]) -> int:
    """Print what is wrong with the site in a folder; return 1 if anything is."""
    if len(arguments) != 1:
        print(f"usage: {sys.argv[0]} FOLDER", file=sys.stderr)
        return 2
    lines = list(problems(Path(arguments[0])))
    for line in lines:
        print(line)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
