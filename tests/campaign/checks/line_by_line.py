"""A check that goes line by line in plain Python: slow, and made of nothing but the rules."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.sources.values import is_number, parse_integer

BLANKS = b" \t\v\f\r"
MARK = b"\xef\xbb\xbf"
STOPS = {"columns", "encoding", "empty", "score", "document-twice"}
"""Faults of lines that no reader of runs passes over."""


@dataclass(frozen=True)
class Found:
    """A fault: its kind, its line, and how many it stands for."""

    code: str
    line: int | None
    count: int = 1


@dataclass(frozen=True)
class Asked:
    """The rules, with all lists at hand."""

    form: str = "trec"
    topics: tuple[str, ...] | None = None
    documents: frozenset[str] | None = None
    excluded: Collection[tuple[str, str]] = ()
    tag: str = "[A-Za-z0-9_.-]{1,20}"
    declared: str | None = None
    team: str | None = None
    most: int | None = 1000
    second: tuple[str, ...] = ()
    rank: str = "integer"
    tied: float = 0.2
    few: bool = False


def faults_of(data: bytes, asked: Asked) -> list[Found]:
    """Find all faults of an unpacked run."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return [Found("encoding", 1)]
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    found: list[Found] = []
    topics: list[tuple[int, str, bool]] = []
    docs: list[tuple[int, str, str, float | None, int | None]] = []
    tags: list[tuple[int, str, bool]] = []
    second: list[int] = []
    any_line = False
    full_tags: list[str | None] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        try:
            raw.decode()
        except UnicodeDecodeError:
            found.append(Found("encoding", number))
        if not raw.strip(BLANKS) or raw.lstrip(BLANKS).startswith(b"#"):
            continue
        if not any_line and _is_table(raw, asked.form):
            return [Found("columns", number)]
        any_line = True
        if asked.form == "trec":
            fields = _split(raw)
            enough = len(fields) >= 6
        else:
            fields = raw.rstrip(BLANKS).split(b";")
            enough = len(fields) == 6
            fields = [f if k == 2 else f.strip(BLANKS) for k, f in enumerate(fields)]
        if len(fields) != 6:
            found.append(Found("columns", number))
        known = [_text(field) if enough or not k else None for k, field in enumerate(fields[:6])]
        for k, field in enumerate(fields[:6] if asked.form == "ntcir" else []):
            if field == b"" and (enough or not k) and k != 1:
                found.append(Found("columns", number))
                known[k] = None
        topic, q0, doc, rank, score, tag = (*known, None, None, None, None, None)[:6]
        if topic is not None:
            topics.append((number, topic, enough))
        blanks = tuple(map(chr, BLANKS))
        for id in (topic, doc) if enough else ():
            if id is not None and any(blank in id for blank in blanks):
                found.append(Found("id-blank", number))
        if tag is not None:
            tags.append((number, tag, score is not None and is_number(score)))
        numeric = parse_integer(rank or "") is not None and is_number(score or "")
        spaced = numeric and asked.form == "trec" and len(fields) > 6 and b"\t" not in raw
        texts = [_text(field) for field in fields[5:]] if spaced else [None]
        full_tags.append(None if None in texts else " ".join(map(str, texts)))
        if asked.second and q0 is not None and q0 not in asked.second:
            second.append(number)
        if (
            rank is not None
            and asked.rank != "off"
            and (parse_integer(rank) is None or int(rank) < 0)
        ):
            found.append(Found("rank", number))
        if score is not None and not is_number(score):
            found.append(Found("score", number))
        if topic is not None and doc is not None:
            value = float(score) if score is not None and is_number(score) else None
            good = rank is not None and parse_integer(rank) is not None and int(rank) >= 0
            place = int(rank or "") if good else None
            docs.append((number, topic, doc, value, place))
    if not any_line:
        return [*found, Found("empty", None)]
    if (full := full_tags[0]) is not None and set(full_tags) == {full}:
        # All lines have one tag, which has blanks.
        found = [fault for fault in found if fault.code != "columns"]
        found.append(Found("columns", tags[0][0], len(full_tags)))
        tags = [(tags[0][0], full, True)]
    if second:
        found.append(Found("second-column", second[0], len(second)))
    found += _of_tags(tags, asked) + _of_topics(topics, asked) + _of_documents(docs, asked)
    if not STOPS & {one.code for one in found}:
        # Nothing else keeps the run from being read: a mark within the file still does.
        lines = data.split(b"\n")
        found += [Found("unreadable", k) for k, raw in enumerate(lines, 1) if raw[:3] == MARK][:1]
    return found


