"""Read texts and their reference texts, as indices of words."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import category, normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError, PolicyError, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.coverage import Scorable
from cranfield.sources.columns import (
    Columns,
    Table,
    convert_columns,
    make_nested_reader,
    make_pair_reader,
    make_row_error,
    read_columns,
    read_table,
)
from cranfield.sources.schemas import FileColumn, Schema, suspect_unnamed
from cranfield.sources.values import Cells, is_absent
from cranfield.texts.gold import (
    SYSTEM,
    TEXT,
    TOPIC,
    check_topics,
    name_systems,
    warn_of_missing_answers,
)

Tokeniser = Callable[[str], list[str]]
Sentences = tuple[tuple[int, ...], ...]
"""Indices of the words of a text, by sentence."""


def _convert_texts(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    """Convert `{topic: text}` or `{system: {topic: text}}` to columns."""
    if all(isinstance(value, str) for value in data.values()):
        return make_pair_reader("topic", "text")(data, source)
    return make_nested_reader("system", "topic", "text", inner_form="topic: text")(data, source)


def _convert_references(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    """Convert `{topic: text}`, `{topic: [text, ...]}` or a data set of SQuAD to columns."""
    articles = data.get("data")
    if isinstance(articles, list) and articles and isinstance(articles[0], Mapping):
        data = _list_squad_answers(articles, source)
    return make_pair_reader("topic", "text")(data, source)


def _list_squad_answers(articles: list[Any], source: str) -> dict[Any, list[Any]]:
    """List the answers of each question of a data set of SQuAD."""
    try:
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        questions = [question for paragraph in paragraphs for question in paragraph["qas"]]
        return {q["id"]: [answer["text"] for answer in q["answers"]] for q in questions}
    except (KeyError, TypeError):
        reason = (
            "expected {topic: [text, ...]} or the format of SQuAD, got other JSON; use one of"
            " these, or a table with the columns topic and reference"
        )
        raise InputError(reason, source=source) from None


def _convert_alce(data: Any, _source: str) -> tuple[dict[str, list[Any]], list[int]] | None:
    """Convert `{"data": records}` of ALCE to columns; None for other JSON, such as SQuAD."""
    records = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(records, list) or not all(isinstance(r, Mapping) for r in records):
        return None
    names = dict.fromkeys(name for record in records for name in record)
    if not names or "paragraphs" in names:
        return None
    return {name: [r.get(name) for r in records] for name in names}, [*range(len(records))]


_WRITTEN_LIST = re.compile(r"""\[\s*(["']).*["']\s*\]|\{.*["']text["']:.*\}""", re.DOTALL)
"""Pattern of a list of texts, or of `{"text": texts}`, that pandas or NumPy wrote as text."""


def _list_texts(value: Any) -> list[Any]:
    """List the texts of a cell: a text, a list of texts, or `{"text": texts}` as in SQuAD."""
    value = value.get("text", value) if isinstance(value, Mapping) else value
    return list(value) if isinstance(value, (list, tuple, np.ndarray, pl.Series)) else [value]


_TEXT_TOPIC = replace(TOPIC, meaning="topic of a text")
_TEXTS = Schema(
    "table of texts",
    (_TEXT_TOPIC, FileColumn("text", replace(TEXT, becomes_null=is_absent), "system text"), SYSTEM),
    noun="summaries",
    default_format="csv",
    read_mapping=_convert_texts,
    read_nested=_convert_alce,
    suspicions=suspect_unnamed("system"),
    decisive_kinds=("status", "replicate"),
)
_REFERENCES = replace(
    _TEXTS,
    columns=(_TEXT_TOPIC, FileColumn("text", TEXT, "reference text"), SYSTEM),
    noun="references",
    read_mapping=_convert_references,
    decisive_kinds=("status",),
)

_OTHER_LETTER = re.compile(r"[^\W_a-z0-9]")
_UNICODE_ADVICE = "; use tokeniser='unicode' for words of all scripts"
_WORD = re.compile(r"[a-z0-9]+")


def split_alphanumeric(text: str) -> list[str]:
    """Split a text into words of the letters a to z and digits, in lower case."""
    return _WORD.findall(text.lower())


_WITHOUT_SPACES = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces: Thai, Lao, Burmese, Khmer, Japanese and Chinese."""


def split_unicode_words(text: str) -> list[str]:
    """Split a text into runs of letters, marks and digits of any script, in lower case.

    In scripts without spaces between words, each character is a word.

    Examples
    --------
    >>> split_unicode_words("Съешь ещё! 我爱 BM25")
    ['съешь', 'ещё', '我', '爱', 'bm25']
    """
    words: list[str] = []
    is_in_word = is_text = False
    for character in normalize("NFC", text).lower():
        general_category = category(character)[0]
        if general_category == "M":
            # A mark belongs to the character before it.
            if is_text:
                words[-1] += character
            continue
        is_text = general_category in "LN"
        if not is_text:
            is_in_word = False
            continue
        is_single = _WITHOUT_SPACES.match(character) is not None
        if is_in_word and not is_single:
            words[-1] += character
        else:
            words.append(character)
        is_in_word = not is_single
    return words


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def split_squad_words(text: str) -> list[str]:
    """Split a text as SQuAD's evaluation does: lower case, no ASCII punctuation, no articles.

    Examples
    --------
    >>> split_squad_words("The U.S. Navy's flag")
    ['us', 'navys', 'flag']
    """
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


TOKENISERS: dict[str, Tokeniser] = {
    "alphanumeric": split_alphanumeric,
    "unicode": split_unicode_words,
    "squad": split_squad_words,
    "whitespace": str.split,
}
"""Functions that split a text into words, by name."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgedSummaries(Scorable):
    """Texts of all systems and reference texts of each topic; returned by :func:`judge_summaries`.

    Attributes
    ----------
    topics, systems
        Ids of the topics and names of the systems.
    texts
        Words of each text, by indices of topic and system; missing texts have no entry.
    references
        Words of the reference texts of each topic.
    settings
        Settings of the tokeniser.
    """

    noun = "summaries and reference texts"

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    texts: Mapping[tuple[int, int], Sentences]
    references: tuple[tuple[Sentences, ...], ...]
    settings: dict[str, Any] = field(default_factory=dict)

    def describe_settings(self, measure: Any) -> dict[str, Any]:
        """Return the settings of the tokeniser."""
        return dict(self.settings)

    def score_texts(
        self, score: Callable[[Sentences, Sentences], float], is_mean: bool
    ) -> NDArray[np.float64]:
        """Score each text against the references of its topic; return the mean or the maximum.

        Shape (topics, systems); 0 for missing texts.
        """
        values = np.zeros((len(self.topics), len(self.systems)))
        for (topic, system), text in self.texts.items():
            scores = [score(text, reference) for reference in self.references[topic]]
            values[topic, system] = sum(scores) / len(scores) if is_mean else max(scores)
        return values

    def __repr__(self) -> str:
        return f"JudgedSummaries({self._format_size()}, {inflect(len(self.texts), 'text')})"


def judge_summaries(
    texts: Any,
    references: Any,
    *,
    tokeniser: str | Tokeniser | None = None,
    name: str | None = None,
) -> JudgedSummaries:
    r"""Pair texts with the reference texts of their topics.

    Parameters
    ----------
    texts
        A mapping `{topic: text}` or `{system: {topic: text}}`, or a table with the columns `topic`,
        `text` (or `prediction`, `response` and others) and optionally `system`.
    references
        A mapping `{topic: text}` or `{topic: [text, ...]}`, a data set of SQuAD, or a table with
        the columns `topic` and `reference` (or `text` and others); a topic may have several rows or
        a list of texts.
    tokeniser
        Tokeniser of lines: `alphanumeric` (lower case, runs of a to z and digits, as in Google's
        rouge-score), `unicode` (lower case, runs of letters and digits of any script; single
        characters in Chinese, Japanese, Thai, Lao, Burmese and Khmer), `squad` (lower case, without
        ASCII punctuation and the words a, an and the, as in SQuAD's evaluation), `whitespace`
        (split at white space, unchanged), or a function that returns a list of words, which may
        also stem them. By default `alphanumeric`; but `unicode`, with a warning, if a text has
        letters or digits but none from a to z or 0 to 9. Each line is a sentence for `RougeLsum`.
    name
        Name of the system, if the texts do not name it; by default the stem of the file, or `run`.

    Returns
    -------
    JudgedSummaries
        Texts of all topics that have a reference. A missing text scores 0, and so does an empty
        text unless a reference is empty.

    Raises
    ------
    InputError
        For a second text of a system for a topic, for a system without a text of a topic with
        references, for a value that is not text, and for a text with letters or digits in which a
        tokeniser other than `squad` finds no word.
    PolicyError
        For an unknown tokeniser, a tokeniser that does not return a list of words, and if `name`
        has no effect.

    Warns
    -----
    CranfieldWarning
        For texts of topics without references, which are excluded; for missing texts, which count
        as 0; for letters that `alphanumeric` drops; if `unicode` is chosen by default; and for
        texts without words.

    Examples
    --------
    >>> judge_summaries({"a": {"q": "the cat sat"}}, {"q": ["the cat sat down", "a cat"]})
    JudgedSummaries(1 topic, 1 system, 1 text)
    """
    reference_texts = _read_references(references)
    topics = {topic: k for k, topic in enumerate(reference_texts)}
    table = name_systems(read_table(texts, _TEXTS), name, texts)
    is_known, has_text = pl.col("topic").is_in([*topics]), pl.col("text").is_not_null()
    n_texts_before = has_text.cum_sum().over("topic", "system") - has_text.cast(pl.UInt32)
    advice = "" if "system" in table.names else "; a column system names the system of each text"
    table.check({f"is a second text of system {{system}}{advice}": is_known & (n_texts_before > 0)})
    systems = tuple(table.frame["system"].unique(maintain_order=True))
    known_rows = table.frame.filter(is_known)
    skipped_topics = table.frame.filter(~is_known)["topic"].unique(maintain_order=True).to_list()
    nouns = {"text": "text", "gold": "references"}
    check_topics(
        systems, {*known_rows["system"]}, skipped_topics, topics, **nouns, source=table.source
    )
    rows = known_rows.drop_nulls("text").rows()
    if tokeniser is None:
        used_texts = [(topic, text) for topic, text, _ in rows]
        used_texts += [(topic, text) for topic, group in reference_texts.items() for text in group]
        tokeniser = _choose_tokeniser(used_texts)
    tokenise = find_tokeniser(tokeniser)
    word_codes: dict[str, int] = {}
    ignored_letters: dict[str, str] = {}
    wordless_topics: list[str] = []

    def encode(text: str, topic: str) -> Sentences:
        lines = [_tokenise(tokenise, line) for line in text.split("\n")]
        expects_words = tokenise is not split_squad_words and any(map(str.isalnum, text))
        if expects_words and not any(lines):
            advice = _UNICODE_ADVICE if tokenise is split_alphanumeric else ""
            raise InputError(f"the tokeniser found no words in {quote(text)}{advice}", topic=topic)
        if text.strip() and not any(lines):
            wordless_topics.append(quote(topic))
        if tokenise is split_alphanumeric and (letter := _OTHER_LETTER.search(text.lower())):
            ignored_letters.setdefault(topic, letter[0])
        return tuple(
            tuple(word_codes.setdefault(word, len(word_codes)) for word in line)
            for line in lines
            if line
        )

    encoded_texts = {
        (topics[topic], systems.index(system)): encode(text, topic) for topic, text, system in rows
    }
    encoded_references = tuple(
        tuple(encode(text, topic) for text in group) for topic, group in reference_texts.items()
    )
    if wordless_topics:
        warn(
            f"{inflect(len(wordless_topics), 'text')} without words counted as empty"
            f" (topic {list_some(dict.fromkeys(wordless_topics), 3)})"
        )
    if ignored_letters:
        topic, letter = next(iter(ignored_letters.items()))
        warn(
            "the tokeniser ignored letters other than a to z in texts of"
            f" {inflect(len(ignored_letters), 'topic')} (topic {quote(topic)}:"
            f" {quote(letter)}){_UNICODE_ADVICE}"
        )
    is_answered = np.zeros((len(topics), len(systems)), dtype=bool)
    for cell in encoded_texts:
        is_answered[cell] = True
    warn_of_missing_answers(is_answered, tuple(topics), systems)
    return JudgedSummaries(
        topics=tuple(topics),
        systems=systems,
        texts=encoded_texts,
        references=encoded_references,
        settings={"tokeniser": tokeniser if isinstance(tokeniser, str) else "own function"},
    )


def _choose_tokeniser(texts: Iterable[tuple[str, str]]) -> str:
    """Choose the default tokeniser for texts with their topics; warn if it is `unicode`."""
    for topic, text in texts:
        if any(map(str.isalnum, text)) and not split_alphanumeric(text):
            warn(
                "texts are split by tokeniser='unicode', as tokeniser='alphanumeric' finds no words"
                f" in {quote(text)} (topic {quote(topic)})"
            )
            return "unicode"
    return "alphanumeric"


def find_tokeniser(tokeniser: str | Tokeniser) -> Tokeniser:
    if callable(tokeniser):
        return tokeniser
    if tokeniser not in TOKENISERS:
        raise PolicyError(
            f"unknown tokeniser {quote(tokeniser)}; expected a function or one of:"
            f" {', '.join(TOKENISERS)}"
        )
    return TOKENISERS[tokeniser]


def _tokenise(tokenise: Tokeniser, line: str) -> list[str]:
    words: Any = tokenise(line)
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        raise PolicyError(f"the tokeniser must return a list of words, got {quote(words)}")
    return list(words)


def _check_written_lists(cells: Cells, columns: Columns) -> None:
    """Refuse references that are all lists written as text; warn if only some of them may be."""
    rows = [k for k, cell in enumerate(cells) if not is_absent(cell)]
    list_rows = [k for k in rows if isinstance(cells[k], str) and _WRITTEN_LIST.fullmatch(cells[k])]
    if list_rows:
        text, advice = quote(cells[list_rows[0]]), "write a row for each"
        if len(list_rows) == len(rows):
            reason = f"expected one reference text, got the list {text}; {advice}"
            raise make_row_error(list_rows[0], reason, columns.source, columns.lines)
        warn(f"{columns.source}: the reference text {text} may be a list of texts; {advice}")


def _read_reference_table(data: Any) -> Table:
    """Read references, with a row for each text of a list."""
    columns = read_columns(data, _REFERENCES)
    cells = columns.select(_REFERENCES)
    _check_written_lists(cells["text"], columns)
    texts = [_list_texts(cell) or [None] for cell in cells["text"]]
    rows = [row for row, group in enumerate(texts) for _ in group]
    row_cells = {name: [column[row] for row in rows] for name, column in cells.items()}
    row_cells["text"] = [text for group in texts for text in group]
    lines = None if columns.lines is None else [columns.lines[row] for row in rows]
    return convert_columns(row_cells, _REFERENCES, columns.source, lines)


def _read_references(data: Any) -> dict[str, list[str]]:
    table = _read_reference_table(data)
    empty_topics = table.frame.filter(pl.col("text").str.strip_chars() == "")["topic"].to_list()
    if empty_topics and not isinstance(data, Mapping):
        warn(f"{table.source}: the reference text of topic {quote(empty_topics[0])} is empty")
    systems = table.frame["system"].unique(maintain_order=True)
    if len(systems) > 1:
        raise InputError(
            "expected references, got texts of several systems"
            f" ({list_some(map(quote, systems), 3)}); exchange the inputs, or remove the column of"
            " systems from the references",
            source="references",
        )
    texts: dict[str, list[str]] = {}
    for topic, text, _ in table.iterate_rows():
        texts.setdefault(topic, []).append(text)
    return texts
