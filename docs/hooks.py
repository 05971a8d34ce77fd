"""Build hooks of the site: a page a measure, made from the registry, and formulas as MathML."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator
from typing import Any

from catalogue_page import catalogue, described, properties_of
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from navigation import section

import cranfield as cf
from cranfield.measures import Measure
from cranfield.measures.aliases import find_trec_name
from cranfield.measures.families import KINDS
from cranfield.measures.listing import Entry, group_by_family, list_entries

GRADES = (3, None, 1, 2, None, 0, None, 2, 0, 0)
"""The example: grades by rank, None for a document without judgment."""

MISSED = (3, 2, 1, 1)
"""Grades of the relevant documents that the example does not retrieve."""

VARIANTS: dict[str, tuple[Any, ...]] = {
    "rel": (2,),
    "p": (0.5, 0.95),
    "beta": (2,),
    "gains": ("exponential", "graded"),
    "discount": ("max(1,log2(rank))",),
    "multiple": (0.5,),
    "judged_only": (True,),
}
"""Values that the examples try besides the defaults; of words all are tried."""

TOOLS = ("trec_eval", "ir_measures", "ranx")
"""Other tools with a column in the list of measures."""

AVERAGES = {
    "mean": "arithmetic mean over the topics",
    "sum": "sum over the topics",
    "geometric": "geometric mean over the topics, scores below 0.00001 raised to it",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the measures into the navigation, by family."""
    section(config.nav, "Measures").extend(
        [
            {"Catalogue": "measures/catalogue.md"},
            *(
                {capitalised(family): [{one.info.name: page_of(one)} for one in members]}
                for family, members in group_by_family(list_entries()).items()
            ),
        ]
    )
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = {"measures/index.md": index_page()}
    pages["measures/catalogue.md"] = catalogue(lambda formula: mathml(formula, block=False))
    pages |= {page_of(one): measure_page(one) for one in list_entries()}
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn formulas into MathML, and the roles of docstrings into links."""
    del config, files
    content = re.sub(
        r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>',
        lambda found: mathml(html.unescape(found[2]), block=found[1] == "div"),
        content,
        flags=re.DOTALL,
    )
    # In a docstring roles such as `:func:` stand before a name.
    return re.sub(
        r":(?:func|class|mod|meth|attr|data|exc):<code>~?(?:cranfield\.)?([^<]*)</code>",
        lambda found: linked(found[1], f'id="cranfield.{found[1]}"' in content),
        content,
    )


def linked(name: str, known: bool) -> str:
    """Show a name of the library, as a link where the page defines it."""
    code = f"<code>{name}</code>"
    return f'<a href="#cranfield.{name}">{code}</a>' if known else code


def mathml(formula: str, *, block: bool) -> str:
    """Convert LaTeX; names of several letters are set upright, as one word."""
    # The converter knows no \middle, and names of two letters are no arguments of a fraction.
    formula = formula.replace(r"\middle", "")
    formula = re.sub(r"\\(t?frac)\s*([A-Za-z0-9])\s*([A-Za-z0-9])\b", r"\\\1{\2}{\3}", formula)
    formula = re.sub(r"\}\s+\\frac", r"} \\, \\frac", formula.replace(r"\mathit", r"\text"))
    tokens = re.finditer(
        r"\\(?:text|mathcal|begin|end)\{[^}]*\}|\\[A-Za-z]+|\\.|[A-Za-z]{2,}|.", formula, re.DOTALL
    )
    spaced = {r"\exp", r"\ln"}
    parts = []
    for token in tokens:
        text = token[0]
        if text[0].isalpha() and len(text) > 1:
            text = rf"\text{{{text}}}"
        parts.append(text + (r"\," if text in spaced else ""))
    return convert("".join(parts), display="block" if block else "inline")


def page_of(one: Entry) -> str:
    """Return the path of a measure's page."""
    return f"measures/{one.info.name}.md"


def capitalised(text: str) -> str:
    """Begin with a capital letter; ROUGE and the like stay as they are."""
    return text[:1].upper() + text[1:]


