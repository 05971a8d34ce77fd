"""Exports of annotation tools: Label Studio, Kili, Prodigy, doccano, Argilla."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cranfield.base.errors import InputError, add_source, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.named_columns import DOC, GRADE_COLUMN
from cranfield.sources.schemas import fold_name
from cranfield.sources.values import Cells

_VALUE_KEYS = ("choices", "rating", "number", "text")  # Values of Label Studio that can be grades
_LABEL_ID = "label_id"  # Column of labels that are keys of the database of doccano

_Label = tuple[Mapping[str, Any], Mapping[str, Any]]  # Columns of a label, and answers


def read_export(data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Read the columns of an export, and the task of each label; None for other data."""
    if isinstance(data, Mapping):
        return _flatten_mappings(data)
    if not (isinstance(data, list) and data and isinstance(data[0], Mapping)):
        return None
    # The first records may have no labels yet.
    records = (task for task in data[:100] if isinstance(task, Mapping))
    reader = next(filter(None, map(_find_reader, records)), None)
    if reader is None:
        return None
    n_skipped, rows, labels = 0, list[int](), list[_Label]()
    with add_source(source):
        for row, task in enumerate(data):
            if not isinstance(task, Mapping):
                raise InputError(f"task {row + 1}: expected a record, got {quote(task)}")
            for label in reader(task, row + 1):
                if label is None:
                    n_skipped += 1
                else:
                    rows.append(row)
                    labels.append(label)
    if n_skipped:
        warn(f"{source}: {inflect(n_skipped, 'skipped or unsubmitted answer')} excluded")
    questions = [*dict.fromkeys(name for _, answers in labels for name in answers)] or ["grade"]
    columns: dict[str, Cells] = {}
    for name in dict.fromkeys(name for label_columns, _ in labels for name in label_columns):
        columns[name] = [label_columns.get(name) for label_columns, _ in labels]
    for name in questions:
        keeps_name = len(questions) > 1 or name == _LABEL_ID or GRADE_COLUMN.find_in([name])
        columns[name if keeps_name else "grade"] = [answers.get(name) for _, answers in labels]
    return columns, rows


def _flatten_mappings(data: Mapping[Any, Any]) -> tuple[dict[str, Cells], list[int]] | None:
    """Flatten `{worker: {topic: {doc: grade}}}` or `{topic: {doc: grade}}`; None for other data."""
    rows: list[tuple[Any, ...]] = [(data,)]
    while rows and len(rows[0]) < 4 and all(isinstance(row[-1], Mapping) for row in rows):
        rows = [(*row[:-1], *item) for row in rows for item in row[-1].items()]
    names = ("worker", "topic", "doc", "grade")[-len(rows[0]) :] if rows else ()
    if len(names) < 3:
        return None
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), [*range(len(rows))]


def _find_reader(task: Mapping[Any, Any]) -> Any:
    """Return the reader for the tool that exported a task; None for other records."""
    if isinstance(task.get("data"), Mapping) and isinstance(task.get("annotations"), list):
        return _read_label_studio
    keys = {"accept", "_input_hash", "_task_hash", "_annotator_id", "_session_id"}
    if isinstance(task.get("answer"), str) and not keys.isdisjoint(task):
        return _read_prodigy
    if isinstance(task.get("label"), list) and "id" in task:
        return _read_doccano
    annotations = task.get("annotations")
    if isinstance(annotations, list) and annotations and all(map(_is_doccano_label, annotations)):
        return _read_doccano_users
    if isinstance(task.get("labels"), list) and "externalId" in task:
        return _read_kili
    if _list_argilla_responses(task):
        return _read_argilla
    return None


def _check_record(value: Any, field: str, position: str) -> Mapping[Any, Any]:
    """Return a record of an export, empty if absent; refuse other values."""
    if not isinstance(value or {}, Mapping):
        raise InputError(f"{position}: expected a record in {field}, got {quote(value)}")
    return value or {}


