"""Base class of measures: immutable objects with a name, parameters and a cutoff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Never, Self, TypeVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import ArgumentError, MeasureError, numbers, quoted, warn
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.spec import Spec, flag, integer, optional, parameter, short, text_of
from cranfield.collection.judged.coverage import describe_input
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.families import ALIASES, HOME, KINDS, REGISTRY
from cranfield.measures.spacing import MAX_TRIED_GRADE, evenly_spaced, few_runs
from cranfield.scores.one_measure import direction_note, suggests_lower


@dataclass(frozen=True)
class Info:
    """Declaration of a measure, from which documentation and messages are generated.

    Attributes
    ----------
    name, aliases
        Its name in text, and other names that are understood.
    summary
        One sentence on what it measures.
    formula
        In LaTeX, in the notation of the field: RB recall base, k cutoff, g gain, r rank.
    source
        The works that introduced the measure, by authors and year, separated by semicolons.
    parameter_sources
        Further works, by the parameter that they are for: `denominator='min'` applies to this
        value, `multiple` to any value but the default.
    range
        Lowest and highest possible score.
    family
        The group of the catalogue that lists it.
    at_parameter
        The parameter that is written after the @.
    at_usage
        Whether that parameter is `required`, `optional` or `none`.
    lower_is_better
        Whether lower scores are better.
    aggregate
        How scores over topics become one number: `mean`, `sum` or `geometric`.
    needs
        What it needs beyond binary judgments, in words.
    inputs
        Data that it needs besides judgments and rankings, by name: `intents`, `lengths`,
        `groups`, `aspects`, `columns` (of the judgments), `queries` or `clicks` of sessions.
    scale, scale_note
        The scale that scores have at least, given the order of rankings that the measure induces;
        and a note, such as on the total orders of Ferrante, Ferro and Pontarollo (2019).
    elsewhere
        Names of the same measure in other tools.
    beyond_grades, beyond_length
        Data on which scores depend besides the grades of a run and `inputs`, in words; and data
        on which the order of rankings of several lengths or topics depends.
    monotone
        Whether swaps and replacements that improve a run never lower its score, as long as gains
        rise with the grade.
    counts
        Whether runs of equal length score the same if they have the same number of documents of
        each grade.
    one_size
        Whether scores are equally spaced only among retrieved sets of one size.
    linear
        Whether the score is a sum over the retrieved documents of terms that depend only on grade
        and rank, whatever else is retrieved or judged.
    expectation
        How the mean score over all orders of tied documents is computed: `documents`, `pairs` or
        `stop` of :func:`cranfield.tie_ranges`; empty if it is not available.
    depends_on_others
        Whether the scores of a system depend on those of other systems, or on all its topics
        together, so that it cannot be scored alone.
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
    monotone: bool = False
    counts: bool = False
    one_size: bool = False
    linear: bool = False
    expectation: str = ""
    depends_on_others: bool = False

    @property
    def sources(self) -> str:
        """All works: those of the measure, then those of values of its parameters."""
        parameter_sources = (
            f"{condition}: {work}" for condition, work in self.parameter_sources.items()
        )
        return "; ".join((self.source, *parameter_sources))


MAX_SUMMED_RANKS = 1 << 20
"""Maximum cutoff of measures that sum over all ranks, including ranks without documents."""


def check_ranks(ranks: int, name: object) -> None:
    """Refuse a cutoff that would take all memory."""
    if ranks > MAX_SUMMED_RANKS:
        raise MeasureError(
            f"{name} sums all ranks down to its cutoff, which must be at most {MAX_SUMMED_RANKS:,}"
        )


