"""The value of a table by the documentation, in plain Python: no reader of cranfield is used.

The names of columns and the rules are those of the pages "What each reader accepts" and "Reading".
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
MISSING = ("", "nan", "na", "n/a", "null", "none")
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class RefusalError(Exception):
    """No value is right: the table has to be refused, or something has to be said."""


class UndecidableError(Exception):
    """A reader cannot know what the table means."""


@dataclass(frozen=True)
class Column:
    """A column: its kind of value, whether each row has one, and its names by rank."""

    kind: str
    names: str
    required: bool = True
    filled: bool = False

    @property
    def ranks(self) -> list[list[str]]:
        return [group.split() for group in self.names.split(";")]

    @property
    def usual(self) -> list[str]:
        return self.names.replace(";", " ").split()


@dataclass(frozen=True)
class Schema:
    """What a reader accepts, and the value of its records."""

    columns: dict[str, Column]
    value: Callable[[list[Record]], Any]
    decisive: str = ""
    lines: str = ""
    least: int = 0
    empty: bool = False
    exempt: bool = False
    """Columns that are not read need not be reported."""


TOPIC = "qid topic_id query_id tid question_id; topic; query question"
DOC = (
    "docno; doc_id document_id pid passage_id corpus_id site_docid; item_id object_id product_id"
    " sku task_id unit_id; doc document; item object task unit; url"
)
SYSTEM = "tag run_tag system system_id system_name run run_id run_name model model_id model_name"
WORKER = (
    "worker_id annotator_id assessor_id rater_id judge_id; worker annotator assessor rater judge"
    " observer coder performer; user user_id"
)
GRADE = "grade label relevance rel judgment judgement rating; vote answer gold; score"
RANK = "rank position ordinal pos"
USER = "user user_id visitor visitor_id client client_id"
SESSION = "session session_id sid"
TIME = "time timestamp event_time datetime ts; start start_time"
PAGE = "page_id impression_id search_id request_id serp_id; page impression serp; query_id; id"
QUERY = "query query_text user_query search_term search_query; topic; qid; keywords; text"
VARIANT = "variant arm treatment bucket experiment_variant experiment_group; group"
LENGTH = "length words characters tokens doc_length doclen answer_length syslen"
CHARACTERS = "length characters answer_length syslen"
CLICKS = (
    "clicks clicked click is_clicked was_clicked number_of_clicks num_clicks n_clicks click_count"
)
PROPENSITY = "propensity propensity_score pscore"
WEIGHT = "weight; share membership"
TEXT = "text answer summary"
SYSTEM_TEXT = (
    "prediction prediction_text predicted_answer generated generated_text generated_answer"
    " generated_summary response output completion candidate hypothesis; text answer summary"
)
REFERENCE_TEXT = (
    "reference references reference_text reference_answer reference_summary ground_truth gold"
    " gold_answer golden_answer golden_answers expected expected_answer expected_output"
    " ideal_answer target highlights; text answer answers summary"
)
TURN = "query_number qnum; turn turn_number turn_no; query_id qid interaction; query"
PLAIN = (
    "q0 text title body contents content snippet abstract url description name comment comments"
    " note notes passage query question answer prediction explanation reason reasoning rationale"
)
DECISIVE = {
    "status": "status state discarded is_discarded rejected is_rejected approved is_approved valid"
    " is_valid deleted is_deleted skipped is_skipped was_cancelled",
    "count": "impressions impression_count views view_count shows searches search_count count n num"
    " frequency freq occurrences",
    "weight": "weight weights sample_weight",
}


def plain(name: Any) -> str:
    """Return the name of a column without what does not matter in it."""
    return re.sub(r"[\s_.:-]", "", str(name)).lower()


def chosen(names: Sequence[Any], rows: list[list[Any]], schema: Schema) -> dict[str, int]:
    """Find the columns by name; refuse two of one meaning and rank that differ."""
    given = [plain(name) for name in names]
    if len(set(given)) < len(given):
        raise RefusalError("a name stands twice")
    places: dict[str, int] = {}
    for called, column in schema.columns.items():
        for rank in column.ranks:
            spelt = {plain(name) for name in rank}
            hits = [i for i, name in enumerate(given) if name in spelt and i not in places.values()]
            if called == "tag":
                # The one with several values names the systems. Of two that tell the same ones
                # apart, it is the first of the usual names.
                several = [i for i in hits if len({str(row[i]) for row in rows}) > 1]
                hits = several or hits[:1]
                values = [[str(row[i]) for row in rows] for i in hits] or [[]]
                sizes = {len(set(zip(values[0], v, strict=True))) for v in values}
                same = sizes | {len(set(v)) for v in values} == {len(set(values[0]))}
                usual = [plain(name) for name in column.usual]
                hits = [min(hits, key=lambda i: usual.index(given[i]))] if same and hits else hits
            if len({tuple(str(row[i]) for row in rows) for i in hits}) > 1:
                raise RefusalError(f"two columns of {called}")
            if hits:
                places[called] = hits[0]
                break
        else:
            if column.required:
                raise RefusalError(f"no column of {called}")
    return places


def unsaid(names: Sequence[Any], rows: list[list[Any]], schema: Schema) -> list[str]:
    """Return columns that are not read and have to be reported; refuse those that decide."""
    places = chosen(names, rows, schema)
    known = {plain(name) for called in places for name in schema.columns[called].usual}
    left = []
    for place, name in enumerate(names):
        values = {str(row[place]).strip() for row in rows}
        if place in places.values() or len(values) < 2:
            continue
        for kind in schema.decisive.split():
            if plain(name) in {plain(word) for word in DECISIVE[kind].split()}:
                raise RefusalError(f"column {name} decides")
        if plain(name) not in known and plain(name) not in {plain(word) for word in PLAIN.split()}:
            left.append(str(name))
    return [] if schema.exempt else left


def number(cell: Any) -> float | None:
    """Read a finite decimal number; None where there is none."""
    if isinstance(cell, bool):
        raise RefusalError("a truth value among numbers")
    if cell is None or cell != cell:
        return None
    if isinstance(cell, int | float):
        value = float(cell)
    else:
        text = str(cell).strip()
        if text.lower() in MISSING:
            return None
        if not DECIMAL.fullmatch(text):
            raise RefusalError(f"no number: {text!r}")
        value = float(text)
    if abs(value) == float("inf"):
        raise RefusalError("not finite")
    return value


def whole(cell: Any) -> int | None:
    """Read a whole number, also written 2.0."""
    value = number(cell)
    if value is not None and (value != int(value) or abs(value) >= 2**31):
        raise RefusalError(f"not whole: {cell!r}")
    return None if value is None else int(value)


def identifier(cell: Any) -> str | None:
    """Read an id or a text, without the blanks around it."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, bool | float):
        raise UndecidableError("an id that is a fraction or a truth value")
    if not isinstance(cell, str | int):
        raise RefusalError("no id")
    return str(cell).strip() or None


