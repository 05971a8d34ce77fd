"""Options of reading runs or judgments, with the policies of judging."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.base.errors import MeasureError, PolicyError, quoted, warn
from cranfield.cli.options.declaring import (
    READ,
    IntegerRange,
    Named,
    in_group,
    option,
    tell_without_effect,
    with_options,
)
from cranfield.cli.options.output import progress_of
from cranfield.cli.options.signatures import options_of, pairs_of
from cranfield.collection.policies import OF_QRELS, Policies, policies
from cranfield.sources.archives import asks

if TYPE_CHECKING:
    from cranfield.assess.judges.reading import Judge
    from cranfield.collection.files.many_runs import Runs
    from cranfield.collection.files.named_columns import Called
    from cranfield.collection.judged.judged_runs import JudgedRuns
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.measures.base import Measure


def names_of_columns(given: str) -> dict[str, str]:
    """Take `doc=product_id,topic=query` apart."""
    columns = {}
    for one in given.split(","):
        column, sign, name = one.partition("=")
        if not (sign and column.strip() and name.strip()):
            raise PolicyError(f"--columns must be pairs such as doc=NAME, got {quoted(one)}")
        columns[column.strip()] = name.strip()
    return columns


def grades_of_text(given: str) -> dict[str, str] | list[str] | str:
    """Take `Relevant=2,Partly=1` apart, or cut points such as `0.5,0.8`; return a pattern as it is.

    A value may hold commas (`Good, really=3`): it reaches to the next `=`.
    """
    if "(" in given and not re.search(r"=-?\d+$", given):
        return given
    grades: dict[str, str] = {}
    value = ""
    for part in given.split(","):
        start, equals, grade = part.rpartition("=")
        value += start if equals else f"{part},"
        if equals:
            grades[value.strip()] = grade.strip()
            value = ""
    if not grades:
        return given.strip("[] ").split(",")
    return {**grades, value.strip(): ""} if value.strip() else grades


(ungraded_option,) = options_of("cranfield.read_qrels", "ungraded")
(grades_option,) = options_of(
    "cranfield.read_qrels",
    "grades",
    grades={
        "flag": "--map-grades",
        "metavar": "VALUE=N,...",
        "callback": lambda context, option, given: given and grades_of_text(given),
        "help": "Grades of words, as a mapping, cut points between real numbers, as a list, or a"
        " pattern of texts whose group is the grade.",
    },
)
(subtopics_option,) = options_of(
    "cranfield.read_qrels", "subtopics", subtopics={"goes_with": ("QRELS", "--judged")}
)
(separator_option,) = options_of("cranfield.read_runs", "separator")
(numbers_option,) = options_of("cranfield.read_runs", "numbers")
(bad_run_option,) = options_of("cranfield.read_runs", "on_bad_run", on_bad_run={"goes_with": "RUN"})

reading_options = (
    *options_of(
        "cranfield.read_runs",
        "format encoding system columns",
        format={"flag": "--input-format"},
        columns={
            "metavar": "COLUMN=NAME,...",
            "callback": lambda context, option, given: given and names_of_columns(given),
            "help": "Names of columns in tables: doc=product_id,topic=query,grade=gain.",
            "detail": "The prefix run. or qrels. restricts a name to runs or judgments:"
            " qrels.doc=pid.",
        },
    ),
    option(
        "--lower",
        multiple=True,
        metavar="NAME",
        stands_for="lower_is_better",
        help="Scores for which lower is better: a measure of --scores, or the score column of"
        " RUN; may be given several times.",
    ),
    separator_option,
    numbers_option,
    *options_of(
        "cranfield.read_runs", "on_duplicate chunk_separator", chunk_separator={"metavar": "TEXT"}
    ),
    bad_run_option,
)


@dataclass(frozen=True)
class Reading:
    """How runs and judgments are read."""

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

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Reading:
        """Take what is about reading of all that was given to a command."""
        return cls(**{name: given[name] for name in READING if name in given})

    @cached_property
    def _called(self) -> tuple[Called, Called]:
        from cranfield.collection.files.named_columns import shared

        return shared(self.columns, self.system)

    @property
    def _usual(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("encoding", "separator", "on_duplicate")}

    def qrels(self, path: str | None, subtopics: bool | None = None, grades: Any = None) -> Qrels:
        """Read judgments."""
        from cranfield.collection.files.reading import read_qrels

        called: Any = None if self.columns is None else self._called[0]
        subtopics = self.subtopics if subtopics is None else subtopics
        judgments = read_qrels(
            path,
            format=self.input_format,
            subtopics=subtopics,
            columns=called,
            ungraded=self.ungraded,
            grades=self.map_grades if grades is None else grades,
            **self._usual,
        )
        if self.columns is not None:
            # What the judgments did not have, the runs must.
            self._called[1].loose &= self._called[0].met
        return judgments

    def with_judges(
        self, qrels: str, judges: tuple[str, ...], form: str | None, runs: bool
    ) -> tuple[Qrels, tuple[Judge, ...]]:
        """Read judgments, and labels of judges; `--columns` names columns of either, or of runs."""
        from cranfield.assess.judges.reading import read_judges
        from cranfield.collection.files.grade_maps import GradeMap
        from cranfield.collection.files.named_columns import Called, called

        columns = None
        if self.columns is not None:
            people, run = self._called
            both = people.loose
            plain = {name: of for name, of in self.columns.items() if "." not in name}
            names = called(plain, "qrels", None).names
            people.loose = frozenset(names)
        grades = self.map_grades and GradeMap.of(self.map_grades)
        # Words or texts of judges may stand beside integers of people.
        of_people = grades and replace(grades, keeps_integers=True)
        read = self.qrels(qrels, subtopics=False, grades=of_people)
        if self.columns is not None:
            columns = Called("qrels", names, frozenset(people.met | (both if runs else set())))
        usual = "auto" if self.input_format in OF_QRELS else self.input_format
        usual_form = form or usual
        labels = read_judges(
            judges, format=usual_form, columns=columns, grades=grades, **self._usual
        )
        if columns is not None:
            run.loose |= both & columns.met
        return read, labels

    def run(self, path: str) -> Run:
        """Read one run."""
        self._check_lower()
        from cranfield.collection.files.many_runs import named_file
        from cranfield.collection.files.reading import read_run

        name, path = named_file(path)
        return read_run(path, name=name, **self._of_runs)

    def runs(self, qrels: str | None, runs: tuple[str, ...] | Runs) -> Runs:
        """Find the named runs; each is read on first use."""
        from cranfield.collection.files.many_runs import Runs, read_runs

        if isinstance(runs, Runs):
            return runs
        _refuse_measures(runs)
        if runs:
            self._check_lower()
        return read_runs(runs, on_bad_run=self.on_bad_run, **self._of_runs)

    @property
    def _of_runs(self) -> dict[str, Any]:
        # Some formats are those of judgments alone.
        form = "auto" if self.input_format in OF_QRELS else self.input_format
        called = None if self.columns is None else self._called[1]
        return {
            "format": form,
            "columns": called,
            "system": self.system,
            "numbers": self.numbers,
            "chunk_separator": self.chunk_separator,
            "lower_is_better": not {*self.lower}.isdisjoint(self._score_columns),
            **self._usual,
        }

    @property
    def _score_columns(self) -> list[str]:
        """Names of the score column of runs, the given one last."""
        columns = self.columns or {}
        return ["score", *(columns[k] for k in ("score", "run.score") if k in columns)]

    def _check_lower(self) -> None:
        """Refuse names in --lower that are not the score column or a measure of that direction."""
        for name in self.lower:
            if name not in self._score_columns:
                _check_measure(name, self._score_columns[-1])


def _check_measure(name: str, column: str) -> None:
    """Refuse a name in --lower that is not a requested measure, or one with another direction."""
    from cranfield.measures.grammar import parse_measures

    context = click.get_current_context(silent=True)
    asked = () if context is None else context.params.get("asked") or ()
    asked = (asked,) if isinstance(asked, str) else asked
    measures = {one.label: one for one in parse_measures(asked)} if asked else {}
    if name not in measures:
        listed = ", ".join([*measures, f"{column} (of RUN)"])
        raise PolicyError(f"unknown name {quoted(name)} in --lower; expected one of: {listed}")
    if not measures[name].info.lower_is_better:
        raise PolicyError(f"{name} is a measure for which higher is better, got --lower {name}")


def _refuse_measures(runs: tuple[str, ...]) -> None:
    """Refuse measures among the runs, of a command that takes measures."""
    context = click.get_current_context(silent=True)
    if context is None or "asked" not in context.params:
        return
    for one in runs:
        if one == "-" or has_magic(one) or asks(Path.exists, one):
            continue
        from cranfield.measures.grammar import parse_measures

        try:
            parse_measures(one)
        except MeasureError:
            continue
        raise PolicyError(f"{quoted(one)} is a measure, not a file; give measures with -m")


READING = tuple(field.name for field in fields(Reading))
"""Parameters of reading."""


def without_reading(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in READING}


Command = TypeVar("Command", bound=Callable[..., Any])


def one_of(
    name: str, options: Iterable[str], text: str, default: str | None = None, **more: Any
) -> Callable[[Command], Command]:
    return option(
        name,
        type=click.Choice(list(options)),
        default=default,
        show_default=default is not None,
        help=text,
        **more,
    )


def measure_names() -> list[str]:
    """List the measures for completion, with the cutoffs that most people use."""
    from cranfield.measures.families import HOME

    cut = ("AP", "P", "R", "RR", "nDCG", "Judged", "Success", "ERR", "RBP")
    return [*HOME, *(f"{name}@{depth}" for name in cut for depth in (5, 10, 20, 100, 1000))]


def measures_option(default: tuple[str, ...], **more: Any) -> Callable[[Command], Command]:
    return option(
        "--measure",
        "asked",
        type=Named(measure_names),
        metavar="MEASURE",
        multiple=True,
        default=default,
        show_default=" ".join(default),
        help="Measure, such as nDCG@10 or map; may be given several times.",
        group="Measures",
        stands_for="measure",
        **more,
    )


OF_RANKINGS = tuple(field.name for field in fields(Policies))
"""Parameters that say how rankings meet judgments."""

(max_grade_option,) = options_of("cranfield.judge", "max_grade")

rel_option = option(
    "--rel",
    type=IntegerRange(0),
    help="Lowest relevant grade, for measures that do not set it themselves.",
)


def _judging(*more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make the options of reading and judging, with `more` options of judgments."""
    return with_options(
        in_group(
            "Judging",
            (
                rel_option,
                *options_of("cranfield.judge", f"compat {' '.join(OF_RANKINGS)}"),
                *options_of(
                    "cranfield.judge", "exclude", exclude={"metavar": "self|FILE", "type": READ}
                ),
            ),
        )
        + in_group(
            "Input",
            (
                *reading_options,
                *more,
                ungraded_option,
                grades_option,
                *options_of("cranfield.judge", "lengths groups intents", type=READ),
                option(
                    "--aspect",
                    "aspects",
                    multiple=True,
                    metavar="NAME=QRELS",
                    help="Judgments of another aspect than relevance; may be given several times.",
                    type=READ,
                ),
            ),
        )
        + in_group("Work", options_of("cranfield.judge", "jobs backend"))
    )


