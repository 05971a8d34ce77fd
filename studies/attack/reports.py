"""Hostile text as names of systems, topics, documents, workers and titles, in every output.

What an output should be is known from the same output of harmless text: the same elements and
attributes of HTML, tokens of Markdown and commands of LaTeX, and no control characters. The readers
are those of others: `html.parser`, markdown-it, `csv`, `json`. CSV and JSON hold the text itself.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

from markdown_it import MarkdownIt

from cranfield.cli.main import main
from studies.attack import Outcome
from studies.attack.work.in_order import in_worker, work

HARMLESS = "Zqx"
"""A name that is in no output without being given."""

SEEDS = [
    *("<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=a()>"),
    *("<svg onload=alert(1)>", "<svg><script>1</script></svg>", "<!--", "-->", "<![CDATA[x]]>"),
    *(
        '" onmouseover="alert(1)',
        "' onclick='a()",
        "javascript:alert(1)",
        "</style><b>",
        "</title>",
    ),
    *("<a href=javascript:a()>x</a>", "<iframe src=//x.example>", "<base href=//x.example>"),
    *(
        "<math><mi>x",
        "<meta http-equiv=refresh content=0>",
        "&lt;script&gt;",
        "&#60;b&#62;",
        "&amp",
    ),
    *("</textarea>", "<plaintext>", "<template>", "<b", "</td></tr></table>", "\u2028x\u2029"),
    *("\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\x", "\x1b[2J", "\x9b31m"),
    *(
        "\x9d0;t\x9c",
        "a\x08b",
        "a\x7fb",
        "a\x85b",
        "\u202eabc",
        "\u2066a\u2069",
        "a\u200bb",
        "\ufeffa",
    ),
    *(
        "\u200d",
        "a\u00adb",
        "\u2800",
        "\u3164",
        "a\u0300\u0301\u0302",
        "\U000e0041",
        "\ufffe",
        "\u061c",
    ),
    *("=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "=HYPERLINK(1)", "%0A=1", "|calc"),
    *(
        r"\input{/etc/passwd}",
        r"\write18{ls}",
        r"\immediate\write18{ls}",
        r"\def\x{}",
        "100%",
        "a&b",
    ),
    *(
        "a_b_c",
        "{",
        "}",
        "{{x}}",
        "${x}",
        "#{x}",
        "^^41",
        "^^M",
        "~",
        "$x^2$",
        r"\\",
        "\\",
        "#1",
        "``x''",
    ),
    *("--x--", "<<x>>", r"\end{table}", r"\begin{x}", "@article{x, y={z}}", "},{", '"x"', "%s%n"),
    *("[x](http://x.example)", "![x](http://x.example/i.png)", "**x**", "_x_", "`x`", "| a | b |"),
    *(
        "# x",
        "- x",
        "1. x",
        "> x",
        "~~x~~",
        "[^1]",
        "<http://x.example>",
        "http://x.example",
        "---",
    ),
    *(
        "***",
        "```",
        "{% x %}",
        "<% x %>",
        "{{7*7}}",
        "%(x)s",
        "{0}",
        "$(x)",
        "`id`",
        ";ls",
        "a\\|b",
    ),
    *(
        "a\nb",
        "a\r\nb",
        "a\rb",
        "a\tb",
        " a",
        "a ",
        "",
        "a\0b",
        "\x1c",
        "\x1f",
        "null",
        "NaN",
        "1e9",
    ),
    *("-", "--help", "../x", "/etc/passwd", "CON", "a/b", "é", "日本", "\u0645", "x" * 3000, "😀"),
]

PATIENCE = 20


def texts(seed: int, number: int = 200) -> list[str]:
    """Return so many hostile texts: known ones, and pieces of them put together."""
    draw = random.Random(seed)
    found = dict.fromkeys(SEEDS)
    while len(found) < number:
        pieces = draw.choices(SEEDS, k=draw.randint(2, 4))
        found["".join(one[: draw.randint(1, 40)] for one in pieces)] = None
    return list(found)[:number]


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
    *((f"compare q.csv r.csv -m AP -f {form} --prose", form, PLACES[:1]) for form in FORMATS[3:]),
    ("compare q.csv r.csv -m AP --prose", "text", PLACES[:1]),
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


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield what became of a text in a place of an output."""
    return in_worker(__name__, seed, cases)


