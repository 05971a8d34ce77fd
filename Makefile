# Two commands on a fresh machine with Python 3.11+ and make: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test checks suite bench docs wheel clean browser

# Tests start hundreds of processes: what one has compiled, the others need not compile again.
export PYTHONDONTWRITEBYTECODE :=

# The stamps make set-up run once, and again when the dependencies change.
# A recent pip installs in half the time; where it cannot be had, Python's own does.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cranfield needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

# Of what is installed, tests import a small part: only that is compiled, when it is imported.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	@touch $(VENV)/.runtime $@

$(VENV)/.bench: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

# The report is tested in a real browser where there is one; without it these tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "installing chromium, to test the report" \
	&& apt-get update -qq -o Acquire::http::Timeout=20 >/dev/null \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; } \
	|| echo "no chromium here: the report is not tested in a browser"

demo: $(VENV)/.runtime
	@$(BIN)/cranfield demo

# What is one process, such as an installation or a check, goes on beside others.
test:
	$(MAKE) --jobs=2 $(VENV)/.dev browser
	$(MAKE) --jobs=2 checks suite

checks: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell docs src README.md CHANGELOG.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/check_site.py site

# Each worker has one thread for matrices and one for tables; more would wait for each other (the
# examples of the documentation run with all threads). Plain assertions start faster; tests that
# fail are run again with assertions that show their values.
suite: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal --assert=plain \
	|| { $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run $(ARGS)

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

wheel: $(VENV)/.dev
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist site .mypy_cache .pytest_cache .ruff_cache
