# make alone lists the targets. Everything needs Go and make only; race (and so check) needs a C compiler too.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
ARGS ?=

# How long one fuzz test runs, in make fuzz and in make check.
FUZZTIME ?= 10s
CHECK_FUZZTIME ?= 3s

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and serve http://127.0.0.1:8080 from ./shunt-data (ARGS='--listen 127.0.0.1:9000')
	./shunt serve $(ARGS)

.PHONY: build
build: ## write the binary ./shunt
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o shunt ./cmd/shunt

.PHONY: test
test: ## run every test, the end-to-end run on the sample of addresses included
	$(GO) test ./...

.PHONY: race
race: ## run the tests under the race detector, with the invariant checks in
	$(GO) test -race -timeout 15m -tags shuntinvariants ./...

.PHONY: lint
lint: ## gofmt, go vet and staticcheck, for every build tag
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt is not content with:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags shuntinvariants,race ./...
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags shuntinvariants,race ./...

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (10s)
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go | cut -c6-); do \
			echo "fuzz: $$dir $$name"; \
			$(GO) test "$$dir" -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s </dev/null; \
		done; \
	done

.PHONY: bench
bench: ## run the benchmark suite on 10 M links (BENCH=regexp, COUNT=10 for benchstat, LINKS=n, SECONDS=n of steady load)
	SHUNT_BENCH_LINKS=$(LINKS) SHUNT_BENCH_SECONDS=$(SECONDS) \
		$(GO) test -p 1 ./... -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) -timeout 60m

.PHONY: accuracy
accuracy: ## print how accurate unique visitors are: 1,000 trials of up to a million visitors (30 CPU seconds)
	SHUNTTEST_ACCURACY_TRIALS=1000 $(GO) test ./engine -run '^TestUniqueIsAsAccurateAsItsTheory$$' -v -count=1

.PHONY: e2e-urls
e2e-urls: ## the main job on a file of addresses, one a line: make e2e-urls URLS=FILE
	@test -n "$(URLS)" || { echo "make e2e-urls URLS=FILE: name a file of addresses, one a line"; exit 2; }
	SHUNTTEST_URLS="$(abspath $(URLS))" $(GO) test ./cmd/shunt -run '^TestEveryLinkHitAndVisitor' -v -count=1 -timeout 20m

.PHONY: desync
desync: ## what could be read in two ways, through a real nginx and HAProxy (Debian: nginx-light, haproxy)
	SHUNTTEST_DESYNC=1 $(GO) test ./cmd/shunt -run '^TestNoProxyAndServerGetOutOfStep$$' -v -count=1 -timeout 10m

.PHONY: slow
slow: ## slow clients by slowhttptest (Debian: slowhttptest), and what an idle connection costs; SIEGE=short for a quick run
	SHUNTTEST_SLOW=$(or $(SIEGE),long) $(GO) test ./cmd/shunt -run '^TestSlowClientsHarmNobody$$' -v -count=1 -timeout 30m

.PHONY: check
check: lint race ## what CI runs besides test: lint, race, every fuzz test shortly
	$(MAKE) fuzz FUZZTIME=$(CHECK_FUZZTIME)
