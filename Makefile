# From a clone and a Python 3.11 to 3.14 to everything else: `make demo`, then `make test`.
# What is installed lands in .venv and .cache, both ignored; a second run finds it there.

VENV := .venv
BIN := $(VENV)/bin
# Touched when an installation is complete, so that an interrupted one starts again.
INSTALLED := $(VENV)/installed
TEST_TOOLS := $(VENV)/installed-test-tools
NODE_TOOLS := .cache/node/installed
OAUTH_TOOLS := .cache/oauth/installed
PEERS := .cache/peers
WHEELHOUSE := .cache/wheelhouse/filled
CLIENTS := $(foreach client,mcp-1.30.0 mcp-2.3.0 fastmcp-4.1.6 fastmcp-tasks-4.1.4,$(PEERS)/$(client)/installed.txt)
TOOLS := $(foreach tool,schemathesis-4.32.5 skillsaw-0.22.0 uv-0.13.9,$(PEERS)/$(tool)/installed.txt)

NODE_PACKAGES := node@24 \
	@anthropic-ai/mcpb@2.1.2 \
	@modelcontextprotocol/client@2.4.0 \
	@modelcontextprotocol/inspector@2.12.0 \
	@modelcontextprotocol/ext-apps@2.0.4 \
	@modelcontextprotocol/sdk@1.32.2 \
	@modelcontextprotocol/conformance@0.2.0-alpha.12 \
	@octokit/openapi@23.0.2 \
	add-mcp@2.4.0 \
	install-mcp@1.10.2 \
	pyright@1.1.414 \
	swagger-client@3.37.8

# MCPJam's SDK needs another version of the client than the tests of the SDKs.
OAUTH_PACKAGES := oidc-provider@9.13.3 \
	@mcpjam/sdk@1.14.0 \
	@modelcontextprotocol/client@2.0.0-alpha.2

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
OTHER_PYTHONS := 3.11 3.12 3.13 3.14

.PHONY: help demo test test-fast static bench bench-compare bench-instructions bench-million bench-capacity bench-results bench-telemetry fuzz properties kills task-kills load validate-selftest audit-selftest validate-agreement validate-servers image peers wheelhouse pythons corpus corpus-compare corpus-paging directory directory-planning histories grades lint-corpus suites judges ranking lexicon text-signals annotations tools-before-after proposals docs update-docs update-examples clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo             an OpenAPI document becomes a server, and its tools are called'
	@echo 'make test             format, lint, strict types and all tests'
	@echo 'make test-fast        format, lint, strict types and the tests of modules'
	@echo 'make bench            server CPU per call, as ratios to the common SDKs'
	@echo 'make fuzz             random frames, API responses and documents for an hour; a table'
	@echo 'make properties       the tests of properties with random examples, others in each run'
	@echo 'make bench-compare BASE=FOLDER  server CPU per call beside that of another source tree'
	@echo 'make bench-instructions BASE=FOLDER  instructions per call beside those of another source tree (valgrind)'
	@echo 'make bench-million    a million calls over stdio and HTTP: memory, CPU, latencies'
	@echo 'make bench-capacity   1,000 servers in a workspace, 1,000 requests a second over two replicas'
	@echo 'make bench-results    tokens and CPU of long results that are stored'
	@echo 'make bench-telemetry  instructions per call with OpenTelemetry beside those without'
	@echo 'make load             200 users over two replicas for half an hour, with faults; a table'
	@echo 'make kills            50 kills of replicas under load: no finished call is lost; a table'
	@echo 'make task-kills       200 kills of a server with tasks: none is lost or changed; a table'
	@echo 'make validate-selftest  what mcpgen validate says about each broken and each correct server'
	@echo 'make validate-agreement  the official suite beside mcpgen validate on everything-mcp and the SDKs; a table'
	@echo 'make validate-servers  the scores of servers from PyPI and npm, run without network; tables'
	@echo 'make audit-selftest     what the robustness run of mcpgen audit finds in broken servers and SDKs'
	@echo 'make image            the image of a generated server, built without network access and run'
	@echo 'make pythons          every other Python here that mcpgen runs on, for the tests to compare'
	@echo 'make corpus           a server from each real document there is, checked; a table'
	@echo 'make corpus-compare BASE=FOLDER  what that source tree and this one serve of them; a table'
	@echo 'make directory REPOSITORY=FOLDER  a server of each API of a public directory, tested; a table'
	@echo 'make directory-planning REPOSITORY=FOLDER  the operations of a public directory that get a tool; a table'
	@echo 'make histories REPOSITORY=FOLDER  servers with edits, pulled through all versions of their APIs'
	@echo 'make grades            what the histories changed, as mcpgen and mcp-contract grade it; a table'
	@echo 'make corpus-paging BASE=FOLDER  the lists whose pages that source tree and this one find; tables'
	@echo 'make lint-corpus      lint the examples and the servers of a hundred real documents; a table'
	@echo 'make suites           the generated tests of twenty real documents, run; a table'
	@echo 'make ranking          how often the search finds the right tool of 16 real documents; two tables'
	@echo 'make lexicon          the related words of the search, from its vocabulary and WordNet'
	@echo 'make judges           our requests beside those that other tools make of real documents (REPOSITORY=FOLDER: of a public directory)'
	@echo 'make text-signals     precision and recall of the search for hidden and steering text; tables'
	@echo 'make annotations      precision and recall of the rules of annotations; a table'
	@echo 'make proposals        merged tools and workflows that new proposes for real documents; a table'
	@echo 'make tools-before-after BASE=FOLDER DOCUMENTS=FOLDER  60 tools of that source tree, of this one, and of other tools; tables'
	@echo 'make docs             the site of docs/ in .cache/site, warnings as errors'
	@echo 'make update-docs      rewrite the generated parts of docs/'
	@echo 'make update-examples  rewrite generated_examples/ and the diffs of the story'
	@echo 'make clean            remove what was installed and cached'

