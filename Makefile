# make check   installs the checker into .venv and checks every claim of the manifest
# make test    the same with everything the tests need: lint, types, floors, tests under two hash seeds, the gallery
# make system  installs the programs that tests of pictures, exports and ZooKeeper need (Graphviz, Chromium, Java), or says how
# make fmt     formats the code
# make golden  rewrites the golden texts of the tests; read the diff before you commit it
# make gallery draws the pictures of diagrams/gallery anew
# make tested  runs the manifest and writes docs/kafka/tested.md, how often each check met each antecedent; some minutes
# make reference  writes what the book repeats: commands and options from their parsers, traces of findings and charts of examples from the checker
# make docs    builds the book (docs/) as a site in build/site
# make long    the tests of which `make test` runs a sample, another quarter each day; an hour on two cores
# make seconds measures how long each test takes, which decides what `make test` runs (tests/slow.py); an hour
# make fuzz    random specs on which all readings must agree: make fuzz SECONDS=600, and SEED=N to repeat one
# make kafka   compares with Kafka's own classes of 2.8 to 4.4, fetched by Maven (which it installs, or says how), leads real brokers, and
#              holds advice to a real cluster
# make kafka-tests  runs the tests of findings in Kafka's idiom (conformance/kafka_tests) on three releases of Kafka, without and with the fixes;
#                   make kafka-versions on all releases, with Kafka's own tests, and writes docs/kafka/versions.md (half an hour)
# make soak    kills drivers, executors and workers of the Spark engine, and lets runs race, some twenty minutes on two cores
# make soak-operations  runs 500 seeds of a cluster under all operations and the usual faults, some ten minutes of one core
# make mutants breaks the checker in many ways and shows which test notices each; some ten minutes
# make spec-mutants  breaks the model in every small way and shows which property notices; half an hour or more, and goes on where it was
# make decision-mutants  breaks each decision in every small way and shows which comparison with Kafka's classes notices; an hour
# make bench   side by side with Spin, Rumur (apt-get install spin rumur gcc) and Stateright (cargo), some seven minutes

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# the tests start hundreds of processes: each would compile every module anew
export PYTHONDONTWRITEBYTECODE :=

.PHONY: check test long turns seconds kafka kafka-tests kafka-versions lint fmt golden gallery tested reference docs system fuzz mutants spec-mutants decision-mutants log-mutations log-mutations-replay bench soak soak-operations clean FORCE

check: $(VENV)/.check
	$(BIN)/kafka-spec check --traces

test: lint system
	@compiled=$$(mktemp -d); trap 'rm -rf "$$compiled"' EXIT; export KAFKA_SPEC_CACHE="$$compiled"; set -x; \
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -q $(PARALLEL) --durations=25 -m "not long" && \
	PYTHONHASHSEED=4242 $(BIN)/python -m pytest -q $(PARALLEL) -m "not slow and not long"

PARTS := spec model_check impl diagrams conformance

lint: $(VENV)/.test build/linked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(LINKED) && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml
	cd $(LINKED) && $(CURDIR)/$(BIN)/lint-imports --config $(CURDIR)/pyproject.toml

