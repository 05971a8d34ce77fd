"""The text form of measures: `Name(param=value, ...)@cutoff`, parsed without evaluating code.

User-defined measures are created here, too, as their names must differ from all names that parse.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from keyword import iskeyword
from typing import Any, ClassVar
from warnings import catch_warnings, simplefilter

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, as_numbers, check_choice, quote, warn
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.spec import parse_keywords, parse_literal
from cranfield.base.text import find_similar, suggest_names
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.policies import PRESETS
from cranfield.measures.aliases import (
    CUTOFF_FORMS,
    NICKNAMES,
    SINGLE_MEASURES,
    SYNONYMS,
    UNSUPPORTED_NAMES,
    restore_case,
    rewrite_ignoring_case,
    rewrite_ir_measures,
    rewrite_paper_name,
    set_gains,
    set_rounding,
    split_gains,
    translate_program_name,
    translate_trec_name,
)
from cranfield.measures.base import Info, Measure
from cranfield.measures.families import ALIASES, REGISTRY
from cranfield.scores.one_measure import AGGREGATES, describe_direction, suggests_lower

MAX_LENGTH = 10_000
"""Maximum length of the text of a measure; a user browsing model of ten ranks has about 1,500."""

MAX_NESTING = 20
"""Maximum number of nested measures."""


def parse_measure(text: str | Measure) -> Measure:
    """Parse the text form of a measure.

    Parameters
    ----------
    text
        The text form, such as `nDCG@10`, `AP(rel=2)@100`, `RBP(p=0.8)`, `IPrec@0.1`; or a name of
        another program that stands for one measure, such as `map`, `P_10`, `ndcg_cut_10`,
        `recall@5`, `mrr`, `hit_rate@5`. Case is ignored unless that is ambiguous: `ndcg@10` is
        accepted, but not `sdcg@10`, which may be `sDCG` or `SDCG`.

    Raises
    ------
    MeasureError
        For an unknown name, parameter or value, and for a text that stands for several measures.

    Examples
    --------
    >>> parse_measure("nDCG(gains='exponential')@20")
    nDCG(gains='exponential')@20
    >>> parse_measure("precision@5")
    P@5
    >>> parse_measure("nDGC@10")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: unknown measure 'nDGC'; did you mean nDCG?
    """
    measures = parse_measures(text)
    if len(measures) != 1:
        if text in REGISTRY:
            # For a name such as P, which requires a cutoff, this raises a more specific error.
            REGISTRY[str(text)]().require_complete()
        raise MeasureError(
            f"expected one measure, got {quote(text)}, which stands for {len(measures)} measures"
        )
    return measures[0]


@lru_cache(maxsize=4096)
def find_measure(name: str) -> Measure | None:
    """Parse the name of one measure; return None for any other text."""
    # Python issues syntax warnings for some texts that are not names.
    if not re.match("[A-Za-z_]|11pt", name):
        return None
    try:
        with catch_warnings():
            simplefilter("ignore")
            [measure] = parse_measures(name)
    except ValueError:
        return None
    return measure


def parse_measures(
    texts: str | Measure | Iterable[str | Measure],
    *,
    compat: str | None = None,
    rel: int | None = None,
) -> list[Measure]:
    """Parse text forms of measures, in order and without duplicates.

    A name of trec_eval may stand for several measures (`P`, `official`, `all_trec`), and a text may
    contain several text forms separated by commas (`AP,nDCG@10`).

    Parameters
    ----------
    texts
        One or several text forms. Measure objects are accepted, and measures of
        ir_measures are parsed from their text.
    compat
        Program whose names are accepted, too: a version of trec_eval, with its rounding, or
        `ndeval`, `gdeval`, `ntcireval` or `cwl`, with the names that they print. Names of
        `ntcireval` may be followed by the gains of grades 1, 2, ..., as in `ntcireval -g 1:2:3`.
    rel
        The lowest relevant grade, for measures that have this parameter and whose text does not
        set it: `AP(rel=1)` is not changed.

    Examples
    --------
    >>> parse_measures("success")
    [Success@1, Success@5, Success@10]
    >>> parse_measures("P@10,nDCG@10", rel=2)
    [P(rel=2)@10, nDCG@10]
    >>> [measure.label for measure in parse_measures("AP(rel=1),AP,AP(rel=3)", rel=2)]
    ['AP(rel=1)', 'AP(rel=2)', 'AP(rel=3)']
    """
    if compat is not None:
        check_choice("compat", compat, PRESETS)
    if isinstance(texts, Mapping):
        raise MeasureError("expected measures or their text forms, got a mapping")
    if isinstance(texts, (str, Measure)) or not isinstance(texts, Iterable):
        texts = [texts]
    measures: dict[Measure, None] = {}
    first_texts: dict[Measure, str] = {}
    for text in texts:
        if isinstance(text, Measure):
            text.require_complete()
            measures.setdefault(_set_rel(text, rel))
            continue
        if type(text).__module__.partition(".")[0] == "ir_measures":
            # The text of a measure of ir_measures may be rewritten, so it is not a label.
            full_text, parse = rewrite_ir_measures(str(text)), _parse_with_program
        elif isinstance(text, str):
            full_text, parse = text.strip(), _parse_with_label
        else:
            raise MeasureError(f"expected a measure or its text form, got {type(text).__name__}")
        for name in _split_measures(full_text):
            group = [_set_rel(measure, rel) for measure in parse(name, compat)]
            if len(group) == 1 and group[0] in first_texts:
                label = quote(first_texts[group[0]])
                warn(
                    f"{label} and {quote(name)} are the same measure, which is reported once, as"
                    f" {label}"
                )
            elif len(group) == 1:
                first_texts[group[0]] = name
            measures |= dict.fromkeys(group)
    if not measures:
        raise MeasureError("expected at least one measure, got none")
    return list(measures)


def _set_rel(measure: Measure, rel: int | None) -> Measure:
    """Set the lowest relevant grade of a measure that has one, unless it is set explicitly."""
    inner = find_innermost_measure(measure)
    if rel is None or "rel" not in inner.parameters or "rel" in inner.explicit:
        return measure
    # A measure of a measure passes it to the inner measure.
    return measure(rel=rel)


def find_innermost_measure(measure: Measure) -> Measure:
    """Return the innermost measure of nested measures, or the measure itself."""
    while isinstance(inner := getattr(measure, "inner", None), Measure):
        measure = inner
    return measure


def _split_measures(text: str) -> list[str]:
    """Split at commas, except inside parentheses and names."""
    if "," not in text or len(text) > MAX_LENGTH or translate_trec_name(text) is not None:
        return [text]
    forms, start, depth = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character != "," or depth != 0:
            continue
        # P.5,10 of trec_eval and NCUgu,P of NTCIREVAL are single names.
        values_match = re.compile(r"[-+0-9.=]+(,|$)").match(text, position + 1)
        if not values_match and text[position - 5 : position] not in {"NCUgu", "NCUrb"}:
            forms.append(text[start:position].strip())
            start = position + 1
    return [*forms, text[start:].strip()]


def _parse_with_label(text: str, compat: str | None) -> list[Measure]:
    """Parse a text, which becomes the label if it denotes the same measure without `compat`."""
    measures = _parse_with_program(text, compat)
    if len(measures) != 1 or str(measures[0]) == text or not text.isprintable():
        return measures
    try:
        is_same = compat is None or _parse(text, None) == measures
    except MeasureError:
        is_same = False
    return [measures[0].with_label(text)] if is_same else measures


def _parse_with_program(text: str, compat: str | None) -> list[Measure]:
    """Parse a text with the names of a program, ignoring case where that is unambiguous."""
    name, gains = split_gains(compat, text)
    if gains:
        forms = translate_program_name(compat, name)
        if forms == [name]:
            forms = [rewrite_ignoring_case(compat, name)]
        return [set_gains(measure, gains) for form in forms for measure in _parse(form, compat)]
    names = translate_program_name(compat, text)
    rewritten = rewrite_ignoring_case(compat, text)
    stem = text.partition("@")[0]
    if names != [text] or rewritten == text or stem in REGISTRY or stem in ALIASES:
        return [measure for name in names for measure in _parse(name, compat)]
    return _parse_in_other_case(text, rewritten, compat)


def _parse_in_other_case(text: str, rewritten: str, compat: str | None) -> list[Measure]:
    """Parse a name of a program in another case, unless it has another meaning in cranfield."""
    if translate_trec_name(text, compat) is not None:
        return _parse(text, compat)
    measures = _parse(rewritten, compat)
    try:
        own_measures = _parse(text, compat)
    except MeasureError:
        return measures
    if own_measures == measures:
        return measures
    for measure in own_measures:
        for alias in translate_program_name(compat, str(measure)):
            if _parse(alias, compat) != measures:
                raise MeasureError(
                    f"{quote(text)} is ambiguous: it is {measure} in cranfield and {measures[0]}"
                    f" in {compat}; write it in the exact case"
                )
    return measures


def _parse(text: str, compat: str | None) -> list[Measure]:
    if len(text) > MAX_LENGTH:
        raise MeasureError(
            f"the text of a measure must have at most {MAX_LENGTH:,} characters, got {len(text):,}"
        )
    names = translate_trec_name(text, compat)
    if names is None and text not in REGISTRY and text not in ALIASES:
        names = translate_trec_name(restore_case(text), compat)
    if names is None:
        return [_parse_form(text if text in REGISTRY else rewrite_paper_name(text), text)]
    return [set_rounding(_parse_form(name, text), compat) for name in names]


def _parse_form(form: str, text: str) -> Measure:
    """Parse a text form; `text` is the text that was passed, for messages."""
    try:
        if form.count("(") > MAX_NESTING:
            raise ValueError
        with catch_warnings():
            # Python warns of literals such as `10or`.
            simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(form, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _make_syntax_error(text) from None
    measure = _build_measure(tree, text)
    measure.require_complete()
    if len(str(measure)) > MAX_LENGTH:
        raise MeasureError(
            f"the full text of a measure must have at most {MAX_LENGTH:,} characters, got"
            f" {len(str(measure)):,}: {quote(text)}"
        )
    return measure


def _make_syntax_error(text: str) -> MeasureError:
    """Make the error for a text that cannot be parsed, with a hint."""
    names = text.replace(";", " ").split()
    match = re.fullmatch(r"(?P<name>[A-Za-z]\w*)@(?P<cutoffs>\d+(,\s*\d+)+)", text)
    if match:
        names = [f"{match['name']}@{k}" for k in re.findall(r"\d+", match["cutoffs"])]
    if len(names) > 1 and all(map(_is_measure, names)):
        hint = f"separate several measures by commas: {quote(','.join(names))}"
    else:
        hint = "expected Name(param=value)@cutoff"
    if match := re.fullmatch(r"[A-Za-z]\w*(?:\([^()]*\))?@(?P<cutoff>\d*[A-Za-z]\w*)", text):
        hint = f"cutoff must be an integer, got {quote(match['cutoff'])}"
    identifier = re.sub(r"(?<=[A-Za-z])[\s-]+(?=[A-Za-z])", "_", text)
    if identifier != text:
        if reason := UNSUPPORTED_NAMES.get(identifier.partition("@")[0].lower()):
            return MeasureError(f"unknown measure {quote(text)}: {reason}")
        candidates = (name for name in (identifier, f"{identifier}@10") if _is_measure(name))
        hint = next((f"did you mean {name}?" for name in candidates), hint)
    return MeasureError(f"{quote(text)} is not a valid measure; {hint}")


def _is_measure(text: str) -> bool:
    try:
        return bool(_parse(text, None))
    except MeasureError:
        return False


def _build_measure(node: ast.expr, text: str) -> Measure:
    """Build a measure from a syntax tree; `text` is for messages."""
    cutoff: Any = None
    tree = node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        if isinstance(node.right, ast.Call):
            raise MeasureError(
                f"{quote(text)}: parameters must come before the @, as in AP(rel=2)@100"
            )
        is_name = isinstance(node.right, ast.Name)
        value = (
            ast.unparse(node.right) if is_name else parse_literal(node.right, text, MeasureError)
        )
        # Any text is refused by the measure, with a message on its cutoff or level of recall.
        tree, cutoff = node.left, "None" if value is None else value
    arguments: list[ast.expr] = []
    parameters: dict[str, Any] = {}
    if isinstance(tree, ast.Call):
        arguments = tree.args
        parameters = parse_keywords(tree, text, MeasureError)
        tree = tree.func
    if not isinstance(tree, ast.Name):
        raise _make_syntax_error(text)
    measure = _build_call(tree.id, arguments, parameters, text)
    return measure if cutoff is None else measure @ cutoff


def _build_call(
    name: str, arguments: list[ast.expr], parameters: Mapping[str, Any], text: str
) -> Measure:
    measure_class, presets = _find_class(name)
    measure: Measure
    if measure_class.inner_example:
        if not arguments:
            raise MeasureError(
                f"{name} requires an inner measure, such as {name}({measure_class.inner_example})"
            )
        if len(arguments) > 1:
            raise MeasureError(f"{name} takes one inner measure, got several: {quote(text)}")
        measure = measure_class(_build_measure(arguments[0], text), **parameters)
        return measure
    if arguments:
        names = [key for key in measure_class.parameters if key != "cutoff"]
        hint = f"; parameters of {name}: {', '.join(names)}" if names else ""
        raise MeasureError(f"{quote(text)}: parameters must be written as name=value{hint}")
    for key in parameters:
        if key in presets:
            raise MeasureError(f"{quote(text)}: {name} already sets {key}={presets[key]!r}")
    if "depth" in parameters and "depth" not in measure_class.parameters:
        expectation = f"EU({name}, depth={parameters['depth']!r})"
        if _is_measure(expectation):
            raise MeasureError(f"{name} has no parameter 'depth'; EU has one, as in {expectation}")
    # A call, unlike the class, accepts parameter names of other programs.
    measure = measure_class()(**presets, **parameters)
    return measure


def _find_class(name: str) -> tuple[Any, Mapping[str, str]]:
    """Return the class of a name, and the parameters that a name of another program implies."""
    if (full_name := ALIASES.get(name, name)) in REGISTRY:
        return REGISTRY[full_name], {}
    reason = UNSUPPORTED_NAMES.get(name) or UNSUPPORTED_NAMES.get(name.lower())
    if reason:
        raise MeasureError(f"unknown measure {quote(name)}: {reason}")
    matches = _find_forms(name.lower())
    if len(matches) == 1:
        [(form, parameters)] = matches.items()
        return _find_form_class(form), parameters
    if matches:
        problem = f"is ambiguous: {' or '.join(sorted(matches))}"
        raise MeasureError(f"{quote(name)} {problem}; write it in the exact case")
    raise MeasureError(f"unknown measure {quote(name)}{_suggest_names(name)}")


def _find_form_class(form: str) -> Any:
    return REGISTRY[form.partition("(")[0]]


def _suggest_names(name: str) -> str:
    """Return a hint for an unknown name: a similar name, or the command that lists all names."""
    names = (*NICKNAMES, *CUTOFF_FORMS, *ALIASES, *REGISTRY)
    hint = suggest_names(name, (n for n in names if n.isascii() and _is_long_or_similar(name, n)))
    if match := re.fullmatch(r"([A-Za-z_]+?)_?0*([1-9]\d*)", name):
        stem, cutoff = match.groups()
        forms = _find_forms(stem.lower())
        if len(forms) == 1 and all(_find_form_class(form).takes_cutoff() for form in forms):
            return f"; did you mean {stem}@{cutoff}?"
        suggestions = [
            n for n in find_similar(stem, names) if n in REGISTRY and REGISTRY[n].takes_cutoff()
        ]
        if not hint and suggestions:
            return f"; did you mean {suggestions[0]}@{cutoff}?"
    return hint or "; `cranfield measures` lists the measures"


def _is_long_or_similar(name: str, candidate: str) -> bool:
    """Return True if a name is long, or has most letters in common with a candidate."""
    if len(name) > 4:
        return True
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name.lower(), candidate.lower()).ratio() >= 0.75


def _find_forms(lower_name: str) -> dict[str, Mapping[str, str]]:
    """Return the text forms of a name in lower case, with their parameters."""
    names = {
        **ALIASES,
        **{name: name for name in REGISTRY.names()},
        **{n: form.partition("@")[0] for n, (_, _, form) in CUTOFF_FORMS.items() if "@" in form},
        **SINGLE_MEASURES,
    }
    forms: dict[str, Mapping[str, str]] = {
        form: {} for name, form in names.items() if name.lower() == lower_name
    }
    if lower_name in SYNONYMS:
        form, parameters = SYNONYMS[lower_name]
        forms[form] = parameters
    return forms


class UserDefinedMeasure(Measure):
    """A measure that scores by a function; see :func:`define`."""

    function: ClassVar[Callable[[JudgedRuns], Any]]

    def values(self, judged: JudgedRuns) -> Floats:
        scores = np.asarray(type(self).function(judged), dtype=np.float64)
        if scores.shape != judged.shape:
            raise MeasureError(
                f"{self.name}: expected scores of shape (topics, systems) = {judged.shape}, got"
                f" {scores.shape}"
            )
        low, high = self.info.range
        invalid_scores = scores[(scores < low) | (scores > high)]
        if invalid_scores.size:
            raise MeasureError(
                f"{self.name}: expected scores in the range {low:g} to {high:g}, got"
                f" {invalid_scores[0]:g}; declare another range: range=(lowest, highest)"
            )
        return scores

    def __reduce__(self) -> tuple[Any, ...]:
        # The class cannot be imported by name, so the arguments that make the measure are pickled.
        definition = (type(self).function, self.scale_source, type(self).info)
        return _make_user_measure, definition, vars(self)


def _make_user_measure(
    function: Callable[[JudgedRuns], Any], scale_source: str, info: Info
) -> UserDefinedMeasure:
    attributes = {
        "__doc__": info.summary,
        "function": staticmethod(function),
        "scale_source": scale_source,
        "info": info,
    }
    measure: UserDefinedMeasure = type("UserDefinedMeasure", (UserDefinedMeasure,), attributes)()
    return measure


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
    """Define a measure by a function; text forms, cutoffs and condensed lists then work as usual.

    Parameters
    ----------
    name
        A Python identifier, not a keyword, that differs, ignoring case, from all names of measures
        that the library accepts, including those of other programs.
    function
        Function that takes the judged runs, already cut off and condensed as requested, and returns
        scores of shape (topics, systems).
    summary, range, aggregate, source
        Attributes of the :class:`Info` of the measure.
    lower_is_better
        Whether lower scores are better. By default higher scores are better, and a warning is
        issued if the name suggests the opposite.
    scale
        Scale type of the scores: `nominal`, `ordinal` (the default), `interval` or `ratio`.

    Raises
    ------
    MeasureError
        For a name that is in use, a keyword or not an identifier, a name, summary, aggregate or
        source that is not a string, a function that is not callable, or a range that is not two
        numbers, the lower one first.
    PolicyError
        For bounds of the range that are not numbers, and for an unknown aggregate or scale.

    Examples
    --------
    >>> import cranfield as cf
    >>> last = cf.define("LastRelevant", lambda judged: judged.relevant().find_maxima(
    ...     judged.relevant().rank), range=(0, float("inf")))
    >>> cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["LastRelevant"]).means()["run"][0]
    2.0
    """
    texts = {"name": name, "summary": summary, "aggregate": aggregate, "source": source}
    for argument, text in texts.items():
        if not isinstance(text, str):
            raise MeasureError(f"{argument} must be a string, got {type(text).__name__}")
    if not callable(function):
        raise MeasureError(f"function must be callable, got {type(function).__name__}")
    check_choice("aggregate", aggregate, AGGREGATES)
    if not name.isidentifier() or iskeyword(name):
        raise MeasureError(
            "the name of a measure must consist of letters, digits and _, not start with a digit,"
            f" and not be a keyword of Python, got {quote(name)}"
        )
    if _find_forms(name.lower()) or _is_measure(name) or _is_measure(f"{name}@10"):
        raise MeasureError(f"measure {name} already exists")
    bounds = as_numbers(range, "the lowest and the highest score")
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise MeasureError(f"range must be two numbers, the lower one first, got {quote(range)}")

    if lower_is_better is None and suggests_lower(name):
        warn(describe_direction(name, advice_end=""))

    info = Info(
        name,
        family="user-defined",
        summary=summary,
        range=(float(bounds[0]), float(bounds[1])),
        lower_is_better=bool(lower_is_better),
        aggregate=aggregate,
        source=source,
        scale=Scale.ORDINAL if scale is None else find_scale(scale),
    )
    measure = _make_user_measure(function, "measure" if scale is None else "user", info)
    REGISTRY[name] = type(measure)
    find_measure.cache_clear()
    return measure