demo: $(INSTALLED)
	@$(BIN)/python -m tests.examples.demo

# Three workers, since tests wait for processes, sockets and time-outs: two leave cores idle.
TEST_WORKERS ?= 3

# With it, which containers often set, every process of the tests would compile what it imports.
test test-fast: export PYTHONDONTWRITEBYTECODE :=

test: static $(WHEELHOUSE) $(NODE_TOOLS) $(OAUTH_TOOLS) $(CLIENTS) $(TOOLS)
	@echo '== tests'
	@PATH="$(CURDIR)/.cache/node/node_modules/.bin:$$PATH" $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

test-fast: static
	@echo '== tests of modules'
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not slow' tests/unit tests/cases

# Format, lint and types.
static: $(TEST_TOOLS)
	@echo '== format'
	@$(BIN)/ruff format --check .
	@echo '== lint'
	@$(BIN)/ruff check .
	@echo '== types'
	@$(BIN)/mypy --num-workers 2

bench: $(INSTALLED) $(PEERS)/mcp-2.3.0/installed.txt $(PEERS)/fastmcp-4.1.6/installed.txt
	-@$(BIN)/python tests/benchmarks/run.py
	-@$(BIN)/python tests/benchmarks/generation.py
	-@$(BIN)/python tests/benchmarks/suites.py
	-@$(BIN)/python tests/benchmarks/tasks.py
	-@$(BIN)/python tests/benchmarks/workspace.py
	-@$(BIN)/python tests/benchmarks/status.py
	@$(BIN)/python tests/benchmarks/review.py

# An input that is worth keeping is copied from .cache/fuzz/ to tests/fuzz/corpus/.
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= 1
fuzz: $(TEST_TOOLS)
	@nice $(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_TARGETS)

# Other examples than those of `make test`, and others in each run; failing ones are kept in .hypothesis/.
properties: $(TEST_TOOLS)
	@$(BIN)/python -m pytest -q -n 2 --hypothesis-profile random $$(grep -rl --include='test_*.py' hypothesis tests)

# Needs valkey-server or redis-server.
LOAD_SECONDS ?= 1800
LOAD_USERS ?= 200
load: $(TEST_TOOLS)
	@$(BIN)/python -m tests.load --seconds $(LOAD_SECONDS) --users $(LOAD_USERS)

KILLS ?= 50
KILLS_SEED ?= 1
kills: $(TEST_TOOLS)
	@$(BIN)/python -m tests.kills --kills $(KILLS) --seed $(KILLS_SEED)

TASK_KILLS ?= 200
task-kills: $(TEST_TOOLS)
	@$(BIN)/python -m tests.kills.tasks --kills $(TASK_KILLS) --seed $(KILLS_SEED)

# SERVERS selects some by parts of their names: SERVERS='tools. http'.
validate-selftest: $(TEST_TOOLS) peers
	@$(BIN)/python -m tests.validate $(SERVERS)

# SERVERS also takes NAME=URL, a conformance server that runs already: SERVERS='typescript=http://localhost:3000/mcp'.
validate-agreement: $(TEST_TOOLS) peers
	@nice $(BIN)/python -m tests.validate.agreement $(SERVERS)

audit-selftest: $(TEST_TOOLS) peers
	@$(BIN)/python -m tests.audit $(SERVERS)

# Needs npm, git and `unshare`. SERVERS selects some by parts of their names: SERVERS='time excel'.
validate-servers: $(TEST_TOOLS)
	@nice $(BIN)/python -m tests.validate.third_party $(SERVERS)

bench-million: $(INSTALLED)
	@nice $(BIN)/python tests/benchmarks/million.py

