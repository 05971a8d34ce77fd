"""Make prompts for a judge, and parse the grades in its answers; no model is called."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quote
from cranfield.base.text import inflect
from cranfield.collection.files.grade_maps import GradeMap
from cranfield.result import Column, Columns, TableResult
from cranfield.sources import schemas
from cranfield.sources.columns import Table, make_pair_reader, read_columns, read_table
from cranfield.sources.schemas import Lines, Schema
from cranfield.sources.values import ID, LABEL, NO_GRADE, Cells, ValueKind, is_absent


def _read_answer(cell: Any) -> str | None:
    is_number = isinstance(cell, (int, float)) and not isinstance(cell, bool)
    return str(cell) if is_number or isinstance(cell, str) else None


_NESTING_KEYS = {"body", "choices", "message", "candidates", "content", "parts", "output"}
"""Keys under which the APIs of OpenAI, Anthropic and Gemini nest the text of an answer."""

_FAILURE_KEYS = {"error", "type", "finishReason", "promptFeedback"}
"""Keys of responses without a text."""

_END_KEYS = ("finish_reason", "finishReason", "stop_reason", "status")
_PROBLEM_KEYS = ("error", "refusal")
_INCOMPLETE_ENDS = (
    "length max_tokens model_context_window_exceeded incomplete content_filter refusal safety spii"
    " recitation blocklist prohibited_content language other error errored failed timeout expired"
    " cancelled canceled"
)
"""Values of `_END_KEYS`, in lower case, for answers that failed or were truncated."""


def _is_incomplete(record: Mapping[Any, Any]) -> bool:
    """Return True if a response failed, was refused, or was truncated."""
    ends = {str(record.get(name)).strip().lower() for name in _END_KEYS}
    is_present = (not is_absent(record.get(name), NO_GRADE | {"false"}) for name in _PROBLEM_KEYS)
    return any(is_present) or not ends.isdisjoint(_INCOMPLETE_ENDS.split())


def _extract_text(cell: Any) -> Any:
    """Extract the text of a response of an LLM's API; None if it failed or was truncated."""
    if isinstance(cell, list) and all(isinstance(item, Mapping) for item in cell):
        # Parts of one message: reasoning has no text, or is marked as a thought.
        texts = [text for item in cell if isinstance(text := _extract_text(item), str)]
        return "".join(texts) or None
    if not isinstance(cell, Mapping):
        return cell
    if cell.get("thought") or _is_incomplete(cell):
        return None
    if isinstance(cell.get("text"), str):
        return cell["text"]
    for name in ("choices", "candidates"):
        if isinstance(cell.get(name), list) and len(cell[name]) > 1:
            return cell
    key = next((name for name in cell if name in _NESTING_KEYS), None)
    if key is not None:
        return _extract_text(cell[key])
    return cell if _FAILURE_KEYS.isdisjoint(cell) else None


def _extract_texts(cells: Cells) -> Cells:
    return cells if isinstance(cells, pl.Series) else [*map(_extract_text, cells)]


_NO_TEXT_PROBLEM = "not text or a number; write the content of the message to a column text"
_ANSWER = ValueKind(
    _read_answer,
    problem=_NO_TEXT_PROBLEM,
    becomes_null=lambda cell: cell is None,
    prepare=_extract_texts,
)
"""Text of an answer, null if it failed, was refused or truncated; several texts are an error."""

_PLACEHOLDER = re.compile(r"(\{(?:topic|document)(?:\.\w+)?\})")
_TEXT_COLUMNS = {
    "topic": ("text", "query", "question", "title"),
    "document": ("text", "contents", "content", "body", "passage", "segment"),
}
"""Usual names of the column of a placeholder that names no column."""

ONLY_NUMBER = r"(-?\d+)(?:\.0+(?!\d))?"  # Default rule: the grade is the only number of the answer


def _split_pair(line: str) -> list[str]:
    """Return the topic and document of a line of judgments, a run or a pool."""
    fields = line.split()
    return [fields[0], fields[2]] if len(fields) > 2 else fields


