# `make` alone lists the targets. Everything is installed into .venv and nothing is written outside this folder.

PYTHON ?= python3
# Two more than two cores: tests wait for processes and disks.
WORKERS ?= 4

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
# Most of what is installed is never imported: it is compiled when it is.
INSTALL := $(PIP) install --quiet --no-compile -c constraints.txt
# uv downloads, builds and unpacks side by side. It reads no settings of pip: where they name another index, pip goes on.
UV := UV_CACHE_DIR=$(VENV)/cache/uv $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt
# PySpark alone is built here, into a wheel that is unpacked at once: it need not be compressed.
STORED := --config-settings=--build-option=--compression=stored
EVERYTHING := --no-build-isolation --only-binary z3-solver $(STORED) -e '.[dev,all]'
# A worker that dies fails its test and the others run the rest: pytest-xdist hangs when it replaces one that had a group.
PYTEST := $(BIN)/pytest -n $(WORKERS) --max-worker-restart=0
CORE := tests/language tests/targets tests/reward tests/checks/rules tests/checks/solver tests/checks/formats
HEAVY := jax or torch or numba or spark or postgres or test_parity or test_gradients
MEASURED := src/plaudit/language/*,src/plaudit/targets/*,src/plaudit/reward/*,src/plaudit/checks/*,src/plaudit/ledger/*
COVERED := 96.5
CALCULATOR := src/plaudit/systems/roadsense/reward_calculator.py

export NO_MKDOCS_2_WARNING := 1 # the pinned versions are the ones we mean
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP_NO_CACHE_DIR ?= 1
export PIP_NO_CACHE_DIR
export NUMBA_CACHE_DIR := $(CURDIR)/$(VENV)/cache/numba
export TORCHINDUCTOR_CACHE_DIR := $(CURDIR)/$(VENV)/cache/torchinductor
export PLAUDIT_CACHE_DIR := $(CURDIR)/$(VENV)/cache/plaudit
export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/$(VENV)/cache/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0
test quick coverage soak: export OMP_NUM_THREADS := 1 # a worker: threads of several wait for each other on few cores
unexport PYTHONDONTWRITEBYTECODE # compiled modules and tests are kept: collecting the tests again takes half the time

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint format coverage soak llm-test bench pins build docs docs-serve clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.core ## Install plaudit and take the tour (under two minutes)
	$(BIN)/plaudit demo --output demo.html

test: $(VENV)/.dev ## Install what the tests need, run all of them, and lint meanwhile
	@$(MAKE) --no-print-directory lint >$(VENV)/lint.log 2>&1 & lint=$$!; \
	$(PYTEST); tests=$$?; \
	wait $$lint && tail -n 1 $(VENV)/lint.log || { cat $(VENV)/lint.log; exit 1; }; \
	exit $$tests

quick: $(VENV)/.dev ## The inner loop: tests of the core without services, JAX, PyTorch, SUMO or Spark (under a minute)
	$(PYTEST) -q -k 'not ($(HEAVY))' --ignore=tests/targets/sql --ignore=tests/language/test_public_style.py $(CORE)

lint: $(VENV)/.dev ## Check style, formatting, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

format: $(VENV)/.dev ## Format the code and fix what the linter can fix
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

# Coverage holds a lock of its own, and a program that is interrupted forty times in a row does not always give it back.
coverage: $(VENV)/.dev ## Branch coverage of the core, and of the roadsense calculator; fails below what was reached
	$(BIN)/coverage erase
	$(BIN)/coverage run $(PYTEST) -q -k 'not test_ctrl_c_at_any_moment' tests/language tests/targets tests/reward tests/checks tests/ledger tests/cli tests/seeds tests/test_golden.py
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include=$(CALCULATOR) --fail-under=100
	$(BIN)/coverage report --include='$(MEASURED)' --skip-covered --fail-under=$(COVERED)

soak: $(VENV)/.dev ## The slow tests, and those of random examples with 2,000 instead of 30
	$(PYTEST) -m 'slow or hypothesis' --hypothesis-profile=soak

# Each framework has a place of its own: they ask for versions of each other's libraries that do not go together.
llm-test: $(addprefix llm-,trl trl16 rubric task openenv inspect verl) ## Check the adapters of language models against the packages themselves (gigabytes)

llm-%: $(VENV)/llm-%/.ready
	PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tests $(VENV)/$@/bin/python tests/adapters/real_packages.py $*

bench: $(VENV)/.dev $(VENV)/.peers ## Benchmarks, as ratios against a peer in the same run
	@for script in $$(grep -l __main__ bench/*.py); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

pins: $(VENV)/.dev ## Ask the package index whether every pin has a wheel on Linux, macOS and Windows
	$(BIN)/python .ci/pins.py

docs: $(VENV)/.dev ## Build the documentation into site/: open site/index.html
	@$(PYTEST) -q tests/test_public_docstrings.py || { echo "A public name lacks what the API reference shows; see above." >&2; exit 1; }
	$(BIN)/mkdocs build
	@echo "Open site/index.html in a browser; no server is needed."

docs-serve: $(VENV)/.dev ## Show the documentation while you write it, on http://127.0.0.1:8000
	$(BIN)/mkdocs serve

build: $(VENV)/.dev ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build --no-isolation

clean: ## Remove everything that make created
	rm -rf $(VENV) build demo.html dist site .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Stamps: an install is repeated only when what it depends on has changed. The one of the tests holds the core too.
$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { echo "plaudit needs Python 3.11 or newer, and there is no '$(PYTHON)' here. Try: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit("plaudit needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Try: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing plaudit into $(VENV) ..."
	$(INSTALL) hatchling
	$(INSTALL) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing plaudit and what its tests need into $(VENV): a few minutes ..."
	$(INSTALL) hatchling setuptools uv
	@# PySpark is built while torch is unpacked; what is wrong with it, the next line says.
	@$(UV) --no-build-isolation $(STORED) pyspark 2>/dev/null & $(INSTALL) torch==2.13.0; ended=$$?; wait; exit $$ended
	$(UV) $(EVERYTHING) || $(INSTALL) $(EVERYTHING)
	@rm -rf $(VENV)/cache/uv
	@touch $@ $(VENV)/.core

# What both versions of TRL train with; math-verify and reasoning-gym are a task of theirs.
WITH_TRL := 'transformers==5.23.*' math-verify==0.9.0 reasoning-gym==0.1.25
LLM_trl := trl==1.16.0 $(WITH_TRL)
LLM_trl16 := trl==1.6.0 requests $(WITH_TRL)
LLM_rubric := verifiers==0.3.1
LLM_task := verifiers==0.4.0
LLM_openenv := openenv==0.10.0
LLM_inspect := inspect-ai==0.3.285
# What verl's reward managers import; all that verl asks for needs a GPU.
LLM_verl := aiohttp cloudpickle codetiming dill 'hydra-core<1.4' 'omegaconf<2.4' orjson packaging pandas pyvers ray requests tensordict 'transformers<5.11'

.PRECIOUS: $(VENV)/llm-%/.ready
$(VENV)/llm-%/.ready: $(VENV)/.created pyproject.toml
	@echo "Installing $(LLM_$*) into $(@D) ..."
	$(PYTHON) -m venv $(@D)
	$(if $(filter trl trl16 verl,$*),$(@D)/bin/python -m pip install --quiet --no-compile torch==2.13.0)
	$(@D)/bin/python -m pip install --quiet --no-compile numpy click rich sqlalchemy $(LLM_$*)
	$(if $(filter verl,$*),$(@D)/bin/python -m pip install --quiet --no-compile --no-deps verl==0.9.1)
	@touch $@

$(VENV)/.peers: $(VENV)/.dev
	@$(INSTALL) --no-build-isolation --prefer-binary -e '.[peers]' || echo "Some peers cannot be installed here; the benchmarks say which they leave out."
	@touch $@
