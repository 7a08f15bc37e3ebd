# Everything a newcomer needs: `make run` shows what surest does, `make test` checks all of it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv does not read pip's configuration; certificates of the system let it through most proxies.
UV = UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --python $(BIN)/python
# One more than there are cores: some tests wait for processes that they started.
WORKERS = -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist worksteal

# Tests start Python often: what is compiled is kept, whatever the environment says.
test coverage evidence: export PYTHONDONTWRITEBYTECODE =
test coverage evidence: export PYTHONPYCACHEPREFIX = $(CURDIR)/$(VENV)/bytecode

.PHONY: run test kernels docs pictures coverage evidence benchmarks lock clean

run: $(INSTALLED)
	$(BIN)/surest identify example1:100 --delta 0.1 --seed 1 --report run.html

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -q $(WORKERS) -m "not slow"; tests=$$?; wait $$types && exit $$tests

# Compile the kernels that changed: src/surest/kernels.
kernels: $(READY)
	$(BIN)/python setup.py --quiet build_ext --inplace

# The documentation site, in site/, with every link checked. To read it with its search: python -m http.server -d site
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The pictures of the README, the tutorials and the service, from real runs. Needs Chromium and its driver.
pictures: $(READY)
	PYTHONPATH=tests $(BIN)/python docs/_pictures.py

# How much of the code the tests run, kernels as plain Python: coverage sees Python only.
coverage: $(READY)
	SUREST_PURE_PYTHON=1 COVERAGE_FILE=$(CURDIR)/.coverage $(BIN)/pytest -q $(WORKERS) -m "not slow" --cov --cov-report=term:skip-covered

# Slower statistical evidence, whose results are written down in docs/.
evidence: $(READY)
	$(BIN)/pytest -q $(WORKERS) -m slow

# Every suite and algorithm: docs/data/benchmarks and the pictures of docs/benchmarks.md, in half an hour on two cores. DATA is a folder of recorded rewards.
DATA ?= ../shared/data
benchmarks: $(READY)
	$(BIN)/python benchmarks/full.py $(if $(wildcard $(DATA)),--data $(DATA))

# What surest itself needs: with uv, faster than with pip; with pip where uv fails.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "surest needs Python 3.11 or newer")'
	@echo "Setting up the virtual environment $(VENV), once."
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check uv || { $(BIN)/python -m ensurepip && $(PIP) uv; }
	$(UV) --editable . pip || { $(BIN)/python -m ensurepip && $(PIP) --editable .; }
	touch $(INSTALLED)

# What its tests and its documentation need as well.
$(READY): $(INSTALLED)
	@echo "Installing the tools for tests and documentation, once. This takes a minute; with pip, some minutes."
	$(UV) -r pyproject.toml --extra dev || $(PIP) --editable '.[dev]'
	touch $(READY)

# The packages of the container, with their hashes. Needs uv.
lock:
	printf 'cython>=3.1\nsetuptools>=77\n' | uv pip compile pyproject.toml - --extra postgresql --extra plot --extra serve --generate-hashes \
	  --python-version 3.12 --python-platform linux --no-header --no-annotate --no-emit-index-url --upgrade -o requirements.lock

clean:
	rm -rf run.html $(VENV) dist build site src/surest/kernels/*.c
	find src -name '*.so' -delete