def text(cell: Any) -> str | None:
    """Read a text, which may be empty."""
    return "" if isinstance(cell, str) and not cell.strip() else identifier(cell)


def texts(cell: Any) -> str | list[Any] | None:
    """Read a text, or a list of texts."""
    return [text(one) for one in cell] if isinstance(cell, list) else text(cell)


def truth(cell: Any) -> float | None:
    """Read a number, or a truth value as 1 or 0."""
    words = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
    return words[str(cell).strip().lower()] if str(cell).strip().lower() in words else number(cell)


def flag(cell: Any) -> int | None:
    """Read 1 or 0, also written true or false."""
    words = {"true": 1, "false": 0}
    return words[str(cell).strip().lower()] if str(cell).strip().lower() in words else whole(cell)


def name_or_none(cell: Any) -> str | None:
    """Read an id that may be missing: a word for nothing can be a name."""
    value = identifier(cell)
    if value is not None and value.lower() in ("nan", "na", "null", "none"):
        raise UndecidableError("a name, or none")
    return value


def score(cell: Any) -> float | None:
    """Read a number, or nothing from a dash, as docs/scores.md says."""
    return None if str(cell).strip() == "-" else number(cell)


KINDS: dict[str, Callable[[Any], Any]] = {
    "id": identifier, "name": name_or_none, "number": number, "score": score,
    "support": identifier, "whole": whole, "truth": truth, "flag": flag, "text": text,
    "texts": texts, "any": lambda cell: None,
}  # fmt: skip


