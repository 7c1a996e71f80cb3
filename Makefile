# Sets up everything it needs in .venv; a fresh machine has to have Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint check clean

demo: $(VENV)/.demo  ## the main job on the embedded simulated models
	@echo "Some items fail: the simulated model treats some groups worse, on purpose."
	@$(BIN)/pytest --fairness testcases/ --tb=no -rN; status=$$?; \
	if [ $$status -ne 1 ]; then echo "expected some failures (exit code 1), got $$status"; exit 1; fi

test: $(VENV)/.test  ## all tests
	$(BIN)/pytest -n 2 -q

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

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.demo