WORK = ("jobs", "backend")
"""Parameters that say where work is done; they change no result."""


POLICIES = ("rel", "compat", *OF_RANKINGS)
"""Parameters that say how runs are judged."""

_OF_MEASURES = ("lengths", "groups", "intents", "aspects")
"""Parameters of judging that name files which some measures need."""

OF_DOCUMENTS = ("exclude", *_OF_MEASURES)
"""Parameters of judging that name files about documents and topics besides the judgments."""


judging_options = _judging(subtopics_option)
"""The options of reading and judging."""

document_judging_options = _judging()
"""The options of reading and judging where documents are judged, not subtopics."""

RUN_SETTINGS = (
    "input-format encoding system columns lower separator numbers on-duplicate chunk-separator"
    " on-bad-run"
)
"""Options of reading runs that most commands take from a file of settings."""

READING_SETTINGS = f"{RUN_SETTINGS} subtopics ungraded map-grades"
"""The same, with options of reading judgments."""

DOCUMENT_JUDGING_SETTINGS = (
    f"{' '.join(OF_RANKINGS)} exclude lengths groups intents aspect backend {RUN_SETTINGS}"
    " ungraded map-grades"
).replace("_", "-")
"""Options of reading and judging that all commands but `evaluate` take from a file of settings."""

