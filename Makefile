# tickmind: `make` alone lists what there is. Each target sets up what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
READY := $(VENV)/.ready
BENCH_READY := $(BENCH_VENV)/.ready
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
CODE := src tests examples benchmarks

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench fuzz fmt docs proto pins clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tickmind needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (the first time takes a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP_INSTALL) -r requirements/dev.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps -e .
	@touch $@

$(BENCH_READY): pyproject.toml requirements/bench.txt
	@echo "Setting up $(BENCH_VENV) with the peers to compare with"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) -r requirements/bench.txt
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) --no-deps -e .
	@touch $@

setup: $(READY) ## Make the environment in .venv (the other targets do it by themselves)

demo: $(READY) ## Watch the arena: predators that deliberate; ARGS="--outage 100:200" pulls the plug
	@$(BIN)/python examples/05_arena_strategist.py $(ARGS)

test: $(READY) ## Everything: style, types, layers and all tests
	@$(MAKE) --no-print-directory lint
	@$(BIN)/pytest -n auto --dist worksteal

check: $(READY) ## The quick half of test, under 2 minutes
	@$(MAKE) --no-print-directory lint
	@$(BIN)/pytest -n auto -m "not slow"

.PHONY: lint
lint: $(READY)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/mypy $(CODE)
	@$(BIN)/lint-imports --no-cache

bench: $(BENCH_READY) ## Measure against the peers; ONLY=engine for one part
	@$(BENCH_VENV)/bin/python -m benchmarks $(ONLY)

fuzz: $(READY) ## Throw mutated messages at the codec until stopped with Ctrl-C; FUZZ=server for a whole world
	@$(BIN)/python tests/fuzz/fuzz_$(or $(FUZZ),wire).py $(ARGS)

fmt: $(READY) ## Format the code and mend what ruff can
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

docs: $(READY) ## Build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site && echo "build/site/index.html"

proto: $(READY) ## Write the code of the schema in proto/ anew
	@$(BIN)/python proto/generate.py src/tickmind/wire/v1

pins: ## Resolve the pinned requirements anew
	@$(PYTHON) -m venv build/pins
	@build/pins/bin/python $(PIP_INSTALL) pip-tools
	@build/pins/bin/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-header \
		--output-file requirements/dev.txt pyproject.toml requirements/dev.in
	@build/pins/bin/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-header \
		--output-file requirements/bench.txt pyproject.toml requirements/bench.in

clean: ## Remove the environments and everything built
	@rm -rf $(VENV) $(BENCH_VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