def _is_table(raw: bytes, form: str) -> bool:
    """Commas or semicolons separate the columns of the first line, and no blanks do."""
    words = raw.split()
    separators = (b",",) if form == "ntcir" else (b",", b";")
    return len(words) < 6 and any(s in words[0] and raw.count(s) >= 4 for s in separators)


def _split(raw: bytes) -> list[bytes]:
    """Split at tabs where these separate all six columns, and else at any blanks."""
    tabs = [field.strip(BLANKS) for field in raw.lstrip(BLANKS).split(b"\t")]
    if len(tabs) < 6 or b"" in tabs[:6]:
        return raw.split()
    return [*tabs[:5], tabs[5].partition(b" ")[0], *tabs[6:]]


def _text(field: bytes) -> str | None:
    try:
        return field.decode()
    except UnicodeDecodeError:
        return None


def _of_tags(tags: list[tuple[int, str, bool]], asked: Asked) -> list[Found]:
    if not tags:
        return []
    line, tag, _ = next((one for one in tags if one[2]), tags[0])
    found = [
        Found("tag-changes", number) for number, other, _ in tags if number > line and other != tag
    ]
    is_valid = bool(re.fullmatch(asked.tag, tag)) and is_safe_name(tag)
    if not is_valid and not (" " in tag and asked.form == "trec"):
        found.append(Found("tag", line))
    if asked.declared not in {None, tag}:
        found.append(Found("tag-declared", line))
    if asked.team is not None and tag.lower() == asked.team.lower():
        found.append(Found("tag-team", line))
    return found


def _of_topics(topics: list[tuple[int, str, bool]], asked: Asked) -> list[Found]:
    found = []
    counts = Counter(topic for _, topic, _ in topics)
    if asked.topics is not None:
        strange: dict[str, list[int]] = defaultdict(list)
        for number, topic, enough in topics:
            if enough and topic not in asked.topics:
                strange[topic].append(number)
        found += [Found("topic-unknown", lines[0], len(lines)) for lines in strange.values()]
        if missing := [topic for topic in asked.topics if topic not in counts]:
            found.append(Found("topic-missing", None, len(missing)))
    for topic, count in counts.items():
        if asked.most is not None and count > asked.most:
            lines = [number for number, other, _ in topics if other == topic]
            found.append(Found("too-many", lines[asked.most]))
        if asked.few and asked.most is not None and count < asked.most:
            found.append(Found("too-few", None))
    return found


def _of_documents(
    docs: list[tuple[int, str, str, float | None, int | None]], asked: Asked
) -> list[Found]:
    found = []
    seen: set[tuple[str, str]] = set()
    ranked: dict[str, list[tuple[float, str, int | None]]] = defaultdict(list)
    for number, topic, doc, score, rank in docs:
        if asked.documents is not None and doc not in asked.documents:
            found.append(Found("document-unknown", number))
        if (topic, doc) in asked.excluded:
            found.append(Found("document-excluded", number))
        if (topic, doc) in seen:
            found.append(Found("document-twice", number))
        elif score is not None:
            ranked[topic].append((score, doc, rank))
        seen.add((topic, doc))
    tied = backwards = pairs = 0
    for some in ranked.values():
        scores = Counter(score for score, _, _ in some)
        tied += sum(count for count in scores.values() if count > 1)
        known = sorted(((s, d, r) for s, d, r in some if r is not None), reverse=True)
        pairs += max(len(known) - 1, 0)
        for better, worse in zip(known, known[1:], strict=False):
            backwards += better[0] > worse[0] and worse[2] < better[2]
    if tied > asked.tied * sum(map(len, ranked.values())):
        found.append(Found("tied", None, tied))
    if backwards and (
        asked.rank == "order" or (asked.rank == "integer" and backwards > max(1, pairs / 2))
    ):
        found.append(Found("rank-order", None, backwards))
    return found
