# Every target sets itself up in .venv: a fresh clone needs Python 3.11+ and make.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# What a call adds: make test PYTEST_ARGS="-k kernels -x"
PYTEST_ARGS ?=
DEMO_ARGS   ?=
REPRODUCE_ARGS ?= --all
BENCH_ARGS  ?=

# The folder with the .npz data sets that the slow tests and benchmarks read.
ifeq ($(origin PURSUIT_DATA),undefined)
ifneq ($(wildcard ../shared/data/.),)
export PURSUIT_DATA := $(abspath ../shared/data)
endif
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo reproduce test test-slow coverage lint format types \
        docs bench clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.stamp-demo ## from a CSV file to a report; then KMP beside a tuned SVM
	@$(BIN)/pursuit demo $(DEMO_ARGS)

reproduce: $(VENV)/.stamp-compare ## the papers' tables and figures, into docs/reproduction
	@$(BIN)/python -m reproduction --output docs/reproduction $(REPRODUCE_ARGS)

# There is a worker for each core, whose threads would fight for it.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

test: $(VENV)/.stamp-test ## the tests, without the slow ones
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto -m "not slow" $(PYTEST_ARGS)

coverage: $(VENV)/.stamp-test ## the same, and the lines they miss: build/coverage
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto -m "not slow" --cov --cov-report=term \
	    --cov-report=html:build/coverage $(PYTEST_ARGS)

test-slow: $(VENV)/.stamp-test ## published claims on real data
	@$(BIN)/python -m pytest -q -m slow $(PYTEST_ARGS)

lint: $(VENV)/.stamp-lint ## style, format and direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.stamp-lint ## rewrite the files in the common format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/.stamp-lint ## mypy on src and reproduction
	@$(BIN)/mypy

docs: $(VENV)/.stamp-docs ## the documentation, into build/docs; checks its links
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@$(BIN)/python docs/check_site.py build/docs
	@echo "documentation: build/docs/index.html"

bench: $(VENV)/.stamp-test ## the benchmarks, one script after the other
	@failed=; for script in benchmarks/bench_*.py; do \
	    echo "== $$script"; \
	    $(BIN)/python "$$script" $(BENCH_ARGS) || failed="$$failed $$script"; \
	done; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

clean: ## remove what the targets made, except .venv
	@rm -rf build dist docs/generated docs/gallery .coverage \
	    .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests examples benchmarks reproduction docs -type d -name __pycache__ \
	    -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove .venv too
	@rm -rf $(VENV)

# One stamp for each set of extras, renewed when pyproject.toml changes.
$(VENV)/.stamp-demo: EXTRAS := plot,progress
$(VENV)/.stamp-compare: EXTRAS := plot,progress,compare
$(VENV)/.stamp-test: EXTRAS := test
$(VENV)/.stamp-lint: EXTRAS := lint
$(VENV)/.stamp-docs: EXTRAS := docs,progress

$(VENV)/.stamp-%: pyproject.toml | $(BIN)/python
	@echo "installing pursuit[$(EXTRAS)] into $(VENV)" >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
	    --editable ".[$(EXTRAS)]"
	@touch $@

$(BIN)/python:
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "$(PYTHON) not found: pursuit needs Python 3.11 or newer;" \
	         "name one with: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "pursuit needs Python 3.11 or newer; $(PYTHON) is" \
	         "$$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12" >&2; \
	    exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	    rm -rf $(VENV); \
	    echo "$(PYTHON) cannot make virtual environments; its venv module" \
	         "is missing (Debian, Ubuntu: install python3-venv)" >&2; exit 1; }
