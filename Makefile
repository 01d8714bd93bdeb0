# `make verify` and `make test` do all the set-up on a fresh machine; only python3 with venv is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
JOBS ?= auto
VERIFY_JOBS ?= 2

.PHONY: setup verify test test-all check bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,analysis,java,oracle]'
	touch $(STAMP)

# The main job: verify all scenarios and say where the reports are.
verify: setup
	$(BIN)/endive doctor
	$(BIN)/endive run examples/spec_example.toml --out experiments --force
	$(BIN)/endive verify scenarios --jobs $(VERIFY_JOBS) --junit reports/scenarios/junit.xml --html reports/scenarios/index.html

test: setup
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup -m 'not slow' tests invariants scenarios

test-all: setup
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup tests invariants scenarios

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) experiments .mypy_cache .ruff_cache .hypothesis