# tools that read files and import nothing find the package whole here, as in a wheel
LINKED := build/linked
$(LINKED): FORCE
	@rm -rf $@ && mkdir -p $@/kafka_spec
	@ln -s $(CURDIR)/kafka_spec/*.py $(CURDIR)/kafka_spec/py.typed $(PARTS:%=$(CURDIR)/%) $@/kafka_spec

fmt: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

log-mutations: $(VENV)/.test
	$(BIN)/python -m tests.log_mutations tests/logs/2.8.2 tests/logs/3.9.1 --output tests/logs/MUTATIONS.md

log-mutations-replay: $(VENV)/.test
	$(BIN)/python -m tests.log_mutations tests/logs/2.8.2 tests/logs/3.9.1 --replay orders-0

golden: $(VENV)/.test
	$(BIN)/python -m pytest -q $(PARALLEL) --update-golden

gallery: $(VENV)/.test
	$(BIN)/kafka-spec draw --gallery

tested: $(VENV)/.check
	@mkdir -p build
	$(BIN)/kafka-spec check --output json:build/tested.json
	$(BIN)/python docs/tested.py build/tested.json

reference: $(VENV)/.test
	$(BIN)/python docs/commands.py
	$(BIN)/python docs/findings.py
	$(BIN)/python docs/charts.py

docs: $(VENV)/.test build/linked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q --strict

# one worker more than processors, for some tests wait for servers; but no more than five, for each takes memory
WORKERS = $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() or 1, 4) + 1)')
PARALLEL = --numprocesses $(WORKERS) --dist worksteal

PROGRAMS := dot chromium java
PACKAGES := graphviz chromium default-jre-headless fonts-dejavu-core

system:
	@missing=$$(for program in $(PROGRAMS); do command -v $$program >/dev/null || echo $$program; done); \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "make: installing what is missing: $$missing" | tr '\n' ' '; echo; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGES); \
	else \
		echo "make: the tests need $$(echo $$missing); on Debian, as root: apt-get install --no-install-recommends $(PACKAGES)" >&2; exit 2; \
	fi

long: lint system
	$(BIN)/python -m pytest -q $(PARALLEL) -m long

# what `make test` runs on one day of four: before a change of a model, all of it
turns: lint system
	$(BIN)/python -m pytest -q $(PARALLEL) -m waits

seconds: lint system
	$(BIN)/python -m pytest -q $(PARALLEL) --measure

# Kafka's jars, pinned by version in kafka-VERSION.xml and by checksum in kafka-VERSION.sha256
JARS := .kafka
DEPENDENCY_PLUGIN := org.apache.maven.plugins:maven-dependency-plugin:3.6.1
CASES := 2000
kafka: PROGRAMS := java mvn kcat
kafka: PACKAGES := default-jre-headless maven kcat
KAFKAS := 2.8.2 3.9.1 4.1.2 4.3.1 4.4.0
# 2.7.2 is for the findings alone
kafka: $(VENV)/.kafka system $(addprefix $(JARS)/,$(KAFKAS) 2.7.2)
	$(MAKE) --no-print-directory --output-sync=target -j2 $(KAFKAS:%=classes-%)
	$(BIN)/kafka-spec run --kafka 2.8.2 --jars $(JARS)
	$(BIN)/kafka-spec run --kafka 3.9.1 --jars $(JARS)
	$(BIN)/kafka-spec run --kafka 2.8.2 --jars $(JARS) --brokers 2 --mixed
	$(BIN)/kafka-spec run --kafka 4.1.2 --jars $(JARS)
	$(BIN)/kafka-spec run --kafka 4.4.0 --jars $(JARS)
	KAFKA_SPEC_JARS=$(JARS) $(BIN)/python -m kafka_spec.conformance.reproductions.advice_on_cluster --runs 3
	KAFKA_SPEC_JARS=$(JARS) $(BIN)/python -m kafka_spec.conformance.reproductions.session_on_cluster --seconds 120

# all subjects of one version; two versions at a time take two cores
classes-%:
	$(BIN)/kafka-spec conformance --kafka $* --jars $(JARS) --cases $(CASES)

$(JARS)/%: conformance/kafka_classes/kafka-%.xml | system
	@rm -rf $@
	mvn -q -B -f $< $(DEPENDENCY_PLUGIN):copy-dependencies -DoutputDirectory=$(abspath $@) || { rm -rf $@; exit 2; }
	@touch $@

# tests of findings in Kafka's idiom, with its own test classes: each fails without the fix, and passes with it
FINDINGS_ON := $(BIN)/python -m kafka_spec.conformance.kafka_tests.versions --jars $(JARS)/tests
kafka-tests kafka-versions: PROGRAMS := javac mvn
kafka-tests kafka-versions: PACKAGES := default-jdk-headless maven
kafka-tests: system $(VENV)/.check
	$(FINDINGS_ON) --kafka 4.1.2 4.3.1 4.4.0

kafka-versions: system $(VENV)/.check
	$(FINDINGS_ON) --kafka all --own-tests --write docs/kafka/versions.md

SECONDS := 60
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

soak: $(VENV)/.test
	$(BIN)/python tests/soak.py

soak-operations: $(VENV)/.test
	nice -n 10 $(BIN)/python tests/soak_operations.py

mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants --write

decision-mutants: $(VENV)/.kafka $(addprefix $(JARS)/,3.9.1 4.4.0)
	$(BIN)/python -m tests.mutants.decisions --jars $(JARS)

STATES := 30000
spec-mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants.spec --states $(STATES)

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.replication

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "make: Python 3.11 or newer is needed; name one: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "make: no virtual environment can be made; on Debian: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 2; }

$(VENV)/.check: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(BIN)/pip install -q -e '.[check]'
	@touch $@

$(VENV)/.test: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(BIN)/pip install -q -e '.[test]'
	@touch $@

$(VENV)/.kafka: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(BIN)/pip install -q -e '.[kafka]'
	@touch $@

clean:
	rm -rf $(VENV) $(JARS) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
