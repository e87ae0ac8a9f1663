# `make small` runs the whole chain on the sample; `make test` runs every check. Both build .venv first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
STAMP_TEST := .venv/.installed-test
DATA ?= $(or $(CURATE_TEST_DATA),../shared/data)

.PHONY: venv small test test-slow test-faults lint bench docs clean sample

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
	$(BIN)/python -m pytest -q -m "not slow and not faults" --durations=10

test-slow: $(STAMP_TEST)
	$(BIN)/python -m pytest -q -m slow --durations=10

test-faults: $(STAMP_TEST)
	$(BIN)/python -m pytest -q -m faults --durations=10

# peers that need an environment of their own are asked for by the scripts' options; see docs/benchmarks.md
bench: $(STAMP_TEST)
	$(BIN)/python benchmarks/compile_times.py
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/gopher.py
	$(BIN)/python benchmarks/perplexity.py
	$(BIN)/python benchmarks/dedup.py $(DATA)/trusted/technical-en.jsonl.zst
	$(BIN)/python benchmarks/pii.py $(DATA)/trusted/technical-en.jsonl.zst $(DATA)/web/c4-1000.jsonl.zst
	$(BIN)/python benchmarks/tokenizer.py $(wildcard $(DATA)/trusted/*.jsonl.zst)

docs: $(STAMP)
	$(BIN)/python docs/make_configuration.py

sample: $(STAMP)
	$(BIN)/python data/sample/make.py

clean:
	rm -rf .venv runs build *.egg-info
