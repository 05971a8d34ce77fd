"""Commands that show names from outside, and what other programs see in their outputs.

The output of a hostile text has the structure of the output of a harmless text: the same elements
and attributes of HTML, tokens of Markdown and commands of LaTeX. CSV and JSON hold the text itself.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from tests.cli.running import ended_with

HARMLESS = "Zqx"
"""A name that is in no output without being given."""

PLACES = ("system", "topic", "doc", "all")
FORMATS = ("text", "csv", "json", "latex", "markdown", "html")
TABLE = "evaluate q.csv r.csv -m AP -m nDCG@5"
EXPERIMENT = "online experiment users.csv --metric x --control other"

COMMANDS: list[tuple[str, str, tuple[str, ...]]] = [
    *((f"{TABLE} -f {form}", form, PLACES[:1]) for form in ("csv", "json", "latex", "markdown")),
    *((f"{TABLE} -f {form}", form, PLACES[:1]) for form in ("html", "table")),
    *((f"{TABLE} -q -f {form}", form, PLACES[:2]) for form in ("csv", "json", "table")),
    (f"{TABLE} --coverage", "text", PLACES),
    *((f"compare q.csv r.csv -m AP -f {form}", form, PLACES[:1]) for form in FORMATS),
    *(
        (f"compare q.csv r.csv -m AP -f {form} --as prose", form, PLACES[:1])
        for form in FORMATS[3:]
    ),
    ("compare q.csv r.csv -m AP --as prose", "text", PLACES[:1]),
    ("report q.csv r.csv -m AP --title TEXT -o out", "html", PLACES),
    *((f"pool r.csv --judged q.csv -f {form}", form, PLACES) for form in FORMATS),
    *((f"labels l.csv --table workers -f {form}", form, ("system",)) for form in FORMATS),
    *((f"online measure log.csv --by variant -f {form}", form, PLACES[:1]) for form in FORMATS),
    *((f"online measure log.csv --by query -f {form}", form, PLACES[1:2]) for form in FORMATS),
    *((f"{EXPERIMENT} -f {form}", form, PLACES[:1]) for form in FORMATS),
    (f"{EXPERIMENT} --report out", "html", PLACES[:1]),
    (f"{EXPERIMENT} --segments query", "text", PLACES[:2]),
    *((f"judges q.csv TEXT=q.csv -m AP -f {form}", form, ("title",)) for form in FORMATS),
    *((f"judges q.csv a=q.csv --runs r.csv -f {form}", form, PLACES) for form in FORMATS),
    ("check q.csv r.csv", "text", PLACES),
    ("evaluate q.csv TEXT.csv -m AP", "text", ("title",)),
    ("evaluate q.csv r.csv -m TEXT", "text", ("title",)),
    ("compare q.csv r.csv -m AP -b TEXT", "text", ("title",)),
]

CASES = [(command, form, place) for command, form, places in COMMANDS for place in places]


def write_inputs(folder: Path, place: str, text: str) -> None:
    """Write judgments, runs, labels, a log and users, with the text in one place or in all."""
    names = dict.fromkeys(("system", "topic", "doc"), HARMLESS)
    names |= {name: text for name in names if place in (name, "all")}
    topics = [names["topic"], *(f"t{k}" for k in range(5))]
    docs = [names["doc"], "d1", "d2"]
    tables: dict[str, list[list[Any]]] = {
        "q.csv": [["topic", "doc", "grade"]],
        "r.csv": [["topic", "doc", "score", "system"]],
        "l.csv": [["topic", "doc", "worker", "grade"]],
        "log.csv": [["page", "query", "user", "variant", "rank", "doc", "clicked"]],
        "users.csv": [["user", "variant", "query", "x"]],
    }
    for k, topic in enumerate(topics):
        tables["q.csv"] += [[topic, docs[k % 3], 1], [topic, docs[(k + 1) % 3], 0]]
        for shift, system in enumerate([names["system"], "other"]):
            tables["r.csv"] += [
                [topic, docs[(k * k + shift * k + rank) % 3], 3 - rank, system] for rank in range(3)
            ]
    for k, worker in enumerate([names["system"], "w1", "w2"]):
        tables["l.csv"] += [["1", doc, worker, int(doc == "d1" or k == 1)] for doc in docs]
    for k in range(40):
        variant, topic = names["system"] if k % 2 else "other", topics[k // 2 % 6]
        tables["users.csv"].append([k, variant, topic, k * 7 % 5 + k % 2])
        if k < 12:
            tables["log.csv"] += [
                [k, topics[k % 6], k // 2, variant, rank, doc, int((k + rank) % 3 == 0)]
                for rank, doc in enumerate(docs, 1)
            ]
    for name, rows in tables.items():
        with (folder / name).open("w", newline="") as out:
            csv.writer(out).writerows(rows)


def run_command(folder: Path, command: str, text: str) -> tuple[int, str, str]:
    """Run a command; return its status, its output or the file `out`, and its messages."""
    out = folder / "out"
    out.unlink(missing_ok=True)
    # The text is one argument, whatever blanks it has.
    words = [word.replace("TEXT", text) for word in command.split()]
    status, output, messages = ended_with(folder, *words)
    with contextlib.suppress(OSError):
        output = out.read_text()
    return status, output, messages


ADDRESSES = {"href", "src", "action", "formaction", "xlink:href", "data", "srcdoc"}
"""Attributes that a browser may follow."""


class Elements(HTMLParser):
    """Count elements with the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Names that are long have a title.
        names = sorted(name for name, _ in attrs if name != "title")
        self.counts[f"{tag} {' '.join(names)}"] += 1
        for name, value in attrs:
            if name in ADDRESSES and (value or "").strip().lower().startswith("javascript:"):
                self.counts[f"{tag} {name} is a script"] += 1

    def handle_comment(self, data: str) -> None:
        self.counts["comment"] += 1

    def unknown_decl(self, data: str) -> None:
        self.counts["declaration"] += 1


