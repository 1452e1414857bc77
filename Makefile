# make repro: environment, then the pipeline of params.yaml to tables and figures; PROFILE=ci: of that profile.
# make test: the test suite.
# make test-plain: its numeric tests as on a CPU with AVX2 only, those of the kernels as on one without AMX.
# make test-slow: what takes more than a few seconds.
# make faults: the table of docs/reliability.md, anew.
# make docs: docs/params.md from the settings classes.
# make regress: what moved in the ci profile's numbers since regression/ci.json; make regress-update: run it, and expect them so.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TOOLS := .venv/.tools
# Programs that DVC, MLflow and tests start by name are those of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: setup repro test test-slow test-plain check regress regress-update faults docs ui clean

setup: $(TOOLS)

# Bytecode of dependencies is written when a module is first imported, whatever the shell says: compiling all takes longer.
export PYTHONDONTWRITEBYTECODE :=

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[pipeline]'
	$(BIN)/python -m compileall -q src stages
	touch $(READY)

# What tests and checks need besides.
$(TOOLS): $(READY)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[pipeline,dev]'
	touch $(TOOLS)

repro: $(READY)
	$(if $(PROFILE),$(BIN)/serrm use $(PROFILE))
	$(BIN)/serrm forecast
	$(BIN)/dvc repro
	$(BIN)/serrm headline

test: $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'slow and not gpu'

# The numeric tests as on a CPU with AVX2 only: no native kernels, and PyTorch's own of that width; then native kernels
# without tile registers. PyTorch refuses the name of an instruction set that the machine's kind does not have.
ifeq ($(shell uname -m),x86_64)
AVX2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
endif
test-plain: $(TOOLS)
	$(AVX2) $(BIN)/python -m pytest -n 2 --dist loadfile -m 'numeric and not slow and not gpu' --no-native
	$(BIN)/python -m pytest --no-tiles tests/kernels

check: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test-plain test

regress: $(READY)
	$(BIN)/serrm regress

regress-update: $(READY)
	.ci/profile serrm regress --update

faults: $(READY)
	$(BIN)/python -m benchmarks.faults --write docs/reliability.md

docs: $(READY)
	$(BIN)/python docs/params_reference.py

ui: $(READY)
	$(BIN)/serrm ui

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
