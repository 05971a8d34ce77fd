"""The catalogue of measures as one page, and what pages of single measures say of properties."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping

from measure_properties.battery import battery
from measure_properties.findings import PROPERTIES, Finding
from measure_properties.properties import properties, representative

from cranfield.measures.families import KINDS
from cranfield.measures.listing import Entry, group_by_family, list_entries

MARKS = {True: "yes", False: "–", None: "?"}

Convert = Callable[[str], str]
"""Turns LaTeX into MathML."""


def catalogue(mathml: Convert) -> str:
    """Write the page with all measures."""
    by_family = group_by_family(list_entries())
    count = sum(len(members) for members in by_family.values())
    lines = [
        "# Catalogue",
        "",
        f"All {count} measures: of rankings, of other measures, and of texts. Their properties are"
        " computed from their scores, not declared: hold the mouse over a mark to see the rankings"
        " that show it, or open the page of the measure.",
        "",
        "## Family tree",
        "",
        *tree(by_family),
        "",
        "## Measures and their properties",
        "",
        *table(by_family),
        "",
        "## Formulas",
        "",
        *formulas(by_family, mathml),
        "",
        "## What the properties mean",
        "",
        *meanings(),
    ]
    return "\n".join(lines)


def tree(by_family: dict[str, list[Entry]]) -> Iterator[str]:
    """Yield the families, each with its members."""
    for family, members in by_family.items():
        links = ", ".join(f"[`{one.info.name}`]({one.info.name}.md)" for one in members)
        yield f"- **{family}**: {links}"


def table(by_family: dict[str, list[Entry]]) -> Iterator[str]:
    """Yield the table with the boxes that filter it, as HTML."""
    yield STYLE
    yield '<div class="catalogue" markdown="0">'
    yield '<p><input type="search" id="cat-word" placeholder="name, summary, family, needs, source">'
    kinds = "".join(f"<option>{kind}</option>" for kind in KINDS)
    yield f'<select id="cat-kind"><option value="">all kinds</option>{kinds}</select>'
    yield '<span id="cat-count" aria-live="polite"></span></p>'
    yield '<p class="boxes">'
    for name, (title, meaning, _) in PROPERTIES.items():
        yield (
            f'<label title="{html.escape(meaning)}">'
            f'<input type="checkbox" data-p="{name}">{title}</label>'
        )
    yield '</p><div class="scroll"><table class="all"><thead><tr><th>measure</th>'
    for title, meaning, _ in PROPERTIES.values():
        yield f'<th class="p" title="{html.escape(meaning)}"><span>{title}</span></th>'
    yield '<th class="w">description</th><th class="w">needs</th><th class="w">source</th></tr></thead>'
    for family, members in by_family.items():
        yield f'<tbody><tr class="family"><th colspan="{len(PROPERTIES) + 4}">{family}</th></tr>'
        for one in members:
            yield from _row(one)
        yield "</tbody>"
    yield f"</table></div></div>{SCRIPT}"


def _row(one: Entry) -> Iterator[str]:
    info = one.info
    _, found = findings(one)
    held = " ".join(name for name, this in (found or {}).items() if this.holds)
    words = " ".join(
        (info.name, *info.aliases, info.summary, info.family, info.needs, info.sources)
    )
    yield (
        f'<tr data-kind="{one.kind}" data-has="{held}" data-words="{html.escape(words.lower())}">'
        f'<th><a href="{info.name}.html"><code>{html.escape(one.form)}</code></a></th>'
    )
    for name in PROPERTIES:
        this = found[name] if found else Finding(None, "is not a measure of rankings")
        kind = {True: "y", False: "n", None: "u"}[this.holds]
        yield f'<td class="p {kind}" title="{html.escape(str(this))}">{MARKS[this.holds]}</td>'
    yield "".join(
        f"<td>{html.escape(cell)}</td>" for cell in (info.summary, info.needs, info.sources)
    )
    yield "</tr>"


def formulas(by_family: dict[str, list[Entry]], mathml: Convert) -> Iterator[str]:
    """Yield a table of formulas for each family."""
    yield "The letters are explained in the [notation](index.md#notation)."
    for family, members in by_family.items():
        yield f"\n### {family[:1].upper()}{family[1:]}\n"
        yield '<table class="formulas"><tbody>'
        for one in members:
            formula = mathml(one.info.formula) if one.info.formula else ""
            yield (
                f'<tr><th><a href="{one.info.name}.html"><code>{html.escape(one.form)}</code></a>'
                f"</th><td>{formula}</td></tr>"
            )
        yield "</tbody></table>\n"


def meanings() -> Iterator[str]:
    """Yield what each property says, and where it comes from."""
    count = len(battery().cases)
    yield (
        f"They are computed on {count:,} small rankings: all of up to three documents and many of"
        " four, with grades 0 to 3 and unjudged documents, two intents, and several sets of"
        " judgments, and a few of 100 documents. What holds, holds for all comparisons of these; no"
        " more is proved by it. What does not hold has a counterexample. Documents are equally long"
        " but where lengths are what is asked about. Taken as a session, a ranking is what two queries"
        " found, the first of them two documents. Each measure has its default parameters; a"
        " cutoff that is required is 3. A question mark is a property that was not computed,"
        " because the measure needs what these rankings do not have."
    )
    yield ""
    yield "| property | a measure has it when | source |"
    yield "| --- | --- | --- |"
    for title, meaning, source in PROPERTIES.values():
        yield f"| {title} | {meaning} | {source} |"


def findings(one: Entry) -> tuple[str, Mapping[str, Finding] | None]:
    """Return the form that represents a measure and its properties; None for measures of texts."""
    made = None if one.kind == KINDS[2] else representative(one.info.name)
    if made is None:
        return one.info.name, None
    return str(made), properties(made).findings


def properties_of(one: Entry) -> list[str]:
    """Write the section with the properties of one measure, with examples."""
    form, found = findings(one)
    if found is None:
        return []
    lines = ["## Properties", ""]
    reasons = {this.example for this in found.values()}
    if len(reasons) == 1 and all(this.holds is None for this in found.values()):
        return [*lines, f"They are not computed: {reasons.pop()}.", ""]
    lines += [
        f"Computed for `{form}`; the [catalogue](catalogue.md#what-the-properties-mean) tells what"
        " they mean. Rankings are written by grade, `-` being a document without judgment"
        + (", and a and b the intents that it is relevant to." if _by_intent(found) else "."),
        "",
        "| property | holds | shown by |",
        "| --- | --- | --- |",
    ]
    for name, this in found.items():
        holds = {True: "yes", False: "no", None: "not computed"}[this.holds]
        shown = this.example or f"all {this.compared:,} comparisons"
        lines.append(f"| {PROPERTIES[name][0]} | {holds} | {shown.replace('|', chr(92) + '|')} |")
    return [*lines, ""]


def _by_intent(found: Mapping[str, Finding]) -> bool:
    return bool(found["intents"].holds)


def described(text: str) -> list[str]:
    """Write a docstring as Markdown: what stands before its sections, its notes and its examples."""
    head, *rest = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    lines = [marked(head.strip()), ""]
    if "Notes" in sections:
        lines += [marked(sections["Notes"].strip()), ""]
    if "Examples" in sections:
        lines += ["```pycon", sections["Examples"].strip(), "```", ""]
    return lines


def marked(text: str) -> str:
    """Turn formulas of reStructuredText into those of Markdown, which indents lists by four."""
    text = re.sub(
        r"^([ ]*)\.\. math::[ ]*(.*(?:\n\1[ ]+\S.*)*)(?:\n\n((?:\1[ ]+\S.*\n?)+))?",
        lambda found: "\n".join(
            f"{found[1] and found[1].ljust(4)}{line}"
            for line in ("$$", " ".join(f"{found[2]} {found[3] or ''}".split()), "$$")
        ),
        text,
        flags=re.MULTILINE,
    )
    return re.sub(r":math:`([^`]*)`", r"$\1$", text)


STYLE = """<style>
.catalogue .scroll { max-height: 80vh; overflow: auto; font-size: .7rem; }
.catalogue table { border-collapse: collapse; }
.catalogue th, .catalogue td { padding: .15rem .35rem; text-align: left; vertical-align: top; }
.catalogue thead th { position: sticky; top: 0; background: var(--md-default-bg-color); z-index: 1; }
.catalogue th.p span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; }
.catalogue td.p { text-align: center; border-left: 1px solid var(--md-default-fg-color--lightest); }
.catalogue td.n, .catalogue td.u { color: var(--md-default-fg-color--light); }
.catalogue tr.family th { background: var(--md-code-bg-color); }
.catalogue tbody tr > th { white-space: nowrap; font-weight: normal; position: sticky; left: 0;
  background: var(--md-default-bg-color); }