_PAIRS = Schema(
    "table of pairs",
    (schemas.FileColumn("topic", LABEL), schemas.FileColumn("doc", LABEL)),
    noun="the pairs",
    lines=Lines(
        ("topic", "doc"),
        2,
        split=_split_pair,
        hint="; use `cranfield pool` with --budget or --unjudged to list the pairs",
    ),
    tuples=("topic", "doc"),
    is_selected=True,
)
_PROMPT_ID = schemas.FileColumn("id", ID, "id of a prompt")
_PROMPTS = Schema(
    "table of prompts",
    (_PROMPT_ID, *_PAIRS.columns),
    noun="the prompts",
    default_format="jsonl",
    tuples=("id", "topic", "doc"),
    is_selected=True,
)
ANSWERS = Schema(
    "table of answers",
    (_PROMPT_ID, schemas.FileColumn("text", _ANSWER, "text of an answer")),
    noun="the answers",
    default_format="jsonl",
    decisive_kinds=(),
    is_selected=True,
)


def _read_texts(
    data: Any, noun: str, placeholders: list[str], pairs: Table
) -> dict[str, list[str]]:
    schema = Schema(
        f"table of {noun}s",
        (schemas.FileColumn("id", ID, f"id of a {noun}"),),
        noun=f"the {noun}s",
        lines=Lines(("id", "text"), 2, split=partial(str.split, maxsplit=1)),
        read_mapping=make_pair_reader("id", "text"),
        is_selected=True,
    )
    columns = read_columns(data, schema)
    table = columns.make_table(schema)
    ids, source = table.frame["id"], columns.source
    table.refuse(~ids.is_first_distinct(), lambda row: f"{noun} {row['id']} occurs twice")
    rows = pairs.frame["topic" if noun == "topic" else "doc"].replace_strict(
        ids, pl.int_range(len(ids), eager=True), default=None
    )
    pairs.refuse(rows.is_null(), lambda row: f"the {noun} has no text")
    id_index = schema.find_positions(columns.names, source)["id"]
    index_of = {str(name): k for k, name in enumerate(columns.names) if k != id_index}
    default = next((name for name in (*_TEXT_COLUMNS[noun], *index_of) if name in index_of), "")
    texts = {}
    for placeholder in dict.fromkeys(placeholders):
        column = placeholder.strip("{}").partition(".")[2] or default
        if column not in index_of:
            expected = ", ".join(f"{{{noun}.{name}}}" for name in index_of)
            reason = f"has no column for {placeholder} of the template"
            raise InputError(f"{reason}; expected one of: {expected}", source=source)
        cells = columns.cells(index_of[column])
        texts[placeholder] = ["" if cells[row] is None else str(cells[row]) for row in rows]
    return texts


def make_prompts(pairs: Any, topics: Any, documents: Any, template: str) -> pl.DataFrame:
    """Make a prompt for each pair of a topic and a document.

    Parameters
    ----------
    pairs
        Pairs to judge: a table with `topic` and `doc`, or lines of judgments, a run or a pool.
    topics, documents
        Tables with an id and columns of text, a mapping `{id: text}`, or lines with an id and a
        text.
    template
        Text with the placeholders `{topic}` and `{document}`, or `{topic.COLUMN}` and
        `{document.COLUMN}` for a column of these tables. Other braces remain, and placeholders
        within the texts are not replaced.

    Returns
    -------
    polars.DataFrame
        Columns `id`, `topic`, `doc` and `prompt`. The id is a hash of the other columns, so that
        an answer to another prompt raises an error.

    Raises
    ------
    InputError
        For a topic or document without a text, an unknown column, and repeated pairs or ids.
    PolicyError
        For a template without a placeholder for topics or for documents.

    Examples
    --------
    >>> template = 'Query: {topic}. Passage: {document} Answer {"grade": 0, 1 or 2}.'
    >>> make_prompts([("q1", "d1")], {"q1": "cats"}, {"d1": "A {topic}."}, template)["prompt"][0]
    'Query: cats. Passage: A {topic}. Answer {"grade": 0, 1 or 2}.'
    """
    table = read_table(pairs, _PAIRS)
    is_first = pl.struct("topic", "doc").is_first_distinct()
    table.refuse(table.frame.select(~is_first).to_series(), lambda row: "the pair occurs twice")
    pieces = _PLACEHOLDER.split(template)
    texts: dict[str, list[str]] = {}
    for noun, data in (("topic", topics), ("document", documents)):
        placeholders = [piece for piece in pieces[1::2] if piece.startswith(f"{{{noun}")]
        if not placeholders:
            reason = "the template must have the placeholders {topic} and {document}"
            raise PolicyError(f"{reason}, got none for {noun}s")
        texts |= _read_texts(data, noun, placeholders, table)
    # Pieces are concatenated, so that placeholders within texts are not replaced.
    columns = [pl.lit(pl.Series(texts[piece]) if piece in texts else piece) for piece in pieces]
    frame = table.frame.with_columns(prompt=pl.concat_str(columns))
    rows = [json.dumps(row).encode() for row in frame.iter_rows()]
    ids = [blake2b(row, digest_size=8).hexdigest() for row in rows]
    return frame.select(pl.Series("id", ids), "topic", "doc", "prompt")


