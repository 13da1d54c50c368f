# make without a target lists the targets. All need only Go and make, unless they say otherwise.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
ARGS ?=
export GO

# The program is built without C, so its tests run without C, too; and nothing is compiled both ways.
export CGO_ENABLED ?= 0

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Each row that .ci/proof and bench/measure list is a target, too: make crash N=100, make compare ROUNDS=2."

.PHONY: run
run: build ## build and serve http://127.0.0.1:8080 from ./shunt-data (ARGS='--listen 127.0.0.1:9000')
	./shunt serve $(ARGS)

.PHONY: build
build: ## write the binary ./shunt
	$(GO) build -trimpath -ldflags "-X shunt/cmd/shunt/version.number=$(VERSION)" -o shunt ./cmd/shunt

.PHONY: quick
quick: ## test what differs from the last commit (BASE=commit), and what imports it, in two minutes (LIMIT=seconds)
	@BASE='$(BASE)' LIMIT='$(LIMIT)' .ci/quick

.PHONY: test
test: ## run all tests, including the end-to-end run on the sample of addresses
	$(GO) test ./...

.PHONY: race
race: ## run the short tests with the race detector and the invariants; needs a C compiler
	@.ci/race

# Only the engine is vetted for 32 bits: it counts bits, and imports little. The proof arm tests in 32 bits, and compiles all.
.PHONY: lint
lint: ## gofmt, go vet (the engine for 32 bits, too), staticcheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "these files need gofmt:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	GOARCH=386 $(GO) vet ./engine/...
	$(GO) tool staticcheck ./...

# The list of known faults is on the network. Where it cannot be reached, this is skipped and says so.
.PHONY: vuln
vuln:
	@.ci/vuln-test
	@.ci/vuln

.PHONY: check
check: lint vuln race ## run lint, race, and a look for known faults (govulncheck); with test, all that CI runs without root

.PHONY: proofs
proofs: ## run the long proofs (ROOM=api/wire: those of rooms) and note the results in bench/runs/PROOFS.md (8 hours; root, apt)
	@ROOM='$(ROOM)' .ci/proof --all

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (10s), JOBS (2) at a time; FUZZ and SKIP (regexps) select tests by name
	@FUZZTIME='$(FUZZTIME)' FUZZ='$(FUZZ)' SKIP='$(SKIP)' JOBS='$(JOBS)' .ci/fuzz

.PHONY: bench
bench: ## run the benchmarks on 10 M links (BENCH=regexp, COUNT=10 for benchstat, LINKS=n, SECONDS=n of steady load, URLS=FILE of addresses)
	SHUNT_BENCH_LINKS=$(LINKS) SHUNT_BENCH_SECONDS=$(SECONDS) SHUNT_BENCH_URLS=$(if $(URLS),"$(abspath $(URLS))") \
		$(GO) test -p 1 ./... -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) -timeout 60m

.PHONY: sample
sample: ## make the sample of all settings from the flags (cmd/deploy/shunt.toml)
	$(GO) run ./cmd/shunt config --sample --data /var/lib/shunt/data > cmd/deploy/shunt.toml

# What makes a release is a module of its own, so that it is no dependency of the program.
.PHONY: dist
dist: ## write a release to DIST (dist): static binaries, .deb, .rpm, tarballs, lists of parts, checksums; ARGS='--version 0.1.0'
	@cmd/deploy/dist/dist.sh --out "$(or $(DIST),dist)" $(ARGS)

# bash sets SECONDS itself, so a script gets it by another name.
PROOFS := $(shell .ci/proof --names)
MEASUREMENTS := $(shell bench/measure --names)
.PHONY: $(PROOFS) $(MEASUREMENTS)
$(PROOFS):
	@SECS='$(SECONDS)' .ci/proof $@
$(MEASUREMENTS):
	@SECS='$(SECONDS)' bench/measure $@
