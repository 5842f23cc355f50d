# Two commands: `make reproduce` and `make test`. Each installs what it needs into .venv the first time.
# The Python: the first of these that can be used, or make PYTHON=/path/to/python.
SUITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c '$(SUITS)' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
# The versions that the tests ran with.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# Installed once per state of pyproject.toml and constraints.txt; the stamps make a second call start at once. Modules are
# compiled when they are first used, which takes half a minute less than compiling everything, and that is kept whatever
# the shell says.
export PYTHONDONTWRITEBYTECODE :=
CORE := .venv/.core-installed
TEST := .venv/.test-installed
COMPILED := .venv/.compiled

.PHONY: reproduce test check tests browser gallery picture docs benchmarks constraints clean help

help:
	@echo "make reproduce   install Rote and reproduce every study (report/index.html)"
	@echo "make test        install Rote with its test tools and run every check and test"
	@echo "make check       only ruff, mypy and import-linter"
	@echo "make docs        build the documentation (docs/_build/docs/index.html)"
	@echo "make gallery     views of the explorer as pages for any static host (gallery/index.html)"
	@echo "make picture     make every picture of the README, the documents and the tutorials again"
	@echo "make benchmarks  measure the speed figures"
	@echo "make constraints take newer versions of everything, and note them in constraints.txt"
	@echo "make clean       remove .venv and caches (never the run store)"

reproduce: $(CORE)
	$(BIN)/rote reproduce

# Both at once, and tests three at a time on two cores: they also wait, for processes and pages.
test: $(TEST)
	@$(MAKE) --no-print-directory --jobs=2 check tests

check: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tests: $(COMPILED) browser
	$(BIN)/pytest -n 3

browser:
	@sh tests/browser/ensure-chromium

gallery: $(TEST)
	$(BIN)/python docs/gallery.py gallery

picture: $(TEST) browser
	$(BIN)/python docs/moving_picture.py
	$(BIN)/python docs/tutorial_pictures.py
	$(BIN)/python docs/page_pictures.py

docs: $(TEST)
	$(BIN)/python docs/gallery.py docs/_gallery/gallery
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs . docs/_build
	@echo "docs/_build/docs/index.html"

benchmarks: $(TEST)
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

$(BIN)/python:
	@$(or $(PYTHON),false) -c '$(SUITS)' 2>/dev/null || { \
	echo "Python 3.11 to 3.14 is needed, with venv; got $(or $(PYTHON),none). Name it: make PYTHON=/path/to/python3.11" >&2; \
	exit 2; }
	$(PYTHON) -m venv .venv

$(CORE): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(TEST): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[test]'
	@touch $@ $(CORE)

# What tests import is compiled by one process, beside the checks, and not by three at the same time.
$(COMPILED): $(TEST)
	@$(BIN)/pytest --collect-only --quiet > $@.log || { cat $@.log >&2; exit 1; }
	@touch $@

# Newer versions, where pyproject.toml admits them: take the tests again before this is committed.
constraints: | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[test]'
	@{ echo "# The versions that the tests ran with, used by make. Made by: make constraints"; \
	$(BIN)/pip freeze --exclude-editable | sed 's/+.*//'; } > constraints.txt  # 2.13.0+cpu is a build of 2.13.0

clean:
	rm -rf .venv docs/_build docs/_gallery .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
