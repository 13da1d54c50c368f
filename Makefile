# make alone lists the targets. Everything needs Go and make only; race (and so check) needs a C compiler too.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
ARGS ?=

# How much of the reliability proofs their own targets run, and how much make check runs: crashes, flipped bits, and which file
# operations fail (every EVERY-th).
N ?= 10000
EVERY ?= 1
CHECK_CRASHES ?= 80
CHECK_FLIPS ?= 40
CHECK_EVERY ?= 20

# How long one fuzz test runs, in make fuzz and in make check. Those of OUTSIDE read bytes from outside, so make check runs them
# longer; a name in it without a test is an error.
FUZZTIME ?= 10s
CHECK_FUZZTIME ?= 1s
OUTSIDE = MatchCode RequestHead ParseTarget ParseToken ShortenBody PatchBody ImportBody Cursor DecodeSketch Record Replay
CHECK_OUTSIDE_FUZZTIME ?= 10s

# How many seconds each test of a sick disk runs in make check-root.
CHECK_DISKFULL ?= 20
CHECK_DISKSTALL ?= 8
CHECK_FDLIMIT ?= 8

# How often make check kills the server.
CHECK_CRASH ?= 8

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and serve http://127.0.0.1:8080 from ./shunt-data (ARGS='--listen 127.0.0.1:9000')
	./shunt serve $(ARGS)

.PHONY: build
build: ## write the binary ./shunt
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o shunt ./cmd/shunt

.PHONY: test
test: ## run every test, the end-to-end run on the sample of addresses included
	$(GO) test ./...

# The tests of the binary are run without the race detector: it would see their clients, and not the binary. The proofs have a
# process of their own (proofs), so here a few rounds of each are enough. Both lists of tests are whole.
.PHONY: race
race: ## run the tests under the race detector, and those of the binary without it; both with the invariant checks
	SHUNTTEST_CRASHES=10 SHUNTTEST_FLIPS=8 $(GO) test -race -vet=off -timeout 15m -tags shuntinvariants $$($(GO) list ./... | grep -v '/e2e$$')
	$(GO) test -short -vet=off -tags shuntinvariants ./cmd/shunt/e2e

# The second vet and staticcheck are built as race is, so that nothing is compiled a third time. Outside engine, tests alone have tags.
.PHONY: lint
lint: ## gofmt, go vet and staticcheck, for every build tag
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt is not content with:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -race -tags shuntinvariants ./...
	$(GO) tool staticcheck ./...
	staticcheck=$$($(GO) tool -n staticcheck) && GOFLAGS=-race "$$staticcheck" -tags shuntinvariants ./engine/...

# What guides a fuzz test is which code it reaches. In make check that is our own code: then nothing else is compiled anew, and
# about ten times as many inputs are tried in a second, but fewer that get far in a parser of somebody else's.
FUZZ_BUILD ?= -fuzz .
CHECK_FUZZ_BUILD ?= -gcflags=shunt/...=-d=libfuzzer

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (10s), or those whose name matches FUZZ (a regexp) and not SKIP, JOBS (2) at a time
	@GO='$(GO)' BUILD='$(FUZZ_BUILD)' FUZZTIME='$(FUZZTIME)' FUZZ='$(FUZZ)' SKIP='$(SKIP)' JOBS='$(JOBS)' \
		LONG='$(LONG)' LONGTIME='$(LONGTIME)' .ci/fuzz

.PHONY: bench
bench: ## run the benchmark suite on 10 M links (BENCH=regexp, COUNT=10 for benchstat, LINKS=n, SECONDS=n of steady load)
	SHUNT_BENCH_LINKS=$(LINKS) SHUNT_BENCH_SECONDS=$(SECONDS) \
		$(GO) test -p 1 ./... -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) -timeout 60m

.PHONY: accuracy
accuracy: ## print how accurate unique visitors are: 1,000 trials of up to a million visitors (30 CPU seconds)
	SHUNTTEST_ACCURACY_TRIALS=1000 $(GO) test ./engine/tally -run '^TestUniqueIsAsAccurateAsItsTheory$$' -v -count=1

.PHONY: crash-clone
crash-clone: ## crash engine and store N (10000) times at random moments, and look at what is left (15 min)
	SHUNTTEST_CRASHES=$(N) $(GO) test ./storage/crashtest -run '^TestNothingAcknowledgedIsLostByACrash$$' -v -count=1 -timeout 2h

.PHONY: faults
faults: ## fail each file operation of a scripted run in each way, or every EVERY-th (10 min)
	SHUNTTEST_FAULT_STEP=$(EVERY) $(GO) test ./storage/crashtest -run '^TestAFailedFileOperationIsHarmlessOrClear$$' -v -count=1 -timeout 2h