class Measure(Spec):
    """A measure with its parameters.

    Its text form is its identity: it is `str(measure)`, it determines equality and hash, and
    :func:`parse_measure` reads it back. `measure @ 10` sets the cutoff and `measure(rel=2)` the
    parameters.

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
    reads: ClassVar[type[Any]] = JudgedRuns
    """Class of the data that it scores."""
    scale_source: ClassVar[str] = "measure"
    """Who declared the scale: `measure`, or `user` for one passed to :func:`cranfield.define`."""
    inner_example: ClassVar[str] = ""
    """Example of an inner measure, for a measure of a measure."""
    shared: ClassVar[dict[str, Any]] = {}
    """Declarations, by keyword, that hold for all derived measures."""
    scores_cut_rankings: ClassVar[bool] = True
    """Whether it scores rankings already condensed and cut off, also those of one intent."""

    def __init_subclass__(cls, **shared: Any) -> None:
        super().__init_subclass__()
        cls.shared = {}
        for base in reversed(cls.__bases__):
            cls.shared |= getattr(base, "shared", {})
        cls.shared |= shared

    def __init__(self, /, **parameters: Any) -> None:
        super().__init__(**parameters)
        if self.cutoff is not None and not self.takes_cutoff():
            raise MeasureError(f"{self.info.name} takes no cutoff")

    @classmethod
    def base_name(cls) -> str:
        return cls.info.name

    def score(self, judged: JudgedRuns) -> Floats:
        """Score every ranking; shape (topics, systems), and 0 where the measure is undefined."""
        self.require_complete()
        self.require_readable(judged)
        return self.values(self.cut_off(judged))

    def cut_off(self, judged: JudgedRuns) -> JudgedRuns:
        """Condense rankings and cut them off, by the parameters of the measure."""
        view = judged.condensed() if self.judged_only else judged
        return view if self.cutoff is None else view.top(self.cutoff)

    def values(self, judged: Any) -> Floats:
        """Compute the scores of rankings that are condensed and cut off already."""
        raise NotImplementedError

    def require_readable(self, judged: Any) -> None:
        """Refuse data of a class that the measure does not score."""
        if not isinstance(judged, self.reads):
            raise MeasureError(
                f"{self} is computed from {self.reads.what}, got {describe_input(judged)}"
            )
        if self.reads is JudgedRuns and judged.policies.ties == "expected":
            raise MeasureError(
                f"{self} must be scored in one order of tied documents, got ties='expected'"
            )

    def require_complete(self) -> None:
        """Refuse a measure without the parameter that must follow its @."""
        if self.info.at_usage == "required" and getattr(self, self.info.at_parameter) is None:
            example = 10 if self.info.at_parameter == "cutoff" else 0.1
            name = self.info.name
            raise MeasureError(f"{name} needs a {self.info.at_parameter}, such as {name}@{example}")

    def __call__(self, /, *arguments: Never, **parameters: Any) -> Self:
        if arguments:
            raise ArgumentError(
                f"parameters of {self.name} must be named; write a cutoff as"
                f" {self.name} @ {arguments[0]}"
            )
        return super().__call__(**parameters)

    def __matmul__(self, cutoff: Any) -> Self:
        if self.info.at_usage == "none":
            raise MeasureError(f"{self.info.name} takes no cutoff")
        if (
            isinstance(cutoff, float)
            and self.info.at_parameter == "cutoff"
            and "p" in self.parameters
        ):
            raise MeasureError(
                f"cutoff must be an integer, got {cutoff}; did you mean {self.name}(p={cutoff})?"
            )
        return self._with({self.info.at_parameter: cutoff})

    @classmethod
    def takes_cutoff(cls) -> bool:
        """Return True if the measure can have a cutoff behind the @."""
        return cls.info.at_parameter == "cutoff" and cls.info.at_usage != "none"

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of the parameters, those of the measure itself first."""
        last = [name for name in ("cutoff", "judged_only") if name in cls.parameters]
        new_names = [name for name in cls.parameters if name not in last]
        return [*new_names, *(name for name in last if name != "cutoff" or cls.takes_cutoff())]

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
            # A discount is identified by its form; the base of the logarithm may vary.
            text = repr(setting.form) if hasattr(setting, "form") else text_of(setting)
            applies = text == value if value else setting != self.parameters[name].default
            if applies and source not in works:
                works.append(source)
        return "; ".join(works)

    @property
    def label(self) -> str:
        """Label in tables: the text by which it was requested, otherwise its text form."""
        return str(vars(self).get("label", self))

    def with_label(self, text: str) -> Self:
        """Return the same measure with a text that reads back as it."""
        relabelled = copy(self)
        vars(relabelled)["label"] = text
        return relabelled

    @property
    def scale(self) -> Scale:
        """The scale for the measure's own order of runs on one topic, with any grades.

        It depends on parameters and cutoff: RR@1 is 0 or 1, and RR@2 is 0, 1/2 or 1, which are
        interval scales; RR@3 is not. It is the highest scale that is known: a measure declared
        ordinal may be interval.
        """
        grades = sorted({*range(1, MAX_TRIED_GRADE + 1), *self._named_grades()})
        higher = self.info.scale < Scale.INTERVAL and all(map(self.evenly_spaced, grades))
        return Scale.INTERVAL if higher else self.info.scale

    def scale_with(self, highest: int) -> Scale:
        """Return the scale for grades 0 to `highest`: ERR@1 is interval for grades 0 and 1 only."""
        if self.info.scale < Scale.INTERVAL and self.evenly_spaced(max(highest, 1)):
            return Scale.INTERVAL
        return self.info.scale

    def evenly_spaced(self, highest: int) -> bool:
        """Return True if all values are known to be equally spaced, for grades 0 to `highest`.

        By default all runs are scored, where only a few ranks count; a subclass may state a law.
        """
        is_own = self.kind == KINDS[0] and self.info.name in HOME and self.reads is JudgedRuns
        if not is_own or self.info.inputs or self.info.beyond_grades or self.deepest is None:
            return False
        highest = min(highest, MAX_TRIED_GRADE)
        return few_runs(self.deepest, highest) and _evenly_spaced(self, highest)

    def _named_grades(self) -> Iterator[int]:
        """Yield the grades that parameters name: with higher ones gains may be unequal."""
        yield max(getattr(self, "rel", 1), 1)
        kind = getattr(getattr(self, "gains", None), "kind", None)
        if isinstance(kind, tuple):
            yield from (max(grade + step, 1) for grade, _ in kind for step in (0, 1))

    @property
    def uses_highest_grade(self) -> bool:
        """True if scores depend on the highest grade of all judgments, as max_grade is not set."""
        return "max_grade" in self.parameters and self.max_grade is None  # type: ignore[attr-defined]

    @property
    def deepest(self) -> int | None:
        """The last rank that can change the score; None if there is none."""
        return self.cutoff

    @property
    def beyond_length(self) -> str:
        """Data besides the grades on which the order of rankings of several lengths depends."""
        return self.info.beyond_length

    @property
    def needs_one_size(self) -> bool:
        """True if it is an interval scale only for retrieved sets of one size.

        So are SetP, SetF and SetE, also with a cutoff, as a ranking may end before it: with one or
        two documents SetP can be 0, 1/2 and 1, with three 1/3 and 2/3 as well, and steps are 1/3
        and 1/6 (Ferrante, Ferro and Fuhr 2021, section 3.4). P divides by the cutoff and SetR by
        the recall base, not by the size of the set. At rank 1 there is one size, besides none.
        """
        return self.info.one_size and self.cutoff != 1

    @property
    def linear(self) -> bool:
        """True if the score is a sum over documents of terms that depend only on grade and rank."""
        # In a condensed list the rank depends on which documents above are judged.
        return self.info.linear and not self.judged_only

    @property
    def needs_ideal(self) -> bool:
        """True if the order of runs depends on the ideal ranking of the topic."""
        return False

    def __str__(self) -> str:
        suffix_value = (
            getattr(self, self.info.at_parameter) if self.info.at_usage != "none" else None
        )
        cutoff = short(suffix_value) if isinstance(suffix_value, float) else suffix_value
        suffix = "" if suffix_value is None else f"@{cutoff}"
        return self.base_name() + self.parameter_text(self.info.at_parameter) + suffix