JUDGING_SETTINGS = f"{DOCUMENT_JUDGING_SETTINGS} subtopics"
"""The same, where judgments may be of subtopics."""


def wanted_measures(
    asked: Iterable[str | Measure], rel: int | None, compat: str | None = None
) -> list[Measure]:
    """Parse the requested measures; the package is loaded only if there are any."""
    from cranfield.measures.grammar import parse_measures

    return parse_measures(asked, compat=compat, rel=rel)


def paths_of(runs: Runs) -> list[str]:
    paths = (runs.path(k) for k in range(len(runs)))
    return [path for path in paths if path is not None]


def judged_runs(
    qrels: str,
    runs: tuple[str, ...] | Runs,
    *,
    aspects: tuple[str, ...] = (),
    reading: Reading | None = None,
    **given: Any,
) -> JudgedRuns:
    """Read and judge; policies are checked before any file is read."""
    from cranfield.collection.judged.judging import hint_at_order, judge

    reading, judging = reading or Reading.of(given), without_reading(given)

    policies(judging["compat"], **{name: judging.get(name) for name in OF_RANKINGS})
    subtopics = True if judging.get("intents") is not None else None
    wrong_order = partial(
        hint_at_order,
        runs,
        qrels,
        "QRELS comes first: QRELS RUN...",
        format=reading.input_format,
        encoding=reading.encoding,
        separator=reading.separator,
        system=reading.system,
        columns=reading.columns,
        on_duplicate=reading.on_duplicate,
    )
    with wrong_order():
        many = reading.runs(qrels, runs)
        judgments = reading.qrels(qrels, subtopics)
    with wrong_order(), progress_of(many) as progress:
        return judge(many, judgments, aspects=aspects_of(aspects), progress=progress, **judging)