.PHONY: bitflip
bitflip: ## flip N (10000) bits of a data folder, one at a time, and look at everything in it (15 min)
	SHUNTTEST_FLIPS=$(N) $(GO) test ./storage/crashtest -run '^TestAFlippedBitIsNeverSilentlyWrong$$' -v -count=1 -timeout 2h

.PHONY: targets
targets: ## a million (TARGETS=n) generated targets through the API and back, byte for byte (a minute)
	SHUNTTEST_TARGETS=$(or $(TARGETS),1000000) $(GO) test ./api -run '^TestAcceptedTargetsGoOutByteForByte$$' -v -count=1 -timeout 1h

.PHONY: e2e-urls
e2e-urls: ## the main job on a file of addresses, one a line: make e2e-urls URLS=FILE
	@test -n "$(URLS)" || { echo "make e2e-urls URLS=FILE: name a file of addresses, one a line"; exit 2; }
	SHUNTTEST_URLS="$(abspath $(URLS))" $(GO) test ./cmd/shunt/e2e -run '^TestLinksHitsAndVisitorsOutlive' -v -count=1 -timeout 20m

.PHONY: crash
crash: N = 1000
crash: ## kill the server N (1000) times under load, and compare all that is there with what its clients were told
	SHUNTTEST_CRASHES=$(N) $(GO) test ./cmd/shunt/e2e -run '^TestEverythingClientsWereTold' -v -count=1 -timeout $$(( $(N) * 5 + 300 ))s

# The tests of sick disks mount, fill and freeze file systems of their own. They need Linux, root, loop devices, mkfs.ext4 and
# mount: Debian's packages e2fsprogs and mount, which are installed if they are missing.
SICK = $(GO) test ./cmd/shunt/e2e -v -count=1 -timeout $$(( $(SECONDS) * 4 + 300 ))s

.PHONY: sick-tools
sick-tools:
	@test "$$(id -u)" = 0 || { echo "this needs root: it mounts file systems of its own"; exit 1; }
	@{ command -v mkfs.ext4 && command -v mount; } >/dev/null || { apt-get update -q; apt-get install -qy e2fsprogs mount; }

.PHONY: diskfull
diskfull: SECONDS = 600
diskfull: sick-tools ## a disk that is full at times, for SECONDS (600); needs root
	SHUNTTEST_DISKFULL=$(SECONDS) $(SICK) -run '^Test(AFullDiskCosts|AServerOnAFullDisk)'

.PHONY: diskstall
diskstall: SECONDS = 30
diskstall: sick-tools ## disks that do not answer for SECONDS (30); needs root
	SHUNTTEST_DISKSTALL=$(SECONDS) $(SICK) -run '^TestAStalledDisk'

.PHONY: fdlimit
fdlimit: SECONDS = 60
fdlimit: sick-tools ## no file descriptors left, for SECONDS (60); needs root
	SHUNTTEST_FDLIMIT=$(SECONDS) $(SICK) -run '^TestAServerWithoutDescriptors'

.PHONY: import-memory
import-memory: ## import a million (LINKS=n) links, and look at the memory of the server until it is given back (2 min)
	SHUNTTEST_IMPORT=$(or $(LINKS),1000000) $(GO) test ./cmd/shunt/e2e -run '^TestMemoryOfAnImportIsReturnedWithinAMinute$$' -v -count=1 -timeout 30m

.PHONY: restarts
restarts: N = 200
restarts: ## start and stop or kill the server N (200) times while another user tries to open its socket (2 min); best as root
	SHUNTTEST_RESTARTS=$(N) $(GO) test ./cmd/shunt/e2e -run '^TestNobodyEntersTheSocketDuringRestarts$$' -v -count=1 -timeout 30m

# The proxies are Debian's packages nginx-light and haproxy, installed if they are missing, and not started (policy-rc.d).
.PHONY: proxies
proxies:
	@if ! { command -v nginx && command -v haproxy; } >/dev/null; then \
		policy=/usr/sbin/policy-rc.d; \
		test -e $$policy || { trap "rm -f $$policy" EXIT; printf '#!/bin/sh\nexit 101\n' >$$policy; chmod +x $$policy; }; \
		apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends nginx-light haproxy; \
	fi

.PHONY: desync
desync: proxies ## what could be read in two ways, through a real nginx and HAProxy (20 s); as root it installs them
	SHUNTTEST_DESYNC=1 $(GO) test ./cmd/shunt/e2e -run '^TestProxiesAndServerFrameRequestsAlike$$' -v -count=1 -timeout 10m

# The authority is Let's Encrypt's for tests. It is no dependency of the program: go install fetches and builds it elsewhere.
ACME_SERVER ?= github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1

