"""Mistakes, and habits from other tools: each works as meant, or is refused with good advice."""

from __future__ import annotations

from studies.newcomers.cases import Case, refused

NAMES = [
    Case(title, f'cf.evaluate(A, QRELS, "{name}").means().rows()', number)
    for title, name, number in [
        ("nDCG of ranx", "ndcg@10", r"0\.8154"),
        ("recall of ranx", "recall@5", r"1\.0"),
        ("RR of ranx", "mrr", r"0\.75"),
        ("AP of ranx", "map@5", r"0\.75"),
        ("precision of ranx", "precision@10", r"0\.1"),
        ("hit rate", "hit_rate@5", r"1\.0"),
        ("Hit@k", "Hit@1", r"0\.5"),
        ("case", "NDCG@10", r"0\.8154"),
        ("RR in small letters", "rr@10", r"0\.75"),
        ("P in small letters", "p@1", r"0\.5"),
        ("reciprocal rank of trec_eval", "recip_rank", r"0\.75"),
        ("nDCG of trec_eval", "ndcg_cut_10", r"0\.8154"),
        ("MAP in capitals", "MAP", r"0\.75"),
        ("P+ of NTCIREVAL with a parameter", "P+(beta=2)", r"\('[^']*P[^']*', [01]\.\d+"),
        ("Q-measure with a parameter", "Q-measure(beta=2)", r"\('[^']*Q[^']*', [01]\.\d+"),
        ("P without its cutoff, as in trec_eval", "P", r"'P@5', 0\.2"),
        ("NCU of NTCIREVAL", "NCUgu,P", r"\('[^']*NCU[^']*', [01]\.\d+"),
    ]
]

WRONG_NAMES = [
    refused(
        title,
        f'cf.evaluate(A, QRELS, "{name}")',
        says,
        then=f'cf.evaluate(A, QRELS, "{right}")',
    )
    for title, name, says, right in [
        ("F1", "F1", "SetF", "SetF"),
        ("F@10", "F@10", "SetF@10", "SetF@10"),
        ("a measure that does not exist", "nDGC@10", "nDCG", "nDCG@10"),
        ("cutoff 0", "P@0", "cutoff", "P@1"),
        ("a cutoff in words", "nDCG@ten", "ten", "nDCG@10"),
        ("a parameter that is none", "RBP(q=0.8)", "q", "RBP(p=0.8)"),
        ("a parameter out of range", "RBP(p=1.5)", "1.5|p", "RBP(p=0.5)"),
        ("an open parenthesis", "RBP(p=0.8", "RBP", "RBP(p=0.8)"),
        ("a measure of intents", "alpha_nDCG@10", "subtopic|intent", "nDCG@10"),
        ("p of RBP as a cutoff", "RBP@0.8", r"RBP\(p=0\.8\)", "RBP(p=0.8)"),
    ]
]

ORDER = "cf.evaluate(SYSTEMS, QRELS, 'AP')"