# Needs valkey-server or redis-server.
bench-capacity: $(INSTALLED)
	@nice $(BIN)/python tests/benchmarks/capacity.py

bench-results: $(INSTALLED)
	@$(BIN)/python tests/benchmarks/stored_results.py

# BASE is a source tree with its own .venv, in which `make demo` was run.
bench-telemetry: $(INSTALLED)
	@$(BIN)/python tests/benchmarks/telemetry.py

bench-compare: $(INSTALLED)
	@$(BIN)/python tests/benchmarks/before_after.py --base "$(BASE)"

bench-instructions: $(INSTALLED)
	@$(BIN)/python tests/benchmarks/compare_instructions.py --base "$(BASE)"

peers: $(NODE_TOOLS) $(OAUTH_TOOLS) $(CLIENTS) $(TOOLS)

wheelhouse: $(WHEELHOUSE)

# What the environments of tests are installed from, so that none of them asks a package index.
$(WHEELHOUSE): pyproject.toml tests/constraints.txt tests/requirements.txt tests/support/wheelhouse.py | $(TEST_TOOLS)
	@echo '== download wheels for empty environments'
	@rm -rf $(@D)
	@$(BIN)/python -m tests.support.wheelhouse $(@D)
	@touch $@

image: $(TEST_TOOLS) $(WHEELHOUSE)
	@$(BIN)/python -m tests.installation.image

pythons: $(foreach version,$(OTHER_PYTHONS),.cache/pythons/$(version)/done)

# Where there is no such Python, the tests that compare it are skipped with a visible line.
.cache/pythons/%/done: pyproject.toml tests/constraints.txt | $(INSTALLED)
	@mkdir -p $(@D)
	@if $(BIN)/python -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$*")'; then \
	    touch $@; exit; \
	fi; \
	for python in python$* "$$HOME"/.pyenv/versions/$*.*/bin/python; do \
	    if "$$python" -c '' 2>/dev/null; then \
	        echo "== install mcpgen[cli] for Python $*"; \
	        "$$python" -m venv --clear $(@D)/venv && \
	        $(@D)/venv/bin/python -m pip --disable-pip-version-check --quiet install \
	            --constraint tests/constraints.txt --editable '.[cli]' && \
	        touch $@; exit; \
	    fi; \
	done; \
	echo 'SKIPPED: there is no Python $*'

corpus: $(INSTALLED)
	@$(BIN)/python -m tests.corpus

# Its tables (TSV, Markdown) go to WRITE, if that is given: a folder outside of the repository.
corpus-compare: $(INSTALLED)
	@$(BIN)/python -m tests.corpus.before_and_after --base "$(BASE)" $(if $(WRITE),--write "$(WRITE)") $(PARTS)

# REPOSITORY is a git repository of published documents, of which COMMIT (HEAD~1 by default) is
# read. A run that was stopped goes on after its last result; `ARGUMENTS=--help` shows the options.
directory: $(TEST_TOOLS)
	@$(BIN)/python -m tests.directory --repository "$(REPOSITORY)" $(if $(COMMIT),--commit "$(COMMIT)") $(ARGUMENTS)

directory-planning: $(TEST_TOOLS)
	@$(BIN)/python -m tests.directory.planning --repository "$(REPOSITORY)" $(if $(COMMIT),--commit "$(COMMIT)") $(ARGUMENTS)

histories: $(TEST_TOOLS)
	@$(BIN)/python -m tests.directory.histories --repository "$(REPOSITORY)" $(if $(COMMIT),--commit "$(COMMIT)") $(ARGUMENTS)

# RESULTS and LISTINGS are what `make histories` stored with `--results FILE --keep FOLDER`.
grades: $(INSTALLED) $(PEERS)/mcp-contract-0.6.0/installed.txt
	@$(BIN)/python -m tests.directory.grades --results "$(RESULTS)" --listings "$(LISTINGS)" $(if $(WRITE),--write "$(WRITE)") $(ARGUMENTS)

corpus-paging: $(INSTALLED)
	@$(BIN)/python -m tests.corpus.paging --base "$(BASE)" $(PARTS)

lint-corpus: $(INSTALLED)
	@$(BIN)/python -m tests.corpus.lint

suites: $(TEST_TOOLS)
	@$(BIN)/python -m tests.corpus.suites

ranking: $(INSTALLED)
	@$(BIN)/python -m tests.corpus.ranking

lexicon: $(INSTALLED)
	-@$(BIN)/python -m tests.bigapi.make_wordnet
	@$(BIN)/python -m tests.bigapi.make_related

text-signals: $(INSTALLED)
	@$(BIN)/python -m tests.unit.text.signals.measurement

