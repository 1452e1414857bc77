# make repro: environment, then the default pipeline to tables and figures.  make test: the test suite.
# make regress: what moved in the ci profile's numbers since regression/ci.json; make regress-update: run it, and expect them so.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup repro test check regress regress-update ui clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[pipeline,dev]'
	touch $(READY)

repro: $(READY)
	$(BIN)/serrm grid
	$(BIN)/serrm forecast
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/dvc repro
	$(BIN)/serrm headline

test: $(READY)
	$(BIN)/python -m pytest -n 2

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

regress: $(READY)
	$(BIN)/serrm regress

regress-update: $(READY)
	.ci/profile serrm regress --update

ui: $(READY)
	$(BIN)/serrm ui

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
