# make repro: installation, then the pipeline of params.yaml to tables and figures; with PROFILE=ci that of profile ci.
# JOBS=4 runs four trainings at a time (default: one per core, or per GPU); JOBS=1 gives every run all cores.
# make regress: profile ci in a clean clone; fails if any result is not that of the commit, to the last digit.
# make test: the test suite.
# make coverage: the same with the lines covered, those run in other processes left out; takes half as long again.
# make test-plain: the numeric tests as on a CPU with AVX2 only, the kernel tests as on a CPU without AMX.
# make test-slow: tests that take more than a few seconds.
# make check-all: what no hosted run checks before a release: all of these, the lowest versions of dependencies, a
# rehearsal of the paper's runs, and Triton's kernels where it is installed; prints how long it took.
# make faults: update the table of benchmarks/faults.md.
# make docs: update docs/params.md from the settings classes, and the picture of the ARC rules.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
TOOLS := .venv/.tools
# DVC, MLflow and tests start programs by name: those of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: setup repro regress test coverage test-slow test-plain test-lowest triton rehearsal check check-all faults docs ui clean

setup: $(TOOLS)

# Stages and commands are found in the current folder.
export PYTHONSAFEPATH :=

# Write bytecode of dependencies at the first import, whatever the shell's setting: compiling everything takes longer.
export PYTHONDONTWRITEBYTECODE :=

# The programs in .venv name its folder, so a renamed clone gets a new one.
FOLDER := $(shell cat .venv/.folder 2>/dev/null)
ifneq ($(or $(FOLDER),$(CURDIR)),$(CURDIR))
.PHONY: $(READY)
RENEW := --clear
endif

$(READY): pyproject.toml constraints.txt
	@echo "installing serrm and what it needs into .venv: up to 2 GB, some minutes"
	@test -x $(BIN)/python -a -z "$(RENEW)" || $(PYTHON) -m venv $(RENEW) .venv
	@echo "$(CURDIR)" > .venv/.folder
	@$(BIN)/python scripts/install.py pipeline
	@$(BIN)/python -m compileall -q src stages
	@touch $(READY)

# Extra packages of tests and checks.
$(TOOLS): $(READY)
	$(BIN)/python scripts/install.py pipeline dev
	touch $(TOOLS)

repro: $(READY)
	@$(if $(PROFILE),$(BIN)/serrm use $(PROFILE))
	@$(BIN)/python -m serrm.running $(JOBS)
	@$(BIN)/serrm headline
	@$(BIN)/serrm compare --summary

regress: $(READY)
	.ci/profile

test: $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile

coverage: export PYTEST_ADDOPTS := --cov --cov-report=term:skip-covered
coverage: test

test-slow: $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'slow and not gpu'

# The numeric tests as on a CPU with AVX2 only, in PyTorch and in native kernels; then native kernels of bfloat16 without
# tile registers. PyTorch refuses names of instruction sets of other kinds of machines.
ifeq ($(shell uname -m),x86_64)
AVX2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
endif
test-plain: $(TOOLS)
	$(AVX2) $(BIN)/python -m pytest -n 2 --dist loadfile -m 'numeric and not slow and not gpu' --no-native
	$(BIN)/python -m pytest --no-tiles tests/kernels/test_native_kernels.py tests/kernels/test_accelerate.py

check: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test-plain coverage

# The suite with the lowest versions that pyproject.toml allows, in an environment of its own.
test-lowest: $(TOOLS)
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[pipeline,dev]'
	PATH="$(CURDIR)/.venv-lowest/bin:$$PATH" .venv-lowest/bin/python -m pytest -n 2 --dist loadfile

# The rehearsal downloads the published puzzles.
check-all: $(TOOLS)
	@start=$$(date +%s); $(MAKE) check test-slow test-lowest triton rehearsal && \
	echo "make check-all took $$((($$(date +%s) - start) / 60)) minutes"

triton: $(TOOLS)
	@if $(BIN)/python -c 'import triton' 2> /dev/null; then $(BIN)/python -m pytest -m triton; \
	else echo "no Triton here (pip install -e '.[gpu]'): its kernels are not tested"; fi

rehearsal: $(READY)
	$(BIN)/serrm rehearse --profile paper --tflops 300

faults: $(READY)
	$(BIN)/python -m benchmarks.faults --write benchmarks/faults.md

docs: $(READY)
	$(BIN)/python docs/params_reference.py
	$(BIN)/python docs/arc_rules.py

ui: $(READY)
	$(BIN)/serrm ui

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