def form(one: Entry) -> str:
    """Write the measure's name with what may stand behind the @."""
    info = one.info
    if one.kind == KINDS[1]:
        return f"{info.name}(M)"
    at = "k" if info.at_parameter == "cutoff" else info.at_parameter
    return info.name + {"required": f"@{at}", "optional": f"[@{at}]"}.get(info.at_usage, "")


# Pages


def index_page() -> str:
    """Write the list of all measures."""
    lines = [INDEX_HEAD]
    for family, members in group_by_family(list_entries()).items():
        lines += [f"### {capitalised(family)}", ""]
        lines += row("measure", "description", *TOOLS)
        lines += row(*["---"] * (2 + len(TOOLS)))
        for one in members:
            info = one.info
            others = [code(info.elsewhere.get(tool, "")) for tool in TOOLS]
            lines += row(f"[`{form(one)}`]({info.name}.md)", info.summary, *others)
        lines.append("")
    return "\n".join(lines)


TAGS = {"AP": "MAP", "RR": "MRR", "Success": "hit rate"}
"""Other words by which the search of the site finds a measure."""


def measure_page(one: Entry) -> str:
    """Write the page of one measure."""
    info = one.info
    tags = ["---", f"tags: [{TAGS[info.name]}]", "---", ""] if info.name in TAGS else []
    lines = [*tags, f"# {info.name}", "", info.summary, ""]
    about = inspect.getdoc(one.measure_class) or ""
    if not isinstance(one.measure_class, type):
        # Of a function the first line is the summary.
        about = about.partition("\n")[2]
    lines += described(about)
    if info.formula:
        lines += ["$$", info.formula, "$$", ""]
        lines += ["The letters are explained in the [notation](index.md#notation).", ""]
    lines += ["## Facts", "", *facts(one), ""]
    if one.parameters:
        lines += ["## Parameters", "", *parameters(one), ""]
    if one.kind == KINDS[1]:
        lines += ["The cutoff and other parameters are those of the inner measure.", ""]
    lines += properties_of(one)
    if one.kind == KINDS[0]:
        lines += [*example(one.measure_class), ""]
    if info.elsewhere:
        lines += ["## In other tools", "", *row("tool", "name"), *row("---", "---")]
        for tool, name in info.elsewhere.items():
            lines += row(tool, code(name))
        lines += ["", "Where definitions differ: [coming from other tools](../coming-from.md).", ""]
    return "\n".join(lines)


def facts(one: Entry) -> Iterator[str]:
    """Yield the table of what the measure declares of itself."""
    info = one.info
    low, high = (f"{end:g}".replace("inf", "∞").replace("-", "−") for end in info.range)
    wanted = {
        "required": f"; the {info.at_parameter} is required",
        "optional": f"; the {info.at_parameter} is optional",
        "none": "; it takes no cutoff",
    }[info.at_usage]
    if one.kind == KINDS[1]:
        wanted = "; M is a measure"
    yield from row("property", "value")
    yield from row("---", "---")
    yield from row("text form", f"`{form(one)}`{wanted}")
    yield from row("kind", one.kind)
    yield from row("family", info.family)
    if info.aliases:
        yield from row("also called", ", ".join(f"`{name}`" for name in info.aliases))
    yield from row("range", f"{low} to {high}")
    yield from row("overall value", AVERAGES.get(info.aggregate, info.aggregate))
    if info.needs:
        yield from row("needs", info.needs)
    if one.kind != KINDS[2]:
        note = f"; {info.scale_note}" if info.scale_note else ""
        yield from row("scale", f"{info.scale}{note}")
    yield from row("source", f"{info.sources} ([references](../references.md))")


def parameters(one: Entry) -> Iterator[str]:
    """Yield the table of parameters: default, what is accepted, what it does."""
    declared = getattr(one.measure_class, "parameters", {})
    yield from row("parameter", "default", "accepts", "what it is")
    yield from row("---", "---", "---", "---")
    for name, setting in one.parameters.items():
        accepted = braced(accepts(declared[name].check)) if name in declared else ""
        yield from row(f"`{name}`", f"`{setting.default}`", accepted, braced(setting.doc))