@dataclass(frozen=True, eq=False, repr=False)
class ParsedAnswers(TableResult):
    """Labels in the answers to prompts; returned by :func:`parse_answers`.

    Attributes
    ----------
    rows
        Data frame with a row for each prompt.
    rule
        Rule by which grades were parsed.
    n_duplicates
        Number of answers replaced by a later answer to the same prompt.
    """

    name: ClassVar[str] = "labels"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic.", key=True),
        "doc": Column("Document.", key=True),
        "grade": Column("Grade in the answer; null if it was not parsed."),
        "outcome": Column(
            "Outcome: parsed, unparsed, refused (failed, truncated, no text), missing (no answer)."
        ),
    }

    rule: str
    n_duplicates: int

    @property
    def labels(self) -> pl.DataFrame:
        """Data frame for :func:`read_judges`, which counts null grades as unparsed."""
        return self.rows.filter(pl.col("outcome") != "missing").drop("outcome")

    def heading(self) -> list[str]:
        names = ("parsed", "unparsed", "refused", "missing")
        n_prompts = self.rows.height
        counts = {name: self.rows.filter(outcome=name).height for name in names}
        n_parsed, n_answered = counts["parsed"], n_prompts - counts["missing"]
        other_counts = ", ".join(f"{counts[name]:,} {name}" for name in names[1:])
        return [
            f"parse rate {100 * n_parsed / n_prompts:.1f}%: {n_parsed:,} of"
            f" {inflect(n_prompts, 'prompt')} have a grade; {n_answered:,} answered,"
            f" {other_counts}; {inflect(self.n_duplicates, 'duplicate answer')}",
            f"rule: {self.rule}",
        ]