HABITS = [
    refused(title, code, says, then)
    for title, code, says, then in [
        (
            "metrics for measures",
            "cf.evaluate(A, QRELS, metrics=['AP'])",
            "measures=",
            "cf.evaluate(A, QRELS, measures=['AP'])",
        ),
        (
            "threads for jobs",
            "cf.evaluate(A, QRELS, 'AP', threads=2)",
            "jobs=",
            "cf.evaluate(A, QRELS, 'AP', jobs=2)",
        ),
        (
            "the lowest relevant grade as an argument",
            "cf.evaluate(A, QRELS, 'AP', relevance_level=2)",
            r"measures='AP\(rel=2\)'",
            "cf.evaluate(A, QRELS, measures='AP(rel=2)')",
        ),
        (
            "the grade that is said of shards",
            "cf.evaluate(A, QRELS, 'AP', rel=2)",
            r"'AP\(rel=2\)'",
            "cf.evaluate(A, QRELS, 'AP(rel=2)')",
        ),
        (
            "a cutoff as an argument",
            "cf.evaluate(A, QRELS, 'nDCG', k=10)",
            "measures='nDCG@10'",
            "cf.evaluate(A, QRELS, measures='nDCG@10')",
        ),
        (
            "a parameter of RRF as an argument",
            "cf.fuse(SYSTEMS, k=10)",
            r"method='RRF\(k=10\)'",
            "cf.fuse(SYSTEMS, method='RRF(k=10)')",
        ),
        (
            "runs one by one",
            "cf.fuse(A, B)",
            "one list",
            "cf.fuse({'bm25': A, 'dense': B})",
        ),
        (
            "Qrels as in ranx",
            "cf.Qrels(QRELS)",
            r"read_qrels\(\)",
            "cf.read_qrels(QRELS)",
        ),
        (
            "Run as in ranx",
            "cf.Run(A, name='bm25')",
            r"read_run\(\)",
            "cf.read_run(A, name='bm25')",
        ),
        (
            "a measure called with its cutoff",
            "cf.measures.P(10)",
            r"P @ 10",
            "cf.measures.P @ 10",
        ),
        (
            "the test without a name",
            "cf.compare(pl.read_csv('ap.csv'), 't')",
            "test=",
            "cf.compare(pl.read_csv('ap.csv'), test='t')",
        ),
        (
            "decimals of a table",
            f"cf.table({ORDER}, decimals=3)",
            "places=",
            f"cf.table({ORDER}, places=3)",
        ),
        (
            "a system for a measure",
            f"{ORDER}['A']",
            r"evaluation\['AP'\]\['A'\]",
            f"{ORDER}['AP']['A']",
        ),
        (
            "a topic for a system",
            f"{ORDER}['AP']['q1']",
            r"select\(topics='q1'\)",
            f"{ORDER}['AP'].select(topics='q1')",
        ),
        (
            "a name for a file of a chart",
            f"{ORDER}['AP'].plot.box('box.svg')",
            "plot.box takes no argument without a name",
            "",
        ),
    ]
]

