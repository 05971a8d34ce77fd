"""Runs made at random, with faults planted in known lines: valid in all else."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from cranfield.campaign.rules.task_rules import TaskRules
from tests.campaign.checks.line_by_line import Asked, Found

NUMBERS = ("{}", "{}.0", "{}.", "+{}", "{}e0", "{}0E-1", "0{}.000")
NO_NUMBERS = ("nan", "inf", "-inf", "1e999", "x", "1_0", "0x1p3", "1,5", "\u0663", "--1", "1e", ".")
NO_RANKS = ("1.5", "-5", "1-2", "x", "99999999999", "1e3", "\u0661", "+", "nan")
NO_TAGS = ("team/run", "x" * 21, "\u00e9", "CON", ".hidden", "a.", "-x")
NO_UTF8 = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe2\x82", b"\x80", b"\xf5\x80\x80\x80")
SHAPES = (
    "d{}",
    "FT911-{}",
    "clueweb09-en0000-{}",
    "\u00e9{}",
    "{}",
    "a\u3000b{}",
    "a\u2028b{}",
    "\U0001f600{}",
)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".bz2": lambda data: bz2.compress(data, 1),
    ".xz": lambda data: lzma.compress(data, preset=0),
}


@dataclass(eq=False)
class Row:
    """A line of a run: its fields, or what is nothing; touched by one fault at the most."""

    fields: list[bytes]
    doc: str = ""
    planted: str = ""


@dataclass
class Planted:
    """A file, the rules that it is checked by, and the faults that were planted in it."""

    data: bytes
    suffix: str
    asked: Asked
    planted: list[Found]
    lines: int
    readable: bool = True
    limits: dict[str, int] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()

    def task(self, folder: Path) -> TaskRules:
        """Write the lists that the rules name, and return the rules."""
        asked = self.asked
        topics, documents, exclude = (folder / name for name in ("topics", "documents", "exclude"))
        topics.write_text("".join(f"{topic} a title\n" for topic in asked.topics or ()))
        documents.write_text("".join(f"{doc}\n" for doc in asked.documents or ()))
        exclude.write_text("".join(f"{topic} {doc}\n" for topic, doc in asked.excluded))
        return TaskRules(
            "task",
            topics=topics if asked.topics else None,
            documents=documents if asked.documents else None,
            exclude=exclude if asked.excluded else None,
            tag=asked.tag,
            format=asked.form,
            max_per_topic=asked.most,
            second_column=asked.second,
            rank=asked.rank,
            tied=asked.tied,
            severities={"too-few": "warning"} if asked.few else {},
            max_bytes=self.limits.get("max_bytes", 1 << 30),
            max_decompressed_bytes=self.limits.get("max_decompressed_bytes", 1 << 30),
        )


class Planter:
    """Makes one file."""

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)
        self.form = self.random.choice(["trec"] * 4 + ["ntcir"])
        self.second = self.random.choice([("Q0",), ("Q0", "q0"), ()])
        self.rank = self.random.choice(["integer", "integer", "order", "off"])
        self.tag = self.random.choice(["bm25", "a.b-c_d", "1", "0", "Run-7"])
        self.pool = [self._new_document(k) for k in range(40)]
        self.names = [str(number) for number in self.random.sample(range(1, 500), 6)]
        self.rows: list[Row] = []
        self.missing: list[str] = []
        self.excluded: set[tuple[str, str]] = set()
        self.declared: str | None = None
        self.team: str | None = None
        self.whole_file: list[Found] = []
        self.whole_kinds: list[str] = []
        self.enlarged = ""
        self.swapped = 0
        self.tied = 0.2
        self.number = 0
        topics = self.names[: self.random.randint(1, 4)]
        for topic in topics:
            docs = self.random.sample(self.pool[:30], self.random.randint(2, 7))
            self.rows += [self._row(topic, doc, k) for k, doc in enumerate(docs)]
        self.topics = topics
        if len(topics) > 1 and self.random.random() < 0.2:
            # The first topic comes again at the end.
            own = [row for row in self.rows if row.fields[0] == topics[0].encode()]
            self.rows.remove(own[-1])
            self.rows.append(own[-1])
        # Of each topic one line stays whole, so that no topic gets lost by other faults.
        names = [row.fields[0] for row in self.rows]
        self.anchors = [self.rows[names.index(topic.encode())] for topic in topics]

    def _new_document(self, number: int) -> str:
        doc = self.random.choice(SHAPES).format(number)
        return doc if self.form == "ntcir" else doc.replace(" ", "")

    def _row(self, topic: str, doc: str, place: int) -> Row:
        score = self.random.choice(NUMBERS).format(100 - place)
        q0 = self.random.choice(self.second or ("Q0", "0", "x"))
        fields = (topic, q0, doc, str(place + 1), score, self.tag)
        return Row([one.encode() for one in fields], doc)

    def _all_free(self) -> list[Row]:
        topics = {topic.encode() for topic in self.topics}
        return [row for row in self.rows if not row.planted and row.fields[0] in topics]

    def _free(self, *, first: bool = True) -> Row | None:
        """Pick a line without a fault; there is always another of its topic."""
        free = [
            row for row in self.rows if not row.planted and row.fields[0].decode() in self.topics
        ]
        if not first:
            free = [row for row in free if row not in self.anchors]
        return self.random.choice(free) if free else None

    def plant(self, kind: str) -> bool:
        """Plant one fault, if there is a place for it."""
        whole = getattr(self, "_" + kind.replace("-", "_"), None)
        if whole is not None:
            return bool(whole())
        row = self._free(first=kind not in {"tag-changes"})
        if row is None:
            return False
        place, texts = {
            "rank": (3, NO_RANKS),
            "score": (4, NO_NUMBERS),
            "document-unknown": (2, ("unheard-of", "\u00fcnknown", "D0", "")),
            "tag-changes": (5, ("other", "BM25", "x" * 300)),
        }[kind]
        if kind == "rank" and self.rank == "off":
            return False
        text = self.random.choice(texts) or row.doc
        if kind == "document-unknown":
            self.number += 1
            text += f"-{self.number}"
        row.fields[place] = text.encode()
        row.planted = kind
        return True

    def _columns(self) -> bool:
        row = self._free(first=False)
        if row is None:
            return False
        row.planted = "columns"
        if self.form == "ntcir" and self.random.random() < 0.3:
            row.fields[self.random.choice([0, 2, 3, 4, 5])] = b""
        elif self.random.random() < 0.7:
            row.fields = row.fields[: self.random.randint(1, 5)]
        else:
            row.fields += [b"more"] * self.random.randint(1, 3)
        return True

    def _encoding(self) -> bool:
        row = self._free(first=False)
        if row is None:
            return False
        row.planted = "encoding"
        place = self.random.randrange(6)
        at = self.random.randint(0, len(row.fields[place]))
        bad = self.random.choice(NO_UTF8)
        text = row.fields[place]
        # Within a character it could be that no byte of it is bad by itself.
        at = at if text.isascii() else len(text)
        row.fields[place] = text[:at] + bad + text[at:]
        return True

    def _document_twice(self) -> bool:
        row = self._free()
        if row is None:
            return False
        again = Row(list(row.fields), row.doc, "document-twice")
        row.planted = "the first of two"
        self.rows.insert(self.random.randint(self.rows.index(row) + 1, len(self.rows)), again)
        return True

    def _document_excluded(self) -> bool:
        row = self._free()
        if row is None or " " in row.doc or "\u3000" in row.doc:
            return False
        row.planted = "document-excluded"
        self.excluded.add((row.fields[0].decode(), row.doc))
        return True

    def _second_column(self) -> bool:
        if not self.second or "second-column" in self.whole_kinds:
            return False
        rows = {self._free() for _ in range(self.random.randint(1, 4))} - {None}
        for row in rows:
            assert row is not None
            row.fields[1] = self.random.choice([b"0", b"Q1", b"QO"])
            row.planted = "second-column"
        return bool(rows)

    def _topic_unknown(self) -> bool:
        topic = self.random.choice(["zz", "0", "Q", "\u00e9"]) + str(self.random.randrange(10**6))
        if topic in self.names:
            return False
        docs = self.random.sample(self.pool[:30], self.random.randint(1, 3))
        new = [self._row(topic, doc, k) for k, doc in enumerate(docs)]
        for row in new:
            row.planted = "topic-unknown"
        # Between two blocks of lines or in one: it stays in its order.
        at = self.random.randint(1, len(self.rows))
        self.rows[at:at] = new
        return True

    def _topic_missing(self) -> bool:
        if self.missing:
            return False
        self.missing = self.names[5 : 5 + 1] + self.names[4:5] * self.random.randint(0, 1)
        self.whole_file.append(Found("topic-missing", None, len(self.missing)))
        return True

    def _too_many(self) -> bool:
        if self.enlarged:
            return False
        self.enlarged = self.random.choice(self.topics)
        for k, doc in enumerate(self.pool[30:]):
            row = self._row(self.enlarged, doc, 50 + k)
            row.planted = "enlarged"
            self.rows.append(row)
        return True

    def _neighbours(self) -> tuple[Row, Row] | None:
        """Pick two lines without a fault that follow each other in a topic."""
        free = [
            row for row in self.rows if not row.planted and row.fields[0].decode() in self.topics
        ]
        for one in self.random.sample(free, len(free)):
            for other in free:
                if one.fields[0] == other.fields[0] and int(other.fields[3]) == 1 + int(
                    one.fields[3]
                ):
                    return one, other
        return None

    def _rank_order(self) -> bool:
        pair = self._neighbours() if self.rank == "order" else None
        if pair is None:
            return False
        one, other = pair
        one.fields[3], other.fields[3] = other.fields[3], one.fields[3]
        one.planted = other.planted = "rank-order"
        self.swapped += 1
        return True

    def _tied(self) -> bool:
        pair = self._neighbours() if self.rank != "order" and self.tied else None
        if pair is None:
            return False
        pair[0].fields[4] = pair[1].fields[4]
        pair[0].planted = pair[1].planted = "tied"
        self.tied = 0.0
        return True

    def _tag_declared(self) -> bool:
        self.declared = "declared"
        return True

    def _tag_team(self) -> bool:
        self.team = self.tag.upper()
        return True

    def _tag(self) -> bool:
        if any(row.planted for row in self.rows):
            return False
        self.tag = self.random.choice(NO_TAGS)
        for row in self.rows:
            row.fields[5] = self.tag.encode()
        return True

    # The file.

    def made(self) -> Planted:
        """Return the file and what is wrong with it."""
        text, lines = self.rendered()
        numbered = [(row, number) for number, (row, _) in enumerate(lines, 1) if row is not None]
        counted = [
            (row.fields[0], number)
            for row, number in numbered
            if row.fields[0] and not _spoilt(row.fields[0])
        ]
        counts = {topic: [n for other, n in counted if other == topic] for topic, _ in counted}
        own = self.enlarged.encode()
        others = max((len(of) for topic, of in counts.items() if topic != own), default=0)
        expected = list(self.whole_file)
        most = max(map(len, counts.values())) + self.random.randint(0, 3)
        if self.enlarged and len(of := counts[own]) > others:
            most = self.random.randint(max(others, 1), len(of) - 1)
            expected.append(Found("too-many", of[most]))
        few = self.random.random() < 0.1
        if few:
            expected += [Found("too-few", None)] * sum(len(of) < most for of in counts.values())
        for row, number in numbered:
            if row.planted in ONE_A_LINE:
                expected.append(Found(row.planted, number))
        for kind in ("second-column", "topic-unknown"):
            hit = [(row, number) for row, number in numbered if row.planted == kind]
            by = {row.fields[0] if kind == "topic-unknown" else b"" for row, _ in hit}
            for one in by:
                some = [n for row, n in hit if kind == "second-column" or row.fields[0] == one]
                expected.append(Found(kind, some[0], len(some)))
        first = numbered[0][1]
        if self.declared is not None:
            expected.append(Found("tag-declared", first))
        if self.team is not None and self.team.lower() == self.tag.lower():
            expected.append(Found("tag-team", first))
        if "tag" in self.whole_kinds:
            expected.append(Found("tag", first))
        if self.swapped:
            expected.append(Found("rank-order", None, self.swapped))
        if not self.tied:
            expected.append(Found("tied", None, 2))
        asked = Asked(
            form=self.form,
            topics=(*self.topics, *self.missing),
            documents=frozenset(self.pool),
            excluded=self.excluded,
            declared=self.declared,
            team=self.team,
            most=most,
            second=self.second,
            rank=self.rank,
            tied=self.tied,
            few=few,
        )
        suffix = self.random.choice([""] * 6 + [".gz", ".bz2", ".xz"])
        readable = not any(
            one.code in {"encoding", "score", "document-twice"} for one in expected
        ) and all(
            len(row.fields) == 6
            and (self.form == "trec" or all(field for k, field in enumerate(row.fields) if k != 1))
            for row in self.rows
        )
        return Planted(
            PACK[suffix](text),
            suffix,
            asked,
            expected,
            len(lines),
            readable,
            kinds=tuple(self.whole_kinds),
        )

    def rendered(self) -> tuple[bytes, list[tuple[Row | None, bytes]]]:
        """Write the lines, with empty ones and comments between them."""
        random = self.random
        ending = random.choice([b"\n"] * 6 + [b"\r\n", b"\r"])
        fillers = [b"", b"  ", b"# a comment", b" \t# 1 Q0 d 1 1 t"]
        if ending == b"\n":
            fillers.append(b"\r")
        filled = random.random() < 0.4
        lines: list[tuple[Row | None, bytes]] = []
        for row in self.rows:
            while filled and random.random() < 0.15:
                lines.append((None, random.choice(fillers)))
            lines.append((row, self._line(row)))
        text = ending.join(line for _, line in lines)
        if random.random() < 0.8 or ending not in text:
            text += ending if ending in text else b"\n"
        if random.random() < 0.1:
            text = b"\xef\xbb\xbf" + text
        return text, lines

    def _line(self, row: Row) -> bytes:
        random = self.random
        if self.form == "ntcir":
            out = row.fields
            if random.random() < 0.1:
                out = [one if k == 2 else b" " + one + b" " for k, one in enumerate(out)]
            return b";".join(out)
        if random.random() < 0.8:
            return b" ".join(row.fields)
        blanks = [random.choice([b" ", b"\t", b"  ", b" \v", b"\f"]) for _ in row.fields]
        line = b"".join(one + blank for one, blank in zip(row.fields, blanks, strict=True))
        return random.choice([b"", b" ", b"\t"]) + line


ONE_A_LINE = {
    "columns",
    "encoding",
    "document-twice",
    "document-unknown",
    "document-excluded",
    "rank",
    "score",
    "tag-changes",
}
KINDS = (
    *sorted(ONE_A_LINE),
    *("second-column", "topic-unknown", "topic-missing", "too-many", "rank-order", "tied"),
    *("tag", "tag-declared", "tag-team"),
)
WHOLE = ("size", "archive", "empty", "utf-16")


def _spoilt(field: bytes) -> bool:
    try:
        field.decode()
    except UnicodeDecodeError:
        return True
    return False


def planted(seed: int | str) -> Planted:
    """Make a run with 0 to 5 faults, the same for the same seed."""
    planter = Planter(seed)
    random = planter.random
    wanted = random.choice([0, 0, 0, 1, 1, 2, 3, 4, 5])
    # The tag is first: it is that of all lines.
    kinds = sorted((random.choice(KINDS) for _ in range(wanted)), key="tag".__ne__)
    for kind in kinds:
        if kind.startswith("tag") and kind in planter.whole_kinds:
            continue
        if planter.plant(kind):
            planter.whole_kinds.append(kind)
    made = planter.made()
    if random.random() < 0.04:
        _spoil(made, random)
    return made


def _spoil(made: Planted, random: Random) -> None:
    """Spoil the file as a whole, so that no line of it can be told."""
    kind = random.choice(WHOLE)
    made.kinds, made.lines = (kind,), 0
    made.readable &= kind == "size"
    made.planted = [Found(kind, None)]
    if kind == "size":
        limit = random.choice(["max_bytes", "max_decompressed_bytes"])
        made.limits = {limit: random.randrange(1, min(len(made.data), 30))}
    elif kind == "archive":
        made.suffix = random.choice([".gz", ".bz2", ".xz"])
        made.data = PACK[made.suffix](b"1 Q0 d1 1 1 a\n" * 20)
        made.data = made.data[: random.randrange(20, len(made.data) - 1)]
    elif kind == "empty":
        made.data = random.choice([b"", b"\n", b" \n\t\r\n", b"# nothing\n", b"\xef\xbb\xbf"])
        made.lines = made.data.removeprefix(b"\xef\xbb\xbf").count(b"\n")
        made.suffix = ""
    else:
        text = "1 Q0 d1 1 1 a\n" * random.randint(1, 5)
        made.data, made.suffix = text.encode("utf-16"), ""
        made.planted = [Found("encoding", 1)]
