# make run, make test: each does all of its own set-up, once.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
PART ?= 1/1
STAMP := .venv/.installed
UNIT := .venv/.compiled
BENCHMARKS := kernel traces planning pipeline_sweep pipeline_audit reliability live live_brokers live_limits
SOURCES := $(shell find src/tocsin/core src/tocsin/planning src/tocsin/protocols src/tocsin/sim src/tocsin/live -name '*.py' 2>/dev/null)

.PHONY: help setup run test test-all check bench reproduce wheel lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) $(UNIT) ## make .venv, install what the lock file names, compile, find Java

$(STAMP): requirements.lock pyproject.toml tools/install.sh
	@tools/install.sh "$(PYTHON)"
	@touch $@

$(UNIT): $(STAMP) setup.py $(SOURCES)
	@tools/compile.sh
	@touch $@

run: setup ## the showcase: five processes, loss, a kill -9, a partition; then the proof
	@$(BIN)/tocsin showcase

test: setup ## the tests, without those that take minutes
	@$(BIN)/python -m pytest -m "not long" -n 2 --dist loadgroup

test-all: setup ## every test, long swarms and explorations too; PART=3/8: an eighth; goes on where it was stopped
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --part $(PART) --resume out/test-all

check: setup ## formatting, lint and types
	@$(BIN)/ruff format --check src tests benchmarks examples papers setup.py conftest.py
	@$(BIN)/ruff check src tests benchmarks examples papers setup.py conftest.py
	@$(BIN)/mypy

bench: setup ## every benchmark: ratios against peers and limits (the live one needs root and Corosync)
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name || failed="$$failed $$name"; \
		done; if [ -n "$$failed" ]; then echo "bars not reached:$$failed"; exit 1; fi

reproduce: setup ## every table and figure of the five papers on Spark: about an hour; the page is out/reproduce/index.html
	@$(BIN)/tocsin reproduce --out out/reproduce

wheel: setup ## a compiled wheel and a source archive, in dist/
	@tools/wheel.sh

lock: ## resolve the dependencies again and write requirements.lock
	@tools/lock.sh

clean: ## remove what set-up and runs have made
	@rm -rf .venv build dist out .mypy_cache .ruff_cache .hypothesis
	@find src -name '*.so' -delete
