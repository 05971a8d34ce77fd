"""JSON exports of annotation tools: Label Studio, Kili, Prodigy and doccano."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cranfield.base.errors import InputError, in_source, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.files.named_columns import DOC, GRADED
from cranfield.sources.schemas import spelt
from cranfield.sources.values import Cells

WORKER = "worker"
_VALUES = ("choices", "rating", "number", "text")  # Answers of Label Studio that can be grades


_Label = tuple[Mapping[str, Any], Mapping[str, Any]]  # Columns of a label, and answers


def columns_of_export(data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Return the columns and tasks of the labels of an export; None for other data."""
    if not (isinstance(data, list) and data and isinstance(data[0], Mapping)):
        return None
    reader = _reader_of(data[0])
    if reader is None:
        return None
    n_skipped, rows, labels = 0, list[int](), list[_Label]()
    with in_source(source):
        for row, task in enumerate(data):
            if not isinstance(task, Mapping):
                raise InputError(f"task {row + 1} is not a record")
            for label in reader(task, row + 1):
                if label is None:
                    n_skipped += 1
                else:
                    rows.append(row)
                    labels.append(label)
    if n_skipped:
        warn(f"{source}: {counted(n_skipped, 'skipped task')} excluded", stacklevel=5)
    questions = [*dict.fromkeys(name for _, answers in labels for name in answers)] or ["grade"]
    columns: dict[str, Cells] = {}
    for name in dict.fromkeys(name for label_columns, _ in labels for name in label_columns):
        columns[name] = [label_columns.get(name) for label_columns, _ in labels]
    for name in questions:
        keeps_name = len(questions) > 1 or GRADED.named_in([name])
        columns[name if keeps_name else "grade"] = [answers.get(name) for _, answers in labels]
    return columns, rows


def _reader_of(task: Mapping[Any, Any]) -> Any:
    """Return the reader for the tool that exported a task; None for other records."""
    if isinstance(task.get("data"), Mapping) and isinstance(task.get("annotations"), list):
        return _label_studio
    if isinstance(task.get("answer"), str) and ("_input_hash" in task or "accept" in task):
        return _prodigy
    if isinstance(task.get("label"), list) and "id" in task:
        return _doccano
    if isinstance(task.get("labels"), list) and "externalId" in task:
        return _kili
    return None


def _add_doc(columns: dict[str, Any], doc: Any) -> dict[str, Any]:
    """Add the column doc, unless a column names the document."""
    return columns if DOC.named_in([*columns]) else {**columns, "doc": doc}


def _scalar_values(record: Any) -> dict[str, Any]:
    """Return the values of a record that are neither lists nor records."""
    items = record.items() if isinstance(record, Mapping) else ()
    return {str(k): v for k, v in items if not isinstance(v, list | Mapping)}


def _single_value(values: Any, position: str) -> Any:
    """Return the value of a list with at most one; None for an empty list."""
    if not isinstance(values, list):
        return values
    if len(values) > 1:
        listing = ", ".join(map(quoted, values[:3]))
        raise InputError(f"{position}: expected one label, got {listing}")
    return values[0] if values else None


def _label_studio(task: Mapping[Any, Any], number: int) -> Iterator[_Label | None]:
    """Yield a label for each annotation of a Label Studio task."""
    position = f"task {quoted(task.get('id', number))}"
    if not isinstance(task.get("data"), Mapping) or not isinstance(task.get("annotations"), list):
        raise InputError(f"{position}: expected data and annotations")
    columns = _add_doc(_scalar_values(task["data"]), task.get("id"))
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            yield None
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
                raise InputError(f"{position}: {quoted(question)} is answered twice")
            answers[question] = _single_value(value[kind], position)
        yield {**columns, WORKER: worker}, answers


def _kili(task: Mapping[Any, Any], number: int) -> Iterator[_Label | None]:
    """Yield the last label of each person for a Kili asset."""
    position = f"asset {quoted(task.get('externalId'))}"
    columns = _add_doc(_scalar_values(task.get("jsonMetadata")), task.get("externalId"))
    for label in task.get("labels") or ():
        if label.get("isLatestLabelForUser") is False:
            continue
        if label.get("labelType", "DEFAULT") not in ("DEFAULT", "REVIEW"):
            # Predictions, and labels that were not submitted.
            yield None
            continue
        answers = {}
        for job, answer in (label.get("jsonResponse") or {}).items():
            answers[job] = answer.get("text")
            if (categories := answer.get("categories")) is not None:
                names = [category.get("name") for category in categories]
                answers[job] = _single_value(names, position)
        author = label.get("author") or {}
        yield {**columns, WORKER: author.get("email") or author.get("id")}, answers


def _prodigy(task: Mapping[Any, Any], number: int) -> Iterator[_Label | None]:
    """Yield the label of a Prodigy task: the accepted option, or 1 (accept) and 0 (reject)."""
    answer = task.get("answer")
    if answer == "ignore" or ("accept" in task and answer != "accept"):
        yield None
        return
    columns = {**_scalar_values(task.get("meta")), **_scalar_values(task)}
    tool_columns = {name for name in columns if name.startswith("_")} | {"answer", "label"}
    columns = {name: value for name, value in columns.items() if name not in tool_columns}
    columns = _add_doc(columns, task.get("_input_hash"))
    worker = task.get("_annotator_id") or task.get("_session_id")
    grade: Any = int(answer == "accept")
    if "accept" in task:
        grade = _single_value(task["accept"], f"task {number}")
    yield {**columns, WORKER: worker}, {"grade": grade}


def _doccano(task: Mapping[Any, Any], number: int) -> Iterator[_Label | None]:
    """Yield the label of a doccano document; an export is the file of one annotator."""
    columns = {**_scalar_values(task.get("meta")), **_scalar_values(task)}
    columns = {name: value for name, value in columns.items() if spelt(name) != "label"}
    if not DOC.named_in([*columns]):
        columns["doc"] = columns.pop("id", None)
    position = f"document {quoted(task.get('id', number))}"
    yield columns, {"grade": _single_value(task.get("label"), position)}