.catalogue tbody tr.family > th { font-weight: bold; }
.catalogue tbody tr:not(.family) > * { border-top: 1px solid var(--md-default-fg-color--lightest); }
.catalogue thead th:first-child { left: 0; z-index: 2; }
.catalogue th.w { min-width: 14rem; }
.catalogue .boxes label { display: inline-block; margin-right: .8rem; font-size: .7rem; }
.catalogue input[type=search], .catalogue select { border: 1px solid; padding: .2rem .4rem;
  color: inherit; background: var(--md-default-bg-color); }
.catalogue input[type=search] { width: 22rem; max-width: 100%; }
</style>"""

SCRIPT = """<script>
(() => {
  const word = document.getElementById("cat-word"), kind = document.getElementById("cat-kind");
  const boxes = [...document.querySelectorAll(".catalogue .boxes input")];
  const bodies = [...document.querySelectorAll(".catalogue tbody")];
  const show = () => {
    const words = word.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const wanted = boxes.filter(box => box.checked).map(box => box.dataset.p);
    let count = 0;
    for (const body of bodies) {
      let here = 0;
      for (const row of body.querySelectorAll("tr[data-kind]")) {
        const has = row.dataset.has.split(" ");
        const fits = words.every(one => row.dataset.words.includes(one))
          && (!kind.value || row.dataset.kind === kind.value)
          && wanted.every(one => has.includes(one));
        row.hidden = !fits;
        here += fits;
      }
      body.hidden = !here;
      count += here;
    }
    document.getElementById("cat-count").textContent = " " + count + " measures";
  };
  [word, kind, ...boxes].forEach(one => one.addEventListener("input", show));
  show();
})();
</script>"""