PYTHON = [
    refused(
        "dicts in the order (qrels, run)",
        'cf.evaluate(QRELS, A, "AP")',
        r"runs come first",
        'cf.evaluate(A, QRELS, "AP")',
    ),
    refused(
        "judgments first, whole scores in the run",
        'cf.evaluate({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}, '
        '{"q1": {"d2": 9.5, "d1": 8.5}, "q2": {"d3": 7.5}}, "AP")',
        r"runs come first",
    ),
    refused(
        "files in the order (qrels, run)",
        'cf.evaluate("qrels.txt", "a.run", "AP")',
        "judgments|order|first",
        'cf.evaluate("a.run", "qrels.txt", "AP")',
    ),
    Case(
        "objects in the order (qrels, run)",
        'cf.evaluate(cf.read_qrels("qrels.txt"), cf.read_run("a.run"), "AP").means().rows()',
        r"0\.75",
    ),
    refused(
        "frames in the order (qrels, run)",
        'cf.evaluate(pd.DataFrame({"qid": ["q1"], "docno": ["d1"], "label": [1]}), '
        'pd.DataFrame({"qid": ["q1"], "docno": ["d1"], "score": [1.5]}), "AP")',
        "judgments|order|first",
    ),
    refused(
        "measures as positional arguments",
        'cf.evaluate(A, QRELS, "AP", "P@5")',
        r"\[.*AP.*P@5.*\]|list",
        'cf.evaluate(A, QRELS, ["AP", "P@5"])',
    ),
    refused(
        "two frames without names",
        "frame = pd.DataFrame({'topic': ['q1'], 'doc': ['d1'], 'score': [1.0]})\n"
        "cf.evaluate([frame, frame], QRELS, 'AP')",
        "name",
        "frame = pd.DataFrame({'topic': ['q1'], 'doc': ['d1'], 'score': [1.0]})\n"
        "cf.evaluate({'x': frame, 'y': frame}, QRELS, 'AP')",
    ),
    Case(
        "measures of ir_measures",
        "from ir_measures import AP, nDCG\ncf.evaluate(A, QRELS, [AP, nDCG @ 10]).means().rows()",
        r"0\.75.*0\.8154",
    ),
    Case(
        "several measures in one text",
        'cf.evaluate(A, QRELS, "AP, nDCG@10").means().rows()',
        r"0\.75.*0\.8154",
    ),
    Case("a name in what came out", f"{ORDER}['map'].mean()", r"0\.75"),
    Case("scores of a system", f"{ORDER}['AP']['A']", r"0\.5.*1\."),
    refused("a measure that was not computed", f"{ORDER}['P@5']", "AP", f"{ORDER}['AP']"),
    refused("a system that is not there", f"{ORDER}['AP']['C']", "A.*B|'C'", f"{ORDER}['AP']['B']"),
    Case(
        "the baseline by number",
        "cf.compare(pl.read_csv('ap.csv'), baseline=0, test='t').baselines",
        "A",
    ),
    refused(
        "a baseline that is not there",
        "cf.compare(pl.read_csv('ap.csv'), baseline='C')",
        "'C'",
        "cf.compare(pl.read_csv('ap.csv'), baseline='A')",
    ),
    refused(
        "a test by the name of SciPy",
        "cf.compare(pl.read_csv('ap.csv'), test='ttest_rel')",
        r"\bt\b",
        "cf.compare(pl.read_csv('ap.csv'), test='t')",
    ),
    Case(
        "a correction by another name",
        "cf.compare(pl.read_csv('ap.csv'), test='t', correction='fdr')",
        r"-3\.0000 +0\.0577",
    ),
    refused(
        "a level in percent",
        "cf.compare(pl.read_csv('ap.csv'), alpha=5)",
        "alpha",
        "cf.compare(pl.read_csv('ap.csv'), alpha=0.05)",
    ),
    refused(
        "only one system", "cf.compare(cf.evaluate(A, QRELS, 'AP')['AP'])", "two systems|1 system"
    ),
    Case(
        "a module that was not imported",
        "cf.correlation.kendall_tau([1, 2, 3], [1, 3, 2])",
        r"0\.33",
    ),
    Case(
        "dir shows no internals",
        "[name for name in dir(cf) if name in ('base', 'sources', 'tabular', 'cli')]",
        r"\[\]",
    ),
    Case("a scale in a notebook", "len(repr(cf.scale_of('P@5'))) < 1000", "True"),
    Case("depth of RBP in EU", "cf.parse_measure('EU(RBP(p=0.9), depth=1000)')", r"depth=1000"),
    Case("depth of INST in EU", "cf.parse_measure('EU(INST, depth=1000)')", r"depth=1000"),
    Case(
        "the column of grades",
        "frame = pd.DataFrame({'topic': ['q1', 'q2'], 'doc': ['d1', 'd3'], 'gold': [1, 1]})\n"
        "qrels = cf.read_qrels(frame.assign(other=0), columns={'grade': 'gold'})\n"
        "cf.evaluate(A, qrels, 'AP').means().rows()",
        r"0\.75",
    ),
    refused("a file that is not there", 'cf.evaluate("no.run", "qrels.txt", "AP")', "no.run"),
    refused(
        "topics that do not match",
        'cf.evaluate({"x": {"d1": 1.0}}, QRELS, "AP", topics="intersection")',
        "topic",
    ),
    refused(
        "a policy that is none",
        'cf.evaluate(A, QRELS, "AP", ties="random")',
        "ties|random",
        'cf.evaluate(A, QRELS, "AP", ties="trec")',
    ),
    refused(
        "a score that is no number",
        'cf.evaluate({"q1": {"d1": float("nan")}}, QRELS, "AP")',
        "nan|finite",
    ),
    refused("a score in words", 'cf.evaluate({"q1": {"d1": "high"}}, QRELS, "AP")', "high|number"),
    refused("a list of scores for a run", 'cf.evaluate([0.9, 0.8], QRELS, "AP")', "run|list"),
    refused("None for a run", 'cf.evaluate(None, QRELS, "AP")', "None"),
]