def prepared(folder: Path, place: str, text: str) -> None:
    """Write judgments, runs and labels, with a text where it is to stand."""
    at = dict.fromkeys(("system", "topic", "doc"), HARMLESS)
    at |= dict.fromkeys(at, text) if place == "all" else ({place: text} if place in at else {})
    topics = [at["topic"], *(f"t{k}" for k in range(5))]
    docs = [at["doc"], "d1", "d2"]
    with (folder / "q.csv").open("w", newline="") as out:
        write = csv.writer(out).writerow
        write(["topic", "doc", "grade"])
        for k, topic in enumerate(topics):
            write([topic, docs[k % 3], 1])
            write([topic, docs[(k + 1) % 3], 0])
    with (folder / "r.csv").open("w", newline="") as out:
        write = csv.writer(out).writerow
        write(["topic", "doc", "score", "system"])
        for shift, system in enumerate([at["system"], "other"]):
            for k, topic in enumerate(topics):
                for rank in range(3):
                    write([topic, docs[(k * k + shift * k + rank) % 3], 3 - rank, system])
    with (folder / "l.csv").open("w", newline="") as out:
        write = csv.writer(out).writerow
        write(["topic", "doc", "worker", "grade"])
        for k, worker in enumerate([at["system"], "w1", "w2"]):
            for doc in docs:
                write(["1", doc, worker, int(doc == "d1" or k == 1)])
    with (folder / "log.csv").open("w", newline="") as out:
        write = csv.writer(out).writerow
        write(["page", "query", "user", "variant", "rank", "doc", "clicked"])
        for k in range(12):
            for rank, doc in enumerate(docs, 1):
                variant = at["system"] if k % 2 else "other"
                write([k, topics[k % 6], k // 2, variant, rank, doc, int((k + rank) % 3 == 0)])
    with (folder / "users.csv").open("w", newline="") as out:
        write = csv.writer(out).writerow
        write(["user", "variant", "query", "x"])
        for k in range(40):
            variant = at["system"] if k % 2 else "other"
            write([k, variant, topics[k // 2 % 6], k * 7 % 5 + k % 2])


def output(folder: Path, command: str, text: str) -> tuple[int, str, str]:
    """Run a command; return its status, what it writes and what it says."""
    arguments = [one.replace("TEXT", text) for one in command.split()]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    status: object = 0
    os.chdir(folder)
    with contextlib.suppress(FileNotFoundError):
        (folder / "out").unlink()
    with patch.multiple(sys, argv=["cranfield", *arguments], stdout=out, stderr=err):
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
    written = []
    for stream in (out, err):
        stream.flush()
        written.append(stream.buffer.getvalue().decode())
    if (folder / "out").exists():
        written[0] = (folder / "out").read_text()
    return int(str(status)), written[0], written[1]


ADDRESSES = {"href", "src", "action", "formaction", "xlink:href", "data", "srcdoc"}
"""Attributes that a browser may follow."""


class Elements(HTMLParser):
    """Counts elements with the names of their attributes, and keeps text and addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Names that are long have a title.
        names = sorted(name for name, _ in attrs if name != "title")
        self.counts[f"{tag} {' '.join(names)}"] += 1
        for name, value in attrs:
            if name in ADDRESSES and (value or "").strip().lower().startswith("javascript:"):
                self.counts[f"{tag} {name} is a script"] += 1

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.counts["comment"] += 1

    def unknown_decl(self, data: str) -> None:
        self.counts["declaration"] += 1


def elements(text: str) -> Counter[str]:
    return Elements(text).counts


def tokens(text: str) -> Counter[str]:
    """Count the kinds of tokens of Markdown, but not of text."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found: Counter[str] = Counter()
    for token in parser.parse(text):
        found[token.type] += 1
        found.update(one.type for one in token.children or [])
    for kind in ("text", "text_special"):
        del found[kind]
    return found


_READ = re.compile(
    r"\\text(?:backslash|asciitilde|less|greater|bar|asciigrave|asciicircum)\{\}|\\[&%$#_{}]"
    r"|\\ldots\{\}|\\S\{\}|\\dd?ag\{\}|\$\\(?:leq|Vert|alpha|sharp)\$|\\/"
    # At the start of a row, what follows would be an argument of the end of the row before.
    r"|(?m:^)\{\}(?=[\[*])"
)


def controls(text: str) -> Counter[str]:
    """Count what LaTeX obeys: commands and single characters, but not those that stand for one."""
    return Counter(re.findall(r"\\[A-Za-z]+|\\.|[{}$&#^_~%]", _READ.sub("", text)))


STRUCTURES: dict[str, Callable[[str], Counter[str]]] = {
    "html": elements,
    "markdown": tokens,
    "latex": controls,
}


def shown_in(form: str, text: str, written: str) -> str:
    """Return what is wrong with a data format, which is to hold the text itself."""
    if form == "json":
        json.loads(written)
    if form == "csv":
        rows = list(csv.reader(io.StringIO(written, newline="")))
        if len({len(row) for row in rows if row}) > 1:
            return "rows of CSV differ in length"
        # Blanks around names are removed on reading.
        if not any(text.strip() in cell for row in rows for cell in row):
            return "the text is not read back from CSV"
    return ""


def judged(name: str, folder: Path, command: str, form: str, place: str, text: str) -> Outcome:
    """Compare an output with that of harmless text."""
    if command.startswith("labels"):
        # Blanks around ids of labels are taken away, which is said.
        text = text.strip()
    prepared(folder, place, text)
    try:
        status, written, said = output(folder, command, text)
    except BaseException as error:
        return Outcome(name, "finding", f"{type(error).__name__}: {str(error)[:150]!a}")
    lines = said.split("\n")
    odd = [line for line in lines if not line.isprintable() or len(line) > 1500]
    if odd:
        return Outcome(name, "finding", f"is said: {odd[0][:150]!a}")
    if status:
        fine = status in (1, 2) and "Traceback" not in said
        return Outcome(name, "refused" if fine else "finding", "" if fine else said[-150:])
    if form not in ("csv", "json"):
        bad = [c for c in written if not c.isprintable() and c != "\n"]
        if form != "html" and bad:
            return Outcome(name, "finding", f"writes {bad[0]!a}")
    # What has no name is of no group, and is told.
    if form in STRUCTURES and not re.search(r" (is|are) of no ", written + said):
        prepared(folder, place, HARMLESS)
        _, plain, _ = output(folder, command, HARMLESS)
        here, there = STRUCTURES[form](written), STRUCTURES[form](plain)
        if here != there:
            return Outcome(name, "finding", f"{here - there}, and not {there - here}"[:200])
    wrong = shown_in(form, text, written) if place == "system" and "-f csv" in command else ""
    return Outcome(name, "finding" if wrong else "right", wrong)


def cases(seed: int) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield each text in each place of each output, in an order by the seed."""
    every = [
        (command, form, place, text)
        for (command, form, places), text in itertools.product(COMMANDS, texts(seed))
        for place in places
    ]
    random.Random(seed).shuffle(every)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command, form, place, text in itertools.cycle(every):
            said = f"{command}: {place} {text[:60]!a}"
            yield said, partial(judged, said, folder, command, form, place, text)


if __name__ == "__main__":
    work(cases)
