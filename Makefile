# Everything runs inside .venv; one command on a fresh machine with python3 is enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
JOBS ?= auto
VERIFY_JOBS ?= 2
EXPERIMENTS ?= experiments

.PHONY: setup verify test test-all check bench experiments experiments-small clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,analysis,java,oracle]'
	touch $(STAMP)

# The main job: verify all scenarios, write the fidelity report, and say where the reports are.
verify: setup
	$(BIN)/endive doctor
	$(BIN)/endive run examples/spec_example.toml --out experiments --force
	$(BIN)/endive verify scenarios --jobs $(VERIFY_JOBS) --junit reports/scenarios/junit.xml --html reports/scenarios/index.html
	$(BIN)/endive fidelity --out reports/fidelity --jobs $(VERIFY_JOBS)

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

# The documents' studies, swept and analysed; the small ones take a minute or two.
experiments: setup
	for study in studies/*.toml; do $(BIN)/endive sweep $$study --out $(EXPERIMENTS) || exit 1; done
	$(BIN)/endive analyze $(EXPERIMENTS)

experiments-small: setup
	for study in studies/small/*.toml; do $(BIN)/endive sweep $$study --out $(EXPERIMENTS) || exit 1; done
	$(BIN)/endive analyze $(EXPERIMENTS)

clean:
	rm -rf $(VENV) experiments .mypy_cache .ruff_cache .hypothesis