def _check_records(values: Any, field: str, position: str) -> list[Mapping[Any, Any]]:
    """Return a list of records of an export, empty if absent; refuse other values."""
    if not isinstance(values or [], list):
        raise InputError(f"{position}: expected a list in {field}, got {quote(values)}")
    return [_check_record(value, field, position) for value in values or []]


def _add_doc(columns: dict[str, Any], doc: Any) -> dict[str, Any]:
    return columns if DOC.find_in([*columns]) else {**columns, "doc": doc}


def _select_scalars(record: Any) -> dict[str, Any]:
    """Return the values of a record that are neither lists nor records."""
    items = record.items() if isinstance(record, Mapping) else ()
    return {str(k): v for k, v in items if not isinstance(v, list | Mapping)}


def _read_single_value(values: Any, position: str) -> Any:
    """Return the value of a list with at most one; None for an empty list."""
    if not isinstance(values, list):
        return values
    if len(values) > 1:
        listing = ", ".join(map(quote, values[:3]))
        raise InputError(f"{position}: expected one label, got {listing}")
    return values[0] if values else None


def _read_label_studio(task: Mapping[Any, Any], task_number: int) -> Iterator[_Label | None]:
    position = f"task {quote(task.get('id', task_number))}"
    if not isinstance(task.get("data"), Mapping) or not isinstance(task.get("annotations"), list):
        listing = list_some(map(quote, task), 5)
        raise InputError(f"{position}: expected data and a list of annotations, got {listing}")
    columns = _add_doc(_select_scalars(task["data"]), task.get("id"))
    for annotation in _check_records(task["annotations"], "annotations", position):
        if annotation.get("was_cancelled"):
            yield None
            continue
        worker = annotation.get("completed_by")
        if isinstance(worker, Mapping):
            worker = worker.get("email") or worker.get("id")
        answers = {}
        for result in _check_records(annotation.get("result"), "result", position):
            value = _check_record(result.get("value"), "value", position)
            key = next((key for key in _VALUE_KEYS if key in value), None)
            if result.get("from_name") is None or key is None:
                continue
            question = str(result["from_name"])
            if question in answers:
                reason = f"{position}: question {quote(question)} has two answers by one worker"
                raise InputError(f"{reason}; write a task for each document")
            answers[question] = _read_single_value(value[key], position)
        yield {**columns, "worker": worker}, answers


def _read_kili(task: Mapping[Any, Any], task_number: int) -> Iterator[_Label | None]:
    """Yield the latest label of each worker for a Kili asset."""
    position = f"asset {quote(task.get('externalId'))}"
    columns = _add_doc(_select_scalars(task.get("jsonMetadata")), task.get("externalId"))
    for label in _check_records(task.get("labels"), "labels", position):
        if label.get("isLatestLabelForUser") is False:
            continue
        if label.get("labelType", "DEFAULT") not in ("DEFAULT", "REVIEW"):
            # Predictions, and labels that were not submitted.
            yield None
            continue
        answers = {}
        response = _check_record(label.get("jsonResponse"), "jsonResponse", position)
        for job, value in response.items():
            answer = _check_record(value, "jsonResponse", position)
            answers[job] = answer.get("text")
            if (categories := answer.get("categories")) is not None:
                records = _check_records(categories, "categories", position)
                names = [record.get("name") for record in records]
                answers[job] = _read_single_value(names, position)
        author = _check_record(label.get("author"), "author", position)
        yield {**columns, "worker": author.get("email") or author.get("id")}, answers


def _read_prodigy(task: Mapping[Any, Any], task_number: int) -> Iterator[_Label | None]:
    """Yield the label of a Prodigy task: the accepted option, or 1 (accept) and 0 (reject)."""
    answer = task.get("answer")
    if answer == "ignore" or ("accept" in task and answer != "accept"):
        yield None
        return
    columns = {**_select_scalars(task.get("meta")), **_select_scalars(task)}
    tool_columns = {name for name in columns if name.startswith("_")} | {"answer", "label"}
    columns = {name: value for name, value in columns.items() if name not in tool_columns}
    columns = _add_doc(columns, task.get("_input_hash"))
    worker = task.get("_annotator_id") or task.get("_session_id")
    grade: Any = int(answer == "accept")
    if "accept" in task:
        grade = _read_single_value(task["accept"], f"task {task_number}")
    yield {**columns, "worker": worker}, {"grade": grade}


