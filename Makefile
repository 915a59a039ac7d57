# `make quickstart` and `make test` are the two commands a newcomer needs; each sets itself up in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
QUICK  := $(addprefix tests/unit/,cli constraints docs house lines pipeline report stats store suites text)
ROWS   ?= 1000000
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# The program is started hundreds of times by the tests: compiled once, even where the environment forbids it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: quickstart study test test-unit test-houses test-slow test-engines wheel-test dist release-check check format docs clean

quickstart: $(STAMPS)/train  ## train and compare five arms from one small model; prints the report's path. "SEEDS=3,": seed 3; SEEDS=3: three seeds
	$(BIN)/adhere fetch local/smollm2-135m
	$(BIN)/adhere study examples/quickstart.toml $(if $(SEEDS),--seeds $(SEEDS))

study: $(STAMPS)/train  ## the study proper: ten seeds, a thousand held-out prompts, IFEval and IFBench: a night on two cores, resumable
	$(BIN)/adhere fetch local/smollm2-135m
	$(BIN)/adhere fetch suite:ifeval
	$(BIN)/adhere fetch suite:ifbench
	$(BIN)/adhere study examples/study.toml --records studies/study.tar.xz

test-unit: $(STAMPS)/unit  ## what needs neither torch nor a model, in two minutes
	$(BIN)/python -m pytest -p tests.without --numprocesses 2 --dist worksteal $(QUICK)

test: $(STAMPS)/dev  ## the default tests
	$(BIN)/adhere fetch local/smollm2-135m
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test-houses:  ## newest releases of trainers and harnesses, each in build/houses/NAME, against what we document; needs PyPI, Python 3.12
	$(PYTHON) tests/houses/run.py $(HOUSES)

test-slow: $(STAMPS)/dev
	$(BIN)/python -m pytest -m slow

test-engines: build/engines/.installed  ## real Ray (two nodes, two network namespaces; one dies), datatrove on a million rows, s3 and hf over HTTP
	ADHERE_ENGINE_ROWS=$(ROWS) build/engines/bin/python -m pytest -m slow -s tests/engines

wheel-test:  ## builds the wheel twice, looks into it, installs it in a bare environment of each Python found; needs PyPI
	$(PYTHON) benchmarks/package/wheel.py

dist:  ## a wheel that another machine builds to the same hash
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .

release-check: check docs dist wheel-test  ## all of a release but the tag and the upload; needs PyPI
	$(BIN)/python -m pytest -q tests/unit/docs tests/integration/test_documented.py
	@echo "Ready: tag v$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/adhere/__init__.py) and push it (docs/release.md)"

check: $(STAMPS)/dev  ## lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMPS)/docs  ## the site, in build/docs; a dead link, a missing anchor or a warning fails
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs build/docs
	@echo build/docs/index.html

format: $(STAMPS)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("adhere needs Python 3.11 or newer; this is %s (set PYTHON=...)" % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# torch first and alone: what is installed later finds it and pulls no other build.
$(STAMPS)/train: $(BIN)/python pyproject.toml constraints.txt
	mkdir -p $(STAMPS)
	$(PIP) torch
	$(PIP) --editable '.[all]'
	touch $@

$(STAMPS)/docs: $(STAMPS)/dev
	$(PIP) --editable '.[docs]'
	touch $@

$(STAMPS)/unit: $(BIN)/python pyproject.toml constraints.txt
	mkdir -p $(STAMPS)
	$(PIP) --editable '.[claims,parquet,test]'
	touch $@

$(STAMPS)/dev: $(STAMPS)/train
	$(PIP) --editable '.[all,dev]'
	touch $@

# An environment of its own: Ray and datatrove bring versions that nothing else should get.
build/engines/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/engines
	build/engines/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	build/engines/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[engines]'
	touch $@
