# Needs python3 (3.10 or later) and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
SEED := $(shell date +%s)
SEARCH := sample_data/search
SHARES := sample_data/popularity

ifdef PYTHONDONTWRITEBYTECODE  # compiled files stay out of the folders, but no process compiles all of them anew
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX ?= $(CURDIR)/$(VENV)/pycache
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-spark test-wheel thorough lint fuzz bench peers dist clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s  %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed  ## evaluate the sample data (installs gradeval into .venv)
	@printf '\nThree search engines on fifty topics with grades 0 to 4:\n\n'
	$(BIN)/gradeval $(SEARCH)/qrels.txt $(SEARCH)/bm25.run $(SEARCH)/dense.run $(SEARCH)/hybrid.run -f table
	@printf '\nAP at each level of relevance, and what they make together:\n\n'
	$(BIN)/gradeval $(SEARCH)/qrels.txt $(SEARCH)/bm25.run $(SEARCH)/dense.run -m muAP --by-level -f table --quiet
	@printf '\nShares from 0 to thousands: grades made from places, and nDCGphi:\n\n'
	$(BIN)/gradeval $(SHARES)/qrels.txt $(SHARES)/order.run $(SHARES)/bands.run \
	    -m 'nDCG(gain=exp,top=10/25/50)@10 nDCGphi@10' -f table --quiet

test: $(VENV)/.test  ## run the tests, except the slow ones; ARGS='-k letor -n 0' goes to pytest
	$(PYTEST) -m 'not slow' $(ARGS)

test-spark: $(VENV)/.test $(VENV)/.spark  ## run the tests on a local Spark; needs Java (default-jre-headless)
	GRADEVAL_SPARK=1 $(BIN)/python -m pytest -q -n 0 -m spark tests/spark $(ARGS)

test-wheel: dist  ## install the wheel into bare environments of the Pythons here, also with the lowest versions, and use it
	$(BIN)/python -m tests.wheel $(ARGS)

thorough: $(VENV)/.test  ## run all tests, with many random examples and branch coverage; SEED=… repeats a run
	$(PYTEST) --hypothesis-profile=thorough --hypothesis-seed=$(SEED) \
	    --cov --cov-branch --cov-report=term --cov-fail-under=95 $(ARGS)

lint: $(VENV)/.lint  ## check style, format, types, imports and what makes functions hard to review
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python tests/house.py

fuzz: $(VENV)/.test  ## attack with random cases for 3 minutes; ARGS='--minutes 60' for an hour, '--help' lists the options
	@$(BIN)/python -m tests.fuzz $(ARGS)

bench: $(VENV)/.bench  ## measure time and memory against other tools; ARGS='--help' lists the options
	$(BIN)/python -m tests.bench $(ARGS)

peers: $(VENV)/.peers  ## compare every metric with other tools; ARGS='QRELS RUN' compares on these files too
	@$(BIN)/python -m tests.peers $(ARGS)

dist: $(VENV)/.dist  ## build sdist and wheel into dist/, the same bytes each time
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

clean:  ## remove generated files
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find gradeval tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "make: $(PYTHON) must be Python 3.10 or later; name another with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "make: $(PYTHON) cannot make virtual environments (on Debian: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo 'Installing gradeval and its dependencies into $(VENV) …'
	$(PIP) --editable .
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.peers $(VENV)/.spark $(VENV)/.dist: $(VENV)/.%: $(VENV)/.installed
	$(PIP) --editable '.[$*]'
	@touch $@
