# tickmind: `make` alone lists what there is. Each target sets up what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
PEERS_VENV := .venv-bench-gateway
READY := $(VENV)/.ready
BENCH_READY := $(BENCH_VENV)/.ready
PEERS_READY := $(PEERS_VENV)/.ready
LEARNER_READY := $(BENCH_VENV)/.learner-ready
RELEASE_VENV := .venv-release
RELEASE_READY := $(RELEASE_VENV)/.ready
DEPLOY_VENV := .venv-deploy
DEPLOY_READY := $(DEPLOY_VENV)/.ready
CODE := src tests examples benchmarks requirements release
PAGE := src/tickmind/viewer/page/index.html
PAGE_SOURCES := $(shell find viewer/src viewer/public viewer/test viewer/index.html viewer/tsconfig.json viewer/vite.config.ts -type f) src/tickmind/base/pages/theme.css

.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE  # hundreds of processes are started, and each would compile everything anew
.PHONY: help setup demo test check soak bench fuzz fmt docs page proto pins release check-deploy clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml requirements/dev.txt requirements/install.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tickmind needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (the first time takes a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python requirements/install.py -r requirements/dev.txt -e .
	@touch $@

$(BENCH_READY): pyproject.toml requirements/bench.txt
	@echo "Setting up $(BENCH_VENV) with the peers to compare with"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python requirements/install.py -r requirements/bench.txt -e .
	@touch $@

$(PEERS_READY): requirements/bench-gateway.txt
	@echo "Setting up $(PEERS_VENV) with the gateways to compare with"
	@$(PYTHON) -m venv $(PEERS_VENV)
	@$(PEERS_VENV)/bin/python requirements/install.py -r requirements/bench-gateway.txt
	@touch $@

$(LEARNER_READY): $(BENCH_READY) requirements/bench-learners.txt
	@echo "Adding stable-baselines3 and PyTorch to $(BENCH_VENV); PyPI's PyTorch comes with 5 GB of CUDA"
	@$(BENCH_VENV)/bin/python requirements/install.py -r requirements/bench-learners.txt
	@touch $@

$(RELEASE_READY): requirements/release.txt
	@echo "Setting up $(RELEASE_VENV) with what checks a release"
	@$(PYTHON) -m venv $(RELEASE_VENV)
	@$(RELEASE_VENV)/bin/python requirements/install.py -r requirements/release.txt
	@touch $@

$(DEPLOY_READY): requirements/deploy.txt
	@echo "Setting up $(DEPLOY_VENV) with what checks deploy/"
	@$(PYTHON) -m venv $(DEPLOY_VENV)
	@$(DEPLOY_VENV)/bin/python requirements/install.py -r requirements/deploy.txt
	@touch $@

setup: $(READY) ## Make the environment in .venv (the other targets do it by themselves)

demo: ## A village that lives, talks and thinks, in the browser; ARGS="--scripted" asks no model
	@$(MAKE) --no-print-directory --jobs=2 setup page
	@$(BIN)/tickmind demo $(ARGS)

test: ## Everything: style, types, layers and all tests
	@began=$$(date +%s); $(MAKE) --no-print-directory --jobs=4 setup system page client \
		&& $(BIN)/python -m tests.phases --began $$began --before "$(MAKE) --no-print-directory kernels" \
			--beside "$(MAKE) --no-print-directory lint"

# Compiled once, beside the check of types, instead of by every worker and every world that they start. So are
# Hypothesis's tables of characters, which it keeps in .hypothesis.
.PHONY: kernels
kernels: $(READY)
	@$(BIN)/python -c "from tickmind.world import warm_up; warm_up()"
	@$(BIN)/python -c "from hypothesis import strategies; strategies.text().validate()"

check: setup ## The quick half of test, under 2 minutes
	@$(BIN)/python -m tests.phases --before "$(MAKE) --no-print-directory kernels" --beside "$(MAKE) --no-print-directory lint" -m "not slow" tests/unit

# Every test that has a long form takes it from tests/long.py, or more examples from the profile in tests/conftest.py.
soak: kernels strace ## The long form of the tests that have one: more seeds, more examples, longer drills (over an hour)
	@LONG=1 $(BIN)/python -m tests.phases $$(grep -rlE --include="test_*.py" "^from (tests.long|hypothesis) import" tests)

# What only the long form needs: it makes real system calls fail.
.PHONY: strace
strace:
	@command -v strace >/dev/null || { echo "Installing strace for the tests"; \
		(apt-get install -y -qq --no-install-recommends strace || \
			(apt-get update -qq && apt-get install -y -qq --no-install-recommends strace)) >/dev/null 2>&1; } || \
		{ echo "The long tests need strace, and it can't be installed here: install it, then try again"; exit 1; }

# What only tests need: a browser for the pages, Redis for shared state, and Godot 3 (64 MB) for what its add-on shares
# with it. Without them these tests are skipped. Godot 4 and Go are too large to be installed here, and used where they are.
.PHONY: system
system:
	@missing=""; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	command -v redis-server >/dev/null || command -v valkey-server >/dev/null || missing="$$missing redis-server"; \
	command -v godot3-server >/dev/null || missing="$$missing godot3-server"; \
	if [ -n "$$missing" ]; then \
		if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "Installing$$missing for the tests"; \
			(apt-get install -y -qq --no-install-recommends $$missing || \
				(apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing)) >/dev/null 2>&1 || \
				echo "Could not install$$missing; the tests that need them are skipped"; \
		else \
			echo "Not installed:$$missing; the tests that need them are skipped"; \
		fi; \
	fi

.PHONY: lint
lint: $(READY)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/mypy $(CODE)
	@$(BIN)/lint-imports --no-cache

bench: $(BENCH_READY) $(if $(ONLY),$(if $(filter gateway,$(ONLY)),$(PEERS_READY)),$(PEERS_READY)) ## Measure against the peers; ONLY=engine for one part, LONG=1 for longer runs and the soak
	@BENCH_PEERS=$(PEERS_VENV)/bin/python $(BENCH_VENV)/bin/python -m benchmarks $(ONLY)
	@$(if $(LONG),$(if $(ONLY),,$(MAKE) --no-print-directory soak))

# Not a part of bench, because of PyTorch's size. Where only a CPU is used, pip takes its smaller build from a folder
# that PIP_FIND_LINKS names, or from PyTorch's own index.
.PHONY: learner
learner: $(LEARNER_READY) ## Add stable-baselines3 to the benchmarks, for make bench ONLY=learners

.PHONY: bench-page
bench-page: $(BENCH_READY) ## Make docs/benchmarks.md from what make bench measured
	@$(BENCH_VENV)/bin/python -m benchmarks page

fuzz: $(READY) ## Throw spoilt input at a part until Ctrl-C: ONLY=wire, server or gateway_http; sim and kill crash worlds
	@$(BIN)/python -m tests.fuzz.fuzz_$(or $(ONLY),wire) $(ARGS)

fmt: $(READY) ## Format the code and mend what ruff can
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

docs: $(READY) ## Build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site && echo "build/site/index.html"

.PHONY: pictures
pictures: setup page ## Retake pictures of the documents from seeded runs (needs Chromium); ONLY=island for one
	@$(BIN)/python -m release.pictures $(ONLY)

# The page of the viewer. Where Node is missing it is not built, and the tests that need it are skipped. The page and the
# client are made by this make and not by two more, which would both fill viewer/node_modules at the same time.
NPM := $(shell command -v npm)
page: $(if $(NPM),$(PAGE)) ## Build the viewer's page into the package (needs Node)
	@$(if $(NPM),:,echo "No Node here, so the viewer's page is not built")

viewer/node_modules/.ready: viewer/package.json viewer/package-lock.json
	@echo "Setting up viewer/node_modules"
	@cd viewer && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

$(PAGE): viewer/node_modules/.ready $(PAGE_SOURCES)
	@cd viewer && npm run --silent build -- --logLevel warn

CLIENT := clients/typescript/dist/index.js
$(CLIENT): viewer/node_modules/.ready $(wildcard clients/typescript/src/*.ts) clients/typescript/tsconfig.json
	@cd clients/typescript && npm run --silent build
	@touch $@

.PHONY: client
client: $(if $(NPM),$(CLIENT)) ## Build the TypeScript client (needs Node)
	@$(if $(NPM),:,echo "No Node here, so the TypeScript client is not built")

proto: $(READY) ## Write the code of the schema in proto/, and the codes of the page, anew
	@$(BIN)/python proto/generate.py src/tickmind/wire/v1 clients/typescript/src/protocol.ts clients/godot/addons/tickmind/protocol.gd
	@$(BIN)/python proto/page_codes.py viewer/src/codes.ts

# Built and checked, as `make release` and the public CI do.
.PHONY: packages
packages: setup page $(RELEASE_READY)
	@rm -f dist/*.whl dist/*.tar.gz
	@$(BIN)/hatchling build -d dist
	@$(RELEASE_VENV)/bin/twine check --strict dist/*.whl dist/*.tar.gz

MANIFESTS := $(addprefix deploy/kubernetes/,namespace.yaml world.yaml gateway.yaml runner.yaml viewer.yaml)
check-deploy: $(DEPLOY_READY) ## Check the container file and the Kubernetes manifests with the validators of the field
	@$(DEPLOY_VENV)/bin/hadolint deploy/Containerfile
	@$(DEPLOY_VENV)/bin/yamllint --strict --config-file deploy/.yamllint.yaml deploy/kubernetes
	@for file in $(MANIFESTS); do $(DEPLOY_VENV)/bin/kubernetes-validate --strict --quiet $$file || exit 1; done

release: $(READY) ## Build and check a release with its notes from the changelog; uploads nothing
	@$(BIN)/python release/prepare.py
	@$(MAKE) --no-print-directory packages
	@echo "Ready in dist/, and nothing is uploaded. When you are content, sign and upload:"
	@echo "  git tag --sign v$$($(BIN)/python -c 'import tickmind; print(tickmind.__version__)') --file dist/release-notes.md"
	@echo "  git push --tags && $(RELEASE_VENV)/bin/twine upload dist/*.whl dist/*.tar.gz"

PIN := build/pins/bin/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-header
ALL_EXTRAS := --extra certificates --extra gateway --extra gif --extra learn --extra mcp --extra mind --extra otel --extra ray --extra record --extra redis --extra report --extra tiled --extra viewer --extra world
pins: ## Resolve the pinned requirements anew
	@$(PYTHON) -m venv build/pins
	@build/pins/bin/python -m pip install --quiet pip-tools
	@$(PIN) $(ALL_EXTRAS) --output-file requirements/dev.txt pyproject.toml requirements/dev.in
	@$(PIN) $(ALL_EXTRAS) --output-file requirements/bench.txt pyproject.toml requirements/bench.in
	@$(PIN) --output-file requirements/bench-gateway.txt requirements/bench-gateway.in
	@$(PIN) --constraint requirements/bench.txt --output-file requirements/bench-learners.txt requirements/bench-learners.in
	@sed -i 's/^\(torch==[0-9.]*\)+cpu/\1/' requirements/bench-learners.txt
	@$(PIN) --output-file requirements/uv.txt requirements/uv.in
	@$(PIN) --output-file requirements/release.txt requirements/release.in
	@$(PIN) --output-file requirements/deploy.txt requirements/deploy.in

clean: ## Remove the environments and everything built
	@rm -rf $(VENV) $(BENCH_VENV) $(PEERS_VENV) $(RELEASE_VENV) $(DEPLOY_VENV) viewer/node_modules src/tickmind/viewer/page clients/typescript/dist build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
