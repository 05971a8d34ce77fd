"""Read a page back: its elements, its data, its text."""

from __future__ import annotations

import json
import struct
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VOID = {"meta", "link", "col", "br", "input", "img"}


class Page(HTMLParser):
    """Elements with their attributes, and the text of each kind."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def scripts(self) -> list[str]:
        return [text for inside, text in self.texts if inside[-1:] == ("script",)]

    @property
    def style(self) -> str:
        [style] = [text for inside, text in self.texts if inside[-1:] == ("style",)]
        return style

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])

    @property
    def policy(self) -> str:
        [policy] = [
            str(meta["content"])
            for meta in self.all("meta")
            if meta.get("http-equiv") == "Content-Security-Policy"
        ]
        return policy

    @property
    def shown(self) -> str:
        """What a reader sees, blanks made single."""
        hidden = {"script", "style", "title"}
        parts = [text for inside, text in self.texts if not hidden & set(inside)]
        return " ".join(" ".join(parts).split())


def read(path: Path) -> Page:
    return Page(path.read_text("utf-8"))


def floats(text: str) -> NDArray[np.float64]:
    """Decode an array independently of the package."""
    raw = b64decode(text)
    return np.array(struct.unpack(f"<{len(raw) // 8}d", raw))
