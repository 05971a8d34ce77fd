"""Without the extra `charts`, all works but charts, which say what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ADVICE = "charts require the extra 'charts': pip install 'cranfield[charts]'"

CODE = """
import sys
from pathlib import Path

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("altair", "vl_convert"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())

import cranfield as cf
from tests.cli.running import cranfield, ended_with

folder = Path(sys.argv[1])
files = [str(path) for path in sorted(Path("docs/examples").resolve().glob("*.run"))]
files = [str(Path("docs/examples/qrels.txt").resolve()), *files]
scores = cf.evaluate(files[1:], files[0], "AP")["AP"]
comparison = cf.compare(scores, test="t")
assert "box" in repr(comparison.plot) and "box" in dir(comparison.plot)
cf.report(comparison, folder / "report.html")
save = cf.charts.save
for draw in (lambda: scores.plot.box(), lambda: cf.charts.box_plot, lambda: save(1, "x.svg")):
    try:
        draw()
    except cf.MissingDependencyError as error:
        print(error)

cranfield(folder, "evaluate", *files)
cranfield(folder, "compare", *files, "-m", "AP")
cranfield(folder, "report", *files, "-m", "AP", "-o", "second.html")
cranfield(folder, "plot", "--list")
for words in (["plot", "box", *files], ["study", "measures", *files, "--plot", "p-values=x.svg"]):
    status, out, err = ended_with(folder, *words)
    assert (status, out) == (2, "")
    print(err.strip())
"""


def test_all_but_charts_works(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, check=True, cwd=root, capture_output=True, text=True)  # noqa: S603
    assert done.stdout.splitlines() == [ADVICE] * 3 + [f"cranfield: error: {ADVICE}"] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "second.html"]
