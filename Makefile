# Two commands: `make reproduce` and `make test`. Each installs what it needs into .venv the first time.
PYTHON ?= python3.11
BIN := .venv/bin
# Installed once per state of pyproject.toml; the stamps make a second call start at once. Modules are compiled when they
# are first used, which takes half a minute less than compiling everything, and that is kept whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=
CORE := .venv/.core-installed
TEST := .venv/.test-installed

.PHONY: reproduce test check tests browser docs benchmarks clean help

help:
	@echo "make reproduce   install Rote and reproduce every study (report/index.html)"
	@echo "make test        install Rote with its test tools and run every check and test"
	@echo "make check       only ruff, mypy and import-linter"
	@echo "make docs        build the documentation (docs/_build/docs/index.html)"
	@echo "make benchmarks  measure the speed figures"
	@echo "make clean       remove .venv and caches (never the run store)"

reproduce: $(CORE)
	$(BIN)/rote reproduce

# Both at once: tests also wait, for processes and pages.
test: $(TEST)
	@$(MAKE) --no-print-directory --jobs=2 check tests

check: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tests: $(TEST) browser
	$(BIN)/pytest -n 2

browser:
	@sh tests/browser/ensure-chromium

docs: $(TEST)
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs . docs/_build
	@echo "docs/_build/docs/index.html"

benchmarks: $(TEST)
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed. Name it with: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv .venv

$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -e .
	@touch $@

$(TEST): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -e '.[test]'
	@touch $@ $(CORE)

clean:
	rm -rf .venv docs/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
