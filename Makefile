# make demo | test | check | setup | quick | campaign [SEED=n] | bench [NAME=x] | docs | sanitize
# Everything runs in .venv, which the first command creates; a Python >= 3.11 and a C++20 compiler are enough.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml constraints.txt $(wildcard native/*)
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NAME   ?=
SEED   ?=

.PHONY: demo test quick campaign check setup bench docs sanitize clean

demo: $(VENV)/core
	$(BIN)/shoal demo

test: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup --durations=20

quick: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow"

campaign: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow" --hypothesis-profile=campaign $(SEED:%=--hypothesis-seed=%)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror native/*
	$(BIN)/mypy
	$(BIN)/lint-imports

setup: $(VENV)/dev

bench: setup
	$(BIN)/python -m benchmarks $(NAME)

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

sanitize: setup
	PYTHON=$(BIN)/python tests/sanitize.sh

clean:
	rm -rf $(VENV) build dist site shoal-demo

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shoal needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: $(VENV)/bin/python $(NATIVE)
	$(PIP) --editable .
	touch $@

# The developers' install contains the core, so `make demo` finds it there.
$(VENV)/dev: $(VENV)/bin/python $(NATIVE)
	$(PIP) --editable ".[dev]"
	touch $(VENV)/core $@
