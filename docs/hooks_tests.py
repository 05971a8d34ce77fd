"""Build hook of the site: a page a significance test, made from the registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from navigation import section

import cranfield as cf
from cranfield.significance import CORRECTIONS, TESTS
from cranfield.significance.registry import DEFAULT_CORRECTION, TestInfo

EXAMPLE = {
    "bm25": [0.31, 0.12, 0.58, 0.44, 0.27, 0.65, 0.09, 0.40, 0.22, 0.51],
    "dense": [0.39, 0.10, 0.66, 0.47, 0.41, 0.70, 0.18, 0.52, 0.20, 0.63],
    "fused": [0.42, 0.16, 0.71, 0.45, 0.46, 0.78, 0.16, 0.58, 0.29, 0.66],
}
"""Scores of three systems on ten topics, for all pages alike."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the tests into the navigation."""
    section(config.nav, "Significance").extend(
        {test.info.title: page_of(name)} for name, test in TESTS.items()
    )
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for name, test in TESTS.items():
        files.append(File.generated(config, page_of(name), content=page(test.info)))
    files.append(File.generated(config, "significance/tests.md", content=index()))
    return files


def page_of(name: str) -> str:
    """Return the path of a test's page."""
    return f"significance/{name}.md"


def index() -> str:
    """Write the list of tests and of corrections."""
    lines = ["# Tests and corrections", "", "## Tests", ""]
    lines += row("test", "asks", "compares", "scale")
    lines += row(*["---"] * 4)
    for name, test in TESTS.items():
        info = test.info
        topics = "same topics" if info.is_paired else "any topics"
        systems = "all systems" if info.has_model else "pairs"
        lines += row(f"[`{name}`]({name}.md)", info.asks, f"{systems}, {topics}", str(info.scale))
    lines += ["", "The scale is the one that scores must be on for the answer to be meaningful,"]
    lines += ["whatever scale the measure is on (Ferrante, Ferro and Fuhr, 2021, section 2.5).", ""]
    lines += ["## Corrections for many comparisons", ""]
    lines += row("correction", "what it does", "what it assumes")
    lines += row("---", "---", "---")
    of_test = "what the test assumes of each pair"
    for name, correction in CORRECTIONS.items():
        lines += row(f"`{name}`", correction.does, correction.assumes or of_test)
    return "\n".join([*lines, ""])


def page(info: TestInfo) -> str:
    """Write the page of one test."""
    tags = ["---", "tags: [t-test]", "---", ""] if info.name == "t" else []
    lines = [*tags, f"# {info.title}", "", info.asks, ""]
    lines += ["$$", info.formula, "$$", ""]
    lines += ["## What it is", "", *facts(info), ""]
    if info.refusal:
        lines += [f"For studies of tests only (`cranfield study tests`): {info.refusal}.", ""]
    else:
        lines += ["## Example", "", *example(info)]
    return "\n".join(lines)


def facts(info: TestInfo) -> Iterator[str]:
    """Yield the table of what the test declares of itself."""
    yield from row("property", "value")
    yield from row("---", "---")
    names = ", ".join(f"`{name}`" for name in (info.name, *info.aliases))
    yield from row("name", names)
    yield from row("null hypothesis", info.null)
    yield from row("assumes", info.assumes)
    yield from row("when to use it", info.when)
    if info.convention:
        yield from row("conventions", info.convention)
    yield from row("statistic", info.statistic)
    yield from row("effect size", info.effect)
    yield from row("scale that it assumes", str(info.scale))
    first = DEFAULT_CORRECTION if DEFAULT_CORRECTION in info.corrections else info.corrections[0]
    default = f"; by default `{first}` ({CORRECTIONS[first].title})"
    corrections = ", ".join(f"`{one}`" for one in info.corrections)
    yield from row("corrections", corrections + (default if len(info.corrections) > 1 else ""))
    yield from row("source", f"{info.source} ([references](../references.md))")


def example(info: TestInfo) -> Iterator[str]:
    """Yield the test on the example, as Python prints it."""
    systems = EXAMPLE
    if info.shards == "required":
        yield from shards(info)
        return
    yield "Scores of three systems on ten topics:"
    yield ""
    yield "```python"
    yield "scores = {"
    for name, column in systems.items():
        yield f'    "{name}": {column},'.replace("'", '"')
    yield "}"
    yield f'print(cf.compare(scores, test="{info.name}"))'
    yield "```"
    yield ""
    yield from printed(cf.compare(systems, test=info.name))


AXES = {"shard": "the shards of the collection", "replicate": "the replicates of each system"}
"""The third axis of scores, in words."""


def shards(info: TestInfo) -> Iterator[str]:
    """Yield the test on scores by shard: halves of the collection, one a little harder."""
    import numpy as np

    whole = np.array(list(EXAMPLE.values())).T
    tilt = 0.05 * np.sin(np.arange(whole.size)).reshape(whole.shape)
    values = np.stack([whole + tilt, whole - 0.04 - tilt], axis=2).round(3)
    topics = tuple(map(str, range(1, len(whole) + 1)))
    yield f"Scores have a third axis, {AXES[info.axis]}; here there are two:"
    yield ""
    yield "```python"
    axis = "" if info.axis == "shard" else f', axis="{info.axis}"'
    yield f"scores = cf.Scores(values, topics=topics, systems=systems{axis})   # values: 10 x 3 x 2"
    yield f'print(cf.compare(scores, test="{info.name}"))'
    yield "```"
    yield ""
    scores = cf.Scores(values, topics, tuple(EXAMPLE), axis=info.axis)
    yield from printed(cf.compare(scores, test=info.name))


def printed(found: Any) -> Iterator[str]:
    """Yield what a comparison prints."""
    yield "```text"
    yield str(found)
    yield "```"
    yield ""


def row(*cells: str) -> list[str]:
    """Write a row of a table; a bar inside a cell would end it."""
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"]
