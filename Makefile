# `make run` and `make test` do all the set-up first. `make help` lists the rest.
#
# PYTHON names the interpreter that makes .venv (3.11, 3.12 or 3.13).

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LIVE := .venv/.live

.DEFAULT_GOAL := help
.PHONY: help setup run live test test-live test-all check format lock wheels clean

help:  ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(READY)  ## Make .venv with everything in it.

$(READY): packaging/requirements.lock packaging/bootstrap.py pyproject.toml runtime/pyproject.toml
	@$(PYTHON) packaging/bootstrap.py

run: $(READY)  ## Open the slow-speech example in the studio and run it.
	@$(BIN)/python packaging/run.py

live: $(LIVE)  ## Fetch a small real model once (127 MB) and watch it stream through a graph.
	@$(BIN)/python packaging/run.py graphs/live/local-model.aiflow.json

$(LIVE): packaging/live.lock $(READY)
	@$(PYTHON) packaging/bootstrap.py --local-model

test: $(READY)  ## Run the tests (without those marked slow, soak or live).
	$(BIN)/pytest -n 2

test-live: $(LIVE)  ## Run the tests that ask the real model.
	$(BIN)/pytest -m live tests/live

test-all: $(READY)  ## Run the slow tests and the soaks too (several minutes).
	$(BIN)/pytest -n 2 -m "not live"

check: $(READY)  ## Format, lint, types, layers.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## Format and mend what ruff can.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock:  ## Pin all packages anew into packaging/requirements.lock and live.lock.
	@$(PYTHON) packaging/lock.py

wheels: $(READY)  ## Build both wheels into dist/.
	@$(BIN)/python packaging/wheels.py dist

clean:  ## Remove .venv, caches and wheels.
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
