"""Build hook of the site: a page of the Python reference for each room, made from its names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from catalogue_page import marked
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from navigation import section

from cranfield.result import Result

ROOMS = {
    "cranfield": "The names of everyday work: `import cranfield as cf`.",
    "cranfield.collection": "What is read: [reading](../reading.md), [judging](../judging.md).",
    "cranfield.measures": "Each measure has [a page](../measures/index.md); here is what they share.",
    "cranfield.sessions": "How they are scored: [sessions](../sessions.md).",
    "cranfield.texts": "How they are scored: [answers and summaries](../answers.md).",
    "cranfield.assess": "[Pools](../pools.md), [labels](../labels.md), [LLM judges](../llm-judges.md),"
    " [probabilities of relevance](../probabilities.md) and [few human judgments](../few-judgments.md).",
    "cranfield.online": "[Query logs](../logs.md), [online measures](../online-measures.md),"
    " [interleaving](../interleaving.md), [click models](../click-models.md),"
    " [experiments](../experiments.md), [off-policy estimates](../off-policy.md).",
    "cranfield.significance": "Which test to use: [significance](../significance.md).",
    "cranfield.correlation": "How alike two orders are: [coefficients](../testing-measures.md).",
    "cranfield.scales": "What they are for: [measurement scales](../scales.md).",
    "cranfield.meta": "Studies of [tests](../testing-tests.md), [measures](../testing-measures.md),"
    " [collections](../testing-collections.md) and [reproductions](../reproducing.md).",
    "cranfield.charts": "What they look like: [gallery](../gallery.md).",
    "cranfield.result": "What every result has in common.",
    "cranfield.tabular": "What they look like: [tables](../tables.md).",
}
"""Rooms with public names, and where their guide is; a name is documented in the first that has it.

The root comes last in that, although its page is the first: it shows what others have not."""

MAIN_FUNCTIONS = {
    "cranfield": ("read_runs", "read_qrels", "evaluate", "compare", "report", "meaningfulness"),
    "cranfield.measures": ("measure", "user_model"),
    "cranfield.sessions": ("read_session_topics",),
    "cranfield.texts": ("read_nuggets", "read_citations", "judge_answers", "judge_summaries"),
    "cranfield.assess": (
        "pool",
        "sample",
        "read_labels",
        "dawid_skene",
        "compare_judges",
        "ppi_mean",
    ),
    "cranfield.online": ("read_log", "measure", "analyse_experiment", "interleave", "train_models"),
    "cranfield.significance": ("compare_measures", "effect_sizes", "topics_needed", "power_pairs"),
    "cranfield.correlation": ("kendall_tau", "tau_ap", "rbo"),
    "cranfield.scales": ("required_scale", "scale_over_topics", "dominance"),
    "cranfield.meta": ("correlate", "discriminative_power", "leave_one_out", "study_scales"),
    "cranfield.tabular": ("tabulate_frame", "render_frame"),
}
"""Functions of a room that its page shows first."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages into the navigation."""
    section(config.nav, "Python reference").extend({room: page_of(room)} for room in ROOMS)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for room, guide in ROOMS.items():
        content = "\n".join(page(room, guide))
        files.append(File.generated(config, page_of(room), content=content))
    return files


def page_of(room: str) -> str:
    """Return the path of a room's page."""
    return f"api/{room.removeprefix('cranfield.')}.md"


def page(room: str, guide: str) -> Iterator[str]:
    """Write what a room is, and its names."""
    module = resolve_name(room)
    about = re.sub(r"(?m)(^>>> .*(?:\n.+)*)", r"```pycon\n\1\n```", inspect.getdoc(module) or "")
    yield from (f"# {room}", "", about, "", guide, "")
    for name, thing in documented(module):
        if room == "cranfield" or not any(thing is other for _, other in documented(root())):
            # Its own place in the code is what can be found without running it.
            home = f"{inspect.getmodule(thing).__name__}.{thing.__qualname__}"  # type: ignore[union-attr]
            yield from (f"::: {home}", "    options:", f"      heading: {room}.{name}")
            if inspect.isclass(thing) and issubclass(thing, Result) and room != "cranfield.result":
                # What all results have is documented once.
                yield "      inherited_members: false"
                yield from ("", *columns(thing))
            yield ""


def columns(result: type[Result]) -> Iterator[str]:
    """Write the declared columns of a class of results as Markdown tables."""
    for table, declared in result.get_columns().items():
        title = f"Columns of the table `{table}`" if len(result.get_columns()) > 1 else "Columns"
        yield from (f"**{title}**", "", "| column | |", "| --- | --- |")
        for name, column in declared.items():
            key = " *(key)*" if column.key else ""
            about = marked(column.about).replace("|", r"\|")
            yield f"| `{name}`{key} | {about} |"
        yield ""
    yield (
        "All results have the methods of [`cranfield.result.Result`](result.md):"
        " `print`, `to_polars`, `to_csv`, `to_json`, `to_latex`, ..."
    )


def root() -> ModuleType:
    """Return the package."""
    return resolve_name("cranfield")  # type: ignore[no-any-return]


def documented(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the main functions of a room, its other functions, its classes, and its errors last.

    Measures have pages of their own.
    """
    things = {name: getattr(module, name) for name in vars(module)["__all__"]}

    main_functions = MAIN_FUNCTIONS.get(module.__name__, ())

    def place(name: str) -> tuple[bool, bool, int, str]:
        is_class = inspect.isclass(things[name])
        is_error = is_class and issubclass(things[name], Exception)
        rank = main_functions.index(name) if name in main_functions else len(main_functions)
        return is_error, is_class, rank, name.lower()

    for name in sorted(things, key=place):
        if inspect.isclass(things[name]) or inspect.isfunction(things[name]):
            yield name, things[name]
