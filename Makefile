# Four commands do everything: setup, run, test, check. The rest is `manage.py` (see README.md).
# Needed: Python 3.11 or newer with venv, and make. Nothing else; uv is fetched where it is missing.

UV_VERSION := 0.13.9
PYTHON     := .venv/bin/python

export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := .venv
export PYTHONPATH := $(CURDIR):$(CURDIR)/platform
# Compiled modules make every start after the first one faster, whatever the machine's default is.
unexport PYTHONDONTWRITEBYTECODE

# Each test process has a database server of its own.
TEST_PROCESSES ?= auto

.PHONY: help setup run test check format
.DEFAULT_GOAL := help

help:
	@echo "make run    start everything on this machine and show the address"
	@echo "make test   run the tests, with servers of their own"
	@echo "make check  lint, types, floors, migrations"
	@echo "make setup  only make the environment (.venv)"

# uv as it is on this machine, or our own beside the project.
UV := $(shell command -v uv 2>/dev/null)
ifeq ($(UV),)
UV := .boot/bin/uv
endif
SYNC := $(UV) sync --frozen --quiet --extra server --extra embedded

.boot/bin/uv:
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed as python3; found: $$(python3 --version 2>&1 || echo none)." >&2; exit 1; }
	@python3 -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv is missing. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "fetching uv $(UV_VERSION) ..." >&2
	@python3 -m venv .boot && .boot/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# The stamps say that an environment was made from this very lock, so a second start has nothing to do.
# --inexact: running must not take away the tools of whoever develops here.
.venv/.synced-run: uv.lock pyproject.toml | $(UV)
	@echo "installing what the platform needs ..." >&2
	@$(SYNC) --no-dev --inexact
	@touch $@

.venv/.synced-dev: uv.lock pyproject.toml | $(UV)
	@echo "installing what development needs ..." >&2
	@$(SYNC)
	@touch $@ .venv/.synced-run

# The SAT checker's C core; without it the checker reads plainly, so a failure is no reason to stop.
CHECKERS := verification/engine/checkers
.venv/.built: $(wildcard $(CHECKERS)/sat*.c $(CHECKERS)/sat*.py)
	@$(PYTHON) -m verification.engine.checkers.sat_build >&2 || echo "the SAT checker will read plainly" >&2
	@touch $@
.venv/.built: | .venv/.synced-run

setup: .venv/.synced-dev .venv/.built

run: .venv/.synced-run .venv/.built
	@exec $(PYTHON) -m config.supervisor

test: .venv/.synced-dev .venv/.built
	$(PYTHON) -m pytest -n $(TEST_PROCESSES) $(TEST_ARGS)

check: .venv/.synced-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy .
	.venv/bin/lint-imports
	DJANGO_SETTINGS_MODULE=config.settings.test $(PYTHON) -W ignore:Got:RuntimeWarning manage.py makemigrations --check --dry-run