COMMANDS = [
    Case(
        "measures with commas",
        "cranfield evaluate qrels.txt a.run -m AP,nDCG@10",
        r"0\.7500 +0\.8155",
    ),
    refused("no arguments", "cranfield evaluate", "QRELS|Usage|Missing"),
    Case("no command", "cranfield", "Usage"),
    refused(
        "run before judgments",
        "cranfield evaluate a.run qrels.txt -m AP",
        "qrels|judgments|order|first",
        "cranfield evaluate qrels.txt a.run -m AP",
    ),
    refused(
        "the same with the options of trec_eval",
        "cranfield trec_eval -m map a.run qrels.txt",
        "looks like a run; judgments come first, and then the run",
        "cranfield trec_eval -m map qrels.txt a.run",
    ),
    Case(
        "the options of trec_eval",
        "cranfield trec_eval -h",
        r"-c, --complete[\s\S]*-J, --Judged[\s\S]*-M, --Max",
    ),
    refused(
        "a document twice for trec_eval",
        "cranfield trec_eval -m map qrels.txt twice.run",
        "cranfield evaluate --duplicates first",
        "cranfield evaluate qrels.txt twice.run -m map --duplicates first",
    ),
    refused(
        "the scale of a measure of any length",
        "cranfield scale AP",
        r"such as --length 10$",
        "cranfield scale AP --length 5",
    ),
    refused(
        "a measure of lengths without lengths",
        "cranfield evaluate qrels.txt a.run -m TBG",
        r"--lengths \.\.\.$",
    ),
    refused(
        "a measure of intents without intents",
        "cranfield evaluate qrels.txt a.run -m alpha_nDCG@10",
        r"--intents \.\.\.",
    ),
    refused(
        "no shell to complete",
        "cranfield completion",
        "Choose from: bash, zsh, fish",
        "cranfield completion bash",
    ),
    refused(
        "measures as arguments, as for ir_measures",
        "cranfield evaluate qrels.txt a.run AP nDCG@10",
        "'AP' is a measure.*by -m$",
        "cranfield evaluate qrels.txt a.run -m AP -m nDCG@10",
    ),
    refused(
        "metrics as options",
        "cranfield evaluate qrels.txt a.run --metrics AP",
        "by -m$",
        "cranfield evaluate qrels.txt a.run -m AP",
    ),
    refused(
        "judgments as an option",
        "cranfield evaluate --qrels qrels.txt --run a.run",
        "QRELS RUN",
        "cranfield evaluate qrels.txt a.run",
    ),
    refused(
        "all topics, as for trec_eval",
        "cranfield evaluate -c qrels.txt a.run",
        "all judged topics count",
        "cranfield evaluate qrels.txt a.run",
    ),
    refused(
        "a depth, as for trec_eval",
        "cranfield evaluate -M100 qrels.txt a.run",
        "--depth N",
        "cranfield evaluate qrels.txt a.run --depth 100",
    ),
    refused(
        "a program for a measure",
        "cranfield evaluate qrels.txt a.run -m gdeval",
        "--compat gdeval",
        "cranfield evaluate qrels.txt a.run -m gdeval --compat gdeval",
    ),
    refused(
        "the family of a measure",
        "cranfield measures AP --family diversity",
        "AP is of the family 'average precision'",
        "cranfield measures AP --family 'average precision'",
    ),
    refused(
        "a test given twice",
        "cranfield compare --scores ap.csv -t t -t sign",
        "--test is given twice",
        "cranfield compare --scores ap.csv -t sign",
    ),
    Case(
        "scores in a file of a suffix",
        "cranfield evaluate qrels.txt a.run -m AP -o scores.csv\n"
        "cranfield compare --scores ap.csv --baseline A -o ap.json\n"
        "cranfield evaluate qrels.txt a.run -m AP -f csv",
        r"^system,AP\nA,0\.75$",
    ),
    refused(
        "judgments twice",
        "cranfield evaluate qrels.txt qrels.txt -m AP",
        r"qrels\.txt:1: 4 columns",
    ),
    refused(
        "a misspelt command",
        "cranfield evalute qrels.txt a.run",
        "evaluate",
        "cranfield evaluate qrels.txt a.run",
    ),
    refused(
        "a misspelt option",
        "cranfield evaluate qrels.txt a.run --measur AP",
        "--measure",
        "cranfield evaluate qrels.txt a.run --measure AP",
    ),
    refused(
        "a format that is none",
        "cranfield evaluate qrels.txt a.run -f excel",
        "csv",
        "cranfield evaluate qrels.txt a.run -f csv",
    ),
    refused("a file that is not there", "cranfield evaluate qrels.txt no.run", r"no\.run"),
    refused("an empty folder", "cranfield evaluate qrels.txt nothing", "nothing"),
    refused(
        "an empty file", "cranfield evaluate qrels.txt empty.run", r"empty\.run|no lines|empty"
    ),
    refused("a line of five columns", "cranfield evaluate qrels.txt five.run", r"five\.run:1"),
    refused("a score in words", "cranfield evaluate qrels.txt text.run", r"text\.run:1.*high"),
    refused("a score nan", "cranfield evaluate qrels.txt nan.run", r"nan\.run:1"),
    refused(
        "a document twice",
        "cranfield evaluate qrels.txt twice.run",
        r"twice\.run:5: document twice in one topic, first in line 2",
        "cranfield evaluate qrels.txt twice.run --duplicates first",
    ),
    refused("a grade of 0.5", "cranfield evaluate half.qrels a.run", r"half\.qrels:1"),
    refused("a grade in words", "cranfield evaluate word.qrels a.run", r"word\.qrels:1.*relevant"),
    refused("a picture for a run", "cranfield evaluate qrels.txt picture.run", r"picture\.run"),
    refused("a zip file for a run", "cranfield evaluate qrels.txt runs.zip", "zip archive.*unpack"),
    refused(
        "a tar archive for a run", "cranfield evaluate qrels.txt runs.tar.gz", "tar archive.*unpack"
    ),
    refused("grades true and false in a file", "cranfield evaluate true.csv a.run", "'true'"),
    refused(
        "an encoding that is not UTF-8",
        "cranfield evaluate qrels.txt latin.run",
        r"--encoding latin-1",
        "cranfield evaluate qrels.txt latin.run --encoding latin-1",
    ),
    refused(
        "a column that is missing", "cranfield evaluate qrels.txt nocolumn.csv", r"nocolumn\.csv"
    ),
    refused(
        "columns with names nobody knows",
        "cranfield evaluate qrels.txt unnamed.csv",
        r"--columns",
        "cranfield evaluate qrels.txt unnamed.csv --columns topic=query,doc=result,score=value",
    ),
    Case(
        "two systems in one TREC file",
        "cranfield evaluate qrels.txt both.run -m AP --system tag",
        r"(?s)B +1\.0000.*A +0\.7500",
    ),
    refused(
        "the same without the option",
        "cranfield evaluate qrels.txt both.run -m AP",
        r"both\.run.*",
        "cranfield evaluate qrels.txt both.run -m AP --system tag",
    ),
    refused(
        "other topics than were judged",
        "cranfield evaluate qrels.txt other.run --topics intersection",
        "topic",
    ),
    refused(
        "output onto an input", "cranfield evaluate qrels.txt a.run -o qrels.txt", r"qrels\.txt"
    ),
    refused(
        "output into a folder that is not there",
        "cranfield evaluate qrels.txt a.run -o no/x.csv",
        "no",
    ),
    refused(
        "a baseline that is not there",
        "cranfield compare --scores ap.csv -b C",
        "C",
        "cranfield compare --scores ap.csv -b A",
    ),
    Case(
        "a test by another name",
        "cranfield compare --scores ap.csv -t ttest",
        r"-3\.0000 +0\.0577",
    ),
    refused(
        "a test that is none",
        "cranfield compare --scores ap.csv -t anowa",
        r"anova",
        "cranfield compare --scores ap.csv -t anova-2",
    ),
    refused("a comparison of one system", "cranfield compare qrels.txt a.run", "two|1 system"),
    refused(
        "names of both files and scores",
        "cranfield compare qrels.txt a.run --scores ap.csv",
        "--scores",
    ),
    Case(
        "a study without a depth",
        "cranfield study collection qrels.txt a.run b.run",
        r"(?i)depth",
    ),
]

