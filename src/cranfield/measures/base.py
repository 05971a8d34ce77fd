"""Base class of measures: immutable objects with a name and parameters, such as a cutoff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, ClassVar, Never, Self, TypeVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import ArgumentError, CranfieldError, MeasureError
from cranfield.base.scale_types import Scale
from cranfield.base.spec import Spec, flag, format_short, format_value, integer, optional, parameter
from cranfield.collection.judged.coverage import describe_input
from cranfield.collection.judged.judged_runs import JudgedRuns, make_grade_runs
from cranfield.measures.families import ALIASES, KINDS, MODULES, REGISTRY


@dataclass(frozen=True)
class Info:
    """Declaration of a measure, from which documentation and messages are generated.

    Attributes
    ----------
    name, aliases
        The name in text forms, and other names that are accepted.
    summary
        One sentence on the quantity that the measure computes.
    formula
        LaTeX, in the notation of the field: RB recall base, k cutoff, r rank, g gain, g* gain in
        the ideal ranking; A is the set of relevant documents and B the set of retrieved documents.
    source
        The works that introduced the measure, by authors and year, separated by semicolons.
    parameter_sources
        Further works, by the parameter to which they apply: the key `denominator='min'` stands for
        this value, and `multiple` for any value except the default.
    range
        Lowest and highest possible score, which may depend on the parameters.
    family
        The group of the catalogue that lists the measure.
    at_parameter
        The parameter that is written after the @.
    at_usage
        Whether the parameter after the @ is `required`, `optional` or not allowed (`none`).
    lower_is_better
        Whether lower scores are better.
    aggregate
        Aggregate of the scores over topics: `mean`, `sum` or `geometric`.
    needs
        Requirements, in words; empty if binary judgments suffice.
    inputs
        Required data besides judgments and rankings, by name: `intents`, `lengths`,
        `groups`, `aspects`, `columns` (of the judgments), `queries` or `clicks` of sessions.
    scale, scale_note
        Scale type of the scores for any parameters, if runs are ordered by their scores; and a
        note, such as on the total orders of Ferrante, Ferro and Pontarollo (2019).
    elsewhere
        Names in other tools and in papers, and related measures of this library, by a label.
    beyond_grades
        Data, other than grades and `inputs`, on which scores depend, in words.
    beyond_length
        Data, other than grades, on which comparisons of rankings of different lengths depend, in
        words.
    is_monotone
        Whether swaps and replacements that improve a run never lower its score, provided that
        gains increase with the grade.
    ignores_order
        Whether runs of equal length score the same if they have the same number of documents of
        each grade.
    needs_one_size
        Whether scores are equally spaced only among retrieved sets of one size.
    is_linear
        Whether the score is a sum over the retrieved documents of terms that depend only on the
        rank of each document, its grade and its `inputs`.
    expectation
        Method that computes the mean score over all orders of tied documents: `documents`, `pairs`
        or `stop` of :func:`cranfield.tie_ranges`; empty if there is no method.
    depends_on_others
        Whether the scores of a system on a topic depend on other systems or other topics, so that
        they cannot be computed separately.
    """

    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    formula: str = ""
    source: str = ""
    parameter_sources: Mapping[str, str] = field(default_factory=dict)
    range: tuple[float, float] = (0.0, 1.0)
    family: str = ""
    at_parameter: str = "cutoff"
    at_usage: str = "optional"
    lower_is_better: bool = False
    aggregate: str = "mean"
    needs: str = ""
    inputs: tuple[str, ...] = ()
    scale: Scale = Scale.ORDINAL
    scale_note: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    beyond_grades: str = ""
    beyond_length: str = ""
    is_monotone: bool = False
    ignores_order: bool = False
    needs_one_size: bool = False
    is_linear: bool = False
    expectation: str = ""
    depends_on_others: bool = False

    @property
    def sources(self) -> str:
        """Works to cite for the measure, followed by works for values of its parameters."""
        parameter_sources = (
            f"{condition}: {work}" for condition, work in self.parameter_sources.items()
        )
        return "; ".join((self.source, *parameter_sources))


MAX_SCORED_LENGTH = 5
"""Maximum length of runs for which all runs are scored."""

MAX_SCORED_RUNS = 1_500
"""Maximum number of runs to score; enough for runs of five documents with grades 0 to 3."""

MAX_TRIED_GRADE = 5
"""Highest grade with which spacing is tested; above it, spacing is assumed to stay the same."""

DUPLICATE_TOLERANCE = 1e-13
"""Values that differ by at most this fraction of the largest absolute value count as equal."""

STEP_TOLERANCE = 1e-6
"""Steps that differ by at most this fraction of the smallest step count as equal."""

MAX_SUMMED_RANKS = 1 << 20
"""Maximum cutoff of measures that sum over all ranks, including ranks without documents."""


def check_ranks(cutoff: int, name: object) -> None:
    """Refuse a cutoff above `MAX_SUMMED_RANKS`, as all ranks up to it need memory."""
    if cutoff > MAX_SUMMED_RANKS:
        raise MeasureError(
            f"{name} sums over all ranks up to its cutoff, which must be at most"
            f" {MAX_SUMMED_RANKS:,}, got {cutoff:,}"
        )


class Measure(Spec):
    """Base class of measures, with parameters.

    The text form `str(measure)` is the identity of a measure: it determines equality and hash, and
    :func:`parse_measure` reads it back. `measure @ 10` sets the cutoff (or `Info.at_parameter`),
    and `measure(rel=2)` other parameters.

    Examples
    --------
    >>> from cranfield.measures import AP, nDCG
    >>> nDCG @ 10
    nDCG@10
    >>> AP(rel=2) @ 100 == AP(cutoff=100, rel=2)
    True
    """

    cutoff: int | None = parameter(
        None, optional(integer(1)), "number of top ranks to evaluate; all ranks by default"
    )
    judged_only: bool = parameter(
        False, flag, "whether unjudged documents are removed first (condensed list)"
    )

    error = MeasureError
    info: ClassVar[Info] = Info("")
    kind: ClassVar[str] = KINDS[0]
    data_class: ClassVar[type[Any]] = JudgedRuns
    """Class of the data that the measure scores."""
    scale_source: ClassVar[str] = "measure"
    """Who declared the scale: `measure`, or `user` for one passed to :func:`cranfield.define`."""
    inner_example: ClassVar[str] = ""
    """Example of an inner measure, for messages of measures that require one."""
    shared: ClassVar[dict[str, Any]] = {}
    """Attributes of :class:`Info` that derived measures inherit."""
    scores_cut_rankings: ClassVar[bool] = True
    """Whether `values` takes rankings that are already condensed and cut off."""

    def __init_subclass__(cls, **attributes: Any) -> None:
        super().__init_subclass__()
        cls.shared = {}
        for base in reversed(cls.__bases__):
            cls.shared |= getattr(base, "shared", {})
        cls.shared |= attributes

    def __init__(self, /, **parameters: Any) -> None:
        super().__init__(**parameters)
        if self.cutoff is not None and not self.takes_cutoff():
            raise MeasureError(f"{self.info.name} takes no cutoff, got {self.cutoff}")
        bounds = self._compute_score_range()
        if bounds != self.info.range:
            vars(self)["info"] = replace(self.info, range=bounds)

    def _compute_score_range(self) -> tuple[float, float]:
        """Return bounds of the scores, which depend on parameters such as gains below 0."""
        low, high = self.info.range
        kind = getattr(getattr(self, "gains", None), "kind", None)
        has_losses = isinstance(kind, tuple) and any(gain < 0 for _, gain in kind)
        return (float("-inf") if has_losses else low), high

    @classmethod
    def base_name(cls) -> str:
        return cls.info.name

    def score(self, judged: JudgedRuns) -> Floats:
        """Score each ranking; shape (topics, systems). Undefined scores are usually 0."""
        self.require_complete()
        self.require_readable(judged)
        return self.values(self.cut_off(judged))

    def cut_off(self, judged: JudgedRuns) -> JudgedRuns:
        """Condense rankings and cut them off, as the parameters of the measure require."""
        view = judged.condense() if self.judged_only else judged
        return view if self.cutoff is None else view.top(self.cutoff)

    def values(self, judged: Any) -> Floats:
        """Score rankings that are already condensed and cut off; shape (topics, systems)."""
        raise NotImplementedError

    def require_readable(self, judged: Any) -> None:
        """Refuse data that the measure cannot score."""
        if not isinstance(judged, self.data_class):
            raise MeasureError(
                f"{self} is computed from {self.data_class.noun}, got {describe_input(judged)}"
            )
        if self.data_class is JudgedRuns and judged.policies.ties == "expected":
            raise MeasureError(
                f"{self} requires one order of tied documents, got ties='expected'; use ties='trec'"
            )

    def require_complete(self) -> None:
        """Refuse a measure without a required parameter after the @."""
        name, parameter_name = self.info.name, self.info.at_parameter
        if self.info.at_usage == "required" and getattr(self, parameter_name) is None:
            example = 10 if parameter_name == "cutoff" else 0.1
            raise MeasureError(f"{name} requires a {parameter_name}, such as {name}@{example}")

    def __call__(self, /, *arguments: Never, **parameters: Any) -> Self:
        if arguments:
            hint = ""
            if self.info.at_usage != "none" and isinstance(arguments[0], (int, float)):
                hint = f"; write a {self.info.at_parameter} as {self.name} @ {arguments[0]}"
            raise ArgumentError(
                f"parameters of {self.name} must be named, got {arguments[0]!r:.60}{hint}"
            )
        return super().__call__(**parameters)

    def __matmul__(self, cutoff: Any) -> Self:
        if self.info.at_usage == "none":
            raise MeasureError(f"{self.info.name} takes no cutoff, got {cutoff}")
        if (
            isinstance(cutoff, float)
            and self.info.at_parameter == "cutoff"
            and "p" in self.parameters
        ):
            raise MeasureError(
                f"cutoff must be an integer, got {cutoff}; did you mean {self.name}(p={cutoff})?"
            )
        return self._with_parameters({self.info.at_parameter: cutoff})

    @classmethod
    def takes_cutoff(cls) -> bool:
        """Return True if the measure can have a cutoff after the @."""
        return cls.info.at_parameter == "cutoff" and cls.info.at_usage != "none"

    @classmethod
    def list_parameter_names(cls) -> list[str]:
        """Return the names of the parameters, with `cutoff` and `judged_only` last."""
        common = [name for name in ("cutoff", "judged_only") if name in cls.parameters]
        own = [name for name in cls.parameters if name not in common]
        return [*own, *(name for name in common if name != "cutoff" or cls.takes_cutoff())]

    @property
    def name(self) -> str:
        """Name without parameters."""
        return self.info.name

    @property
    def source(self) -> str:
        """Works to cite for the measure with its parameters, by authors and year.

        Examples
        --------
        >>> from cranfield.measures import nDCG
        >>> nDCG.source
        'Järvelin and Kekäläinen (2002); Burges and others (2005)'
        >>> nDCG(discount="max(1,log2(rank))").source
        'Järvelin and Kekäläinen (2002)'
        """
        works = [self.info.source]
        for condition, source in self.info.parameter_sources.items():
            name, _, value = condition.partition("=")
            setting = getattr(self, name)
            # Works on a discount apply to its form, with any base of the logarithm.
            text = repr(setting.form) if hasattr(setting, "form") else format_value(setting)
            applies = text == value if value else setting != self.parameters[name].default
            if applies and source not in works:
                works.append(source)
        return "; ".join(works)

    @property
    def label(self) -> str:
        """Label in tables: the text by which the measure was requested, else its text form."""
        return str(vars(self).get("label", self))

    def with_label(self, text: str) -> Self:
        """Return the measure with another label, a text that parses to the same measure."""
        relabelled = copy(self)
        vars(relabelled)["label"] = text
        return relabelled

    @property
    def scale(self) -> Scale:
        """Scale type of the scores, for the measure's own order of runs on one topic.

        The scale type holds for any grades, and depends on parameters and cutoff: RR@1 (0 or 1) and
        RR@2 (0, 1/2 or 1) are on interval scales, RR@3 is not. It is the highest type that is
        known: a measure that is reported as ordinal may be on an interval scale.
        """
        grades = sorted({*range(1, MAX_TRIED_GRADE + 1), *self._yield_parameter_grades()})
        is_interval = self.info.scale < Scale.INTERVAL and all(map(self.is_evenly_spaced, grades))
        return Scale.INTERVAL if is_interval else self.info.scale

    def find_grade_scale(self, max_grade: int) -> Scale:
        """Return the scale type for grades 0 to `max_grade`; that of ERR@1, for example, varies."""
        if self.info.scale < Scale.INTERVAL and self.is_evenly_spaced(max(max_grade, 1)):
            return Scale.INTERVAL
        return self.info.scale

    def is_evenly_spaced(self, max_grade: int) -> bool:
        """Return True if all values are known to be equally spaced, for grades 0 to `max_grade`.

        By default this is tested by scoring all possible runs, if only a few ranks count. A
        subclass may derive the result from its formula instead.
        """
        is_built_in = (
            self.kind == KINDS[0] and self.info.name in MODULES and self.data_class is JudgedRuns
        )
        length, max_grade = self.last_rank, min(max_grade, MAX_TRIED_GRADE)
        if not is_built_in or self.info.inputs or self.info.beyond_grades:
            return False
        if length is None or length > MAX_SCORED_LENGTH:
            return False
        n_runs = sum((max_grade + 1) ** size for size in range(length + 1))
        return n_runs <= MAX_SCORED_RUNS and _are_scores_evenly_spaced(self, length, max_grade)

    def _yield_parameter_grades(self) -> Iterator[int]:
        """Yield `rel`, and each grade of `gains` and the grade after it, where steps may differ."""
        yield max(getattr(self, "rel", 1), 1)
        kind = getattr(getattr(self, "gains", None), "kind", None)
        if isinstance(kind, tuple):
            yield from (max(grade + step, 1) for grade, _ in kind for step in (0, 1))

    @property
    def uses_highest_grade(self) -> bool:
        """True if scores depend on the highest grade of all judgments, as max_grade is not set."""
        return "max_grade" in self.parameters and self.max_grade is None  # type: ignore[attr-defined]

    @property
    def last_rank(self) -> int | None:
        """Last rank that can change the score; None if every rank can."""
        return self.cutoff

    @property
    def beyond_length(self) -> str:
        """Data, other than grades, on which comparisons of rankings of different lengths depend."""
        return self.info.beyond_length

    @property
    def needs_one_size(self) -> bool:
        """True if scores are on an interval scale only among retrieved sets of one size.

        SetP, SetF and SetE divide by the size of the set. For example, sets of up to two documents
        have SetP 0, 1/2 or 1, but sets of up to three documents also have SetP 1/3 or 2/3, so that
        steps between values differ (Ferrante, Ferro and Fuhr 2021, section 3.4). A cutoff does not
        change this, as rankings may be shorter; but at cutoff 1 all nonempty sets have one size.
        """
        return self.info.needs_one_size and self.cutoff != 1

    @property
    def is_linear(self) -> bool:
        """True if the score is a sum of terms, one for each document; see :class:`Info`."""
        # In a condensed list the rank depends on which documents above are judged.
        return self.info.is_linear and not self.judged_only

    @property
    def needs_ideal(self) -> bool:
        """True if the order of runs depends on the ideal ranking of the topic."""
        return False

    def __str__(self) -> str:
        value = getattr(self, self.info.at_parameter)
        value_text = format_short(value) if isinstance(value, float) else value
        suffix = "" if value is None else f"@{value_text}"
        return self.base_name() + self.format_settings(self.info.at_parameter) + suffix


@cache
def _make_all_runs(length: int, max_grade: int) -> JudgedRuns:
    """Make all runs of up to `length` documents, on a topic with enough documents per grade."""
    grades = [
        (*run, *(-1,) * (length - size))
        for size in range(length + 1)
        for run in product(range(max_grade + 1), repeat=size)
    ]
    return make_grade_runs(
        np.array(grades), np.full(length, max_grade), max_grade, has_every_grade=True
    )


@cache
def _are_scores_evenly_spaced(measure: Measure, length: int, max_grade: int) -> bool:
    """Return True if the scores of all runs of up to `length` ranks are equally spaced.

    The result is False for a measure that cannot score the runs, and for a single value at the
    highest grade tried, as the relevant grades may be higher.
    """
    try:
        values = np.unique(measure.score(_make_all_runs(length, max_grade))[0])
    except CranfieldError:
        return False
    steps = np.diff(values)
    steps = steps[~(steps <= DUPLICATE_TOLERANCE * float(np.abs(values).max()))]
    if not steps.size:
        return max_grade < MAX_TRIED_GRADE
    return bool(np.ptp(steps) <= STEP_TOLERANCE * steps.min())


M = TypeVar("M", bound=type[Measure])


def measure(name: str, **attributes: Any) -> Callable[[M], M]:
    """Decorate a class of measures: set its :class:`Info` and add it to the registry.

    Parameters
    ----------
    name
        Name in text forms.
    attributes
        The other attributes of :class:`Info`; they override those of the base classes.
    """
    aliases: tuple[str, ...] = attributes.pop("aliases", ())

    def register(cls: M) -> M:
        is_listed = MODULES.get(name) == cls.__module__ and name not in REGISTRY.components
        for label in () if is_listed else (name, *aliases):
            if label in REGISTRY or label in ALIASES:
                raise MeasureError(f"measure {label} already exists")
        ALIASES.update(dict.fromkeys(aliases, name))
        if "cutoff" not in cls.parameters:
            attributes["at_usage"] = "none"
        synonyms = tuple(REGISTRY.find_aliases(name))
        cls.info = Info(name=name, aliases=synonyms, **{**cls.shared, **attributes})
        REGISTRY[name] = cls
        return cls

    return register