def accepts(check: Any) -> str:
    """Say what a check admits, in the words of its own complaint."""
    wanted = complaint(check, object())
    try:
        return f"{wanted}, or None" if check(None) is None else wanted
    except ValueError:
        return wanted


def complaint(check: Any, value: object) -> str:
    """Return what a check says to a value that it refuses; nothing if it accepts it."""
    try:
        check(value)
    except ValueError as error:
        return str(error)
    return ""


# The worked example


def example(kind: type[Measure]) -> list[str]:
    """Write the section with the measure's values on the example, which the library computes."""
    ranked = {f"d{rank}": -rank for rank in range(1, len(GRADES) + 1)}
    grades = {f"d{rank}": grade for rank, grade in enumerate(GRADES, 1) if grade is not None}
    missed = {f"m{i}": grade for i, grade in enumerate(MISSED)}
    forms = dict.fromkeys(examples_of(kind))
    try:
        evaluation = cf.evaluate({"1": ranked}, {"1": {**grades, **missed}}, list(forms))
    except cf.CranfieldError:
        return []
    best = sorted((grade for grade in (*grades.values(), *MISSED) if grade), reverse=True)
    lines = [
        "## Example",
        "",
        f"A ranking of {len(GRADES)} documents, for a topic with {len(best)} relevant documents"
        f" of the grades {', '.join(map(str, best))}. A dash is a document without judgment.",
        "",
    ]
    lines += row("rank", *(str(rank) for rank in range(1, len(GRADES) + 1)))
    lines += row(*["---"] * (len(GRADES) + 1))
    lines += row("grade", *("–" if grade is None else str(grade) for grade in GRADES))
    lines += ["", *row("measure", "value for this topic"), *row("---", "---")]
    for one in evaluation.measures:
        lines += row(f"`{one}`", f"{evaluation[one].values[0, 0]:.4f}")
    shown = evaluation.measures[0]
    lines += [
        "",
        "On the command line and in Python:",
        "",
        "```console",
        f"$ cranfield evaluate QRELS RUN -m {quoted(str(shown))}",
        "```",
        "",
        "```python",
        f'cf.evaluate(runs, qrels, "{shown}")',
        "```",
        "",
    ]
    if find_trec_name(shown) != str(shown):
        lines += [
            f"`{find_trec_name(shown)}`, the name that trec_eval prints, is understood too.",
            "",
        ]
    return lines


def examples_of(kind: type[Measure]) -> Iterator[Measure]:
    """Yield forms of a measure that show what its parameters do."""
    info = kind.info
    ends = (10, 5) if info.at_parameter == "cutoff" else (0.1, 0.5)
    plain = kind()
    if info.at_usage == "none":
        forms = [plain]
    else:
        forms = [plain @ end for end in ends]
        if info.at_usage == "optional":
            forms = [plain, forms[1]]
    yield from forms
    for name in kind.list_parameter_names():
        if name in {"cutoff", info.at_parameter}:
            continue
        check = kind.parameters[name].check
        words = re.findall(r"'([^']*)'", accepts(check)) if name not in VARIANTS else []
        # The ends of a list matter only where the list is cut.
        start = forms[-1] if name in {"denominator", "ideal"} else forms[0]
        for value in (*VARIANTS.get(name, ()), *words):
            try:
                yield start(**{name: value})
            except cf.MeasureError:
                continue


# Markdown


def row(*cells: str) -> list[str]:
    """Write a row of a table; a bar inside a cell would end it."""
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"]


def braced(text: str) -> str:
    """Set a mapping as code; braces at the end of a cell would be read as attributes."""
    return re.sub(r"\{[^}]*\}", r"`\g<0>`", text)


def code(text: str) -> str:
    """Set the names of another tool as code, and what is said of them as text."""
    if not text:
        return ""
    names, bracket, note = text.partition(" (")
    return f"`{names}`" + (f" ({note}" if bracket else "")


def quoted(text: str) -> str:
    """Quote for a shell what a shell would read otherwise."""
    if re.fullmatch(r"[\w@.]+", text):
        return text
    return f'"{text}"'


