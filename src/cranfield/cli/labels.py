"""Commands on labels of workers or language models: `labels`, `judges`, `prompts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import click

import cranfield as cf
from cranfield.assess.labels import CROWD_MODELS, QUALITIES
from cranfield.base.errors import InputError, PolicyError, check_choice, quote
from cranfield.base.text import inflect, sanitise
from cranfield.cli import options as cli
from cranfield.collection.policies import FORMATS
from cranfield.result import ResultSet, combine_results
from cranfield.tabular import tabulate_frame

if TYPE_CHECKING:
    import polars as pl

METHODS_WITH_GOLD = ("dawid-skene", "one-coin", "glad", "mace")
KEYS: dict[str, tuple[str, ...]] = {
    "grades": ("grade",),
    "workers": ("worker",),
    "agreement": ("assessors", "measure"),
    "gold": ("gold",),
    "judgments": ("topic", "doc"),
    "probabilities": ("topic", "doc"),
}

NO_OTHER_TABLE = f"!--table={','.join(table for table in KEYS if table != 'agreement')}"
AGREEMENT_OPTIONS = ("measures", "pairs", "reference", "rel", "interval", "confidence", "resamples")
MAX_WORKERS = 12  # maximum number of workers in text output; CSV and JSON have all workers
MAX_PAIRS = 40  # maximum number of pairs of workers in text output


@cli.command(
    common="columns grades method gold qrels measure pairs reference interval format table output"
)
@cli.settings("rel tie fix-gold encoding repeats confidence resamples seed")
@click.argument("labels", metavar="LABELS...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.own_options("columns", columns={"metavar": "NAMES"})
@cli.gather_options(
    dict,
    "label_options",
    cli.make_options(
        "cranfield.assess.read_labels",
        "worker_columns grades repeats missing encoding",
        worker_columns={
            "metavar": "NAMES",
            "help": "Columns with the labels of one worker each, such as 'Judge A,Judge B'; put a"
            " name with a comma between double quotes.",
        },
        grades={
            "metavar": "LOW..HIGH|VALUE=N,...",
            "callback": lambda context, option, text: _parse_grade_scale(text),
            "help": "Lowest and highest grade, such as 0..3; other labels are errors. Or how to map"
            " labels to grades: words ('Relevant=1,Not relevant=0'), cut points of numbers"
            " (0.5,0.8), or a pattern ('score: (\\d)'). By default the grades that occur.",
        },
    ),
)
@cli.own_options("method", type=click.Choice(list(CROWD_MODELS)))
@cli.options_from("cranfield.assess.majority", "tie")
@cli.own_options(
    "gold fix_gold qrels",
    gold={"metavar": "QRELS", "type": cli.INPUT_FILE},
    fix_gold={"requires": f"--gold --method={','.join(METHODS_WITH_GOLD)}"},
    qrels={"type": cli.OUTPUT_FILE},
)
@cli.change_options(("measures", "reference", "rel", "interval"), requires=(NO_OTHER_TABLE,))
@cli.options_from(
    "cranfield.assess.agreement_of",
    "measure=measures pairs reference rel interval confidence resamples seed",
    measures="Agreement coefficient, such as kappa(quadratic) or alpha; may be given several"
    " times. By default observed agreement, kappa (for more than two workers Fleiss'),"
    " ordinal alpha and AC1.",
    pairs={"requires": f"!--reference {NO_OTHER_TABLE}"},
    confidence={"requires": f"!--interval=none {NO_OTHER_TABLE}"},
    resamples={"requires": "--interval=bootstrap"},
    seed={
        "help": "Seed of the random numbers.",
        "requires": ("--tie=random", "--interval=bootstrap", "--method=mace"),
    },
)
@cli.make_result_options(KEYS)
def labels(
    labels: tuple[str, ...],
    *,
    columns: str | None,
    method: str = "majority",
    tie: str,
    gold: str | None,
    fix_gold: bool = False,
    qrels: str | None,
    label_options: dict[str, Any],
    measures: tuple[str, ...],
    result_output: cli.ResultOutput,
    **agreement_options: Any,
) -> None:
    """Summarise annotations, measure agreement, and aggregate them into qrels.

    LABELS is a file with the columns topic, document, worker (assessor) and grade, or several files
    of judgments, one for each worker: NAME=FILE.

    Parameters
    ----------
    columns
        Names of the fields in lines without a header, such as "- worker doc grade", where - is a
        field to ignore; or names of the columns of a table: worker=annotator,grade=rating
        (gold.doc=id for --gold).
    method
        Method that aggregates the labels of a document into one judgment.
    gold
        Gold judgments to compare with.
    fix_gold
        Treat the judgments of --gold as known grades when aggregating the other labels.
    qrels
        File to write the aggregated judgments to.

    Examples
    --------
    cranfield labels crowd.csv
    cranfield labels crowd.csv --method dawid-skene --qrels crowd.qrels
    cranfield labels votes.txt --columns "- doc worker grade" --gold gold.qrels
    cranfield labels ann=ann.qrels bob=bob.qrels --measure "kappa(quadratic)" --pairs
    cranfield labels crowd.csv --table workers --format csv
    """
    if qrels is not None and qrels in {result_output.output, "-"}:
        problem = "standard output (-)" if qrels == "-" else f"the file of --output, {quote(qrels)}"
        raise PolicyError(f"--qrels must be a file of its own, got {problem}")
    result_output.check(KEYS, {"gold": "--gold"} if gold is None else {})
    from cranfield.assess.labels.reading import read_gold
    from cranfield.assess.labels.table import LabelSummary

    label_columns, gold_columns = _parse_columns(columns)
    if gold_columns and gold is None:
        raise PolicyError("names with the prefix gold. in --columns require --gold")
    is_single = len(labels) == 1 and "=" not in labels[0]
    annotations = cf.assess.read_labels(
        labels[0] if is_single else cli.parse_pairs(labels, "several LABELS", "NAME=FILE"),
        columns=label_columns,
        **label_options,
    )
    gold_qrels = None
    if gold is not None:
        encoding = label_options["encoding"]
        gold_qrels = read_gold(gold, annotations, columns=gold_columns, encoding=encoding)
    known_grades = {"gold": gold_qrels} if fix_gold else {}
    consensus = CROWD_MODELS[method](
        annotations, tie=tie, seed=agreement_options["seed"], **known_grades
    )
    summary, workers = LabelSummary(annotations), consensus.summarise_workers()
    frames, keys = {"grades": summary.to_polars(), "workers": workers}, {**KEYS}
    notes = [*consensus.notes, *_describe_ties(consensus)]
    top_workers = workers.sort("labels", descending=True, maintain_order=True)[:MAX_WORKERS]
    n_hidden = workers.height - top_workers.height
    suffix = f"; {inflect(n_hidden, 'other')} not shown" if n_hidden else ""
    tables = [
        tabulate_frame(frames["grades"], "Grades", left=["grade"]),
        replace(
            tabulate_frame(top_workers, f"Workers, by {method}{suffix}"),
            notes=(
                f"quality: {QUALITIES[method]}; agreement: proportion of labels that equal the"
                " aggregated grade; without: agreement with the aggregated labels of the other"
                " workers, where each of m tied grades counts 1/m",
            ),
        ),
    ]
    if len(annotations.workers) > 1:
        agreement = cf.assess.agreement_of(annotations, measures or None, **agreement_options)
        frames["agreement"] = agreement.to_polars()
        if "first" in frames["agreement"].columns:
            keys["agreement"] = ("first", "second", "measure")
        tables.append(agreement.make_table(limit=MAX_PAIRS))
        notes += agreement.notes if result_output.writes_frame("agreement") else ()
        has_matrix = agreement.is_pairwise and len(annotations.workers) <= MAX_WORKERS
        if has_matrix and agreement_options["reference"] is None:
            title = f"Pairs of workers, {agreement.measures[0]}"
            tables.append(tabulate_frame(agreement.matrix(), title))
    else:
        cli.refuse_options(AGREEMENT_OPTIONS, "requires two workers or more, got one")
        notes.append("agreement was not measured, as all labels are by one worker")
    if gold_qrels is not None:
        frames["gold"], gold_notes = _compare_gold(consensus, gold_qrels)
        title = f"Gold grades, and grades by {method}"
        tables.append(tabulate_frame(frames["gold"], title, left=["gold"]))
        notes += gold_notes
    frames |= _make_pair_tables(consensus, result_output.table)
    if qrels is not None:
        notes.append(f"{inflect(len(consensus.qrels), 'judgment')} written to {qrels}")
    result_set = ResultSet(
        [*summary.heading(), *consensus.heading(), *(f"note: {note}" for note in notes)],
        tables,
        {name: (frame, keys[name]) for name, frame in frames.items()},
        {
            **{"method": method, "tie": tie, **agreement_options},
            "notes": [*annotations.notes, *summary.list_anomalies(), *notes],
        },
    )
    write_more = None if qrels is None else partial(cf.write_qrels, consensus.qrels, qrels)
    result_output.write(result_set, write_more)


def _describe_ties(consensus: cf.assess.Consensus) -> list[str]:
    """Return a note on the grades of tied pairs, if there are any."""
    from cranfield.assess.labels.consensus import TIES

    tie = consensus.tie
    policy = f"a tied pair gets {TIES[tie]} (setting tie: {tie})"
    return [f"{policy}; --table judgments has a column tied"] * bool(consensus.is_tied.any())


def _make_pair_tables(consensus: cf.assess.Consensus, table: str | None) -> dict[str, pl.DataFrame]:
    """Return the requested table if it has a row per pair."""
    if table == "judgments":
        return {table: consensus.to_polars()}
    return {table: consensus.probabilities.to_polars()} if table == "probabilities" else {}


def _parse_grade_scale(grades: str | None) -> Any:
    """Parse a range of grades, grades of words, cut points, or a pattern."""
    if grades is None:
        return None
    if "=" in grades or "(" in grades or ("." in grades and ".." not in grades):
        return cli.parse_grades(grades)
    from cranfield.assess.judges.reading import parse_scale

    try:
        return parse_scale(grades, min_grade=-(10**9)).grades
    except PolicyError:
        expected = "LOW..HIGH, such as 0..3, VALUE=N pairs, cut points or a pattern with a group"
        raise PolicyError(f"--grades must be {expected}, got {quote(grades)}") from None


def _parse_columns(
    columns: str | None,
) -> tuple[str | dict[str, str] | None, dict[str, str] | None]:
    """Parse fields of a line, or names of columns of labels and of gold grades."""
    if columns is None or "=" not in columns:
        return columns, None
    label_columns, gold_columns = cli.parse_columns(columns), dict[str, str]()
    for name in [name for name in label_columns if name.startswith("gold.")]:
        gold_columns[name.removeprefix("gold.")] = label_columns.pop(name)
    return label_columns or None, gold_columns or None


def _compare_gold(consensus: cf.assess.Consensus, gold: cf.Qrels) -> tuple[pl.DataFrame, list[str]]:
    """Cross-tabulate gold grades and aggregated grades; also return notes."""
    import numpy as np
    import polars as pl

    from cranfield.assess.labels.reading import match_gold

    gold_level, gold_notes = match_gold(gold, consensus.labels)
    rows = np.flatnonzero(gold_level >= 0)
    n_grades = consensus.labels.grades.size
    # The last column counts pairs that were dropped for a tie.
    aggregated_level = np.where(consensus.level[rows] < 0, n_grades, consensus.level[rows])
    counts = np.zeros((n_grades, n_grades + 1), dtype=int)
    np.add.at(counts, (gold_level[rows], aggregated_level), 1)
    n_correct, n_tied = int(np.trace(counts)), int(consensus.is_tied[rows].sum())
    names = [*map(str, consensus.labels.grades), "none"]
    columns = dict(zip(names, counts.T, strict=True))
    frame = pl.DataFrame({"gold": consensus.labels.grades} | columns)
    return frame, [
        *gold_notes[1:],
        f"aggregated grades equal the gold grades of {n_correct:,} of {rows.size:,} documents;"
        f" {n_tied:,} were tied",
    ]


DEFAULT_MEASURES = ("AP", "nDCG@10")

RUN_TABLES = ("rankings", "systems", "score-bias", "self-preference", "ppi", "strata")
LABEL_TABLES = ("agreement", "intervals", "calibration", "distributions")
JUDGE_TABLES = (*LABEL_TABLES, *RUN_TABLES, "decisions")

_NOT_PPI = "and cannot be combined with --ppi"
TABLE_CONDITIONS = {
    **dict.fromkeys(("rankings", "systems"), f"--runs or --own-runs, {_NOT_PPI}"),
    "score-bias": f"--tolerance score-bias=VALUE and --runs or --own-runs, {_NOT_PPI}",
    "self-preference": "--families",
    "ppi": "--ppi",
    "strata": "--ppi grade",
    "decisions": "--tolerance",
}

TOLERANCE_CONDITIONS = TABLE_CONDITIONS | {"score-bias": TABLE_CONDITIONS["rankings"]}

RUN_CONDITIONS = ("--runs", "--own-runs")


@cli.command(
    common="clip scale runs own-runs families ppi tolerance measure format table output settings"
)
@cli.settings(
    f"label-format level confidence fixed-topics seed compat jobs {cli.DOCUMENT_JUDGING_SETTINGS}"
)
@click.argument("qrels", metavar="QRELS", type=cli.INPUT_FILE)
@click.argument("judges", metavar="JUDGE...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.options_from(
    "cranfield.assess.compare_judges",
    "clip scale level",
    scale={
        "metavar": "LOW..HIGH",
        "help": "Lowest and highest possible grade, such as 0..3; by default 0 and the highest"
        " grade of QRELS or, with --ppi and without --clip, of QRELS and JUDGE.",
    },
)
@cli.own_options(
    "label_format runs own_runs families ppi fixed_topics tolerance=tolerances",
    label_format={"type": click.Choice(FORMATS)},
    runs={"requires": "!--own-runs"},
    families={"requires": ("--runs !--ppi", "--own-runs !--ppi")},
    ppi={"metavar": "UNIT", "argument": "unit"},
    fixed_topics={"requires": "--ppi"},
    tolerances={
        "type": str,
        "multiple": True,
        "callback": cli.collect_pairs,
        "metavar": "NAME=VALUE",
    },
)
@cli.make_measures_option(DEFAULT_MEASURES, requires=RUN_CONDITIONS)
@cli.options_from("cranfield.assess.compare_judges", "confidence")
@cli.options_from("cranfield.assess.ppi_scores", "seed", seed={"requires": "--ppi=topic,document"})
@cli.make_result_options(JUDGE_TABLES)
@cli.change_options(("system", "lower", "on_bad_run"), requires=("--runs",))
@cli.change_options((*cli.POLICIES, *cli.DOCUMENT_OPTIONS, *cli.WORK), requires=RUN_CONDITIONS)
@cli.document_judging_options
def judges(
    qrels: str,
    judges: tuple[str, ...],
    *,
    clip: bool,
    scale: str | None,
    level: str,
    label_format: str | None,
    runs: tuple[str, ...] = (),
    own_runs: bool = False,
    families: str | None,
    ppi: str | None,
    fixed_topics: bool = False,
    tolerances: Mapping[str, str],
    measures: tuple[str, ...],
    confidence: float,
    seed: int,
    result_output: cli.ResultOutput,
    **judging: Any,
) -> None:
    """Compare the labels of judges, such as language models, with human labels.

    JUDGE is a file of labels, NAME=FILE, a folder or a quoted pattern. Files are qrels, tables, or
    JSON lines of UMBRELA, whose unparsed answers are ignored.

    Parameters
    ----------
    label_format
        Format of JUDGE, if it differs from --input-format.
    runs
        Runs to rank by human labels and by those of judges: a file, a folder or a quoted pattern;
        may be given several times.
    own_runs
        Rank the judges themselves: the run of a judge has the documents in order of its grades.
    families
        Table of the families of judges and systems, to measure whether judges prefer systems of
        their own family (self-preference).
    ppi
        Correct scores by judges with human labels (prediction-powered inference) of a random
        sample of topics (topic) or of the documents of every topic (document); or, without runs,
        correct the mean grade with a random sample of each grade (grade).
    fixed_topics
        Compute confidence intervals for the mean over these topics, instead of a population of
        topics, with --ppi document.
    tolerances
        Tolerance with which the confidence interval of a quantity is compared: a minimum for kappa,
        alpha, agreement, tau, tau AP and, with --ppi, difference(A, B) of two systems; a maximum
        for bias, score-bias and self-preference; may be given several times.

    Examples
    --------
    cranfield judges qrels.txt submissions/
    cranfield judges qrels.txt gpt=umbrela.jsonl llama.txt --clip
    cranfield judges qrels.txt labels/ --runs runs/ -m AP -m nDCG@10
    cranfield judges qrels.txt labels/ --runs runs/ --families families.csv
    cranfield judges few.txt llm.txt --runs runs/ --ppi topic -m nDCG@10
    cranfield judges qrels.txt submissions/ --own-runs --families teams.csv -m nDCG@10
    cranfield judges few.txt llm.txt --runs runs/ --ppi topic --tolerance "difference(new, old)=0"
    """
    from cranfield.assess.judges.reading import drop_unsampled, read_panel
    from cranfield.assess.judges.tolerances import check_tolerances, find_quantity
    from cranfield.collection.judged.judging import can_be_read

    has_runs = bool(runs) or own_runs
    _check_unit(ppi, has_runs)
    is_by_grade = ppi == "grade"
    is_ranked = has_runs and not ppi
    has_bias = "score-bias" in {find_quantity(name).table for name in tolerances}
    conditions = {
        "rankings": is_ranked,
        "systems": is_ranked,
        "self-preference": families is not None,
        "ppi": bool(ppi),
        "strata": is_by_grade,
        "score-bias": is_ranked and has_bias,
    }
    table_names = [name for name, is_available in conditions.items() if is_available]
    bounds = check_tolerances(tolerances, ["intervals", *table_names], TOLERANCE_CONDITIONS)
    table_names += ["decisions"] if bounds else []
    absent = {name: text for name, text in TABLE_CONDITIONS.items() if name not in table_names}
    result_output.check(JUDGE_TABLES, absent)
    measure_list = cf.parse_measures(measures, rel=judging.pop("rel"), compat=judging["compat"])
    reading = cli.ReadingOptions.from_options({**judging, "has_judges": True})
    try:
        human_qrels, labels = reading.read_judges(qrels, judges, label_format, has_runs=has_runs)
    except InputError as error:
        if runs and error.source in judges and can_be_read(error.source, "run"):
            raise InputError(f"{error}; to read the file as a run, write --runs FILE") from None
        raise
    scale_options: dict[str, Any] = {"scale": scale, "clip": clip}
    if ppi and not clip:
        # Few human labels may lack the highest grade.
        scale_options["scale"] = read_panel(human_qrels, labels, scale, extends_scale=True).scale
    comparison = cf.assess.compare_judges(
        human_qrels, labels, level=level, confidence=confidence, **scale_options
    )
    results: list[Any] = []
    if is_by_grade:
        results = [cf.assess.ppi_grades(human_qrels, labels, alpha=1 - confidence, **scale_options)]
    if has_runs:
        run_list = (
            reading.find_runs(qrels, runs)
            if runs
            else cf.assess.judges_as_runs(human_qrels, labels, **scale_options)
        )
        options = cli.omit_reading(judging) | scale_options
        if options.pop("aspects"):
            raise PolicyError("--aspect is not supported: judges label relevance only")
        design = {"unit": ppi, "fixed_topics": fixed_topics, "seed": seed, "alpha": 1 - confidence}
        options |= design if ppi else {"confidence": confidence}
        data = (run_list, human_qrels, labels)
        results = _judge_runs(data, measure_list, table_names, families, options)
    all_results = [comparison, *results]
    all_results += [cf.assess.decide(bounds, *all_results)] if bounds else []
    notes = _list_notes(all_results)
    heading = [
        f"{inflect(len(comparison.judges), 'judge')} compared with people:"
        f" {inflect(len(drop_unsampled(human_qrels)), 'judgment')} of"
        f" {inflect(len(comparison.topics), 'topic')}, grades {comparison.scale[0]} to"
        f" {comparison.scale[-1]}",
        *(f"note: {note}" for note in notes),
    ]
    facts = {"scale": [*comparison.scale], "level": level, "confidence": confidence, "notes": notes}
    verdict = all_results[-1].verdict if bounds else ()
    result_set = replace(combine_results(*all_results), heading=heading, facts=facts)
    if ppi and has_runs:
        frames = {**result_set.frames, "ppi": _make_ppi_frame(results)}
        result_set = replace(result_set, frames=frames)
    result_output.write(replace(result_set, verdict=verdict, main_tables=(), is_verdict_last=True))


def _check_unit(ppi: str | None, has_runs: bool) -> None:
    """Check the unit of --ppi; only samples of grades are possible without runs."""
    from cranfield.assess.estimates.scores import UNITS

    if ppi is None:
        return
    check_choice("unit", ppi, (*UNITS, "grade"))
    if ppi == "grade" and has_runs:
        raise PolicyError("--ppi grade cannot be combined with --runs or --own-runs")
    if ppi != "grade" and not has_runs:
        raise PolicyError(f"--ppi {ppi} requires --runs or --own-runs; --ppi grade does not")


def _judge_runs(
    data: tuple[Any, Any, Any], measures: Any, tables: Sequence[str], families: Any, options: Any
) -> list[Any]:
    """Compute the results on runs, judgments and judges that the requested tables need."""
    if "ppi" in tables:
        return [
            cf.assess.ppi_scores(*data[:2], judge, measure, **options)
            for measure, judge in product(measures, data[2])
        ]
    results: list[Any] = [cf.assess.judge_rankings(*data, measures, **options)]
    if "score-bias" in tables:
        results.append(cf.assess.score_bias(*data, measures, **options))
    if families is not None:
        results.append(cf.assess.self_preference(*data, families, measures, **options))
    return results


def _list_notes(results: Sequence[Any]) -> list[str]:
    """List the notes of results; notes on only some prediction-powered scores name these."""
    notes: dict[str, list[str]] = {}
    n_scores = 0
    for result in results:
        is_ppi = isinstance(result, cf.assess.PPIScores)
        n_scores += is_ppi
        for note in getattr(result, "notes", ()):
            labels = notes.setdefault(note, [])
            labels += [f"{result.measure} by {result.judge}"] if is_ppi else []
    return [
        f"{', '.join(labels)}: {note}" if 0 < len(labels) < n_scores else note
        for note, labels in notes.items()
    ]


def _make_ppi_frame(results: Sequence[Any]) -> tuple[pl.DataFrame, Sequence[str]]:
    """Return a frame of the prediction-powered scores, and its key columns."""
    import polars as pl

    keys = ("measure", "judge")
    frames = [
        result.to_polars().select(*(pl.lit(getattr(result, key)).alias(key) for key in keys), "*")
        for result in results
    ]
    return pl.concat(frames), (*keys, "system")


@cli.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.own_options("template grades", grades={"metavar": "RULE", "requires": "!--template"})
@cli.output_option
def prompts(
    files: tuple[str, ...], *, template: str | None, grades: str | None, output: str | None
) -> None:
    """Write prompts for a language model to judge documents, or read labels from its answers.

    With --template, FILE... is PAIRS TOPICS DOCUMENTS: the pairs to judge, such as a pool, and
    tables with the texts of topics and documents. The output is JSON lines with id, topic, doc and
    prompt. Without --template, FILE... is PROMPTS ANSWERS: these JSON lines, and JSON lines with
    the id and text of each answer. The output is labels for `cranfield judges`; the proportion of
    parsed answers is printed on standard error.

    Parameters
    ----------
    template
        File with the text of the prompt, with the placeholders {topic} and {document}, or
        {topic.COLUMN} and {document.COLUMN}.
    grades
        How to read the grade in an answer: by a pattern such as "score: ([0-3])", or by words,
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
    from cranfield.sources.text import decode_text

    path, files_text = output or "-", inflect(len(files), "file")
    if template is not None:
        if len(files) != 3:
            raise PolicyError(f"--template requires PAIRS TOPICS DOCUMENTS, got {files_text}")
        source, (pairs, topics, documents) = Source(template), files
        text = decode_text(source.read(), source.name)
        write_table(cf.assess.make_prompts(pairs, topics, documents, text), path, "jsonl")
        return
    if len(files) != 2:
        raise PolicyError(f"expected PROMPTS ANSWERS, or --template, got {files_text}")
    rule = ONLY_NUMBER if grades is None else cli.parse_grades(grades)
    answers = cf.assess.parse_answers(*files, grades=rule)
    write_table(answers.labels, path, FORMAT_OF_SUFFIX.get(Source(path).suffix, "csv"))
    for line in answers.heading():
        click.echo(sanitise(line), err=True)