.PHONY: acme
acme: ## certificates by ACME, got, renewed and kept, from a real authority on this machine (a minute; fetches its source)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		GOBIN=$$tools $(GO) install $(ACME_SERVER); \
		SHUNTTEST_ACME=$$tools/pebble $(GO) test ./cmd/shunt/... -run 'ACertificate|AnACME|AnAuthority' -v -count=1 -timeout 10m

# Generators of clients are no dependencies of the program: they are fetched and built elsewhere. Node is Debian's nodejs and npm,
# installed if they are missing (some 350 small packages, over a minute), which is why check does not run this.
OPENAPI_GO ?= github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
OPENAPI_NODE ?= openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20.19.43 @redocly/cli@2.77.0

.PHONY: node
node:
	@{ command -v node && command -v npm; } >/dev/null || { \
		echo "installing Debian's nodejs and npm"; apt-get update -q; \
		DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends nodejs npm; }

.PHONY: openapi-clients
openapi-clients: node ## clients for Go and TypeScript, generated from openapi.json, compiled and used; Redocly's lint (a minute; as root it installs Node)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		echo "fetching $(OPENAPI_GO) $(OPENAPI_NODE)"; \
		GOBIN=$$tools $(GO) install $(OPENAPI_GO); \
		npm install --prefix "$$tools" --no-save --ignore-scripts --no-audit --no-fund --loglevel error $(OPENAPI_NODE); \
		SHUNTTEST_OPENAPI=$$tools $(GO) test ./cmd/shunt/e2e -run '^TestGeneratedClients' -v -count=1 -timeout 10m

.PHONY: slow
slow: ## slow clients by slowhttptest (Debian: slowhttptest), and what an idle connection costs; SIEGE=short for a quick run
	SHUNTTEST_SLOW=$(or $(SIEGE),long) $(GO) test ./cmd/shunt/e2e -run '^TestSlowClientsHarmNobody$$' -v -count=1 -timeout 30m

.PHONY: login-flood
login-flood: SECONDS = 60
login-flood: ## logins with invented names from three addresses for SECONDS (60), beside 100 right ones: none of those may be refused
	SHUNTTEST_LOGIN_FLOOD=$(SECONDS) $(GO) test ./cmd/shunt/e2e -run '^TestAFloodOfLoginsRefusesNoCorrectLogin$$' -v -count=1 -timeout $$(( $(SECONDS) + 300 ))s

.PHONY: latency
latency: SECONDS = 10
latency: PAIRS = 6
latency: ## 5,000 redirects a second beside logins, large bodies and QR codes, and beside a busy loop: PAIRS (6) of SECONDS (10) each
	SHUNTTEST_LATENCY_PAIRS=$(PAIRS) SHUNTTEST_LATENCY_SECONDS=$(SECONDS) $(GO) test ./cmd/shunt/e2e \
		-run '^TestRedirectsAreFastDuringCostlyRequests$$' -v -count=1 -timeout $$(( $(PAIRS) * ($(SECONDS) + 2) * 2 + 300 ))s

# The three proofs in one process: each of them alone would build the same test program.
.PHONY: proofs
proofs: ## a short form of crash-clone, faults and bitflip, as make check runs it
	SHUNTTEST_CRASHES=$(CHECK_CRASHES) SHUNTTEST_FAULT_STEP=$(CHECK_EVERY) SHUNTTEST_FLIPS=$(CHECK_FLIPS) $(GO) test ./storage/crashtest -v -count=1 \
		-timeout 20m -run '^Test(NothingAcknowledgedIsLostByACrash|AFailedFileOperationIsHarmlessOrClear|AFlippedBitIsNeverSilentlyWrong)$$'

.PHONY: check
check: lint race proofs ## what CI runs besides test, without root: lint, race, and short forms of the proofs, fuzz and crash
	$(MAKE) fuzz FUZZ_BUILD='$(CHECK_FUZZ_BUILD)' FUZZTIME=$(CHECK_FUZZTIME) LONG='$(OUTSIDE)' LONGTIME=$(CHECK_OUTSIDE_FUZZTIME)
	$(MAKE) crash N=$(CHECK_CRASH)

# What mounts file systems, or installs proxies and runs them as root. All of it in one process: each target alone would build the
# same test program.
CHECK_ROOT = ProxiesAndServerFrame|AFullDiskCosts|AServerOnAFullDisk|AStalledDiskStopsNo|AServerWithoutDescriptors

.PHONY: check-root
check-root: sick-tools proxies ## what CI runs besides test and needs root: desync, and short forms of diskfull, diskstall and fdlimit
	SHUNTTEST_DESYNC=1 SHUNTTEST_DISKFULL=$(CHECK_DISKFULL) SHUNTTEST_DISKSTALL=$(CHECK_DISKSTALL) SHUNTTEST_FDLIMIT=$(CHECK_FDLIMIT) \
		$(GO) test ./cmd/shunt/e2e -v -count=1 -timeout 15m -run '^Test($(CHECK_ROOT))'
