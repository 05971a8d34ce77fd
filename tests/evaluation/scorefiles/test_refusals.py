"""Whatever a file holds: scores, or one line that names it and says what is wrong."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import CranfieldError, InputError
from cranfield.evaluation.scorefiles import read_scores_by_measure
from tests.evaluation.scorefiles.files import read

REFUSED = [
    # Tables
    ("s.csv", "", "expected scores, got an empty file"),
    ("s.csv", "topic,a\n", ":1: expected scores below the header, got none"),
    ("s.csv", "topic,a\nq1,x\n", r":2: score 'x' is not a finite number \(topic 'q1'\)"),
    ("s.csv", "topic,a\n\nq1,inf\n", r":3: score 'inf' is not a finite number"),
    ("s.csv", "topic,a\nq1,PASS\n", ":2: score 'PASS' is not a finite number; write 1 or 0"),
    ("s.csv", "topic,a\nq1,50%\n", ":2: score '50%' is not a finite number; write a proportion"),
    ("s.csv", "topic,a,b,num_rel\nq1,1,0,3\n", "for systems, remove these columns, or pass"),
    ("s.json", '{"task_name": "x", "scores": {"test": []}}', "got a result of MTEB with means"),
    ("s.csv", "topic,a\nq1,1,2\n", "cells as in the header, got 3 separated by commas"),
    ("s.tsv", '"a"\t"b"\n"q1"\t0.4\t0.5\n', r"got 3 separated by tabs; in R, .*col.names=NA"),
    ("s.txt", '"a" "b"\n"q1" 0.4 0.5\n', ":1: expected 3 columns .*, got 2; .*R, use write.csv"),
    ("s.csv", "topic,a,a\nq1,1,2\n", "has 2 columns 'a'"),
    ("s.csv", "topic,a\nq1,1\nq1,2\n", "one row for each topic, got two .topic 'q1'"),
    ("s.csv", "topic\nq1\n", "expected a column of scores, got none"),
    ("s.csv", "topic|a\nq1|1\n", ":1: expected columns separated by commas, tabs or semicolons"),
    ("s.csv", "topic,system,score\nq,a,1\nq,a,2\n", ":3: system 'a' has two scores .topic 'q'"),
    ("s.csv", "qid,query_id,a\n1,2,.5\n", "has 2 columns for the topic: 'qid' and 'query_id'"),
    ("s.csv", "topic,run,tag,score\n1,a,b,1\n", "has 2 columns for the system: 'run' and 'tag'"),
    (
        "s.csv",
        "system,AP\na,.5\n",
        "expected a column of topics beside the column of systems, 'system'",
    ),
    (
        "s.csv",
        ",name,map\n0,a,.5\n1,b,.4\n",
        "expected a column of topics beside the column of systems, 'name'",
    ),
    ("s.csv", "system,1,2\na,.5,1\n", "if the other columns are topics, transpose the table"),
    (
        "s.csv",
        "measure,a,b\nAP,.5,1\n",
        "expected a column of topics beside the column of measures, 'mea",
    ),
    ("s.csv", "prompt,a\n401,.5\n402,1\n", "column, 'prompt', got a different integer"),
    ("s.csv", "prompt,a\n401,.5\nq2,1\n", "first column, 'prompt', got both"),
    (
        "s.csv",
        "topic,score,rank\n1,.5,1\n",
        "expected a column of systems for the scores in 'score'",
    ),
    ("s.csv", "topic,system\n1,a\n", "expected a column of scores, got none"),
    ("s.csv", "topic,system,measure,a,b\n1,x,m,.1,.2\n", "column of scores, got 'a', 'b'"),
    # Means over topics by epoch, as sentence-transformers writes them.
    ("s.csv", "epoch,steps,NDCG@10\n0,10,.5\n0,20,.7\n", "got a row for each 'epoch' and 'steps"),
    (
        "s.json",
        '{"metrics": ["map"], "model_names": ["a"], "a": {"scores": {"map": 0.5}}}',
        "got a report of ranx with means only",
    ),
    ("s.json", '{"q1": 0.5}', "if 'q1' is a topic, write {system: {topic: score}}"),
    ("s.csv", "topic,a,\n1,.5,.7\n2,.5,.7\n", "expected a name of column 3, got none"),
    ("s.csv", "topic,system,score\n,a,1\n", ":2: has no topic"),
    ("s.csv", "topic,system,score\n1, ,1\n", ":2: has no system"),
    ("s.csv", "topic,AP,AP\n1,1,1\n", "has 2 columns 'AP'"),
    ("s.csv", "topic,system,AP,AP\n1,a,1,1\n", "has 2 columns 'AP'"),
    ("s.csv", "topic,system,score,n,n\n1,a,1,1,1\n", "has 2 columns 'n'"),
    ("s.csv", "topic,shard,a\n1,x,1\n1,x,2\n", ":3: expected one row for each topic, got two"),
    ("s.csv", "topic,system,shard,score\n1,a,x,1\n1,a,x,2\n", "two scores in shard 'x'"),
    ("s.csv", 'topic,a\nq1,"1,5"\n', r":2: score '1,5' is not a finite number; use a decimal"),
    ("s.csv", "topic;a\nq1;0.5\nq2;1,234\n", r":3: score '1,234' is not a finite number; use a"),
    ("s.csv", "topic;a\nq1;0,5\nq2;x,y\n", ":3: score 'x,y' is not a finite number"),
    ("s.csv", "topic;a\nq1;1.000,5\n", ":2: score '1.000,5' is not a finite number"),
    ("s.csv", "topic;a\nq1;1;2\n", "cells as in the header, got 3 separated by semicolons"),
    ("s.csv", "topic;b,c\nq1;1\n", "cells as in the header, got 1 separated by commas"),
    ("s.csv", ",q1,q2\nbm25,.1,.2\ndense,.4,.5\n", "expected topics in rows and systems in"),
    # Nothing but missing scores
    ("s.csv", "topic,a,b\nq1,,\nq2,NA,-\n", "expected scores, got empty cells only"),
    ("s.csv", "topic,system,score\nq1,a,nan\n", "expected scores, got empty cells only"),
    ("s.eval", "map\tq1\tnan\n", "expected scores, got empty cells only"),
    ("s.json", '[{"topic": "q1", "a": null}]', "expected scores, got empty cells only"),
    # Lines of trec_eval
    ("s.eval", "map 1 x\n", ":1: score 'x'"),
    ("s.eval", "map 1 .5\nmap 2\n", r":2: expected 3 columns \(measure, topic and value, as"),
    ("s.eval", "map 1 .5\nmap 1 .5\n", ":2: system .s. has two scores .topic .1."),
    ("s.eval", "map all .5\n", "expected scores by topic, got none; trec_eval prints them with -q"),
    ("s.eval", "runid all x\n", "expected scores by topic, got none"),
    ("s.txt", "AP\t0.5\nRR\t1\n", r":1: expected 3 columns \(measure, topic and value, as"),
    ("s.txt", "runid\tall\ta\nmap\tall\t1\nrunid\tall\tb\n", "expected scores by topic, got none"),
    ("s.txt", "map\t\t.5\n", ":1: has no topic"),
    # JSON
    ("s.json", '{"a": {"q1": 1, "q1": 2}}', "'q1' is repeated in an object"),
    ("s.json", '{"a": {"q1": 1}, "a": {"q1": 2}}', "'a' is repeated in an object"),
    ("s.json", '{"a": 1, "b": 2}', r"or a list of scores for system 'a', got '1' \(int\)"),
    (
        "s.json",
        '{"a": [1, 2], "b": null}',
        r"\{topic: score\} or a list of scores for system 'b', got null",
    ),
    ("s.json", '{"a": "12"}', r"or a list of scores for system 'a', got '12' \(str\)"),
    (
        "s.json",
        '{"a": {"q1": {"AP": 1}, "q2": 1}}',
        r"expected \{measure: score\} for system 'a', got '1' \(int\) \(topic 'q2'\)",
    ),
    ("s.json", '{"q1": {"map": 1, "P_5": 0}}', "scores of one measure, got map, P_5; select one"),
    ("s.json", '{"a": {"q1": 1e999}}', "score 'inf' is not a finite number"),
    ("s.json", '{"a": {"q1": Infinity}}', "score 'inf' is not a finite number"),
    ("s.json", f'{{"a": {{"q1": 1{"0" * 400}}}}}', "is not a finite number"),
    ("s.json", '{"a": {"q1": [1]}}', r"score '\[1\]' is not a finite number"),
    ("s.json", '{"a": {" ": 1}}', "has no topic"),
    ("s.json", '{"topic": {"0": "q1"}, "a": {"1": 1}}', "expected lists as the columns"),
    ("s.json", '{"topic": ["q1", "q2"], "a": [1]}', "expected columns of equal length"),
    ("s.json", '[{"topic": "q1", "a": 1}, 7]', "row 2: expected a record as in the first row"),
    ("s.json", '{"a":\n {"q1": }}', ":2: is not valid JSON: Expecting value"),
    ("s.json", '{"a": {}}', "expected scores by topic, got none"),
    ("s.json", "[1]", "expected an object or array of objects, got"),
    ("s.json", "{", "not valid JSON"),
]


@pytest.mark.parametrize(("name", "text", "message"), REFUSED)
def test_wrong_files(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(text, tmp_path, name)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


WORDS = (
    *("topic", "qid", "q", "system", "run", "measure", "score", "shard", "index", "name", "all"),
    *("AP", "map", "nDCG@10", "P", "runid", "q1", "401", "a", "0.5", ".25", "1", "0", "0,5", "1_0"),
    *("", " ", "nan", "inf", "٣", '"', "\x00", "null"),
)
SEPARATORS = ("\t", ",", ";", " ")
JSON = ('{"a": ', '{"topic": ', '{"systems": ', "[", "]", "}", ", ", '"q1": ', "1", '"AP"', "null")


@st.composite
def tables(draw: st.DrawFn) -> str:
    separator = draw(st.sampled_from(SEPARATORS))
    width = draw(st.integers(1, 5))
    row = st.lists(st.sampled_from(WORDS), min_size=width, max_size=width).map(separator.join)
    return "\n".join(draw(st.lists(row, min_size=1, max_size=5)))


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize("suffix", ["", ".csv", ".tsv", ".json", ".jsonl"])
@given(
    content=tables() | st.lists(st.sampled_from(JSON), max_size=9).map("".join),
    measure=st.sampled_from([None, "AP", "a"]),
)
def test_any_content(suffix: str, content: str, measure: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"s{suffix}"
        path.write_text(content)
        try:
            scores = cf.read_scores(path, measure=measure)
        except CranfieldError as error:
            assert "\n" not in str(error)
            assert str(path) in str(error)
        else:
            assert scores.values.size
            assert not np.isinf(scores.values).any()
            assert "all" not in scores.topics
            assert "" not in {*scores.topics, *scores.systems}
            again = read_scores_by_measure(path, None if measure is None else [measure])
            assert (measure or scores.measure) in again
