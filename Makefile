# `make small` runs the whole chain on the sample; `make test` runs every check. Both build .venv first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
STAMP_TEST := .venv/.installed-test

.PHONY: venv small test lint bench docs clean sample

venv: $(STAMP)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "curate needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(STAMP_TEST): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $(STAMP) $@

small: $(STAMP)
	$(BIN)/curate run configs/small.yaml

lint: $(STAMP_TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -q

docs: $(STAMP)
	$(BIN)/python docs/make_configuration.py

sample: $(STAMP)
	$(BIN)/python data/sample/make.py

clean:
	rm -rf .venv runs build *.egg-info
