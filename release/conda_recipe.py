"""Print the recipe of conda-forge for a source distribution; what it needs stands in pyproject.

python -m release.conda_recipe dist/cranfield-0.2.0.tar.gz > recipe.yaml
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent

RECIPE = """\
# yaml-language-server: $schema=https://raw.githubusercontent.com/prefix-dev/recipe-format/main/schema.json
schema_version: 1

context:
  version: "{version}"

package:
  name: {name}
  version: ${{{{ version }}}}

source:
  url: https://pypi.org/packages/source/{name[0]}/{name}/{name}-${{{{ version }}}}.tar.gz
  sha256: {sha256}

build:
  number: 0
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
{entries}

requirements:
  host:
    - python
    - pip
{host}
  run:
    - python
{run}

tests:
  - python:
      imports:
        - {name}
      pip_check: true
  - script:
      - {name} --version
      - {name} demo

about:
  summary: {summary}
  license: {license}
  license_file: LICENSE

extra:
  recipe-maintainers: []
"""


def line_of(stated: str) -> str:
    """Return the lines of a dependency.

    Examples
    --------
    >>> print(line_of("numpy>=2.2"))
        - numpy >=2.2
    >>> print(line_of("tomli>=2; python_version < '3.12'"))
        - if: match(python, "<3.12")
          then: tomli >=2
    """
    one = Requirement(stated)
    wanted = f"{one.name} {one.specifier}".rstrip()
    if one.marker is None:
        return f"    - {wanted}"
    found = re.fullmatch(r'python_version (\S+) "(\S+)"', str(one.marker))
    if found is None:
        raise SystemExit(f"no condition of a recipe is known for: {stated}")
    return f'    - if: match(python, "{found[1]}{found[2]}")\n      then: {wanted}'


def recipe_of(sdist: Path) -> str:
    """Return the recipe of a source distribution."""
    stated: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = stated["project"]
    found = re.fullmatch(rf"{project['name']}-(.+)\.tar\.gz", sdist.name)
    if found is None:
        raise SystemExit(f"{sdist.name} is no source distribution of {project['name']}")
    return RECIPE.format(
        name=project["name"],
        version=found[1],
        sha256=hashlib.sha256(sdist.read_bytes()).hexdigest(),
        entries="\n".join(f"      - {name} = {at}" for name, at in project["scripts"].items()),
        host="\n".join(map(line_of, stated["build-system"]["requires"])),
        run="\n".join(map(line_of, project["dependencies"])),
        summary=f'"{project["description"]}"',
        license=project["license"],
    )


if __name__ == "__main__":
    print(recipe_of(Path(sys.argv[1])), end="")