def get_column(rows: list[list[Any]], places: Sequence[int]) -> list[list[Any]]:
    """Write decimal points for the commas of columns, unless one of their numbers has a point."""
    texts = [str(row[place]).strip() for row in rows for place in places]
    if any("." in text and DECIMAL.fullmatch(text) for text in texts):
        return rows
    return [
        [
            cell.replace(",", ".") if place in places and COMMA.fullmatch(cell.strip()) else cell
            for place, cell in enumerate(row)
        ]
        for row in rows
    ]


NUMBERS = ("number", "score", "whole", "truth", "flag", "grade", "support")
"""Kinds of columns whose numbers may have decimal commas between semicolons."""


def records(
    names: Sequence[Any], rows: list[list[Any]], schema: Schema, sep: str = ","
) -> list[Record]:
    """Read the cells of a table by the kinds of its columns."""
    places = chosen(names, rows, schema)
    if sep == ";":
        kinds = {called: schema.columns[called].kind for called in places}
        numbers = [places[called] for called, kind in kinds.items() if kind in NUMBERS]
        rows = get_column(rows, numbers)
    cells: dict[str, list[Any]] = {}
    for called, column in schema.columns.items():
        if called not in places:
            continue
        raw = [row[places[called]] for row in rows]
        kind = column.kind
        if kind == "grade":
            words = {str(cell).strip().lower() for cell in raw}
            kind = "truth" if words <= {"true", "false"} else "whole"
        cells[called] = [KINDS[kind](cell) for cell in raw]
        lacks = [value is None for value in cells[called]]
        if kind == "any":
            continue
        if (column.required or (column.filled and not all(lacks))) and any(lacks):
            raise RefusalError(f"a row without {called}")
        if all(lacks):
            del cells[called]
    return [{called: cells[called][i] for called in cells} for i in range(len(rows))]


def rows_of(data: bytes, form: str, schema: Schema, sep: str, partial: bool) -> Any:
    """Split a file into names and rows, as Python's csv and json do."""
    try:
        text = data.decode("utf-8-sig").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        raise RefusalError("not UTF-8") from error
    if form in ("json", "jsonl"):
        return _objects(text, form)
    if form == "lines" or "\n" not in text:
        # A cell of CSV keeps its line ends, as in Python's csv, unless CR ends all lines.
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if form == "lines":
        names = schema.lines.split()
        least = schema.least or len(names)
        kept = [line for line in text.split("\n") if line.strip(" \t")]
        if any(line.strip(" \t").startswith("#") for line in kept):
            raise UndecidableError("a comment, or an id")
        # A tab at the end of a line that is separated by tabs, or by blanks, ends no field.
        kept = [line.rstrip(" \t") if "\t" in line.strip(" \t") else line for line in kept]
        widths: Sequence[int] = range(least, len(names) + 1)
        first = fields(kept[0], widths) if kept else []
        # The first line tells how many columns the form of the file has.
        widths = [len(first)] if len(first) in widths else widths
        rows = [fields(line, widths) for line in kept]
        if any(not least <= len(row) <= len(names) for row in rows):
            raise RefusalError("fields")
        if len({len(row) for row in rows}) > 1:
            raise RefusalError("lines of different length")
        names = names[: len(rows[0])] if rows else names
    else:
        try:
            table = list(csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True))
        except csv.Error as error:
            open_quote = form == "csv" and "unexpected end" in str(error)
            raise (RefusalError if open_quote else UndecidableError)(str(error)) from error
        table = [row for row in table if any(cell.strip() for cell in row)]
        if not table:
            raise RefusalError("empty")
        names, rows = table[0], table[1:]
        for row in rows:
            while len(row) > len(names) and not row[-1].strip():
                row.pop()
        if any(len(row) != len(names) for row in rows):
            raise RefusalError("a row of another length")
        if any([plain(cell) for cell in row] == [plain(name) for name in names] for row in rows):
            raise RefusalError("the header again")
    if partial and text and not text.endswith(("\n", "\r")):
        raise UndecidableError("the last value may be cut")
    return names, rows


