"""Studies as text: tables for the eye, Markdown, LaTeX, HTML, CSV and JSON."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import replace

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import html, latex, plain
from cranfield.base.escape import markdown as safe
from cranfield.base.version import __version__
from cranfield.base.words import counted
from cranfield.meta.study import Findings
from cranfield.tabular import from_frame
from cranfield.tabular.html import SMALL

ALL = "all"
"""What asks for all tables that people read, instead of the first of each study."""


def plain_text(study: Findings) -> str:
    parts = ["\n".join(map(plain, some)) for some in (study.verdict, study.heading) if some]
    tables = study.first or study.tables
    detail = []
    if len(tables) < len(study.tables):
        detail.append(f"{counted(len(study.tables) - len(tables), 'more table')}: --table {ALL}")
    if tables and len(study.frames) > 1:
        detail.append(f"numbers in full, by --table: {', '.join(study.frames)}")
    told = ["\n".join(detail)] if detail else []
    return "\n\n".join([*parts, *(table.to_text() for table in tables), *told]) + "\n"


def markdown(study: Findings) -> str:
    parts = [f"{safe(line)}\n" for line in (*study.verdict, *study.heading)]
    for table in study.tables:
        parts.append(f"### {safe(table.title)}\n\n{table.to_markdown(title=False)}")
    return "\n".join(parts)


def latex_text(study: Findings) -> str:
    heading = "".join(f"% {latex(line)}\n" for line in (*study.verdict, *study.heading))
    return heading + "\n".join(table.to_latex(caption=True) for table in study.tables)


def html_text(study: Findings) -> str:
    heading = [f"<p>{html(line)}</p>\n" for line in study.verdict]
    heading += [f'<p style="{SMALL}">{html(line)}</p>\n' for line in study.heading]
    return "".join([*heading, *(table.to_html() for table in study.tables)])


def csv_text(study: Findings) -> str:
    """Write CSV: the table, where there is one; else a row a number, of all tables."""
    import polars as pl

    out = io.BytesIO()
    if len(study.frames) == 1:
        [(frame, _)] = study.frames.values()
        frame.write_csv(out)
        return out.getvalue().decode()
    long = []
    for name, (frame, keys) in study.frames.items():
        values = [one for one in frame.columns if one not in keys]
        long.append(
            frame.with_columns(pl.col(values).cast(pl.Float64, strict=False))
            # A column may be called `value` itself.
            .unpivot(values, index=list(keys), variable_name="(what)", value_name="(value)")
            .select(
                pl.lit(name).alias("table"),
                # A key that does not apply, such as the depth of all judgments, is empty.
                of=pl.concat_str(pl.col(keys).cast(pl.String).fill_null(""), separator=", "),
                what="(what)",
                value="(value)",
            )
        )
    pl.concat(long).write_csv(out)
    return out.getvalue().decode()


def json_text(study: Findings) -> str:
    from cranfield.reporting.text.json_values import json_of

    frames = {name: frame.to_dicts() for name, (frame, _) in study.frames.items()}
    told = {"verdict": list(study.verdict)} if study.verdict else {}
    return json_of({"cranfield": __version__, **study.about, **told, **frames})


WRITERS: dict[str, Callable[[Findings], str]] = {
    "text": plain_text,
    "markdown": markdown,
    "latex": latex_text,
    "html": html_text,
    "csv": csv_text,
    "json": json_text,
}
"""How a study can be written."""


def check_table(table: str, names: Iterable[str]) -> None:
    known = list(names)
    if table not in (*known, ALL):
        there = ", ".join(known)
        raise PolicyError(f"there is no table {quoted(table)}; there are {there}")


def written(study: Findings, format: str, table: str | None = None) -> str:
    if table == ALL:
        study = replace(study, first=study.tables)
    elif table is not None:
        check_table(table, study.frames)
        frame, keys = study.frames[table]
        shown = from_frame(frame, table, left=keys)
        study = Findings(study.heading, [shown], {table: (frame, keys)}, study.about)
    return WRITERS[format](study)
