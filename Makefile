# The short way to everything; each target sets up what it needs. The build itself is meson's.
PREFIX ?= /usr/local
DESTDIR ?=
PYTHON := /usr/bin/python3
C_FILES = $(shell find src bench tests -name '*.[ch]')

.PHONY: build try check test test-all coverage bench economy tokens dist install format lint clean

build: build/build.ninja
	@ninja -C build cella

build/build.ninja:
	@packaging/deps.sh build
	@meson setup build --prefix=$(PREFIX)

try:
	@packaging/deps.sh build data
	@$(MAKE) --no-print-directory build
	@build/cella demo

# The daily loop, what a change may not break, and everything there is.
check test test-all:
	@packaging/deps.sh build data test
	@$(PYTHON) tests/run.py $(patsubst test-all,all,$@)

coverage:
	@packaging/deps.sh build data test
	@$(PYTHON) tests/run.py coverage
	@$(PYTHON) tests/gcov.py build-test/coverage $(BASE)

# ONLY=live measures one section, in seconds; BASELINE=update records what is measured.
BENCH_BASELINE = docs/bench_baseline.json
bench:
	@packaging/deps.sh build data bench
	@$(MAKE) --no-print-directory build
	@ninja -C build cella-bench
	@packaging/bench_peers.sh build/bench-peers
	@build/cella-bench $(if $(ONLY),--only $(ONLY),-o docs) \
	    --$(if $(filter update,$(BASELINE)),update-)baseline $(BENCH_BASELINE) \
	    --posit build/bench-peers/bin/posit-mcp-repl

# What answers cost a model, beside a peer; UPDATE=1 writes docs/ECONOMY.md and the tests' budget.
economy:
	@packaging/deps.sh build data bench
	@$(MAKE) --no-print-directory build
	@$(PYTHON) tests/bench/economy/economy.py $(if $(UPDATE),--update)

# What work costs a model over MCP, beside two peers; UPDATE=1 writes docs/ECONOMY.md.
tokens:
	@packaging/deps.sh build data bench
	@$(MAKE) --no-print-directory build
	@$(PYTHON) tests/bench/tokens/tokens.py $(if $(UPDATE),--update)

# A wheel and a package of npm, each with its client and the program: docs/CLIENTS.md.
dist: build
	@$(PYTHON) packaging/dist.py build/cella

install: build
	@meson configure build -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C build

format:
	@packaging/deps.sh test
	@clang-format -i $(C_FILES)

lint:
	@packaging/deps.sh test
	@$(PYTHON) tests/lint.py

clean:
	rm -rf build build-test dist
