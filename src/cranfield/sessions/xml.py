"""The XML of the TREC Session track, read with the line of every mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import nan

from cranfield.base.errors import InputError, quoted
from cranfield.sources.chunks import Source
from cranfield.sources.xml import XmlReader

_ID = re.compile(r"clueweb\d+id|docid|docno|doc")
_TEXTS = {"query", "title", "snippet", "rank"}
_CLOCK = re.compile(r"(\d{1,3}):([0-5]?\d):([0-5]?\d(?:\.\d{1,12})?)", re.ASCII)
_SECONDS = re.compile(r"-?\d{1,15}(?:\.\d{1,12})?", re.ASCII)
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)
_ITEMS = {"result", "click"}
_PARTS = {"interaction", *_ITEMS}
_NO_TIME = {"", "NA", "NaN", "nan"}


@dataclass
class Read:
    """What a log holds, as rows; sessions are named by their place.

    names, topics, current: of each session: its name, its topic, its query that is not answered
        yet.
    queries: session, query, text, start.
    results: session, query, rank, document, title, snippet.
    clicks: session, query, rank (None where it is not given), document, start, end.
    """

    names: list[str] = field(default_factory=list)
    topics: list[str | None] = field(default_factory=list)
    current: list[str | None] = field(default_factory=list)
    queries: list[tuple[int, int, str, float]] = field(default_factory=list)
    results: list[tuple[int, int, int, str, str, str]] = field(default_factory=list)
    clicks: list[tuple[int, int, int | None, str, float, float]] = field(default_factory=list)


def read_xml(source: Source) -> Read:
    """Read a log of the TREC Session track.

    Entities that the file declares itself are refused, and nothing outside the file is opened.
    """
    reader = _Reader(source)
    reader.parse()
    if not reader.read.names:
        raise InputError("holds no session", source=source.name)
    return reader.read


class _Reader(XmlReader):
    """Takes a log apart, element by element."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.read = Read()
        self.path: list[str] = []
        self.text: list[str] | None = None
        self.seen: set[object] = set()
        self.query = 0
        self.item: dict[str, str] = {}

    def once(self, what: str, *key: object) -> None:
        """Refuse what stands twice."""
        if key in self.seen:
            raise self.wrong(f"{what} {quoted(key[-1])} twice")
        self.seen.add(key)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self.path[-1] if self.path else ""
        self.path.append(tag)
        if tag == "session":
            name = self.given(attributes, "num", tag)
            self.once("session", "session", name)
            self.read.names.append(name)
            self.read.topics.append(None)
            self.read.current.append(None)
            self.query = 0
        elif not self.read.names:
            return
        elif tag in _PARTS and (other := _ITEMS.intersection(self.path[:-1])):
            raise self.wrong(f"{tag} stands in a {min(other)}")
        elif tag == "topic" and parent == "session":
            self.read.topics[-1] = attributes.get("num", "").strip() or None
        elif tag == "interaction":
            self.query = self.whole(attributes.get("num", str(self.query + 1)), "query number")
            self.once("query", "query", self.session, self.query)
            self.item = {"start": attributes.get("starttime", "")}
            self.read.queries.append(
                (self.session, self.query, "", self.time(attributes.get("starttime", "")))
            )
        elif tag == "result":
            self.item = {"rank": self.given(attributes, "rank", tag)}
        elif tag == "click":
            self.item = {key: attributes.get(key, "") for key in ("starttime", "endtime")}
        elif tag in _TEXTS or _ID.fullmatch(tag):
            self.text = []

    def data(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def end(self, tag: str) -> None:
        self.path.pop()
        if not self.read.names:
            # What stands before the first session belongs to none.
            return
        parent = self.path[-1] if self.path else ""
        if self.text is not None:
            text = "".join(self.text)
            self.text = None
            if tag == "query":
                self.asked(text.strip(), parent)
            else:
                self.item["doc" if _ID.fullmatch(tag) else tag] = text
        elif tag == "result":
            self.result()
        elif tag == "click":
            self.click()

    def asked(self, text: str, parent: str) -> None:
        if parent == "currentquery":
            self.read.current[-1] = text
        elif parent == "interaction":
            session, query, _, start = self.read.queries[-1]
            self.read.queries[-1] = (session, query, text, start)

    def result(self) -> None:
        rank, doc = self.whole(self.item["rank"], "rank"), self.item.get("doc", "").strip()
        if not doc:
            raise self.wrong(f"result {rank} names no document")
        self.once("rank", "rank", self.session, self.query, rank)
        texts = self.item.get("title", ""), self.item.get("snippet", "")
        self.read.results.append((self.session, self.query, rank, doc, *texts))

    def click(self) -> None:
        rank, doc = self.item.get("rank", "").strip(), self.item.get("doc", "").strip()
        if not rank and not doc:
            raise self.wrong("a click names neither a rank nor a document")
        start, end = self.time(self.item["starttime"]), self.time(self.item["endtime"])
        place = self.whole(rank, "rank") if rank else None
        self.read.clicks.append((self.session, self.query, place, doc, start, end))

    @property
    def session(self) -> int:
        return len(self.read.names) - 1

    def given(self, attributes: dict[str, str], name: str, tag: str) -> str:
        value = attributes.get(name, "").strip()
        if not value:
            raise self.wrong(f"a {tag} has no {name}")
        return value

    def whole(self, text: str, what: str) -> int:
        text = text.strip()
        if not _WHOLE.fullmatch(text) or int(text) < 1:
            raise self.wrong(f"{what} {quoted(text)} is not a whole number from 1")
        return int(text)

    def time(self, text: str) -> float:
        text = text.strip()
        if text in _NO_TIME:
            return nan
        if clock := _CLOCK.fullmatch(text):
            return int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3])
        if not _SECONDS.fullmatch(text):
            raise self.wrong(f"time {quoted(text)} is no number of seconds")
        return float(text)
