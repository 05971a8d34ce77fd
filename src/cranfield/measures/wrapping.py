"""Measures of a measure, such as its version for several intents: `IA(nDCG@10)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Never, Self, TypeVar

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, quoted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Info, Measure, measure
from cranfield.measures.declared import text_of
from cranfield.measures.families import KINDS
from cranfield.measures.grammar import parse_measure


class Wrapping(Measure):
    """A measure made of another one, which stands inside: `Name(inner, option=value)`.

    What is behind an `@` goes to the measure inside, and so do parameters that are not the
    wrapping's own.
    """

    kind = KINDS[1]
    inside = "nDCG@10"
    about: ClassVar[Info] = Info("")
    passes = False
    inner: Measure

    def __init__(self, inner: Measure | str, /, **options: Any) -> None:
        known = self.option_names()
        for name in options:
            if name not in known:
                have = ", ".join(known) or "none"
                raise MeasureError(
                    f"{self.about.name} has no parameter {quoted(name)} (it has: {have})"
                )
        if not isinstance(inner, (str, Measure)):
            kind = inner.__name__ if isinstance(inner, type) else type(inner).__name__
            raise MeasureError(f"{self.about.name}: {kind} is neither a measure nor its text")
        vars(self)["inner"] = parse_measure(inner) if isinstance(inner, str) else inner
        if self.inner.reads is not JudgedRuns:
            reads, wanted = self.inner.reads.what, JudgedRuns.what
            raise MeasureError(f"{self.about.name}: {inner} is computed from {reads}, not {wanted}")
        vars(self)["explicit"] = frozenset(options)
        for name in known:
            self._set(name, options.get(name, self.parameters[name].default))
        vars(self).update(cutoff=self.inner.cutoff, judged_only=self.inner.judged_only)
        self.check(self.inner)
        vars(self)["info"] = self.declared()

    def declared(self) -> Info:
        """Say what it is; what depends on the measure inside is changed here by subclasses."""
        inside, own = self.inner.info, self.about
        return replace(
            own,
            range=inside.range,
            lower_is_better=inside.lower_is_better,
            aggregate=inside.aggregate,
            at=inside.at,
            at_wanted=inside.at_wanted,
            inputs=tuple(dict.fromkeys((*own.inputs, *inside.inputs))),
            others=own.others or inside.others,
        )

    def check(self, inner: Measure) -> None:
        """Refuse a measure that makes no sense inside; a hook for subclasses."""

    @classmethod
    def option_names(cls) -> list[str]:
        return [name for name in cls.parameters if name not in {"cutoff", "judged_only"}]

    def score(self, judged: JudgedRuns) -> Floats:
        """Score every ranking; cut-offs and condensed lists are those of the measure inside."""
        if self.passes:
            return super().score(judged)
        self.require_complete()
        return self.values(judged)

    def require_complete(self) -> None:
        self.inner.require_complete()

    def __matmul__(self, at: Any) -> Self:
        return type(self)(self.inner @ at, **self.options())

    def __call__(self, /, *at: Never, **parameters: Any) -> Self:
        """Return the measure with other parameters, its own or those of the measure inside."""
        if at:
            return super().__call__(*at)
        own = set(self.option_names())
        inside = {name: value for name, value in parameters.items() if name not in own}
        chosen = {name: value for name, value in parameters.items() if name in own}
        inner = self.inner(**inside) if inside else self.inner
        return type(self)(inner, **{**self.options(), **chosen})

    @property
    def source(self) -> str:
        """Works to cite for the measure inside, then for this one."""
        works = (*self.inner.source.split("; "), *super().source.split("; "))
        return "; ".join(dict.fromkeys(works))

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade or self.inner.uses_highest_grade

    def options(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in self.option_names()}

    def __str__(self) -> str:
        shown = [
            f", {name}={text_of(value)}"
            for name, value in sorted(self.options().items())
            if value != self.parameters[name].default
        ]
        return f"{self.about.name}({self.inner}{''.join(shown)})"


W = TypeVar("W", bound=type[Wrapping])


def wrapping(name: str, **about: Any) -> Callable[[W], W]:
    """Enter a class of :class:`Wrapping` under its name; as :func:`measure`."""

    def enter(cls: W) -> W:
        cls.about = measure(name, **about)(cls).info
        return cls

    return enter
