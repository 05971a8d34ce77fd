"""Commands on runs: `evaluate`, `sessions`, `answers`, `fuse`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, collect_warnings, quote, warn
from cranfield.base.kinds import Integer
from cranfield.base.text import inflect, list_some
from cranfield.cli import options as cli
from cranfield.collection.policies import DUPLICATES
from cranfield.result import Result

DEFAULT_MEASURES = ("AP", "P@10", "nDCG@10", "RR", "R@1000", "Judged@10")
LINE_FORMATS = ("trec", "ir_measures", "prototext")
SCORE_FORMATS = (cli.FORMATS[0], *LINE_FORMATS, *cli.FORMATS[1:])
RESULT_FORMATS = ("table", "csv", "json", "latex", "markdown", "html")  # of all views but scores

GRADE_OPTIONS = ("subtopics", "ungraded", "map_grades", "topics_with_grade", "negative")

EXPECTED_OPTIONS = ("draws", "seed", "confidence", "fixed_topics")
REPLICATE_VIEWS = ("replicates", "expected-exposure", "equity")  # of systems with several rankings


@cli.command(
    common="measure scores by-topic as rel compat ties depth input-format format output coverage"
)
@cli.settings(
    "negative max-grade topics-with-grade exclude intents encoding separator numbers"
    " chunk-separator ungraded map-grades backend order caption label long replicates"
    " draws seed confidence fixed-topics"
)
@cli.make_score_input(cli.make_measures_option(DEFAULT_MEASURES))
@cli.make_output_options(formats=SCORE_FORMATS)
@cli.own_options(
    "as=view coverage replicates",
    group="Output",
    coverage={"requires": "--as=scores,tie-ranges !--scores"},
    replicates={"requires": f"--as={','.join(REPLICATE_VIEWS)}"},
)
@cli.options_from(
    "cranfield.evaluate_probabilities",
    "draws seed confidence fixed_topics",
    group="Output",
    requires="--as=expected",
)
@cli.judging_options
def evaluate(
    source: cli.ScoreInput,
    output: cli.Output,
    *,
    view: Literal[
        "scores", "tie-ranges", "expected", "replicates", "expected-exposure", "equity"
    ] = "scores",
    coverage: bool = False,
    replicates: str | None,
    **judging: Any,
) -> None:
    """Score runs against judgments, or summarise the scores of --scores.

    QRELS is a file, - for standard input, or an irds: id. RUN is a file, a folder, a quoted
    pattern, or -.

    Parameters
    ----------
    view
        Result to write: scores; tie-ranges, the lowest, expected and highest score over all orders
        of tied documents; expected, the expected scores if QRELS is a table of probabilities of
        relevance; and, for systems with several rankings of each topic (replicates): replicates,
        the variance between topics and between replicates; expected-exposure, the fairness of the
        mean exposure (EEL, EED, EER); equity, the equity of attention over all rankings (IAA).
    coverage
        Also report unjudged documents, ties and missing topics.
    replicates
        Table with the columns run, system and replicate, for --as replicates, expected-exposure and
        equity; by default the names of runs must be SYSTEM@REPLICATE.

    Examples
    --------
    cranfield evaluate qrels.txt bm25.run -m AP -m nDCG@10
    cranfield evaluate qrels.txt runs/*.xz -m all_trec --format csv -o scores.csv
    cranfield evaluate qrels.txt bm25.run -m official -q --compat trec_eval --format trec
    cranfield evaluate --scores latency.csv -m latency --lower latency
    cranfield evaluate probabilities.csv bm25.run -m AP --as expected
    """
    output.check()
    expected_options = {name: judging.pop(name) for name in EXPECTED_OPTIONS}
    if view != "scores":
        _check_view(view, output)
    if view in REPLICATE_VIEWS:
        _write_replicates(source, output, judging, replicates, view)
        return
    if source.score_files:
        if view != "scores" or output.format in LINE_FORMATS:
            option = (
                f"--format {cli.describe_format(output.format)}"
                if view == "scores"
                else f"--as {view}"
            )
            raise PolicyError(f"{option} requires QRELS and RUN, got --scores")
        from cranfield.scores.one_measure import align_scores

        scores = source.load_scores(judging, has_all_measures=True)
        for measure_scores in scores.values():
            measure_scores.require_two_axes("scores by shard cannot be summarised by system")
        _warn_of_gaps(scores)
        output.write(align_scores(scores) if output.by_topic else scores)
        return
    if view == "expected":
        expected_options["by_topic"] = output.by_topic
        output.write_results(_evaluate_probabilities(source, judging, expected_options))
        return
    evaluation = cli.evaluate_runs(*source.require_rankings(), source.measures, **judging)
    if view == "tie-ranges":
        output.write_results(cf.tie_ranges(evaluation, by_topic=output.by_topic))
    elif output.format in {*LINE_FORMATS, "json"}:
        lines = _format_lines(evaluation, output, source.measures, judging["rel"])
        cli.write("".join(f"{line}\n" for line in lines), output.output)
    else:
        output.write(evaluation)
    if coverage:
        from cranfield.reporting.terminal import draw_table, tabulate_coverage

        # Standard output may go to another program.
        table = tabulate_coverage(evaluation.coverage)
        sys.stderr.write(draw_table(table, is_on_terminal=sys.stderr.isatty()))


def _check_view(view: str, output: cli.Output) -> None:
    """Refuse formats and options that a view other than the scores does not support."""
    if output.format not in RESULT_FORMATS:
        format_text = cli.describe_format(output.format)
        raise PolicyError(f"--as {view} cannot be combined with --format {format_text}")
    if view != "expected-exposure":
        unsupported = ("places", "order", "caption", "label", "long")
        cli.refuse_options(unsupported, f"cannot be combined with --as {view}")


def _write_replicates(
    source: cli.ScoreInput,
    output: cli.Output,
    judging: Mapping[str, Any],
    replicates: str | None,
    view: str,
) -> None:
    """Write the variances, expected exposure or equity of attention of replicated systems."""
    from cranfield.evaluation import stochastic_rankings as stochastic
    from cranfield.evaluation.evaluation import list_unused

    is_exposure = view == "expected-exposure"
    if not is_exposure:
        cli.refuse_options(("by_topic",), f"cannot be combined with --as {view}")
    if view == "replicates":
        tables = source.load_scores(judging, has_all_measures=True).values()
        output.write_results(*(cf.summarise_replicates(table, replicates) for table in tables))
        return
    rankings = source.require_rankings(f"--as {view} requires QRELS and RUN")
    if "-" in source.runs:
        raise PolicyError(f"--as {view} reads runs twice, which standard input (-) does not allow")
    default = stochastic.EXPOSURE if is_exposure else stochastic.EQUITY
    names = source.measures if cli.is_set("measures") else default
    options = {**judging, "replicates": replicates}
    measures = cf.parse_measures(names, rel=options.pop("rel"), compat=options["compat"])
    has_groups = any(getattr(measure, "by", "") != "document" for measure in measures)
    unused_options = [*list_unused(measures), *([] if has_groups else ["groups"])]
    cli.warn_unused(unused_options, "no requested measure uses it")
    if is_exposure:
        exposure = partial(stochastic.expected_exposure, measures=measures)
        output.write(cli.compute_from_runs(exposure, *rankings, **options))
    else:
        equity = partial(stochastic.equity_of_attention, measure=measures)
        output.write_results(cli.compute_from_runs(equity, *rankings, **options))


def _evaluate_probabilities(
    source: cli.ScoreInput, judging: Mapping[str, Any], expected_options: Mapping[str, Any]
) -> cf.ExpectedScores:
    from cranfield.collection.judged.judging import can_be_read

    qrels, run_files = source.require_rankings()
    cli.refuse_options(GRADE_OPTIONS, "cannot be combined with --as expected")
    reading = cli.ReadingOptions.from_options(judging)
    if any(not name.startswith("run.") for name in reading.columns or ()):
        raise PolicyError("--as expected supports --columns of runs only, such as run.doc=NAME")
    options = {
        **cli.omit_reading(judging),
        **expected_options,
        "aspects": judging["aspects"] or None,
    }
    rel, compat = options.pop("rel"), options["compat"]
    measures = cf.parse_measures(source.measures, rel=rel, compat=compat)
    try:
        probabilities = cf.read_probabilities(qrels)
    except cf.InputError as error:
        if can_be_read(qrels, "qrels"):
            advice = "the file has grades, not probabilities; omit --as expected"
            raise cf.InputError(f"{error}; {advice}") from None
        raise
    runs = reading.find_runs(qrels, run_files)
    with cli.show_judging_progress(runs) as options["progress"]:
        return cf.evaluate_probabilities(runs, probabilities, measures, **options)


def _warn_of_gaps(scores: Mapping[str, cf.Scores]) -> None:
    """Warn if systems or measures are summarised over different topics."""
    import numpy as np

    topics = {topic for measure_scores in scores.values() for topic in measure_scores.topics}
    for name, measure_scores in scores.items():
        is_missing = np.isnan(measure_scores.values)
        if (is_missing != is_missing[:, :1]).any():
            has_gap = is_missing.any(axis=(0, *range(2, is_missing.ndim)))
            systems = [quote(measure_scores.systems[k]) for k in np.flatnonzero(has_gap)]
            warn(
                f"{name or 'scores'}: systems are summarised over different topics;"
                f" some scores are missing for {list_some(systems, 5)}"
            )
        elif n_missing := len(topics) - int((~is_missing[:, 0]).sum()):
            text = inflect(len(topics), "topic")
            warn(f"{name or 'scores'}: excluded {n_missing:,} of {text}, which have no score")


def _format_lines(
    evaluation: cf.Evaluation, output: cli.Output, measures: Iterable[object], rel: int | None
) -> Iterable[str]:
    """Return the lines of an evaluation in the format trec, ir_measures, prototext or json."""
    from cranfield.reporting import score_formats

    by_topic = output.by_topic
    if output.format == "ir_measures":
        return score_formats.format_ir_measures(evaluation, by_topic=by_topic, places=output.places)
    if output.format == "prototext":
        return score_formats.format_prototext(evaluation, places=output.places)
    if output.format == "json":
        judged, notes = evaluation.judged, evaluation.notes
        about = {"policies": judged.policies.describe(), **judged.side_data.settings}
        options: Any = {"by_topic": by_topic, "about": about, "notes": notes}
        return [score_formats.format_scores_json(evaluation, **options).rstrip("\n")]
    groups = {"all_trec", "official", "set"} & set(measures)
    return score_formats.format_trec(
        evaluation,
        by_topic=by_topic,
        has_runid=bool(groups),
        has_relstring="all_trec" in groups,
        rel=1 if rel is None else rel,
    )


@cli.command()
@cli.settings(
    "depth duplicates on-duplicate until-click on-bad-run lengths max-grade unjudged negative"
    " ties places order caption label long"
)
@click.argument("qrels", metavar="QRELS", type=cli.INPUT_FILE)
@click.argument("sessions", metavar="SESSIONS", type=cli.INPUT_FILE)
@click.argument("runs", metavar="[RUN...]", nargs=-1, type=cli.INPUT_FILE)
@cli.make_measures_option(("sDCG@10", "nsDCG@10"))
@cli.own_options(
    "clicks session_topics depth duplicates on_duplicate",
    clicks={"type": cli.INPUT_FILE},
    on_duplicate={"requires": "RUN", "type": click.Choice(list(DUPLICATES))},
)
@cli.bad_run_option
@cli.own_options("until_click lengths")
@cli.rel_option
@cli.max_grade_option
@cli.options_from("cranfield.judge", "unjudged negative")
@cli.options_from("cranfield.fuse", "ties", ties={"requires": "RUN"})
@cli.make_output_options("session")
def sessions(
    qrels: str,
    sessions: str,
    runs: tuple[str, ...],
    *,
    measures: tuple[str, ...],
    clicks: str | None,
    session_topics: str | None,
    depth: Annotated[int | None, Integer(1)],
    duplicates: Literal["first", "keep"] = "first",
    on_duplicate: str = "error",
    on_bad_run: str,
    until_click: bool = False,
    lengths: str | None,
    rel: int | None,
    ties: str,
    output: cli.Output,
    **judging: Any,
) -> None:
    """Score search sessions of several queries.

    QRELS is a file of judgments by topic, or the word clicks, which gives grade 1 to documents
    clicked in the session (clicks:30 requires 30 seconds or more on the document). SESSIONS is a
    log of the TREC Session track in XML, or a table of results with the columns session, query,
    rank, doc and, optionally, topic and system. Each RUN ranks documents for the last query of each
    session. Measures of a single ranking score the concatenated result lists of a session.

    Parameters
    ----------
    clicks
        Table of clicks with the columns session, query, rank (or doc) and, optionally, start.
    session_topics
        Table with the columns session and topic.
    depth
        Number of top documents to use from each result list.
    duplicates
        How to treat documents that are retrieved again in a session.
    on_duplicate
        How to treat a document that occurs more than once in one ranking of a RUN.
    until_click
        Truncate each result list after its lowest clicked result.
    lengths
        File with the lengths of documents in characters.

    Examples
    --------
    cranfield sessions qrels.txt sessions.xml -m nsDCG@10
    cranfield sessions qrels.txt sessions.csv --clicks clicks.csv --settings lengths.yml -m ClickU
    cranfield sessions clicks sessions.csv --clicks clicks.csv -m sDCG@10
    cranfield sessions qrels.txt sessions.xml runs/*.xz -m "nsDCG(bq=2)@10" --format csv
    """
    output.check()
    measure_list = cf.parse_measures(measures, rel=rel)
    from cranfield.evaluation.evaluation import list_unused
    from cranfield.sessions.log import CLICK_JUDGMENTS

    log = cf.read_sessions(sessions, clicks=clicks, topics=session_topics)
    if runs:
        log = log.append_runs(runs, ties=ties, on_duplicate=on_duplicate, on_bad_run=on_bad_run)
    options = {name: value for name, value in judging.items() if value is not None}
    options |= {"lengths": lengths, "depth": depth, "duplicates": duplicates}
    evaluation = cf.evaluate_sessions(log, qrels, measure_list, until_click=until_click, **options)
    evaluation.warn()
    input_names = " ".join(measure.info.needs for measure in measure_list)
    input_names += " clicks" if until_click or CLICK_JUDGMENTS.fullmatch(qrels) else ""
    unused_options = list_unused(measure_list) + ["clicks"] * ("clicks" not in input_names)
    cli.warn_unused(unused_options, "no requested measure uses it")
    output.write(evaluation, unit="session")


ANSWER_MEASURES = {
    "nuggets": ("NuggetRecall", "WRecall", "NuggetF", "SSharp"),
    "assignments": ("AllScore", "VitalScore", "VitalScore(strict=True)"),
    "citations": ("CitationPrecision", "CitationRecall", "CitationF"),
    "references": ("RougeN(of='F')", "RougeN(n=2, of='F')", "RougeL"),
}
"""Default measures of answers and summaries, by kind of data."""


@cli.command()
@cli.settings("system places order caption label long")
@click.argument("answers", metavar="ANSWERS...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.own_options(
    "nuggets assignments citations references human measure=measures system tokeniser",
    human={"requires": "!--references !--by-topic"},
    measures={"argument": ""},
    system={"metavar": "NAME", "argument": "name"},
    tokeniser={"requires": "--references"},
)
@cli.make_output_options()
def answers(
    answers: tuple[str, ...],
    *,
    nuggets: str | None,
    assignments: bool = False,
    citations: bool = False,
    references: str | None,
    human: str | None,
    measures: tuple[str, ...] = (),
    system: str | None,
    tokeniser: Literal["alphanumeric", "unicode", "squad", "whitespace"] | None,
    output: cli.Output,
) -> None:
    """Score answers by nuggets or citations, and summaries by reference texts.

    One of --nuggets, --assignments, --citations and --references is required.
    Without -m, the usual measures for this kind of data are computed.

    Parameters
    ----------
    nuggets
        Gold nuggets; ANSWERS list the nuggets of each answer.
    assignments
        ANSWERS are nugget assignments of TREC RAG.
    citations
        ANSWERS is a table of judged citations, or runs of TREC RAG and a table with the support of
        their citations.
    references
        Table of reference texts; ANSWERS is a table of the texts to score.
    human
        Human labels for a random sample of answers, in the format of ANSWERS, to correct the
        labels of an LLM judge in ANSWERS: report prediction-powered scores (PPI) with confidence
        intervals.
    measures
        Measure of answers or summaries, such as VitalScore or RougeL; may be given several times.
    system
        Name of the system, for files that do not name it.
    tokeniser
        How to split texts into words, with --references.

    Examples
    --------
    cranfield answers --nuggets nuggets.csv answers.csv
    cranfield answers --nuggets 1C2.nuggets runs/*.matches -m SSharp -m "SMeasure(L=500)"
    cranfield answers --assignments assignments.jsonl -m "VitalScore(strict=True)" -q
    cranfield answers --citations citations.csv --format csv -o scores.csv
    cranfield answers --citations ours.jsonl theirs.jsonl support.csv
    cranfield answers --references references.csv summaries.csv -m "RougeN(n=2, of='F')"
    """
    output.check()
    kinds = {
        "nuggets": nuggets,
        "assignments": assignments,
        "citations": citations,
        "references": references,
    }
    names = [kind for kind, value in kinds.items() if value not in (None, False)]
    if len(names) != 1:
        raise PolicyError(
            "expected one of --nuggets FILE, --assignments, --citations, --references FILE, got"
            f" {' and '.join(f'--{kind}' for kind in names) or 'none'}"
        )
    [kind] = names
    measure_list = cf.parse_measures(measures) if measures else None
    if len(answers) > 1 and kind == "references":
        raise PolicyError(
            f"--references requires a single file of ANSWERS with all systems, got {len(answers)}"
        )

    def read_judged(files: tuple[str, ...]) -> Any:
        data: Any = files[0] if len(files) == 1 else list(files)
        if kind == "nuggets":
            return cf.texts.judge_answers(data, nuggets, name=system)
        if kind == "references":
            return cf.texts.judge_summaries(data, references, tokeniser=tokeniser, name=system)
        if kind == "assignments":
            return cf.texts.read_nugget_assignments(data, name=system)
        if len(files) == 1:
            return cf.texts.read_citations(data, name=system)
        return cf.texts.read_citations(files[:-1], support=files[-1], name=system)

    judged = read_judged(answers)
    if human is not None:
        read_human = partial(read_judged, (human,))
        measures = measures or ANSWER_MEASURES[kind]
        output.write_results(*_estimate_scores(judged, read_human, measures, output))
    elif measure_list is not None:
        output.write(cf.evaluate_answers(judged, measure_list))
    else:
        scores: dict[str, cf.Scores] = {}
        for name in ANSWER_MEASURES[kind]:
            try:
                scores |= cf.evaluate_answers(judged, name)
            except cf.MeasureError as error:
                warn(f"measure skipped: {error}")
        output.write(scores)


def _estimate_scores(
    judge: Any, read_human: Callable[[], Any], measures: Iterable[str], output: cli.Output
) -> list[Result]:
    """Compute prediction-powered scores from human labels and those of a judge."""
    if output.format == "parquet":
        format_text = cli.describe_format("parquet")
        raise PolicyError(f"--human cannot be combined with --format {format_text}")
    with collect_warnings() as messages:
        human = read_human()
    for message in messages:
        # Answers outside the sample are not missing.
        if "missing and counted as 0" not in message:
            warn(message)
    return [cf.assess.ppi_answers(human, judge, measure) for measure in measures]


@cli.command()
@cli.settings(f"depth ties {cli.RUN_SETTINGS}")
@click.argument("runs", metavar="RUN...", nargs=-1, type=cli.INPUT_FILE)
@cli.options_from(
    "cranfield.fuse",
    "method norm weights depth limit name ties",
    weights={
        "type": cli.NumberList(None),
        "metavar": "NUMBERS",
        "help": "Weights of the runs, in the order of RUN...: 0.3,0.7.",
    },
)
@cli.gather_options(cli.ReadingOptions, "reading", cli.set_group("Input", cli.reading_options))
@cli.options_from("cranfield.judge", "jobs")
@cli.own_options("metadata list=list_methods")
@cli.output_option
def fuse(
    runs: tuple[str, ...],
    *,
    reading: cli.ReadingOptions,
    metadata: bool = False,
    list_methods: bool = False,
    output: str | None,
    **options: Any,
) -> None:
    """Fuse several runs into one, by their ranks, scores or votes.

    RUN is a file, a folder or a quoted pattern. At least two runs are required. The fused run is a
    TREC file, or has the format of its suffix, such as .csv or .parquet; .gz compresses it.

    Parameters
    ----------
    metadata
        Begin the file with a header (ir_metadata) that describes how the run was made; some
        programs cannot read such files.
    list_methods
        List the fusion methods.

    Examples
    --------
    cranfield fuse bm25.run dense.run -o fused.run
    cranfield fuse runs/ --method "RRF(k=10)" --limit 100 --name rrf -o fused.run.gz
    cranfield fuse bm25.run dense.run --method CombSUM --weights 0.3,0.7 -o linear.run
    cranfield fuse a.run b.run | cranfield evaluate qrels.txt - -m nDCG@10
    cranfield fuse --list
    """
    if list_methods:
        from cranfield.tabular import format_grid, tabulate_frame

        cli.refuse_listing("list_methods output", runs, "RUN")
        table = tabulate_frame(cf.fusion_methods(), "Fusion methods")
        cli.write(f"{format_grid(table)}\n", output)
        return
    if not runs:
        raise PolicyError("expected RUN... (two or more), or --list for the methods, got neither")
    run_list = reading.find_runs(None, runs)
    with cli.show_judging_progress(run_list) as progress:
        fused_run = cf.fuse(run_list, progress=progress, **options)
    cf.write_run(fused_run, output or "-", metadata=metadata)