SURPRISES = [
    refused(
        "judgments and a run of whole numbers, in the order (qrels, run)",
        "run = {'q': {f'd{i}': 20 - i for i in range(20)}}\n"
        "qrels = {'q': {f'd{i}': int(i % 3 == 0) for i in range(9)}}\n"
        "cf.evaluate(qrels, run, 'AP')",
        r"runs come first",
        "run = {'q': {f'd{i}': 20 - i for i in range(20)}}\n"
        "qrels = {'q': {f'd{i}': int(i % 3 == 0) for i in range(9)}}\n"
        "cf.evaluate(run, qrels, 'AP')",
    ),
    Case(
        "two systems in one frame, no document in both",
        "frame = pd.DataFrame({'model': ['A', 'B'], 'qid': ['q1', 'q1'], 'docno': ['d1', 'd2'], "
        "'score': [2.0, 1.0]})\n"
        "cf.evaluate(frame, {'q1': {'d1': 1}}, 'RR').by_system().rows()",
        r"'A', 1\.0.*'B', 0\.0",
    ),
    Case(
        "the p of RBP is shown",
        "cranfield evaluate qrels.txt a.run -m 'RBP(p=0.8)' -f latex",
        r"RBP\(p=0\.8\)",
    ),
    Case("AP@100 is called so", "cranfield evaluate qrels.txt a.run -m AP@100", r"AP@100"),
    Case("map is called so", "cranfield evaluate qrels.txt a.run -m map", r"map"),
    Case("D#-nDCG@10 is understood", "print(cf.parse_measure('D#-nDCG@10'))", r"D#-nDCG@10|Sharp"),
    Case("a plain dict", f"{ORDER}.to_dict()", r"'AP'.*'A': 0\.75"),
    Case("a plain dict by topic", f"{ORDER}['AP'].to_dict()", r"'A': .*'q1': 0\.5"),
    Case("a run by its name", "cf.read_runs(SYSTEMS)['A']", r"Run\('A'"),
    Case("a measure that there may be", f"{ORDER}.get('foo', 3)", "3"),
    Case(
        "a pair by its names",
        "cf.compare(pl.read_csv('ap.csv'), test='t')['B', 'A'].difference",
        r"0\.375",
    ),
    Case("fusion as in ranx", 'cf.fuse(SYSTEMS, "rrf")', r"Run\("),
    Case(
        "the table of a study by a shorter name",
        "covid = cf.bundled.trec_covid()\n"
        "scores = cf.evaluate(covid.runs[:4], covid.qrels, 'P@5')\n"
        "cf.meta.split_topics(scores['P@5'], ['t'], repeats=3).table('significant')",
        r"t",
    ),
    Case(
        "exact counts of a study of scales",
        "cf.meta.study_scales(cf.judge(SYSTEMS, QRELS), ['P'], cutoffs=[2], exact_n=5)",
        r"ScaleStudy\(1 measure",
    ),
    Case(
        "a chart in a notebook without a network",
        "chart = cf.charts.box_plot(cf.evaluate(SYSTEMS, QRELS, ['AP'])['AP'])\n"
        "str(chart._repr_mimebundle_())[:300]",
        r"svg",
    ),
    refused(
        "all faults of all files at once",
        "cranfield check qrels.txt text.run five.run",
        r"text\.run:1[\s\S]*five\.run:1",
    ),
    Case(
        "files without a fault",
        "cranfield check qrels.txt a.run b.run",
        r"b\.run: accepted",
    ),
]

MISTAKES = [*NAMES, *WRONG_NAMES, *HABITS, *PYTHON, *COMMANDS, *SURPRISES]