INDEX_HEAD = r"""# Measures

A measure turns the ranking of one system for one topic into a score. Each has a page with its
formula, its parameters, its range, what is known of its measurement scale, its source, and a worked
example. The pages are made from the code that computes the scores.

## Text form

A measure is written `Name(parameter=value, ...)@cutoff`. Parameters that have their default are
left out. Names are case-sensitive.

| text | meaning |
| --- | --- |
| `nDCG@10` | nDCG of the top 10 |
| `AP(rel=2)@100` | average precision of the top 100, grades from 2 on being relevant |
| `RBP(p=0.95)` | rank-biased precision, persistence 0.95, whole ranking |
| `nDCG(gains={1: 1, 2: 3})@20` | nDCG with gains of your own |
| `IPrec@0.1` | interpolated precision at recall 0.1 |
| `map`, `P_10`, `ndcg_cut.5,10`, `official` | the names of trec_eval |

In Python the same is written with objects. `@` sets the cutoff and a call sets parameters:

```pycon
>>> from cranfield.measures import AP, RBP, nDCG
>>> nDCG @ 10, AP(rel=2) @ 100, RBP(p=0.95)
(nDCG@10, AP(rel=2)@100, RBP(p=0.95))
```

The [catalogue](catalogue.md) has all measures in one table with what each depends on and how it
behaves, computed from its scores.

A wrong name, parameter or value is refused at once, before anything is read or computed.

The option `judged_only` is common to all measures: unjudged documents are removed first, and those
below move up. See [judging](../judging.md#unjudged-documents) for when to use the policy instead.

A score that is undefined, such as average precision for a topic without relevant documents, is 0.

## Notation

| symbol | meaning |
| --- | --- |
| $r$ | rank, from 1 |
| $k$ | cutoff: the ranks that count; without a cutoff, the length of the ranking |
| $n$ | documents retrieved (in the top $k$); in a mean over topics, number of topics |
| $g_r$ | grade of the document at rank $r$, or its gain where the measure has gains |
| $\mathit{rel}$ | lowest grade that counts as relevant; 1 by default |
| $[\dots]$ | 1 if what stands inside is true, else 0 |
| $RB$ | recall base: number of relevant documents of the topic, retrieved or not |
| $A$, $B$ | set of the relevant documents, set of the retrieved documents |
| $\mathcal{R}$ | ranks of the relevant documents retrieved |
| $P@r$ | precision of the top $r$ |
| $d(r)$ | discount at rank $r$ |
| $p$ | persistence: probability of continuing to the next document |
| $R_i$ | in ERR, the probability that the document at rank $i$ satisfies |
| $iDCG$, $iERR$ | value of the ideal ranking: all judged documents by falling gain |
| $C(i)$ | in INST, the probability that a user who reads rank $i$ goes on |
| $V(r)$, $W(r)$ | probability that rank $r$ is read; its proportion of all ranks read |
| $T$, $T_i$ | in INST and INSQ, gain that the user wants; what of it is missing after rank $i$ |
| $g^*$ | gains of the ideal ranking |
| $ig(r)$, $cg(r)$ | in G, gain so far of the ideal ranking and of the ranking |
| $n_r$ | documents above rank $r$ that are not relevant; in Bpref, that are judged not relevant |
| $R$, $N$ | in Bpref, documents of the topic judged relevant, and judged not relevant |
| $P$, $R$ | in SetF and SetE, precision and recall of the set |
| $P(R)$, $iP$ | precision at a recall of $R$; interpolated precision |
| $d_{pool}$ | in infAP, documents above rank $r$ that are in the pool |
| $rel$, $nonrel$ | in infAP, those of them judged relevant, and judged not relevant |
| $\epsilon$ | 0.00001 |
| $D$ | documents in the collection |
| $t$ | topic |

## All measures

`@k` is a cutoff that is required, `[@k]` one that is optional. The last columns tell what other
tools call the same measure; [coming from other tools](../coming-from.md) tells where their numbers
differ.
"""
