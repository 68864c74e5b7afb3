# make demo | test | check | setup | quick | campaign [SEED=n] | bench [NAME=x] | docs | sanitize | wheel
# Everything runs in .venv, which the first command creates; a Python >= 3.11 and a C++20 compiler are enough.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml constraints.txt $(wildcard native/*/*)
TOOLS  := cmake nanobind ninja scikit-build-core setuptools-scm
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NAME   ?=
SEED   ?=
PYTHONS ?=

.PHONY: demo test quick campaign check setup bench docs sanitize wheel clean

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
	$(BIN)/clang-format --dry-run -Werror native/*/*
	$(BIN)/mypy
	$(BIN)/lint-imports

setup: $(VENV)/dev

bench: setup
	$(BIN)/python -m benchmarks $(NAME)

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

sanitize: setup
	PYTHON=$(BIN)/python tests/sanitize.sh

# For all Pythons that are found, or for those in PYTHONS; the packages are in dist/.
wheel: setup
	$(BIN)/python distribution/wheel.py $(PYTHONS:%=--python %)

clean:
	rm -rf $(VENV) build dist site shoal-demo

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shoal needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# The package had another name before; two editable installs of one module are one too many.
$(VENV)/tools: $(VENV)/bin/python
	$(BIN)/python -m pip uninstall --quiet --yes shoal 2>/dev/null
	$(PIP) $(TOOLS)
	touch $@

$(VENV)/core: $(VENV)/tools $(NATIVE)
	$(PIP) --editable ".[report]" --no-build-isolation
	touch $@

# The developers' install contains the core, so `make demo` finds it there. With tools that stay, what was compiled
# stays as well: only sources that change are compiled again.
$(VENV)/dev: $(VENV)/tools $(NATIVE)
	$(PIP) --editable ".[dev]" --no-build-isolation --config-settings=cmake.define.SHOAL_WERROR=ON
	touch $(VENV)/core $@
