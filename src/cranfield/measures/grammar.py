"""The text form of measures: `Name(param=value, ...)@cutoff`, read without evaluating anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

from cranfield.base.errors import MeasureError, quoted, warn
from cranfield.base.spec import keywords_of, literal
from cranfield.base.text import did_you_mean, nearest
from cranfield.measures.aliases import (
    FAMILIES,
    NICKNAMES,
    NO_MEASURES,
    SINGLE,
    TOOLS,
    from_ir_measures,
    from_paper,
    in_any_case,
    in_its_case,
    program_names,
    rounded,
    split_gains,
    trec_texts,
    with_gains,
)
from cranfield.measures.base import Measure
from cranfield.measures.families import ALIASES, REGISTRY

LONGEST = 10_000
"""Characters of a measure's text; a user browsing model of ten ranks has some 1,500."""

DEEPEST = 20
"""Measures inside each other; nothing sensible is deeper."""


def parse_measure(text: str | Measure) -> Measure:
    """Read one measure; it is ready to score: complete and with checked parameters.

    Parameters
    ----------
    text
        The text form, such as `nDCG@10`, `AP(rel=2)@100`, `RBP(p=0.8)`, `IPrec@0.1`; or a name of
        another program that stands for one measure, such as `map`, `P_10`, `ndcg_cut_10`,
        `recall@5`, `mrr`, `hit_rate@5`. Upper and lower case are the same where that leaves one
        measure: `ndcg@10`, but not `sdcg@10`, which may be `sDCG` or `SDCG`.

    Raises
    ------
    MeasureError
        At once, for a wrong name, parameter or value; naming the nearest right ones.

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
            REGISTRY[str(text)]().require_complete()
        raise MeasureError(
            f"expected one measure, got {quoted(text)}, which stands for {len(measures)} measures"
        )
    return measures[0]


def parse_measures(
    texts: str | Measure | Iterable[str | Measure],
    *,
    compat: str | None = None,
    rel: int | None = None,
) -> list[Measure]:
    """Read several measures, in order, each once.

    A name of trec_eval may stand for many (`P`, `official`, `all_trec`), and a text may hold many
    with commas between them (`AP,nDCG@10`).

    Parameters
    ----------
    texts
        One text form, or several; measures that are objects already pass through, and those of
        ir_measures are read as their text.
    compat
        Read names as that program means them: trec_eval's with the roundings of its version, those
        of `ndeval`, `gdeval`, `ntcireval` and `cwl` as they print them. Those of `ntcireval` may be
        followed by the gains of grades 1, 2, ..., as in `ntcireval -g 1:2:3`.
    rel
        The lowest relevant grade of measures that have one and do not set it themselves:
        `AP(rel=1)` keeps its own.

    Examples
    --------
    >>> parse_measures("success")
    [Success@1, Success@5, Success@10]
    >>> parse_measures("P@10,nDCG@10", rel=2)
    [P(rel=2)@10, nDCG@10]
    >>> [one.label for one in parse_measures("AP(rel=1),AP,AP(rel=3)", rel=2)]
    ['AP(rel=1)', 'AP(rel=2)', 'AP(rel=3)']
    """
    if isinstance(texts, (str, Measure)) or _of_ir_measures(texts):
        texts = [texts]  # type: ignore[list-item]
    elif isinstance(texts, Mapping):
        raise MeasureError("expected measures or their texts, got a mapping")
    elif not isinstance(texts, Iterable):
        raise MeasureError(f"expected a measure or its text, got {type(texts).__name__}")
    found: dict[Measure, None] = {}
    alone: dict[Measure, str] = {}
    for text in texts:
        if isinstance(text, Measure):
            text.require_complete()
            found.setdefault(_with_rel(text, rel))
        elif isinstance(text, str) or _of_ir_measures(text):
            foreign = _of_ir_measures(text)
            given = from_ir_measures(str(text)) if foreign else str(text).strip()
            # What is rewritten is none of the caller's texts.
            read = _of_program if foreign else _labelled
            for one in _split(given):
                made = [_with_rel(each, rel) for each in read(one, compat)]
                if len(made) == 1 and (first := alone.setdefault(made[0], one)) != one:
                    warn(
                        f"{quoted(first)} and {quoted(one)} are the same measure; it"
                        f" is reported once, as {quoted(first)}",
                        stacklevel=3,
                    )
                for each in made:
                    found.setdefault(each)
        else:
            raise MeasureError(f"expected a measure or its text, got {type(text).__name__}")
    if not found:
        raise MeasureError("expected at least one measure, got none")
    return list(found)


def _with_rel(measure: Measure, rel: int | None) -> Measure:
    """Set the lowest relevant grade of a measure that has one, unless it was given explicitly."""
    inner = innermost(measure)
    if rel is None or "rel" not in inner.parameters or "rel" in inner.explicit:
        return measure
    # A measure of a measure hands it on to the one inside.
    return measure(rel=rel)


def innermost(measure: Measure) -> Measure:
    """Return what stands inside all measures of a measure."""
    while isinstance(inner := getattr(measure, "inner", None), Measure):
        measure = inner
    return measure


def _of_ir_measures(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == "ir_measures"


def _split(text: str) -> list[str]:
    """Split at commas, but for those inside parentheses and those that are part of a name."""
    if "," not in text or len(text) > LONGEST or trec_texts(text) is not None:
        return [text]
    parts, start, depth = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        # NTCIREVAL's NCUgu,P and trec_eval's P.5,10 are one name.
        inside = re.compile(r"[-+0-9.=]+(,|$)").match(text, place + 1)
        if sign == "," and depth == 0 and not inside and text[place - 5 : place] not in _NCU:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


_NCU = ("NCUgu", "NCUrb")


def _labelled(text: str, compat: str | None) -> list[Measure]:
    """Read a text; a measure keeps it as its label if anybody reads it as that measure."""
    made = _of_program(text, compat)
    if len(made) != 1 or str(made[0]) == text or not text.isprintable():
        return made
    try:
        same = compat is None or _parsed(text, None) == made
    except MeasureError:
        same = False
    return [made[0].asked_for(text)] if same else made


def _of_program(text: str, compat: str | None) -> list[Measure]:
    """Read a text as a program means it; in any case where that leaves one measure."""
    name, gains = split_gains(compat, text)
    if gains:
        forms = program_names(compat, name)
        if forms == [name]:
            forms = [in_any_case(compat, name)]
        return [with_gains(one, gains) for form in forms for one in _parsed(form, compat)]
    names = program_names(compat, text)
    meant = in_any_case(compat, text)
    exact = text.partition("@")[0]
    if names != [text] or meant == text or exact in REGISTRY or exact in ALIASES:
        return [one for name in names for one in _parsed(name, compat)]
    if trec_texts(text, compat) is not None:
        return _parsed(text, compat)
    found = _parsed(meant, compat)
    try:
        plain = _parsed(text, compat)
    except MeasureError:
        return found
    for one in plain if plain != found else ():
        for other in program_names(compat, str(one)):
            if _parsed(other, compat) != found:
                raise MeasureError(
                    f"{quoted(text)} is ambiguous: {one} or, in {compat}, {found[0]};"
                    " write it in the exact case"
                )
    return found


def _parsed(text: str, compat: str | None) -> list[Measure]:
    if len(text) > LONGEST:
        raise MeasureError(f"a measure must have at most {LONGEST:,} characters, got {len(text):,}")
    names = trec_texts(text, compat)
    if names is None and text not in REGISTRY and text not in ALIASES:
        names = trec_texts(in_its_case(text), compat)
    if names is None:
        return [_read(text if text in REGISTRY else from_paper(text), text)]
    return [rounded(_read(name, text), compat) for name in names]


def _read(form: str, text: str) -> Measure:
    """Read a text form; `text` is what was given for it."""
    try:
        if form.count("(") > DEEPEST:
            raise ValueError
        with catch_warnings():
            # Of literals such as `10or`, which Python still reads.
            simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(form, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _no_measure(text) from None
    made = _built(tree, text)
    made.require_complete()
    if len(str(made)) > LONGEST:
        raise MeasureError(
            f"the text of the measure is longer than {LONGEST} characters: {quoted(text)}"
        )
    return made


def _no_measure(text: str) -> MeasureError:
    several = [one for one in re.split(r"[\s;]+", text) if one]
    cut = re.fullmatch(r"(?P<name>[A-Za-z]\w*)@(?P<first>\d+)(?P<more>(,\s*\d+)+)", text)
    if cut:
        several = [f"{cut['name']}@{k}" for k in re.findall(r"\d+", cut["first"] + cut["more"])]
    if len(several) > 1 and all(map(_is_measure, several)):
        form = f"separate several measures by commas: {quoted(','.join(several))}"
    else:
        form = "the form is Name(param=value)@cutoff"
    words = re.sub(r"(?<=[A-Za-z])[\s-]+(?=[A-Za-z])", "_", text)
    if words != text:
        if why := NO_MEASURES.get(words.partition("@")[0].lower()):
            return MeasureError(f"unknown measure {quoted(text)}: {why}")
        like = (one for one in (words, f"{words}@10") if _is_measure(one))
        form = next((f"did you mean {one}?" for one in like), form)
    return MeasureError(f"{quoted(text)} is not a valid measure; {form}")


def _is_measure(text: str) -> bool:
    try:
        return bool(_parsed(text, None))
    except MeasureError:
        return False


def _built(node: ast.expr, text: str) -> Measure:
    at: Any = None
    tree = node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        if isinstance(node.right, ast.Call):
            raise MeasureError(
                f"{quoted(text)}: parameters must come before the @, as in AP(rel=2)@100"
            )
        tree, at = node.left, literal(node.right, text, MeasureError)
        if at is None:
            raise MeasureError(f"{quoted(text)}: cutoff must be an integer, got None")
    arguments: list[ast.expr] = []
    parameters: dict[str, Any] = {}
    if isinstance(tree, ast.Call):
        arguments = tree.args
        parameters = keywords_of(tree, text, MeasureError)
        tree = tree.func
    if not isinstance(tree, ast.Name):
        raise _no_measure(text)
    built = _with_arguments(tree.id, arguments, parameters, text)
    return built if at is None else built @ at


def _with_arguments(
    name: str, arguments: list[ast.expr], parameters: Mapping[str, Any], text: str
) -> Measure:
    kind, more = _kind(name)
    built: Measure
    if kind.inside:
        if not arguments:
            raise MeasureError(f"{name} needs a measure inside, such as {name}({kind.inside})")
        if len(arguments) > 1:
            raise MeasureError(f"{name} takes one measure inside, got several: {quoted(text)}")
        built = kind(_built(arguments[0], text), **parameters)
        return built
    if arguments:
        raise MeasureError(f"{quoted(text)}: parameters must be written as name=value")
    for one in parameters:
        if one in more:
            raise MeasureError(f"{quoted(text)}: {name} already sets {one}={more[one]!r}")
    if "depth" in parameters and "depth" not in kind.parameters:
        raise MeasureError(
            f"{kind.info.name} has no parameter 'depth'; write it on the outer"
            f" measure, as in EU({name}, depth=1000)"
        )
    # A call understands the parameters of other programs, too.
    built = kind()(**more, **parameters)
    return built


def _kind(name: str) -> tuple[Any, Mapping[str, str]]:
    """Find a measure by its name, and the parameters implied by a name of another program."""
    if (named := ALIASES.get(name, name)) in REGISTRY:
        return REGISTRY[named], {}
    why = NO_MEASURES.get(name) or NO_MEASURES.get(name.lower())
    if why:
        raise MeasureError(f"unknown measure {name}: {why}")
    found = _in_any_case(name.lower())
    if len(found) == 1:
        (text, parameters), *_ = found.items()
        return REGISTRY[text.partition("(")[0]], parameters
    if found:
        some = " or ".join(sorted(found))
        raise MeasureError(f"{quoted(name)} is ambiguous: {some}; write it in the exact case")
    names = (*NICKNAMES, *FAMILIES, *ALIASES, *REGISTRY)
    hint = did_you_mean(name, (one for one in names if one.isascii() and _is_like(name, one)))
    if at := re.fullmatch(r"([A-Za-z_]+?)_?0*([1-9]\d*)", name):
        meant = _in_any_case(at[1].lower())
        if [REGISTRY[one.partition("(")[0]].takes_cutoff() for one in meant] == [True]:
            hint = f"; did you mean {at[1]}@{at[2]}?"
        elif not hint and (near := [one for one in nearest(at[1], names) if _takes_cutoff(one)]):
            hint = f"; did you mean {near[0]}@{at[2]}?"
    raise MeasureError(f"unknown measure {quoted(name)}{hint}")


def _takes_cutoff(name: str) -> bool:
    return name in REGISTRY and REGISTRY[name].takes_cutoff()


def _is_like(name: str, known: str) -> bool:
    """Return False if a name of few letters shares too few of them to have been meant."""
    if len(name) > 4:
        return True
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name.lower(), known.lower()).ratio() >= 0.75


def _in_any_case(lower: str) -> dict[str, Mapping[str, str]]:
    """Return what a name in lower case may stand for: text forms, and their parameters."""
    names = {**ALIASES, **{name: name for name in REGISTRY.names()}}
    names |= {
        name: form.partition("@")[0] for name, (_, _, form) in FAMILIES.items() if "@" in form
    }
    names |= SINGLE
    found: dict[str, Mapping[str, str]] = {
        form: {} for name, form in names.items() if name.lower() == lower
    }
    if lower in TOOLS:
        form, parameters = TOOLS[lower]
        found[form] = parameters
    return found
