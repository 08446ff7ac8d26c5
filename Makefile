# `make` lists the targets. Everything runs in .venv, which is made on first use.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_TRACE := fixtures/nsight/nsight_2026.sqlite
DEMO := .demo
TRACEQL := $(BIN)/traceql

.PHONY: help setup demo test lint types bench golden docs wheel clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

setup: $(READY) ## Make .venv with TraceQL and its tools

demo: $(READY) ## Import a small capture, query it, write a report
	rm -rf $(DEMO)
	$(TRACEQL) ingest $(DEMO_TRACE) --store $(DEMO)/store --label demo --tag model=fixture
	$(TRACEQL) runs --store $(DEMO)/store
	$(TRACEQL) query kernel_totals -p top=5 --store $(DEMO)/store
	$(TRACEQL) query gpu_utilization --store $(DEMO)/store
	$(TRACEQL) query iteration_timing --store $(DEMO)/store
	@echo "The report:"
	@$(TRACEQL) report --html --store $(DEMO)/store -o $(DEMO)/report.html

test: $(READY) ## Run all tests
	$(BIN)/pytest -n 2

lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY) ## Check types
	$(BIN)/mypy

bench: $(READY) ## Measure against the floor and against peers
	$(BIN)/python -m benchmarks.nsight
	$(BIN)/python -m benchmarks.trace_json

golden: $(READY) ## Write the golden files anew; read the diff before committing
	TRACEQL_GOLDEN=write $(BIN)/pytest -n 2

docs: $(READY) ## Generate schemas/README.md and queries/README.md
	$(BIN)/python -m traceql.schema > schemas/README.md.new
	mv schemas/README.md.new schemas/README.md
	$(BIN)/python -m traceql.queries > queries/README.md.new
	mv queries/README.md.new queries/README.md

wheel: $(READY) ## Build the wheel into dist/
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean: ## Remove what make made, .venv too
	rm -rf $(VENV) $(DEMO) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