def fields(line: str, widths: Sequence[int]) -> list[str]:
    """Split a line by tabs if it has as many columns by them as its form, else by blanks."""
    tabs = [part.strip(" ") for part in line.split("\t")]
    return tabs if len(tabs) in widths else re.split(r"[ \t]+", line.strip(" \t"))


def _objects(text: str, form: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise RefusalError("a name twice in one object")
        return dict(pairs)

    parts = (
        [line for line in re.split(r"\r\n|\n|\r", text) if line.strip()]
        if form == "jsonl"
        else [text]
    )
    try:
        found = [json.loads(part, object_pairs_hook=unique) for part in parts]
    except (json.JSONDecodeError, RecursionError) as error:
        raise RefusalError("no JSON") from error
    found = found[0] if form == "json" else found
    if isinstance(found, dict):
        raise UndecidableError("rows under a name, which may be a system")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise RefusalError("no rows")
    names = list(dict.fromkeys(name for row in found for name in row))
    return names, [[row.get(name) for name in names] for row in found]


def expected(
    names: Sequence[Any], rows: list[list[Any]], schema: Schema, sep: str = ","
) -> tuple[Any, list[str]]:
    """Return the value of a table, and the columns that have to be reported as not read."""
    if not names and not rows and schema.empty:
        return schema.value([]), []
    left = unsaid(names, rows, schema)
    if not rows and not schema.empty:
        raise RefusalError("no rows")
    return schema.value(records(names, rows, schema, sep)), left


def once(rows: list[Record], *key: str) -> None:
    """RefusalError rows that have all of a key in common."""
    if len({tuple(row.get(k) for k in key) for row in rows}) < len(rows):
        raise RefusalError("twice: " + ", ".join(key))


def tuples(*key: str, also: str = "", check: Callable[[Record], bool] | None = None) -> Any:
    """Return a function that gives the set of rows, of which each has its own key."""

    def value(rows: list[Record]) -> list[tuple[Any, ...]]:
        once(rows, *key)
        if check is not None and not all(check(row) for row in rows):
            raise RefusalError("an impossible value")
        return ordered(tuple(row.get(k) for k in [*key, *also.split()]) for row in rows)

    return value


def ordered(rows: Any) -> list[Any]:
    """Sort rows that may hold None."""
    return sorted(rows, key=lambda row: [(cell is not None, str(cell)) for cell in row])


def judgments(rows: list[Record]) -> Any:
    if any("subtopic" in row for row in rows):
        if any(row.get("subtopic") is None for row in rows):
            raise RefusalError("a subtopic is missing")
        if len({(row["topic"], row["doc"]) for row in rows}) == len(rows):
            rows = [{**row, "subtopic": None} for row in rows]
    return tuples("topic", "subtopic", "doc", also="grade")(rows)


def ranking(rows: list[Record]) -> Any:
    once(rows, "tag", "topic", "doc")
    by: dict[Any, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by[row.get("tag"), row["topic"]][row["rank"]].append(row["doc"])
    lists = {
        key: tuple(tuple(sorted(docs[rank])) for rank in sorted(docs)) for key, docs in by.items()
    }
    return ordered((*key, ties) for key, ties in lists.items())


def judge(rows: list[Record]) -> Any:
    if any(row.get("result_status", 1) is None for row in rows):
        raise UndecidableError("a status is missing")
    if any(row.get("result_status", 1) not in (0, 1) for row in rows):
        raise UndecidableError("an unknown status")
    labels = [r for r in rows if r.get("result_status", 1) and r.get("grade") is not None]
    once(labels, "topic", "doc")
    if not labels:
        raise RefusalError("no label")
    found = ordered((row["topic"], row["doc"], row["grade"]) for row in labels)
    return found, len(rows) - len(labels)


def intents(rows: list[Record]) -> Any:
    once(rows, "topic", "intent")
    if any(not 0 <= row["probability"] <= 1 for row in rows):
        raise RefusalError("a probability")
    if any(row.get("type", "inf") not in ("inf", "nav") for row in rows):
        raise RefusalError("a type")
    return ordered(
        (r["topic"], r["intent"], r["probability"], r.get("type") == "nav") for r in rows
    )


def sessions(rows: list[Record]) -> Any:
    if not any("rank" in row or "score" in row for row in rows):
        raise RefusalError("neither rank nor score")
    by: dict[Any, list[Record]] = defaultdict(list)
    topics: dict[str, set[Any]] = defaultdict(set)
    numbers = all(re.fullmatch(r"\d+(\.0+)?", row["query"]) for row in rows)
    for row in rows:
        # A whole number has no decimals, also beside other names.
        name = re.sub(r"^(\d+)\.0+$", r"\1", row["query"])
        query = int(name) if numbers else name
        by[row.get("system"), row["session"], query].append(row)
        topics[row["session"]].add(row.get("topic"))
    if any(len(found - {None}) > 1 for found in topics.values()):
        raise RefusalError("two topics")
    lists = []
    counts: dict[Any, int] = defaultdict(int)
    for (system, session, query), found in by.items():
        counts[system, session] += 1
        if "rank" in found[0]:
            once(found, "rank")
            if any(row["rank"] < 1 for row in found):
                raise RefusalError("a rank below 1")
            found.sort(key=lambda row: row["rank"])
        else:
            found.sort(key=lambda row: (row["score"], row["doc"]), reverse=True)
        place = query if numbers else counts[system, session]
        lists.append((system, session, place, tuple(row["doc"] for row in found)))
    return ordered(lists), sorted(
        (s, str(max(t, key=str))) for s, t in topics.items() if t - {None}
    )


def units(rows: list[Record]) -> Any:
    if any("user" in row for row in rows):
        once([row for row in rows if row["user"] is not None], "user")
    by: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        by[row["variant"]].append(row["clicks"])
    if "control" not in by or len(by) < 2 or any(len(found) < 2 for found in by.values()):
        raise RefusalError("variants")
    return sorted((variant, len(v), round(sum(v) / len(v), 9)) for variant, v in by.items())


def policy(rows: list[Record]) -> Any:
    if any("page" in row for row in rows):
        if any(row.get("page") is None for row in rows) or "position" not in rows[0]:
            raise RefusalError("a page or position")
        once(rows, "page", "position")
    if "position" in rows[0] and any(r["position"] is None or r["position"] < 0 for r in rows):
        raise RefusalError("a position")
    if "propensity" not in rows[0] or "target_probability" not in rows[0]:
        raise RefusalError("no chances")
    if any(
        not 0 < row["propensity"] <= 1 or not 0 <= row["target_probability"] <= 1 for row in rows
    ):
        raise RefusalError("chances")
    lists = len({row.get("page", i) for i, row in enumerate(rows)})
    worth = sum(row["reward"] * row["target_probability"] / row["propensity"] for row in rows)
    return round(worth / lists, 9), round(sum(row["reward"] for row in rows) / lists, 9)
