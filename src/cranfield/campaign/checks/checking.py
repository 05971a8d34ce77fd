"""Check a run, and report all its faults at once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools
from cranfield.base.errors import InputError, collect_warnings, quote
from cranfield.base.files import hash_file
from cranfield.base.text import inflect
from cranfield.campaign.checks.lines import WORD, BoundedSource, TooLargeError, read_lines
from cranfield.campaign.checks.report import CheckReport, Faults
from cranfield.campaign.rules.task_rules import (
    SAFE_NAME_RULE,
    TaskRules,
    check_patterns,
    is_safe_name,
    match_in_full,
)
from cranfield.campaign.rules.topics import read_topic_ids
from cranfield.collection.files.lines import BLANKS
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.coverage import find_similar_ids
from cranfield.collection.judged.ranking import RunOrder, order_documents
from cranfield.collection.metadata.metadata import Metadata
from cranfield.collection.metadata.reading import MetadataLocation, find_header
from cranfield.collection.pairs import DocIndex, number_values
from cranfield.collection.policies import make_policies
from cranfield.collection.run import Run
from cranfield.sources.archives import check_path
from cranfield.sources.chunks import CHUNK_BYTES, CHUNKS_AT_ONCE, Source
from cranfield.sources.columns import check_parquet_file, convert_parquet_errors
from cranfield.sources.text import decode_text
from cranfield.sources.values import parse_integers, parse_numbers

_ROWS_AT_ONCE = 1 << 20
"""Number of rows of a table that are read at a time."""

_DOC_COLUMNS = ("doc", "doc_id", "docno", "docid", "document", "document_id", "pid", "id")
"""Accepted names of the column of document ids in a Parquet file."""


def check_run(
    path: str | PathLike[str],
    task: TaskRules,
    *,
    tag: str | None = None,
    team: str | None = None,
    all_faults: bool = False,
) -> CheckReport:
    """Check a run by the rules of a task and report all faults at once.

    Tags of other runs, limits on the number of runs, and deadlines are not checked, because these
    checks need the registry.

    Parameters
    ----------
    path
        File of the run, compressed or not; `-` is standard input.
    task
        Rules of the task.
    tag
        Tag that the run must have.
    team
        Id of the team; the tag must differ from it.
    all_faults
        Whether to list every fault; by default at most 25 of each kind are listed.

    Returns
    -------
    CheckReport
        All faults. A run without errors follows the rules, and :func:`cranfield.read_run` reads it.

    Raises
    ------
    InputError
        For a missing file, a list of topics or documents that cannot be read, and a pattern of the
        rules that does not compile.
    PolicyError
        For unknown values in `judging`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run = Path(folder) / "a.run"
    ...     _ = run.write_text("1 Q0 d1 1 0.9 bm25\\n1 Q0 d1 2 nan bm25\\n")
    ...     report = check_run(run, TaskRules("adhoc"))
    >>> report.is_accepted
    False
    >>> for fault in report.faults:
    ...     print(fault.line, fault.message)
    2 document twice in one topic, first in line 1
    2 score must be a finite number, got 'nan'
    """
    return check_with_metadata(path, task, tag, team, all_faults=all_faults)[0]


def check_with_metadata(
    path: str | PathLike[str],
    task: TaskRules,
    tag: str | None,
    team: str | None,
    *,
    all_faults: bool = False,
) -> tuple[CheckReport, Metadata | None]:
    """Check a run; return the report and the metadata, which is None if missing or unreadable."""
    check_patterns(task)
    name = fspath(path)
    metadata_source = MetadataLocation(path=name)

    def read_chunks() -> Iterator[bytes]:
        nonlocal metadata_source
        source = BoundedSource(name, task.max_bytes, task.max_decompressed_bytes)
        for k, chunk in enumerate(source.iterate_chunks(CHUNKS_AT_ONCE * CHUNK_BYTES)):
            header = find_header(chunk, name) if k == 0 else None
            if header is not None:
                metadata_source = MetadataLocation(header, name)
            yield chunk if header is None else header.blank_out(chunk)

    faults = Faults(task, all_faults=all_faults)
    rows, n_lines, error = read_lines(read_chunks(), faults, task.format)
    # Missing topics are not reported for truncated or empty files.
    is_complete = error is None and rows.height > 0
    run_tag = _check_tag(rows, task, tag, team, faults)
    metadata = check_metadata(replace(metadata_source, tag=run_tag), task, run_tag, faults)
    n_topics = _check_topics(rows, task, faults, is_complete=is_complete)
    # This drops the columns of text, which may be large.
    rows = _check_values(rows, task, faults)
    rows = _check_documents(rows, task, faults)
    ranking = _check_order(rows, task, faults)
    # A pipe can be read only once, and a device may be endless.
    is_file = name != "-" and check_path(Path.is_file, name)
    is_rereadable = is_file and not isinstance(error, TooLargeError)
    if is_complete and is_rereadable and faults.is_readable:
        # A run is accepted only if the reader accepts it, too.
        try:
            with collect_warnings():
                read_run(name, format=task.format)
        except InputError as reader_error:
            faults.add("unreadable", reader_error.reason, reader_error.line)
    report = CheckReport(
        source=Source(name).name,
        tag=run_tag,
        faults=faults.sort_faults(),
        n_lines=n_lines,
        n_topics=n_topics,
        object=hash_file(name) if is_rereadable else None,
        ranking=ranking if faults.is_readable else None,
    )
    return report, metadata


def _check_tag(
    rows: pl.DataFrame, task: TaskRules, declared_tag: str | None, team: str | None, faults: Faults
) -> str | None:
    """Check and return the tag of the first line with a score, or of the first line if none has."""
    tags = rows.select("line", "tag", has_score=parse_numbers(pl.col("score")).is_not_null())
    tags = tags.filter(pl.col("tag").is_not_null())
    if not tags.height:
        return None
    # A line with names of columns has no score, and its last word is not the tag.
    line, tag, _ = tags.row(tags["has_score"].arg_max() or 0)
    name = f"tag {quote(tag)}"
    if declared_tag not in (None, tag):
        message = f"{name} differs from the declared tag {quote(declared_tag)}"
        faults.add("tag-declared", message, line)
    if team is not None and tag.casefold() == team.casefold():
        faults.add("tag-team", f"{name} must differ from the team's id", line)
    if " " in tag and task.format == "trec":
        pass  # The fault of the columns reports the blanks.
    elif not match_in_full(pl.Series([tag]), task.tag).item():
        faults.add("tag", f"{name} does not match the pattern {task.tag}", line)
    elif not is_safe_name(tag):
        faults.add("tag", f"tag must be {SAFE_NAME_RULE}, got {quote(tag)}", line)
    other_tags = tags.filter(pl.col("line") > line, pl.col("tag") != tag)
    other_tags = other_tags.with_columns(run_tag=pl.lit(tag))
    faults.add_rows("tag-changes", other_tags, "tag {tag} differs from the run's tag {run_tag}")
    return str(tag)


def _check_topics(rows: pl.DataFrame, task: TaskRules, faults: Faults, *, is_complete: bool) -> int:
    """Check topics and their numbers of documents; return the number of topics.

    Missing topics and documents are reported only for complete files.
    """
    task_topics, max_documents = read_topic_ids(task), task.max_per_topic
    lines = pl.col("line").filter(~pl.col("is_broken"))
    topics = rows.filter(pl.col("topic").is_not_null()).group_by("topic", maintain_order=True)
    counts = topics.agg(
        pl.len().alias("documents"),
        lines.len().alias("lines"),
        lines.first().alias("first_line"),
        pl.col("line").get(max_documents or 0, null_on_oob=True).alias("excess_line"),
    )
    if task_topics is not None:
        _check_unknown_topics(counts, task_topics, faults)
    for topic, n_documents, _, _, excess_line in counts.iter_rows():
        start = f"topic {quote(topic)} has {inflect(n_documents, 'document')}"
        if max_documents is not None and n_documents > max_documents:
            faults.add("too-many", f"{start}; the maximum is {max_documents:,}", excess_line, topic)
        elif max_documents is not None and n_documents < max_documents and is_complete:
            faults.add("too-few", f"{start}, fewer than {max_documents:,}", None, topic)
    run_topics = set(counts["topic"])
    missing_topics = [topic for topic in task_topics or () if topic not in run_topics]
    if missing_topics and is_complete:
        noun = "topics" if len(missing_topics) > 1 else "topic"
        message = f"no documents for {noun} {faults.list_names(missing_topics)}"
        faults.add("topic-missing", message, count=len(missing_topics))
    return counts.height


def _check_unknown_topics(counts: pl.DataFrame, topics: Sequence[str], faults: Faults) -> None:
    """Check that topics are topics of the task; by default, many unknown topics are one fault."""
    unknown_rows = counts.filter(~pl.col("topic").is_in(topics), pl.col("lines") > 0)
    if faults.is_unlimited or unknown_rows.height <= max(3, counts.height / 2):
        for topic, _, n_lines, first_line, _ in unknown_rows.iter_rows():
            message = f"topic {quote(topic)} is not one of the task's {len(topics):,} topics"
            faults.add("topic-unknown", message, first_line, topic, count=n_lines)
        return
    names = unknown_rows["topic"].to_list()
    message = f"{len(names):,} of {inflect(counts.height, 'topic')} are not among the task's"
    message += f" {len(topics):,} topics: {faults.list_names(names)}"
    if similar_topics := find_similar_ids(names, topics):
        pair = " and ".join(map(quote, similar_topics))
        message += f"; {pair} differ only in case or leading zeros"
    line, n_lines = unknown_rows["first_line"][0], int(unknown_rows["lines"].sum())
    faults.add("topic-unknown", message, line, count=n_lines)


def _check_values(rows: pl.DataFrame, task: TaskRules, faults: Faults) -> pl.DataFrame:
    """Check the values of lines; return the lines with ranks and scores as numbers.

    Scores that are not finite numbers and ranks that are not integers are null.
    """
    for name, noun in (("topic", "topic"), ("doc", "document")):
        has_blank = pl.col(name).str.contains(f"[{BLANKS}]")
        rows_with_blank = rows.filter(~pl.col("is_broken"), has_blank)
        message = f"{noun} {{{name}}} contains a blank, which separates columns of judgments"
        faults.add_rows("id-blank", rows_with_blank, message)
    if task.second_column:
        invalid_rows = rows.filter(~pl.col("q0").is_in(task.second_column))
        if invalid_rows.height:
            expected = " or ".join(map(quote, task.second_column))
            message = f"second column must be {expected}, got {quote(invalid_rows['q0'][0])}"
            message += f" ({inflect(invalid_rows.height, 'line')})"
            faults.add("second-column", message, invalid_rows["line"][0], count=invalid_rows.height)
    values = rows.select(
        *("line", "topic", "doc"),
        rank_text="rank",
        score_text="score",
        rank=parse_integers(pl.col("rank")),
        score=parse_numbers(pl.col("score")),
    )
    if task.rank != "off" or task.ranks_decide:
        is_invalid = pl.col("rank").is_null() | (pl.col("rank") < 0)
        invalid_rows = values.filter(is_invalid, pl.col("rank_text").is_not_null())
        message = "rank must be an integer from 0 to 2147483647, got {rank_text}"
        faults.add_rows("rank", invalid_rows, message)
    invalid_rows = values.filter(pl.col("score").is_null(), pl.col("score_text").is_not_null())
    message = "score must be a finite number, got {score_text}"
    if invalid_rows["score_text"].str.contains(r"^[+-]?\d+,\d+$").all():
        message += "; write a decimal point instead of a comma" if invalid_rows.height else ""
    faults.add_rows("score", invalid_rows, message)
    return values.select("line", "topic", "doc", "rank", "score")


def _check_documents(rows: pl.DataFrame, task: TaskRules, faults: Faults) -> pl.DataFrame:
    """Check for duplicate, unknown and excluded documents; return the lines without duplicates."""
    rows = rows.filter(pl.col("topic").is_not_null(), pl.col("doc").is_not_null())
    if faults.is_reported("document-unknown"):
        message = "document {doc} is not in the collection"
        unknown_rows = rows.filter(is_unknown_document(rows["doc"], task))
        faults.add_rows("document-unknown", unknown_rows, message)
    if task.exclude is not None and faults.is_reported("document-excluded"):
        excluded_rows = rows.filter(is_excluded(rows, task.exclude))
        message = "document {doc} is excluded for topic {topic}"
        faults.add_rows("document-excluded", excluded_rows, message)
    return check_duplicates(rows, ["topic", "doc"], faults)


def is_unknown_document(docs: pl.Series, task: TaskRules) -> Bools:
    """Return a mask of the documents that the rules say are not in the collection."""
    if task.documents is not None:
        return is_unlisted(docs, task.documents)
    if task.document_pattern is not None:
        return ~match_in_full(docs, task.document_pattern).to_numpy()
    return np.zeros(len(docs), dtype=bool)


def check_duplicates(rows: pl.DataFrame, key: list[str], faults: Faults) -> pl.DataFrame:
    """Report lines that repeat the key of an earlier line; return the lines without them."""
    is_duplicated = rows.select(key).is_duplicated()
    if not is_duplicated.any():
        return rows
    repeats = rows.filter(is_duplicated).with_columns(first=pl.col("line").min().over(key))
    repeats = repeats.filter(pl.col("line") > pl.col("first"))
    message = "document twice in one topic, first in line {first:,}"
    faults.add_rows("document-twice", repeats, message)
    return rows.filter(~pl.col("line").is_in(repeats["line"].implode()))


def describe_contradictions(n_contradictions: int, n_pairs: int) -> str:
    """Describe the ranks that contradict the scores, of `n_pairs` pairs of adjacent documents."""
    cases = inflect(n_contradictions, "case")
    hint = ": the scores seem to be distances" if 1 < n_contradictions == n_pairs else ""
    return f"ranks contradict the scores in {cases}; documents are ranked by score{hint}"


def describe_ties(n_tied: int, n_documents: int, ties: str = "trec") -> str:
    """Describe the number of tied documents of a run, and what breaks the ties."""
    tie_breaker = "the order of lines breaks" if ties == "input" else "document ids break"
    return (
        f"{n_tied:,} of {inflect(n_documents, 'document')} are tied with another document of the"
        f" topic; {tie_breaker} the ties"
    )


def _check_order(rows: pl.DataFrame, task: TaskRules, faults: Faults) -> str | None:
    """Check for ties and for ranks that contradict scores; return the SHA-256 of the ranking.

    The rows must not have duplicates; lines without a score are skipped.
    """
    rows = rows.filter(pl.col("score").is_not_null())
    if not rows.height:
        return None
    topics, codes = number_values(rows["topic"])
    run = Run(
        name="",
        topics=tuple(topics),
        codes=codes,
        docs=rows["doc"],
        scores=rows["score"].to_numpy(),
        ranks=rows["rank"].fill_null(0).to_numpy(),
    )
    ties = make_policies(**dict[str, Any](task.judging)).ties
    order = order_documents(run, ties)
    if ties not in {"rank", "file"}:
        has_rank = (rows["rank"] >= 0).fill_null(False).to_numpy()
        # Only valid ranks can contradict scores.
        rank_order = order if has_rank.all() else order_documents(run.restrict(has_rank), ties)
        n_contradictions = rank_order.n_contradictions
        n_pairs = len(rank_order.run) - len(rank_order.run.topics)
        max_contradictions = {"order": 0, "integer": max(1, n_pairs / 2)}.get(task.rank, n_pairs)
        if n_contradictions > max_contradictions:
            message = describe_contradictions(n_contradictions, n_pairs)
            faults.add("rank-order", message, count=n_contradictions)
        if order.n_tied / len(run) > task.tied:
            message = describe_ties(order.n_tied, len(run), ties)
            faults.add("tied", message, count=order.n_tied)
    return hash_ranking(run, order)


def hash_ranking(run: Run, order: RunOrder) -> str:
    """Return the SHA-256 of the ranking of a run, without its scores and tag.

    The hashed UTF-8 text has, for each document, a line with the topic and a line with the id, each
    ending in a line feed. Topics are in ascending order of their bytes, documents in order of rank.

    Examples
    --------
    >>> from cranfield import read_run
    >>> run = read_run({"q1": {"d1": 0.5, "d2": 1.5}})
    >>> sha256 = hash_ranking(run, order_documents(run, "trec"))
    >>> sha256 == hashlib.sha256(b"q1\\nd2\\nq1\\nd1\\n").hexdigest()
    True
    """
    topics = pl.Series(run.topics, dtype=pl.String)
    topic_ranks = topics.arg_sort().arg_sort().to_numpy()
    rows = order.rows[np.argsort(topic_ranks[run.codes[order.rows]], kind="stable")]
    frame = pl.DataFrame({"topic": topics[run.codes[rows]], "doc": run.docs[rows]})
    sha256 = hashlib.sha256()
    for block in frame.iter_slices(1 << 18):
        text = block.write_csv(include_header=False, separator="\n", quote_style="never")
        sha256.update(text.encode())
    return sha256.hexdigest()


def is_unlisted(docs: pl.Series, path: Path) -> Bools:
    """Return a mask of the documents that are not in a list.

    The ids of the list are the first words of lines, or a column of a Parquet file.
    """
    is_missing = np.ones(len(docs), dtype=bool)
    if not len(docs):
        return is_missing
    index = DocIndex(docs)
    is_parquet = Source(str(path)).suffix == ".parquet"
    for documents in _read_parquet_documents(path) if is_parquet else _read_first_words(path):
        is_missing[index.find_matching_rows(documents)[1]] = False
        if not is_missing.any():
            break
    return is_missing


def _read_parquet_documents(path: Path) -> Iterator[pl.Series]:
    check_parquet_file(str(path))
    with convert_parquet_errors(str(path)):
        table = pl.scan_parquet(path, glob=False)
        names = table.collect_schema().names()
        n_rows = table.select(pl.len()).collect().item()
    if not names:
        raise InputError("has no columns; expected a column of document ids", source=str(path))
    name = next((name for name in names if name.lower() in _DOC_COLUMNS), names[0])
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        with convert_parquet_errors(str(path)):
            docs = table.select(pl.col(name).cast(pl.String)).slice(start, _ROWS_AT_ONCE).collect()
        yield docs.to_series().drop_nulls()


def _read_first_words(path: Path) -> Iterator[pl.Series]:
    for _, lines in _read_list_lines(path):
        # Splitting lines is slow, and most lists have only ids.
        has_blanks = lines.str.contains(f"[{BLANKS}]").any()
        yield lines.str.extract(WORD, 0).drop_nulls() if has_blanks else lines.filter(lines != "")


def _read_list_lines(path: Path) -> Iterator[tuple[int, pl.Series]]:
    """Yield the lines of a list in chunks, each with the number of its first line."""
    source, first_line = Source(str(path)), 1
    for chunk in source.iterate_chunks(CHUNKS_AT_ONCE * CHUNK_BYTES):
        text = pl.Series([decode_text(chunk, source.name, first_line)])
        yield first_line, text.str.split("\n").explode()
        first_line += chunk.count(b"\n")


def is_excluded(rows: pl.DataFrame, path: Path) -> Bools:
    """Return a mask of the rows whose topic and document are in a list or in judgments."""
    mask = np.zeros(rows.height, dtype=bool)
    for first_line, lines in _read_list_lines(path):
        words = lines.str.extract_all(WORD)
        n_words = words.list.len()
        invalid_lines = (~n_words.is_in([0, 2, 4])).arg_true()
        if len(invalid_lines):
            reason = "expected 2 columns (topic doc) or 4 (topic iteration doc grade),"
            reason += f" got {n_words[invalid_lines[0]]}"
            line = first_line + invalid_lines[0]
            raise InputError(reason, source=Source(str(path)).name, line=line)
        pairs = {"topic": words.list.first(), "doc": words.list.get(n_words // 2, null_on_oob=True)}
        matches = rows.with_row_index().join(pl.DataFrame(pairs), on=[*pairs], how="semi")
        mask[matches["index"].to_numpy()] = True
    return mask


PRIVATE_KEYS = ("actor.mail", "implementation.source.archive.path", "implementation.script.path")
"""Metadata keys that are not published."""

_LOCAL_PATH = re.compile(
    r"(?<![\w.:/])~?/[\w.~+-]+/"  # /home/me, not http://a/b
    r"|(?<!\w)[A-Za-z]:[\\/](?!/)|\\\\\w|file:/|(?<!\w)(?:/root|~)(?:/|\b)"
)
_MAIL_ADDRESS = re.compile(r"(?<=[^\s@<>])@[^\s@<>]+\.\w")


def check_metadata(
    source: MetadataLocation, task: TaskRules, tag: str | None, faults: Faults
) -> Metadata | None:
    """Check and return the metadata of a run; without rules, only syntax and duplicate keys."""
    line = None if source.header is None else source.header.line
    try:
        with collect_warnings():
            metadata = source.read()
    except InputError as error:
        error_line = None if line is None else error.line
        faults.add("metadata-yaml", f"ir_metadata: {error.reason}", error_line)
        return None
    rules = task.metadata
    if metadata is None:
        if rules is not None and rules.required:
            reason = f"the run has no metadata; required keys: {', '.join(rules.required)}"
            faults.add("metadata-missing", f"ir_metadata: {reason}", line)
        return None
    for reason in metadata.repeated_keys:
        faults.add("metadata-twice", f"ir_metadata: {reason}", line)
    if rules is None:
        return metadata
    for problem in metadata.find_problems(rules.required, rules.placeholders):
        faults.add(f"metadata-{problem.kind}", f"ir_metadata: {problem}", line)
    metadata_tag = metadata.get("tag")
    if metadata_tag is not None and tag is not None and metadata_tag != tag:
        message = f"tag is {quote(metadata_tag)}, but the run has the tag {quote(tag)}"
        faults.add("metadata-tag", f"ir_metadata: {message}", line)
    return metadata


def select_public_metadata(metadata: Metadata) -> tuple[str, tuple[str, ...]]:
    """Return the public part of metadata, as YAML, and the keys that were removed.

    The public part has no comments, no keys for mail addresses or local paths, and no values that
    look like a mail address or a local path. Other values may still contain private information.
    """
    removed_keys: dict[str, None] = {}
    marker = object()

    def is_private(text: str) -> bool:
        return bool(_MAIL_ADDRESS.search(text) or _LOCAL_PATH.search(text))

    def remove_private(value: Any, path: str) -> Any:
        if path in PRIVATE_KEYS or (isinstance(value, str) and is_private(value)):
            removed_keys[path] = None
            return marker
        if not value or not isinstance(value, (dict, list)):
            return value
        if isinstance(value, list):
            items = [remove_private(item, path) for item in value]
            return [item for item in items if item is not marker] or marker
        values = {}
        for key, item in value.items():
            if is_private(str(key)):
                removed_keys[path or "a key"] = None
                continue
            public_value = remove_private(
                item, f"{path}.{key}" if path and key else path or str(key)
            )
            if public_value is not marker:
                values[key] = public_value
        return values or marker

    values = remove_private(metadata.values, "")
    return Metadata({} if values is marker else values).to_yaml(), tuple(removed_keys)
