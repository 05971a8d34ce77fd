"""JSON exports of annotation tools: Label Studio, Kili, Prodigy and doccano."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.files.named_columns import DOC, GRADED
from cranfield.sources.schemas import Column, spelt
from cranfield.sources.values import Cells

WORKER = "worker"
_VALUES = ("choices", "rating", "number", "text")
"""Kinds of answers of Label Studio that can be grades."""


@dataclass(frozen=True)
class _Label:
    """One label: the row of its task, its columns, and the answer by question."""

    row: int
    columns: Mapping[str, Any]
    answers: Mapping[str, Any]


def columns_of_export(data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Make columns of an export, a row for each label, and the task of each row.

    None for data that are not an export. Skipped tasks are excluded, with a warning. A task without
    an id of its document is the document itself.
    """
    if not (isinstance(data, list) and data and isinstance(data[0], Mapping)):
        return None
    reader = _reader_of(data[0])
    if reader is None:
        return None
    skipped: list[int] = []
    labels = [
        label
        for row, task in enumerate(data)
        for label in reader(_task(task, row, source), row, source, skipped)
    ]
    if skipped:
        warn(f"{source}: {counted(len(skipped), 'skipped task')} excluded", stacklevel=5)
    questions = [*dict.fromkeys(name for label in labels for name in label.answers)] or ["grade"]
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for label in labels for name in label.columns):
        columns[name] = [label.columns.get(name) for label in labels]
    for name in questions:
        one_of_many = len(questions) > 1 or GRADED.named_in([name])
        answers = [label.answers.get(name) for label in labels]
        columns[name if one_of_many else "grade"] = answers
    return dict(columns), [label.row for label in labels]


def _reader_of(task: Mapping[Any, Any]) -> Any:
    """Return the reader of the tool that wrote a task; None for any other record."""
    if isinstance(task.get("data"), Mapping) and isinstance(task.get("annotations"), list):
        return _label_studio
    if isinstance(task.get("answer"), str) and ("_input_hash" in task or "accept" in task):
        return _prodigy
    if isinstance(task.get("label"), list) and "id" in task:
        return _doccano
    if isinstance(task.get("labels"), list) and "externalId" in task:
        return _kili
    return None


def _task(task: Any, row: int, source: str) -> Mapping[Any, Any]:
    if not isinstance(task, Mapping):
        raise InputError(f"task {row + 1} is not a record", source=source)
    return task


def _has_column(record: Mapping[Any, Any], column: Column) -> bool:
    """Return True if a record has a column under one of its usual names."""
    return bool(column.named_in([*record]))


def _plain(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values of a record that are neither lists nor records."""
    return {str(k): v for k, v in record.items() if not isinstance(v, list | Mapping)}


def _only(values: Any, position: str, source: str) -> Any:
    """Return the only value of a list, None for an empty one; several are refused."""
    if not isinstance(values, list):
        return values
    if len(values) > 1:
        shown_values = ", ".join(map(quoted, values[:3]))
        raise InputError(f"{position}: expected one label, got {shown_values}", source=source)
    return values[0] if values else None


def _label_studio(
    task: Mapping[Any, Any], row: int, source: str, skipped: list[int]
) -> Iterator[_Label]:
    """Yield the labels of a task of Label Studio: one for each annotation."""
    position = f"task {quoted(task.get('id', row + 1))}"
    if not isinstance(task.get("data"), Mapping) or not isinstance(task.get("annotations"), list):
        raise InputError(f"{position}: expected data and annotations", source=source)
    columns = _plain(task["data"])
    if not _has_column(columns, DOC):
        columns["doc"] = task.get("id")
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            skipped.append(row)
            continue
        worker = annotation.get("completed_by")
        if isinstance(worker, Mapping):
            worker = worker.get("email") or worker.get("id")
        answers = {}
        for result in annotation.get("result") or ():
            question, value = result.get("from_name"), result.get("value")
            kind = next((kind for kind in _VALUES if kind in (value or {})), None)
            if question is None or kind is None:
                continue
            if question in answers:
                raise InputError(f"{position}: {quoted(question)} is answered twice", source=source)
            answers[question] = _only(value[kind], position, source)
        yield _Label(row, {**columns, WORKER: worker}, answers)


def _kili(task: Mapping[Any, Any], row: int, source: str, skipped: list[int]) -> Iterator[_Label]:
    """Yield the labels of an asset of Kili: the last one of each person for each job."""
    position = f"asset {quoted(task.get('externalId'))}"
    metadata_value = task.get("jsonMetadata")
    metadata = _plain(metadata_value if isinstance(metadata_value, Mapping) else {})
    if not _has_column(metadata, DOC):
        metadata["doc"] = task.get("externalId")
    for label in task.get("labels") or ():
        if label.get("isLatestLabelForUser") is False:
            continue
        if label.get("labelType", "DEFAULT") not in ("DEFAULT", "REVIEW"):
            # Predictions, and labels that were not submitted.
            skipped.append(row)
            continue
        answers = {}
        for job, answer in (label.get("jsonResponse") or {}).items():
            categories = answer.get("categories")
            names = (
                [category.get("name") for category in categories]
                if categories is not None
                else None
            )
            answers[job] = answer.get("text") if names is None else _only(names, position, source)
        author = label.get("author") or {}
        yield _Label(row, {**metadata, WORKER: author.get("email") or author.get("id")}, answers)


def _prodigy(
    task: Mapping[Any, Any], row: int, source: str, skipped: list[int]
) -> Iterator[_Label]:
    """Yield the label of a task of Prodigy: the accepted option, or 1 (accept) and 0 (reject)."""
    if task.get("answer") == "ignore":
        skipped.append(row)
        return
    position = f"task {row + 1}"
    inside = task.get("meta")
    columns = {**_plain(inside if isinstance(inside, Mapping) else {}), **_plain(task)}
    of_tool = {name for name in columns if name.startswith("_")} | {"answer", "label"}
    worker = task.get("_annotator_id") or task.get("_session_id")
    columns = {name: value for name, value in columns.items() if name not in of_tool}
    if not _has_column(columns, DOC):
        columns["doc"] = task.get("_input_hash")
    if "accept" in task:
        if task.get("answer") != "accept":
            skipped.append(row)
            return
        grade = _only(task["accept"], position, source)
    else:
        grade = int(task.get("answer") == "accept")
    yield _Label(row, {**columns, WORKER: worker}, {"grade": grade})


def _doccano(
    task: Mapping[Any, Any], row: int, source: str, skipped: list[int]
) -> Iterator[_Label]:
    """Yield the label of a document of doccano, whose export is a file for each annotator."""
    meta = task.get("meta")
    columns = {**_plain(meta if isinstance(meta, Mapping) else {}), **_plain(task)}
    columns = {name: value for name, value in columns.items() if spelt(name) != "label"}
    if not _has_column(columns, DOC):
        columns["doc"] = columns.pop("id", None)
    position = f"document {quoted(task.get('id', row + 1))}"
    yield _Label(row, columns, {"grade": _only(task.get("label"), position, source)})