def _read_doccano(task: Mapping[Any, Any], task_number: int) -> Iterator[_Label | None]:
    """Yield the label of a doccano document; an export is the file of one annotator."""
    columns = {**_select_scalars(task.get("meta")), **_select_scalars(task)}
    columns = {name: value for name, value in columns.items() if fold_name(name) != "label"}
    if not DOC.find_in([*columns]):
        columns["doc"] = columns.pop("id", None)
    position = f"document {quote(task.get('id', task_number))}"
    yield columns, {"grade": _read_single_value(task.get("label"), position)}


def _is_doccano_label(label: Any) -> bool:
    return (
        isinstance(label, Mapping) and {"label", "user"} <= {*label} and "start_offset" not in label
    )


def _read_doccano_users(task: Mapping[Any, Any], task_number: int) -> Iterator[_Label | None]:
    """Yield the labels of all users for a document, as doccano exported them before version 1.5."""
    position = f"document {quote(task.get('id', task_number))}"
    columns = {**_select_scalars(task.get("meta")), **_select_scalars(task)}
    if not DOC.find_in([*columns]):
        columns["doc"] = columns.pop("id", None)
    for label in _check_records(task.get("annotations"), "annotations", position):
        grade = label.get("label")
        name = _LABEL_ID if isinstance(grade, int) else "grade"
        yield {**columns, "worker": label.get("user")}, {name: grade}


def _list_argilla_responses(task: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Return the questions and responses of an Argilla record: nested, flat, or of version 1."""
    responses: list[tuple[str, Any]] = []
    field = task.get("responses")
    if isinstance(field, Mapping):
        return [(name, answer) for name, answers in field.items() for answer in answers or []]
    for answer in field if isinstance(field, list) else []:
        values = answer.get("values") if isinstance(answer, Mapping) else None
        responses += [(name, {**answer, **value}) for name, value in (values or {}).items()]
    for name, answers in task.items():
        question, _, suffix = str(name).rpartition(".")
        if not isinstance(answers, list):
            continue
        if question and suffix == "responses":
            users = task.get(f"{name}.users") or [None] * len(answers)
            status = task.get(f"{name}.status") or [None] * len(answers)
            keys = ("value", "user_id", "status")
            rows = zip(answers, users, status, strict=True)
            responses += [(question, dict(zip(keys, row, strict=True))) for row in rows]
        elif answers and all(
            isinstance(a, Mapping) and {"user_id", "value"} <= {*a} for a in answers
        ):
            responses += [(str(name), answer) for answer in answers]
    return responses


def _read_argilla(task: Mapping[Any, Any], task_number: int) -> Iterator[_Label | None]:
    position = f"record {quote(task.get('id', task_number))}"
    responses = _list_argilla_responses(task)
    columns = {**_select_scalars(task.get("fields")), **_select_scalars(task.get("metadata"))}
    # These fields describe the record; its responses have their own status.
    record_fields = {"id", "status", "external_id", "inserted_at", "updated_at"}
    questions = tuple(f"{name}{mark}" for name, _ in responses for mark in (".", "-"))
    columns |= {
        name: value
        for name, value in _select_scalars(task).items()
        if name not in record_fields and not name.startswith(questions)
    }
    columns = _add_doc(columns, task.get("external_id") or task.get("id"))
    answers: dict[Any, dict[str, Any]] = {}
    for question, response in responses:
        if response.get("status") not in (None, "submitted"):
            yield None
            continue
        value = _read_single_value(response.get("value"), position)
        answers.setdefault(response.get("user_id"), {})[question] = value
    for worker, worker_answers in answers.items():
        yield {**columns, "worker": worker}, worker_answers