def aspects_of(given: tuple[str, ...]) -> dict[str, str]:
    """Take `NAME=QRELS` apart."""
    return pairs_of(given, "--aspect", "NAME=QRELS")


def evaluated(
    qrels: str,
    runs: tuple[str, ...] | Runs,
    asked: Iterable[str | Measure],
    *,
    rel: int | None,
    compat: str | None,
    **judging: Any,
) -> Evaluation:
    """Read, judge and score; warn of what the judgments do not cover."""
    from cranfield.collection.judged.coverage import lowest_relevant
    from cranfield.evaluation.evaluation import score

    wanted = wanted_measures(asked, rel, compat)
    judged = judged_runs(qrels, runs, compat=compat, **judging)
    evaluation = score(judged, wanted, compat=compat)
    evaluation.warn()
    needs = " ".join(f"{' '.join(one.info.inputs)} {one.info.needs}" for one in wanted)
    unused = [name for name in _OF_MEASURES if name not in needs]
    if rel is not None and wanted == wanted_measures(asked, rel + 1, compat):
        unused.append("rel")
    tell_without_effect(unused, "no requested measure uses it")
    least = max(map(lowest_relevant, wanted))
    if judged.max_grade < least:
        warn(f"no document is relevant: no judgment has grade {least} or more")
    return evaluation