def parse_answers(prompts: Any, answers: Any, *, grades: Any = ONLY_NUMBER) -> ParsedAnswers:
    r"""Parse the grades in a judge's answers to prompts.

    Parameters
    ----------
    prompts
        Prompts of :func:`make_prompts`, or a file of them.
    answers
        JSON lines, or another table, with the `id` of the prompt (or `custom_id`, beside which the
        `id` is ignored) and the `text` of the answer (also `answer`, `output`, `content`,
        `completion`), or the results of a batch of OpenAI, Anthropic or Gemini. An answer that
        failed, was truncated or has no text is *refused*. If a prompt has several answers, the
        last one counts.
    grades
        Rule for the grade of an answer: a regular expression whose group is the grade, and whose
        matches must all agree; or a mapping of words, `{"relevant": 1, "not relevant": 0}`, one of
        which must be the whole text, regardless of case and of blanks and punctuation around it.
        The default rule reads the only number of the text.

    Raises
    ------
    InputError, PolicyError
        For an answer to an unknown prompt, repeated prompts, unreadable input, and an invalid rule.

    Examples
    --------
    >>> pairs, texts = [("q", "a"), ("q", "b")], {"a": "y", "b": "z"}
    >>> prompts = make_prompts(pairs, {"q": "x"}, texts, "{topic} {document}")
    >>> answers = pl.DataFrame({"id": prompts["id"], "text": ["Grade: 2", "1 or 2"]})
    >>> parse_answers(prompts, answers).labels.rows()
    [('q', 'a', 2), ('q', 'b', None)]
    """
    grade_map = GradeMap.parse(grades)
    table, answer_columns = read_table(prompts, _PROMPTS), read_columns(answers, ANSWERS)
    answer_table = answer_columns.make_table(ANSWERS)
    for k, name in enumerate(answer_columns.names):
        if name in (*_END_KEYS, *_PROBLEM_KEYS):
            is_incomplete = [_is_incomplete({name: cell}) for cell in answer_columns.cells(k)]
            texts = answer_table.frame["text"].set(pl.Series(is_incomplete), None)
            answer_table = replace(answer_table, frame=answer_table.frame.with_columns(text=texts))
    table.refuse(
        ~table.frame["id"].is_first_distinct(),
        lambda row: f"prompt {quote(row['id'])} occurs twice",
    )
    answer_table.refuse(
        ~answer_table.frame["id"].is_in(table.frame["id"].to_list()),
        lambda row: (
            f"expected the id of a prompt, such as {quote(table.frame['id'][0])}, got"
            f" {quote(row['id'])}; the id (custom_id) of an answer must be that of its prompt in"
            " the file of prompts"
        ),
    )
    last_answers = answer_table.frame.unique("id", keep="last", maintain_order=True)
    answered_prompts = last_answers.with_columns(answered=True)
    rows = table.frame.join(answered_prompts, "id", how="left", maintain_order="left")
    text = rows["text"].str.strip_chars().replace("", None)
    grade = _parse_grades(text, grade_map)
    outcome = pl.coalesce(
        pl.when(pl.col("answered").is_null()).then(pl.lit("missing")),
        pl.when(text.is_null()).then(pl.lit("refused")),
        pl.when(grade.is_null()).then(pl.lit("unparsed")),
        pl.lit("parsed"),
    )
    label_rows = rows.select("topic", "doc", grade.alias("grade"), outcome.alias("outcome"))
    rule = "the only number in the answer of the LLM" if grades == ONLY_NUMBER else str(grades)
    if grade_map.grades:
        rule = ", ".join(f"{word}={number}" for word, number in grade_map.grades.items())
    return ParsedAnswers(label_rows, rule, answer_table.frame.height - last_answers.height)


def _parse_grades(texts: pl.Series, grade_map: GradeMap) -> pl.Series:
    """Parse the grade of each answer; null without a grade."""
    grades = grade_map.find_grades(texts)
    if grade_map.pattern is not None:
        # An integer is a grade elsewhere, but not in an answer that the pattern does not match.
        find = grade_map.pattern.search
        has_match = [text is not None and find(text) is not None for text in texts]
        return grades.set(~pl.Series(has_match, dtype=pl.Boolean), None)
    words: dict[str, set[int]] = {}
    for word, grade in grade_map.grades.items():
        words.setdefault(_normalise_word(word), set()).add(grade)
    # Words with different grades, but equal up to case and punctuation, must be written as given.
    grade_of = {word: min(group) for word, group in words.items() if word and len(group) == 1}
    plain_words = pl.Series([None if text is None else _normalise_word(text) for text in texts])
    plain_grades = plain_words.cast(pl.String).replace_strict(
        grade_of, default=None, return_dtype=grades.dtype
    )
    return grades.zip_with(grades.is_not_null(), plain_grades)


def _normalise_word(text: str) -> str:
    """Return a text in lower case, stripped of blanks and punctuation; empty without letters."""
    word = re.sub(r"^[\W_]+|[\W_]+$", "", " ".join(text.casefold().split()))
    return word if any(map(str.isalpha, word)) else ""
