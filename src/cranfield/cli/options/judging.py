"""Options of reading runs and judgments, and of judging."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import cranfield as cf
from cranfield.base.errors import MeasureError, PolicyError, quote, warn
from cranfield.cli.options import declaring
from cranfield.cli.options.output import show_judging_progress
from cranfield.cli.options.signatures import make_options, parse_pairs
from cranfield.collection.policies import JUDGMENT_FORMATS, Policies, make_policies
from cranfield.sources.archives import check_path

if TYPE_CHECKING:
    from cranfield.collection.files.named_columns import RequestedColumns


def parse_columns(text: str) -> dict[str, str]:
    """Parse `doc=product_id,topic=query`."""
    columns = {}
    for pair in text.split(","):
        column, sign, name = pair.partition("=")
        if not (sign and column.strip() and name.strip()):
            raise PolicyError(f"--columns must be pairs such as doc=NAME, got {quote(pair)}")
        column = column.strip()
        if column in columns:
            raise PolicyError(f"--columns must name each column once, got {column} twice")
        columns[column] = name.strip()
    return columns


def parse_grades(text: str) -> dict[str, str | None] | list[str] | str:
    """Parse `Relevant=2,Partly=1,Unsure=` or cut points `0.5,0.8`; return other text unchanged."""
    if "(" in text and not re.search(r"=-?\d+$", text):
        return text
    grades: dict[str, str | None] = {}
    value = ""
    for part in text.split(","):
        start, equals, grade = part.rpartition("=")
        value += start if equals else f"{part},"
        if equals:
            grades[value.strip()] = grade.strip() or None
            value = ""
    if not grades:
        from cranfield.sources.values import parse_number

        cuts = text.strip("[] ").split(",")
        return cuts if all(parse_number(cut) is not None for cut in cuts) else text
    return {**grades, value.strip(): ""} if value.strip() else grades


(subtopics_option,) = make_options(
    "cranfield.read_qrels", "subtopics", subtopics={"requires": ("QRELS", "--judged")}
)
(bad_run_option,) = make_options(
    "cranfield.read_runs", "on_bad_run", on_bad_run={"requires": "RUN"}
)

COLUMNS = {
    "metavar": "COLUMN=NAME,...",
    "callback": lambda context, option, text: text and parse_columns(text),
    "help": "Names of columns in tables: doc=product_id,topic=query,grade=gain.",
    "detail": "The prefix run. or qrels. restricts a name to runs or judgments: qrels.doc=pid.",
}
"""Attributes of the option --columns."""

reading_options = (
    *make_options(
        "cranfield.read_runs",
        "format encoding system columns",
        format={"flag": "--input-format"},
        columns=COLUMNS,
    ),
    *make_options(
        f"{__name__}.ReadingOptions",
        "lower",
        lower={"metavar": "NAME", "argument": "lower_is_better"},
    ),
    *make_options("cranfield.read_runs", "separator numbers on_duplicate chunk_separator"),
    bad_run_option,
)


@dataclass(frozen=True)
class ReadingOptions:
    """Options of reading runs and judgments.

    Attributes
    ----------
    lower
        Scores for which lower is better: a measure of --scores, or the score column of RUN; may be
        given several times.
    """

    input_format: str = "auto"
    encoding: str = "utf-8"
    system: str | None = None
    columns: Mapping[str, str] | None = None
    lower: tuple[str, ...] = ()
    separator: str = "auto"
    numbers: str = "auto"
    subtopics: bool | None = None
    on_duplicate: str = "error"
    chunk_separator: str | None = None
    ungraded: str = "error"
    map_grades: Any = None
    on_bad_run: str = "error"
    has_judges: bool = False

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> ReadingOptions:
        """Select the options of reading among the options of a command."""
        return cls(**{name: options[name] for name in READING_NAMES if name in options})

    @cached_property
    def _column_names(self) -> tuple[RequestedColumns, RequestedColumns]:
        from cranfield.collection.files.named_columns import request_qrels_and_run_columns

        return request_qrels_and_run_columns(self.columns, self.system)

    @property
    def common(self) -> dict[str, Any]:
        """Options of reading that judgments and runs share."""
        return {name: getattr(self, name) for name in ("encoding", "separator", "on_duplicate")}

    def read_qrels(self, path: str | None, subtopics: bool | None = None) -> cf.Qrels:
        """Read judgments."""
        grades = self.map_grades
        if grades and self.has_judges:
            from cranfield.collection.files.grade_maps import GradeMap

            # Judges may give words or texts where people give integers.
            grades = replace(GradeMap.parse(grades), keeps_integers=True)
        names: Any = None if self.columns is None else self._column_names[0]
        subtopics = self.subtopics if subtopics is None else subtopics
        judgments = cf.read_qrels(
            path,
            format=self.input_format,
            subtopics=subtopics,
            columns=names,
            ungraded=self.ungraded,
            grades=grades,
            **self.common,
        )
        if self.columns is not None:
            # Columns that the judgments lack are required in the runs.
            self._column_names[1].ambiguous_columns &= self._column_names[0].matched_columns
        return judgments

    def read_judges(
        self, qrels: str, judges: tuple[str, ...], format: str | None, has_runs: bool
    ) -> tuple[cf.Qrels, tuple[cf.assess.Judge, ...]]:
        """Read judgments, and labels of judges whose columns may have other names."""
        from cranfield.collection.files.named_columns import RequestedColumns, request_columns

        columns = None
        if self.columns is not None:
            human_names, run_names = self._column_names
            shared_columns = human_names.ambiguous_columns
            own_columns = {name: field for name, field in self.columns.items() if "." not in name}
            names = request_columns(own_columns, "qrels", None).names
            human_names.ambiguous_columns = frozenset(names)
        judgments = self.read_qrels(qrels, subtopics=False)
        if self.columns is not None:
            matched_columns = human_names.matched_columns | (shared_columns if has_runs else set())
            columns = RequestedColumns("qrels", names, frozenset(matched_columns))
        form = format or ("auto" if self.input_format in JUDGMENT_FORMATS else self.input_format)
        labels = cf.assess.read_judges(
            judges, format=form, columns=columns, grades=self.map_grades, **self.common
        )
        if columns is not None:
            run_names.ambiguous_columns |= shared_columns & columns.matched_columns
        has_own_names = any(name.startswith("qrels.") for name in self.columns or ())
        source = judgments.origin.name
        if not has_own_names and any(judge.labels.origin.name == source for judge in labels):
            remedy = "to read two columns of a table, set columns='qrels.grade=NAME,grade=NAME'"
            warn(f"{source}: the human grades and those of a judge are the same; {remedy}")
        return judgments, labels

    def read_run(self, path: str) -> cf.Run:
        """Read one run."""
        self._check_lower()
        from cranfield.collection.files.many_runs import split_name

        name, path = split_name(path)
        return cf.read_run(path, name=name, **self._run_options)

    def find_runs(self, qrels: str | None, runs: tuple[str, ...] | cf.Runs) -> cf.Runs:
        """Find the runs of RUN; each run is read on first use."""
        if isinstance(runs, cf.Runs):
            return runs
        _refuse_measures(runs)
        if runs:
            self._check_lower()
        return cf.read_runs(runs, on_bad_run=self.on_bad_run, **self._run_options)

    @property
    def _run_options(self) -> dict[str, Any]:
        # Some formats exist for judgments only.
        run_format = "auto" if self.input_format in JUDGMENT_FORMATS else self.input_format
        return {
            "format": run_format,
            "columns": None if self.columns is None else self._column_names[1],
            "system": self.system,
            "numbers": self.numbers,
            "chunk_separator": self.chunk_separator,
            "lower_is_better": not {*self.lower}.isdisjoint(self._score_columns),
            **self.common,
        }

    @property
    def _score_columns(self) -> list[str]:
        """Names of the score column of runs; a name in --columns is last."""
        columns = self.columns or {}
        return ["score", *(columns[k] for k in ("score", "run.score") if k in columns)]

    def _check_lower(self) -> None:
        """Refuse names in --lower except the score column and lower-is-better measures."""
        for name in self.lower:
            if name in self._score_columns:
                continue
            context = click.get_current_context(silent=True)
            names = context and context.params.get("measures")
            requested_measures = cf.parse_measures(names) if names else []
            measures = {measure.label: measure for measure in requested_measures}
            if name not in measures:
                choices = ", ".join([*measures, f"{self._score_columns[-1]} (of RUN)"])
                raise PolicyError(
                    f"unknown name {quote(name)} in --lower; expected one of: {choices}; if it is"
                    f" a column of RUN, make it the score by columns={{'score': '{name}'}}"
                )
            if not measures[name].info.lower_is_better:
                raise PolicyError(
                    f"--lower requires a measure for which lower is better, got {name}"
                )


def _refuse_measures(runs: tuple[str, ...]) -> None:
    """Refuse measures among the runs of a command that has --measure."""
    context = click.get_current_context(silent=True)
    if context is None or "measures" not in context.params:
        return
    for run in runs:
        if run == "-" or has_magic(run) or check_path(Path.exists, run):
            continue
        try:
            cf.parse_measures(run)
        except MeasureError:
            continue
        raise PolicyError(f"{quote(run)} is a measure, not a file; give measures with -m")


READING_NAMES = tuple(field.name for field in fields(ReadingOptions))


def omit_reading(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in READING_NAMES}


Value = TypeVar("Value")


def list_measures() -> list[str]:
    """List names of measures for completion, with usual cutoffs."""
    from cranfield.measures.families import MODULES

    names = ("AP", "P", "R", "RR", "nDCG", "Judged", "Success", "ERR", "RBP")
    return [*MODULES, *(f"{name}@{depth}" for name in names for depth in (5, 10, 20, 100, 1000))]


def make_measures_option(default: tuple[str, ...], **attributes: Any) -> declaring.Decorator:
    return declaring.option(
        "--measure",
        "measures",
        type=declaring.KnownName(list_measures),
        default=default,
        show_default=" ".join(default),
        help="Measure, such as nDCG@10 or map; may be given several times.",
        group="Measures",
        argument="measure",
        **attributes,
    )


RANKING_OPTIONS = tuple(field.name for field in fields(Policies))

(max_grade_option,) = make_options("cranfield.judge", "max_grade")

rel_option = declaring.option(
    "--rel",
    type=declaring.IntegerRange(0),
    help="Lowest relevant grade, for measures that do not set it themselves.",
)

_QRELS_OPTIONS = (
    *make_options(
        "cranfield.read_qrels",
        "ungraded grades",
        grades={
            "flag": "--map-grades",
            "metavar": "VALUE=N,...",
            "callback": lambda context, option, text: text and parse_grades(text),
            "help": "How to map labels to grades: words (yes=1,no=0), cut points of numbers"
            " (0.5,0.8), or a regular expression whose group is the grade.",
        },
    ),
    *make_options("cranfield.judge", "lengths groups intents"),
    declaring.option(
        "--aspect",
        "aspects",
        metavar="NAME=QRELS",
        help="Judgments of an aspect other than relevance, such as credibility; may be given"
        " several times.",
    ),
)


def _make_judging_options(*options: declaring.Decorator) -> declaring.Decorator:
    """Make the options of reading and judging, with additional options of judgments."""
    names, exclude = f"compat {' '.join(RANKING_OPTIONS)} exclude", {"metavar": "self|FILE"}
    policy_options = make_options("cranfield.judge", names, exclude=exclude)
    return declaring.with_options(
        declaring.set_group("Judging", (rel_option, *policy_options))
        + declaring.set_group("Input", (*reading_options, *options, *_QRELS_OPTIONS))
        + declaring.set_group("Work", make_options("cranfield.judge", "jobs backend"))
    )


WORK = ("jobs", "backend")  # options of parallel work, which do not change results
POLICIES = ("rel", "compat", *RANKING_OPTIONS)  # options that define how runs are judged and scored

DOCUMENT_OPTIONS = ("exclude", "lengths", "groups", "intents", "aspects")
"""Options that name files with data on documents and topics, except relevance judgments."""

judging_options = _make_judging_options(subtopics_option)  # options of reading and judging

document_judging_options = _make_judging_options()

RUN_SETTINGS = (
    "input-format encoding system columns lower separator numbers on-duplicate chunk-separator"
    " on-bad-run"
)
"""Options of reading runs that most commands move to the file of settings."""

READING_SETTINGS = f"{RUN_SETTINGS} subtopics ungraded map-grades"
"""Options of reading runs and judgments that most commands move to the file of settings."""

DOCUMENT_JUDGING_SETTINGS = (
    f"{' '.join(RANKING_OPTIONS)} exclude lengths groups intents aspect backend {RUN_SETTINGS}"
    " ungraded map-grades"
).replace("_", "-")
"""Options that all commands but `evaluate` move to the file of settings, without subtopics."""

JUDGING_SETTINGS = f"{DOCUMENT_JUDGING_SETTINGS} subtopics"


def list_run_paths(runs: cf.Runs) -> list[str]:
    return [path for k in range(len(runs)) if (path := runs.get_path(k)) is not None]


def compute_from_runs(
    compute: Callable[..., Value],
    qrels: str,
    runs: tuple[str, ...] | cf.Runs,
    *,
    aspects: tuple[str, ...] = (),
    reading: ReadingOptions | None = None,
    **options: Any,
) -> Value:
    """Check the options of judging, read runs and judgments, and pass all to a function."""
    from cranfield.collection.judged.judging import hint_at_order

    reading, judging = reading or ReadingOptions.from_options(options), omit_reading(options)
    make_policies(judging["compat"], **{name: judging.get(name) for name in RANKING_OPTIONS})
    subtopics = True if judging.get("intents") is not None else None
    with_order_hint = partial(
        hint_at_order,
        runs,
        qrels,
        "QRELS comes first: QRELS RUN...",
        format=reading.input_format,
        system=reading.system,
        columns=reading.columns,
        **reading.common,
    )
    with with_order_hint():
        run_list = reading.find_runs(qrels, runs)
        judgments = reading.read_qrels(qrels, subtopics)
    with with_order_hint(), show_judging_progress(run_list) as judging["progress"]:
        judging["aspects"] = parse_pairs(aspects, "--aspect", "NAME=QRELS")
        return compute(run_list, judgments, **judging)


def evaluate_runs(
    qrels: str,
    runs: tuple[str, ...] | cf.Runs,
    measures: Iterable[str | cf.Measure],
    *,
    rel: int | None,
    compat: str | None,
    **judging: Any,
) -> cf.Evaluation:
    """Read, judge and score runs; warn of missing judgments and of options without effect."""
    from cranfield.evaluation.evaluation import list_unused

    measure_list = cf.parse_measures(measures, compat=compat, rel=rel)
    judged = compute_from_runs(cf.judge, qrels, runs, compat=compat, **judging)
    evaluation = cf.score(judged, measure_list, compat=compat)
    evaluation.warn()
    unused_options = list_unused(measure_list)
    if rel is not None and measure_list == cf.parse_measures(measures, compat=compat, rel=rel + 1):
        unused_options.append("rel")
    declaring.warn_unused(unused_options, "no requested measure uses it")
    return evaluation