@cache
def _evenly_spaced(measure: Measure, highest: int) -> bool:
    return evenly_spaced(measure.score, measure.deepest or 1, highest)


M = TypeVar("M", bound=type[Measure])


def measure(name: str, **about: Any) -> Callable[[M], M]:
    """Make a class a measure: declare what it is and enter it in the registry.

    Parameters
    ----------
    name
        Its name in text. Those of cranfield's own measures, and their aliases, stand in the list of
        :mod:`cranfield.measures.families`.
    about
        The other attributes of :class:`Info`; those that its base classes share come first.
    """

    aliases: tuple[str, ...] = about.pop("aliases", ())

    def enter(cls: M) -> M:
        is_listed = HOME.get(name) == cls.__module__ and name not in REGISTRY.components
        for label in () if is_listed else (name, *aliases):
            if label in REGISTRY or label in ALIASES:
                raise MeasureError(f"measure {label} already exists")
        ALIASES.update(dict.fromkeys(aliases, name))
        if "cutoff" not in cls.parameters:
            about["at_usage"] = "none"
        synonyms = tuple(REGISTRY.other_names(name))
        cls.info = Info(name=name, aliases=synonyms, **{**cls.shared, **about})
        REGISTRY[name] = cls
        return cls

    return enter


def define(
    name: str,
    function: Callable[[JudgedRuns], Any],
    *,
    summary: str = "",
    range: tuple[float, float] = (0.0, 1.0),
    lower_is_better: bool | None = None,
    aggregate: str = "mean",
    source: str = "user-defined",
    scale: Scale | str | None = None,
) -> Measure:
    """Define a measure of your own; its name then works wherever a measure can be named.

    So do `@` and `judged_only`, as for any other.

    Parameters
    ----------
    name
        An identifier that no measure has yet.
    function
        Takes the judged runs, cut off and condensed as requested, and returns scores of shape
        (topics, systems).
    lower_is_better
        Whether lower scores are better. By default they are not, with a warning if the name
        suggests it.
    summary, range, aggregate, source
        Attributes of its :class:`Info`.
    scale
        The measurement scale of its scores, if you declare one: `nominal`, `ordinal`, `interval` or
        `ratio`. By default it is ordinal.

    Raises
    ------
    MeasureError
        For a name that is taken or not an identifier.

    Examples
    --------
    >>> import cranfield as cf
    >>> last = cf.define("LastRelevant", lambda judged: judged.relevant().largest(
    ...     judged.relevant().rank), range=(0, float("inf")))
    >>> cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["LastRelevant"]).means()["run"][0]
    2.0
    """
    if not name.isidentifier():
        raise MeasureError(
            f"{quoted(name)} is not a valid name of a measure: use letters, digits and _"
        )
    texts = (name, summary, aggregate, source)
    if not all(isinstance(text, str) for text in texts):
        raise MeasureError("name, summary, aggregate and source of a measure must be strings")
    bounds = numbers(range, "the lowest and the highest score")
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise MeasureError(f"the range of a measure must be two numbers, got {quoted(range)}")

    if lower_is_better is None and suggests_lower(name):
        warn(direction_note(name), stacklevel=2)

    class Defined(Measure):
        def values(self, judged: JudgedRuns) -> Floats:
            scores = np.asarray(function(judged), dtype=np.float64)
            if scores.shape != judged.shape:
                raise MeasureError(
                    f"{name}: expected scores of shape {judged.shape}, got {scores.shape}"
                )
            return scores

    Defined.__doc__ = summary
    if scale is not None:
        Defined.scale_source = "user"
    about = {
        "summary": summary,
        "range": (float(bounds[0]), float(bounds[1])),
        "lower_is_better": bool(lower_is_better),
        "aggregate": aggregate,
        "source": source,
        "scale": Scale.ORDINAL if scale is None else find_scale(scale),
    }
    return measure(name, family="user-defined", **about)(Defined)()
