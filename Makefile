# make demo | test | check | setup | quick | campaign [SEED=n] | bench [NAME=x] | docs | sanitize | portable | wheel | sbom | advisories
#      soak [NAME=x] [MINUTES=n] [SEED=n] [CASE=n]
#      docs-version VERSION=n
# Everything runs in .venv, which the first command creates; a Python >= 3.11 and a C++20 compiler are enough.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml constraints.txt $(wildcard native/*/*)
WERROR := cmake.define.SHOAL_WERROR=ON
# Without build isolation, PySpark needs setuptools and wheel to be there.
TOOLS  := cmake nanobind ninja scikit-build-core setuptools setuptools-scm wheel
# Most of what is installed is never imported: what is, Python compiles then.
PIP    := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
NAME   ?=
SEED   ?=
MINUTES ?=
CASE   ?=
PYTHONS ?=
# In the order that tests/conftest.py gives: the longest first, so that no core waits at the end.
PARALLEL := -n auto --dist loadgroup --no-loadscope-reorder

# Where ccache is installed, what was compiled once is not compiled again, also in another clone at the same place.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache 2>/dev/null)

# Tests start hundreds of processes: without files of bytecode, each compiles the whole package again (0.25 s).
export PYTHONDONTWRITEBYTECODE :=

# And in each of them, NumPy starts threads for linear algebra, which take a tenth of a second and then have no work.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test quick campaign soak check check-lint check-format check-native check-types check-tests check-layers setup bench docs docs-version sanitize portable sbom advisories wheel clean

demo: $(VENV)/core
	$(BIN)/shoal demo

test: setup
	$(BIN)/python -m pytest $(PARALLEL) --durations=20

quick: setup
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

campaign: setup
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow or campaign" --hypothesis-profile=campaign $(SEED:%=--hypothesis-seed=%)

# Campaigns with an own oracle, for some minutes: a finding prints the number that repeats it (CASE) and where to go on (SEED).
soak: setup
	$(BIN)/python tests/soak/run.py $(NAME) $(MINUTES:%=--minutes %) $(SEED:%=--seed %) $(CASE:%=--case %)

# All at the same time.
check: setup
	$(MAKE) --no-print-directory --jobs check-types check-tests check-layers check-native check-lint check-format

check-lint:
	$(BIN)/ruff check .

check-format:
	$(BIN)/ruff format --check .

check-native:
	$(BIN)/clang-format --dry-run -Werror native/*/* tests/portable/*.cpp

check-types:
	$(BIN)/mypy

# All tests can be imported; compiled here once, they are not compiled by each worker of a test run.
check-tests:
	@found=$$($(BIN)/python -m pytest --collect-only --quiet) || { echo "$$found"; exit 1; }

check-layers:
	$(BIN)/lint-imports

setup: $(VENV)/dev

bench: setup
	$(BIN)/python -m benchmarks $(NAME)

# The documentation of a version beside those of earlier ones, on the branch gh-pages: make docs-version VERSION=1.2
docs-version: $(VENV)/release
	NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --update-aliases $(VERSION) latest

# Known vulnerabilities of the tested versions; needs the network.
advisories: $(VENV)/release
	$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt

# What an installation with all extras consists of, as a CycloneDX document.
sbom: $(VENV)/release
	rm -rf build/sbom && $(BIN)/python -m venv build/sbom && mkdir -p dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --config-settings=$(WERROR) --wheel-dir build/sbom .
	build/sbom/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  "$$(echo build/sbom/*.whl)[all]"
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
	  -o dist/shoal-privacy.cdx.json build/sbom/bin/python

# The kernels, with every compiler and for every platform that is found here.
portable:
	tests/portable/run.sh

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

sanitize: setup
	PYTHON=$(BIN)/python tests/sanitize.sh

# For all Pythons that are found, or for those in PYTHONS; the packages are in dist/.
wheel: $(VENV)/release
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

$(VENV)/release: $(VENV)/dev
	$(PIP) abi3audit build cyclonedx-bom mike pip-audit
	touch $@

# The developers' install contains the core, so `make demo` finds it there. With tools that stay, what was compiled
# stays as well: only sources that change are compiled again. The kernels are compiled while libraries are installed.
$(VENV)/dev: $(VENV)/tools $(NATIVE)
	$(MAKE) --no-print-directory --jobs 2 $(VENV)/libraries $(VENV)/compiled
	touch $(VENV)/core $@

$(VENV)/libraries: $(VENV)/tools pyproject.toml constraints.txt
	$(BIN)/python distribution/dependencies.py dev >$(VENV)/libraries.txt
	$(PIP) --requirement $(VENV)/libraries.txt
	touch $@

$(VENV)/compiled: $(VENV)/tools $(NATIVE)
	$(PIP) --no-deps --editable . --no-build-isolation --config-settings=$(WERROR)
	touch $@