# DOCUMENTS=FOLDER shows the texts of the published documents to the rules.
annotations: $(INSTALLED)
	@$(BIN)/python -m tests.annotations.measure $(if $(DOCUMENTS),--documents "$(DOCUMENTS)")

proposals: $(INSTALLED)
	@$(BIN)/python -m tests.proposals.measure
tools-before-after: $(INSTALLED) $(PEERS)/fastmcp-4.1.6/installed.txt $(PEERS)/openapi-mcp-generator-4.0.1/installed
	@$(BIN)/python -m tests.corpus.tools_before_after --base "$(BASE)" --documents "$(DOCUMENTS)" $(if $(PAGE),--page "$(PAGE)")

# REPOSITORY, a directory as for `make directory`, is judged instead of the corpus, if it is given.
judges: $(INSTALLED) $(NODE_TOOLS) $(PEERS)/schemathesis-4.32.5/installed.txt
	@$(BIN)/python -m $(if $(REPOSITORY),tests.directory.judges --repository "$(REPOSITORY)" $(if $(COMMIT),--commit "$(COMMIT)") $(ARGUMENTS),tests.corpus.outside_judges)

# Not part of `make test`, whose tests follow the links; so its tools are installed here alone.
SITE_TOOLS := .cache/docs
docs: $(SITE_TOOLS)/installed
	@$(SITE_TOOLS)/bin/sphinx-build --quiet --fail-on-warning --keep-going docs .cache/site
	@echo 'the site is .cache/site/index.html'

$(SITE_TOOLS)/installed: docs/requirements.txt | $(INSTALLED)
	@echo '== install the tools of the site'
	@$(BIN)/python -m venv --clear $(SITE_TOOLS)
	@$(SITE_TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install --requirement docs/requirements.txt
	@touch $@

update-docs: $(TEST_TOOLS)
	@$(BIN)/python -m tests.docs.generated
	@if command -v tmux >/dev/null; then $(BIN)/python -m tests.docs.explore_captures; else echo 'SKIPPED: tmux is missing, so docs/how-to/explore.md is not updated'; fi

update-examples: $(TEST_TOOLS)
	@$(BIN)/python -m tests.support.examples
	@$(BIN)/python -m pytest -q tests/regeneration/test_story.py --update

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The first Python that fits; `python3` is preferred, since it is what the user calls Python.
$(BIN)/python:
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then \
	        echo "== $$($$python --version) in $(VENV)"; \
	        exec $$python -m venv --clear $(VENV); \
	    fi; \
	done; \
	echo 'mcpgen needs a Python 3.11 to 3.14 with its venv and ensurepip modules; none of python3, python3.11, ..., python3.14 is one' >&2; \
	exit 1

$(INSTALLED): pyproject.toml tests/constraints.txt | $(BIN)/python
	@echo '== install mcpgen[cli]'
	@$(PIP) install --constraint tests/constraints.txt --editable '.[cli]'
	@touch $@

$(TEST_TOOLS): $(INSTALLED) tests/requirements.txt
	@echo '== install test tools'
	@$(PIP) install --constraint tests/constraints.txt --requirement tests/requirements.txt
	@touch $@

# Programs that nobody here wrote, each in an environment of its own (tests/peers/README.md).
$(PEERS)/%/installed.txt: tests/peers/install.py | $(INSTALLED)
	@echo '== install $* as a peer'
	@$(BIN)/python tests/peers/install.py $(@D) $$(echo $* | sed 's/-\([0-9.]*\)$$/==\1/')
	@touch $@

$(PEERS)/openapi-mcp-generator-4.0.1/installed:
	@echo '== install openapi-mcp-generator 4.0.1 as a peer'
	@npm install --no-package-lock --no-save --no-audit --no-fund --loglevel=error --prefix $(@D) openapi-mcp-generator@4.0.1
	@touch $@

$(NODE_TOOLS): Makefile
	@if command -v npm >/dev/null; then \
	    echo '== install Node test tools'; \
	    npm install --no-package-lock --no-save --no-audit --no-fund --loglevel=error --prefix .cache/node $(NODE_PACKAGES) && touch $@; \
	elif [ "$${CI:-}" = true ]; then \
	    echo 'npm is missing, and CI=true lets no test be skipped' >&2; exit 1; \
	else \
	    echo 'SKIPPED: npm is missing, so the Inspector, the conformance suite, pyright, mcpb and the GitHub document are not tested'; \
	fi

# Without npm, the rule above says that tests are skipped.
$(OAUTH_TOOLS): Makefile | $(NODE_TOOLS)
	@if command -v npm >/dev/null; then \
	    echo '== install an authorization server and its validator'; \
	    npm install --ignore-scripts --no-package-lock --no-save --no-audit --no-fund --loglevel=error --prefix .cache/oauth $(OAUTH_PACKAGES) && touch $@; \
	fi
