"""Command on prompts for language models: `prompts`."""

from __future__ import annotations

import click

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.base.text import counted, plain
from cranfield.cli import options as cli


@cli.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=cli.READ)
@cli.own_options("template grades", grades={"metavar": "RULE", "requires": "!--template"})
@cli.output_option
def prompts(
    files: tuple[str, ...], *, template: str | None, grades: str | None, output: str | None
) -> None:
    """Write prompts for a language model to judge documents, or read labels from its answers.

    With --template, FILE... is PAIRS TOPICS DOCUMENTS: the pairs to judge, such as a pool, and the
    tables of their texts. The output is JSON lines of id, topic, doc and prompt.
    Without --template, FILE... is PROMPTS ANSWERS: these JSON lines, and JSON lines of id and text.
    The output is labels for `cranfield judges`; the parse rate is printed on standard error.

    Parameters
    ----------
    template
        Text with the placeholders {topic} and {document}, or {topic.COLUMN}, {document.COLUMN}.
    grades
        Rule for the grade in an answer: a pattern such as "score: ([0-3])", or grades of words,
        "relevant=1,not relevant=0". By default the grade is the only number of the answer.

    Examples
    --------
    cranfield prompts --template umbrela.txt pool.txt topics.csv docs.jsonl -o prompts.jsonl
    cranfield prompts prompts.jsonl answers.jsonl -o llm.csv
    cranfield prompts prompts.jsonl answers.jsonl --grades "score: ([0-3])" -o llm.csv
    """
    from cranfield.assess.judges.prompts import ONLY_NUMBER
    from cranfield.collection.files.writing import write_table
    from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
    from cranfield.sources.text import decoded

    path, file_count = output or "-", counted(len(files), "file")
    if template is not None:
        if len(files) != 3:
            raise PolicyError(f"--template requires PAIRS TOPICS DOCUMENTS, got {file_count}")
        source, (pairs, topics, documents) = Source(template), files
        text = decoded(source.read(), source.name)
        write_table(cf.assess.make_prompts(pairs, topics, documents, text), path, "jsonl")
        return
    if len(files) != 2:
        raise PolicyError(f"expected PROMPTS ANSWERS, or --template, got {file_count}")
    rule = ONLY_NUMBER if grades is None else cli.parse_grades(grades)
    parsed = cf.assess.parse_answers(*files, grades=rule)
    write_table(parsed.labels, path, FORMAT_OF_SUFFIX.get(Source(path).suffix, "csv"))
    for line in parsed.heading():
        click.echo(plain(line), err=True)