def elements(text: str) -> Counter[str]:
    return Elements(text).counts


def tokens(text: str) -> Counter[str]:
    """Count the tokens of Markdown by their types, except text."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    counts: Counter[str] = Counter()
    for token in parser.parse(text):
        counts[token.type] += 1
        counts.update(child.type for child in token.children or [])
    for kind in ("text", "text_special"):
        del counts[kind]
    return counts


_CHARACTERS = re.compile(
    r"\\text(?:backslash|asciitilde|less|greater|bar|asciigrave|asciicircum)\{\}|\\[&%$#_{}]"
    r"|\\ldots\{\}|\\S\{\}|\\dd?ag\{\}|\$\\(?:leq|Vert|alpha|sharp)\$|\\/"
    # At the start of a row, what follows would be an argument of the end of the row before.
    r"|(?m:^)\{\}(?=[\[*])"
)


def controls(text: str) -> Counter[str]:
    """Count the commands of LaTeX, except those that stand for a character."""
    return Counter(re.findall(r"\\[A-Za-z]+|\\.|[{}$&#^_~%]", _CHARACTERS.sub("", text)))


STRUCTURES: dict[str, Callable[[str], Counter[str]]] = {
    "html": elements,
    "markdown": tokens,
    "latex": controls,
}


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts and keys of a value of JSON."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for part in value:
            yield from texts_of(part)
    elif isinstance(value, str):
        yield value


def data_problem(form: str, text: str, output: str) -> str:
    """Return why the text is not read back from CSV or JSON, or nothing."""
    if form == "json":
        values = [*texts_of(json.loads(output))]
    else:
        rows = [*csv.reader(io.StringIO(output, newline=""))]
        values = [cell for row in rows for cell in row]
        if len({len(row) for row in rows if row}) > 1:
            return "rows of CSV differ in length"
    # Blanks around names are removed on reading.
    return "" if any(text.strip() in value for value in values) else f"not in {values[:20]}"


def problem(folder: Path, command: str, form: str, place: str, text: str) -> str:
    """Return what is wrong with the output of a command that is given a text, or nothing."""
    if command.startswith("labels"):
        # Blanks around ids of labels are removed with a warning.
        text = text.strip()
    write_inputs(folder, place, text)
    status, output, messages = run_command(folder, command, text)
    for line in messages.split("\n"):
        if not line.isprintable() or len(line) > 1500 or "Traceback" in line:
            return f"message: {line[:150]!a}"
    if status:
        return "" if status in (1, 2) else f"status {status}: {messages[-150:]}"
    if form in ("csv", "json"):
        return data_problem(form, text, output) if place == "system" else ""
    unprintable = {char for char in output if not char.isprintable() and char != "\n"}
    if form != "html" and unprintable:
        return f"unprintable: {unprintable!a}"
    # Rows without a name are in no group: the table is another one.
    is_regrouped = re.search("excluded: no (unique )?variant", output + messages)
    if form in STRUCTURES and not is_regrouped:
        write_inputs(folder, place, HARMLESS)
        _, harmless, _ = run_command(folder, command, HARMLESS)
        here, there = STRUCTURES[form](output), STRUCTURES[form](harmless)
        if here != there:
            return f"more {here - there}, less {there - here}"
    return ""


LONGEST = 700
"""Characters of a line of a message: 600, and the name of the program."""

READERS = (
    *("evaluate FILE r.run -m AP", "evaluate q.qrels FILE -m AP", "check FILE FILE"),
    *("compare --scores FILE", "compare q.qrels r.run FILE -m AP", "labels FILE", "pool FILE"),
    *("sessions q.qrels FILE -m sDCG", "online measure FILE", "online preference FILE"),
    *("answers FILE FILE", "fuse FILE r.run", "judges FILE FILE", "report --scores FILE -o out"),
    *("evaluate q.qrels r.run -m FILE", "evaluate q.qrels r.run --input-format FILE", "FILE"),
    *("plot FILE q.qrels r.run", "evaluate q.qrels r.run -m AP -o FILE/x", "measures FILE"),
    *("compare q.qrels r.run r.run -m AP -b FILE", "evaluate --FILE a b"),
)
SUFFIXES = (".run", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".parquet", ".yaml", "")


def contents(text: str, names: list[str], cells: list[str], separator: str) -> list[str]:
    """Make files that are nearly valid in one of the formats, with a text in them."""
    rows = [[*names[:3], text], *(cells[k : k + 4] for k in (0, 4, 8))]
    records = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    return [
        "\n".join(separator.join(row) for row in rows),
        "\n".join(separator.join(row) for row in rows[1:]),
        *(json.dumps(value) for value in (records, {text: records}, {text: {text: text}})),
        "\n".join(map(json.dumps, records)),
        f"<{text}>",
        f"<sessiontrack2013><session num='{text}'/></sessiontrack2013>",
        f"1 Q0 a 1 {text} t\n",
        f"1 0 a {text}\n",
        f"# ir_metadata.start\n# {text}: [\n# ir_metadata.end\n1 Q0 a 1 2 t\n",
        text,
    ]


def message_problem(folder: Path, command: str, name: str, content: str) -> str:
    """Return what is wrong with the messages about a file, or nothing."""
    path = folder / (name.replace("/", "_") or "a")
    (folder / "q.qrels").write_text("1 0 a 1\n")
    (folder / "r.run").write_text("1 Q0 a 1 2.0 t\n")
    # Some names are not valid for files; the message says so.
    with contextlib.suppress(OSError, ValueError):
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
    try:
        status, _, messages = run_command(folder, command.replace("FILE", "TEXT"), path.name)
    finally:
        with contextlib.suppress(OSError, ValueError):
            path.unlink()
    if status not in (0, 1, 2) or "Traceback" in messages:
        return f"status {status}: {messages[-300:]!a}"
    lines = messages.split("\n")
    return next(
        (f"{line[:150]!a}" for line in lines if not line.isprintable() or len(line) > LONGEST), ""
    )
