# make without a target lists the targets. All need only Go and make, unless they say otherwise;
# race, and therefore check, also needs a C compiler.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
ARGS ?=

# The size of the reliability proofs, first in their own targets, then in make check: the number
# of crashes and of flipped bits, and the step between file operations that fail (every EVERY-th).
N ?= 10000
EVERY ?= 1
CHECK_CRASHES ?= 80
CHECK_FLIPS ?= 40
CHECK_EVERY ?= 20

# The time for each fuzz test, in make fuzz and in make check. The tests in OUTSIDE read bytes
# from outside, so make check runs them longer. A name in OUTSIDE without a test is an error.
FUZZTIME ?= 10s
CHECK_FUZZTIME ?= 1s
OUTSIDE = DoorsAnyBytes DoorsRequests MatchCode RequestHead ParseTarget ParseToken ShortenBody PatchBody ImportBody Cursor DecodeSketch DecodeEntry Record Replay Learn ReadOutbox
CHECK_OUTSIDE_FUZZTIME ?= 10s

# The seconds that each test of a failing disk runs in make check-root.
CHECK_DISKFULL ?= 20
CHECK_DISKSTALL ?= 8
CHECK_FDLIMIT ?= 8

# The number of times that make check kills the server.
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
test: ## run all tests, including the end-to-end run on the sample of addresses, and test-386
	$(GO) test ./...
	@$(MAKE) --no-print-directory test-386

# Linux on amd64 runs programs of 386. So the tests of what 32 bits may break run as one: words that goroutines share,
# formats, numbers from outside, and the server with a restart and a kill.
TEST_386 = GOARCH=386 CGO_ENABLED=0 $(GO) test -short

.PHONY: test-386
test-386: ## run the main tests in 32 bits (a minute on two cores, and one more to compile); on Linux on amd64 only
	@if test "$$($(GO) env GOHOSTOS)/$$($(GO) env GOHOSTARCH)" != linux/amd64; then \
		echo "test-386 is skipped: only Linux on amd64 runs programs of 386"; exit; fi; set -x; \
	$(TEST_386) ./engine/... ./storage/row ./storage/crashtest ./api/wire ./api/ops; \
	$(TEST_386) ./api -run '^TestABadBody|^TestABodyMust|^TestAmbiguousRequests' -skip over_TLS; \
	$(TEST_386) ./cmd/shunt/e2e -run '^TestLinksHitsAndVisitorsOutlive|^TestTypicalMistakes'

.PHONY: arm
arm: ## build for ARM of 64 and 32 bits, use both servers under qemu, and run tests of the 64-bit one (4 min; as root it installs qemu-user)
	@GO='$(GO)' .ci/arm

# The tests of the binary run without the race detector, because it would see their clients and
# not the binary. Those in a browser have a target of their own (browser). The proofs run in a
# process of their own (proofs), so a few rounds of each are enough here. The first command runs all
# tests of its packages, but fewer random histories and checks than make test does: the race
# detector looks for accesses that are not ordered, which a tenth of them also makes, and without
# it all of them run. The invariants are the engine's, so of the tests of the binary only those run again
# that load, kill, stop or move a server or fill its disk; for the others make test is enough.
INVARIANTTESTS = Kill|Outlive|Surviv|UnderLoad|UnderPipelinedLoad|Restart|Resumed|Import|Memory|Journal|Loaded|Space|Stall|SecondSignal|Backup|BlockList
.PHONY: race
race: ## run the tests with the race detector, and without it those of the binary under load, kills and faults; all with invariant checks
	SHUNTTEST_CRASHES=10 SHUNTTEST_FLIPS=8 RAPID_CHECKS=10 $(GO) test -race -vet=off -timeout 15m -tags shuntinvariants $$($(GO) list ./... | grep -vE '/(e2e|browser|httpclients)$$')
	$(GO) test -short -vet=off -tags shuntinvariants ./cmd/shunt/e2e -run '$(INVARIANTTESTS)'

# The second vet and staticcheck use the build flags of race, so that nothing is compiled a third
# time. Outside engine, only tests have build tags.
.PHONY: lint
lint: ## gofmt, go vet and staticcheck, for every build tag, and go vet for 32-bit machines
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "these files need gofmt:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	GOARCH=386 CGO_ENABLED=0 $(GO) vet ./...
	$(GO) vet -race -tags shuntinvariants ./...
	$(GO) vet -tags shuntnewerpayload ./storage/...
	$(GO) tool staticcheck ./...
	staticcheck=$$($(GO) tool -n staticcheck) && GOFLAGS=-race "$$staticcheck" -tags shuntinvariants ./engine/...

# A fuzz test is guided by the code that it reaches. In make check only our own code guides it:
# then no other package is compiled again, and about ten times as many inputs are tried per
# second, but fewer of them get far in parsers of other modules.
FUZZ_BUILD ?= -fuzz .
CHECK_FUZZ_BUILD ?= -gcflags=shunt/...=-d=libfuzzer

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (10s), JOBS (2) at a time; FUZZ and SKIP (regexps) select tests by name
	@GO='$(GO)' BUILD='$(FUZZ_BUILD)' FUZZTIME='$(FUZZTIME)' FUZZ='$(FUZZ)' SKIP='$(SKIP)' JOBS='$(JOBS)' \
		LONG='$(LONG)' LONGTIME='$(LONGTIME)' .ci/fuzz

.PHONY: bench
bench: ## run the benchmarks on 10 M links (BENCH=regexp, COUNT=10 for benchstat, LINKS=n, SECONDS=n of steady load, URLS=FILE of addresses)
	SHUNT_BENCH_LINKS=$(LINKS) SHUNT_BENCH_SECONDS=$(SECONDS) SHUNT_BENCH_URLS=$(if $(URLS),"$(abspath $(URLS))") \
		$(GO) test -p 1 ./... -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) -timeout 60m

# The other servers and wrk are Debian's packages, and so is the C compiler; they are installed if
# missing. golink is fetched and built in another folder, if the module can be had.
GOLINK ?= github.com/tailscale/golink/cmd/golink@v1.0.0

.PHONY: compare-tools
compare-tools: proxies
	@{ command -v wrk && command -v gcc; } >/dev/null || { \
		apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends wrk gcc libc6-dev; }

.PHONY: compare
compare: ROUNDS = 6
compare: SECONDS = 3
compare: LINKS = 1000000
compare: compare-tools ## compare shunt with nginx, HAProxy, golink and constants on one core: ROUNDS (6) of SECONDS (3) each; as root it installs them (half an hour)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		CGO_ENABLED=0 $(GO) build -trimpath -o "$$tools/" ./cmd/shunt ./bench/compare ./bench/compare/constant; \
		gcc -O2 -o "$$tools/epoll" bench/compare/epoll/epoll.c; \
		GOBIN=$$tools $(GO) install $(GOLINK) || echo "going on without golink" >&2; \
		"$$tools/compare" --tools "$$tools" --rounds $(ROUNDS) --seconds $(SECONDS) --links $(LINKS) --data "$(DATA)" --out "$(OUT)" $(ARGS)

# Redis is Debian's package redis-server; it is installed if missing, and not started (policy-rc.d).
# Without it the rest is measured.
.PHONY: redis
redis:
	@if ! command -v redis-server >/dev/null; then \
		echo "installing Debian's redis-server"; policy=/usr/sbin/policy-rc.d; \
		test -e $$policy || { trap "rm -f $$policy" EXIT; printf '#!/bin/sh\nexit 101\n' >$$policy; chmod +x $$policy; }; \
		{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends redis-server; } || echo "going on without Redis" >&2; \
	fi

.PHONY: compare-writes
compare-writes: ROUNDS = 6
compare-writes: SECONDS = 3
compare-writes: LINKS = 1000000
compare-writes: WRITES = all
compare-writes: MANY = 3000000
compare-writes: redis ## compare creations, bulks and imports with HTTP alone, Pebble alone and Redis on one core, and take LINKS (1 M) links elsewhere and back; as root it installs Redis (20 min)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		CGO_ENABLED=0 $(GO) build -trimpath -o "$$tools/" ./cmd/shunt ./bench/compare ./bench/compare/constant ./bench/compare/batches; \
		"$$tools/compare" --tools "$$tools" --rounds $(ROUNDS) --seconds $(SECONDS) --links $(LINKS) --many $(MANY) --writes $(WRITES) --out "$(OUT)" $(ARGS)

.PHONY: accuracy
accuracy: ## measure the accuracy of unique visitors in 1,000 trials of up to a million visitors (30 CPU seconds)
	SHUNTTEST_ACCURACY_TRIALS=1000 $(GO) test ./engine/tally -run '^TestUniqueIsAsAccurateAsItsTheory$$' -v -count=1

.PHONY: crash-clone
crash-clone: ## crash engine and store N (10000) times at random moments and check the data left (15 min)
	SHUNTTEST_CRASHES=$(N) $(GO) test ./storage/crashtest -run '^TestNothingAcknowledgedIsLostByACrash$$' -v -count=1 -timeout 2h

.PHONY: faults
faults: ## fail each file operation of a scripted run in each way, or every EVERY-th one (10 min)
	SHUNTTEST_FAULT_STEP=$(EVERY) $(GO) test ./storage ./storage/crashtest -run '^Test(AFailedFileOperationIsHarmlessOrClear|ATwiceCrashedCreationBeginsAgain)$$' -v -count=1 -timeout 2h

.PHONY: histories
histories: N = 500
histories: ## run N (500) random histories of several nodes, which count, pull from each other and crash (10 min)
	SHUNTTEST_HISTORIES=$(N) $(GO) test ./storage ./engine -run '^Test(AllNodesGetEqualFigures|RedirectsOfAllNodesAreCountedOnceOnEach)$$' -v -count=1 -timeout 2h

.PHONY: bitflip
bitflip: ## flip N (10000) bits of a data folder, one at a time, and check everything in it (15 min)
	SHUNTTEST_FLIPS=$(N) $(GO) test ./storage/crashtest -run '^TestAFlippedBitIsNeverSilentlyWrong$$' -v -count=1 -timeout 2h

.PHONY: targets
targets: ## send a million (TARGETS=n) generated targets through the API and compare each Location byte for byte (a minute)
	SHUNTTEST_TARGETS=$(or $(TARGETS),1000000) $(GO) test ./api -run '^TestAcceptedTargetsGoOutInASCII$$' -v -count=1 -timeout 1h

.PHONY: e2e-urls
e2e-urls: ## test the main use of the server on a file of addresses, one per line: make e2e-urls URLS=FILE
	@test -n "$(URLS)" || { echo "make e2e-urls URLS=FILE: name a file of addresses, one per line"; exit 2; }
	SHUNTTEST_URLS="$(abspath $(URLS))" $(GO) test ./cmd/shunt/e2e -run '^TestLinksHitsAndVisitorsOutlive' -v -count=1 -timeout 20m

.PHONY: crash
crash: N = 1000
crash: ## kill the server N (1000) times under load and compare its data with the answers to its clients
	SHUNTTEST_CRASHES=$(N) $(GO) test ./cmd/shunt/e2e -run '^TestEverythingClientsWereTold' -v -count=1 -timeout $$(( $(N) * 5 + 300 ))s

.PHONY: drain
drain: N = 100
drain: ## stop the server N (100) times by SIGTERM, and as often by SIGKILL, under pipelined load, and compare hits with answers (2 min)
	SHUNTTEST_DRAINS=$(N) $(GO) test ./cmd/shunt/e2e -run 'UnderPipelinedLoad' -v -count=1 -timeout $$(( $(N) * 10 + 300 ))s

# The tests of failing disks mount, fill and freeze file systems of their own. They need Linux,
# root, loop devices, mkfs.ext4 and mount. The last two are in Debian's packages e2fsprogs and
# mount, which are installed if missing, as is iproute2 for tests in namespaces of networks.
SICK = $(GO) test ./cmd/shunt/e2e -v -count=1 -timeout $$(( $(SECONDS) * 4 + 300 ))s

.PHONY: sick-tools
sick-tools:
	@test "$$(id -u)" = 0 || { echo "this needs root: it mounts file systems of its own"; exit 1; }
	@{ command -v mkfs.ext4 && command -v mount && command -v ip; } >/dev/null || { apt-get update -q; apt-get install -qy e2fsprogs mount iproute2; }

.PHONY: diskfull
diskfull: SECONDS = 600
diskfull: sick-tools ## run on a disk that is full at times, for SECONDS (600); needs root
	SHUNTTEST_DISKFULL=$(SECONDS) $(SICK) -run '^Test(AFullDiskCosts|AServerOnAFullDisk)'

.PHONY: diskstall
diskstall: SECONDS = 30
diskstall: sick-tools ## run on disks that do not answer for SECONDS (30); needs root
	SHUNTTEST_DISKSTALL=$(SECONDS) $(SICK) -run '^TestAStalledDisk'

.PHONY: overload
overload: SECONDS = 120
overload: ## load a server in a control group of a quarter of a core with three times what it sustains, for SECONDS (120); needs root
	SHUNTTEST_OVERLOAD=$(SECONDS) $(SICK) -run '^TestRedirectsGoOnUnderThreeTimesTheLoad$$'

.PHONY: fdlimit
fdlimit: SECONDS = 60
fdlimit: sick-tools ## run without free file descriptors for SECONDS (60); needs root
	SHUNTTEST_FDLIMIT=$(SECONDS) $(SICK) -run '^TestAServerWithoutDescriptors'

.PHONY: import-memory
import-memory: ## import a million (LINKS=n) links and check that the server returns the memory (2 min)
	SHUNTTEST_IMPORT=$(or $(LINKS),1000000) $(GO) test ./cmd/shunt/e2e -run '^TestMemoryOfAnImportIsReturnedWithinAMinute$$' -v -count=1 -timeout 30m

.PHONY: restarts
restarts: N = 200
restarts: ## restart or kill the server N (200) times while another user tries to open its socket (2 min); best as root
	SHUNTTEST_RESTARTS=$(N) $(GO) test ./cmd/shunt/e2e -run '^TestNobodyEntersTheSocketDuringRestarts$$' -v -count=1 -timeout 30m

.PHONY: start-time
start-time: LINKS = 10000000
start-time: ## measure how soon a server with LINKS (10 M) links redirects after a start, and how fast it loads them (10 min; 4 GB of disk)
	SHUNTTEST_START_LINKS=$(LINKS) $(GO) test ./cmd/shunt/e2e -run '^TestAStartRedirectsBeforeItHasLoaded$$' -v -count=1 -timeout 30m

.PHONY: restart-test
restart-test: N = 100
restart-test: ## restart the server N (100) times behind a socket that somebody else holds, under load: no request may fail (3 min)
	SHUNTTEST_RESTARTTEST=$(N) $(GO) test ./cmd/shunt/e2e -run '^TestRestartsBehindASocketFailNoRequest$$' -v -count=1 -timeout $$(( $(N) * 10 + 300 ))s

.PHONY: sample
sample: ## make the sample of all settings from the flags (cmd/deploy/shunt.toml)
	$(GO) run ./cmd/shunt config --sample --data /var/lib/shunt/data > cmd/deploy/shunt.toml

# The proxies are Debian's packages nginx-light and haproxy. They are installed if missing, and
# not started (policy-rc.d).
.PHONY: proxies
proxies:
	@if ! { command -v nginx && command -v haproxy; } >/dev/null; then \
		policy=/usr/sbin/policy-rc.d; \
		test -e $$policy || { trap "rm -f $$policy" EXIT; printf '#!/bin/sh\nexit 101\n' >$$policy; chmod +x $$policy; }; \
		apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends nginx-light haproxy; \
	fi

# fail2ban is Debian's package. It is installed if missing, and not started.
.PHONY: fail2ban
fail2ban: ## read log lines of failed logins and refused tokens with fail2ban's own program (10 s); as root it installs fail2ban
	@if ! command -v fail2ban-regex >/dev/null; then \
		policy=/usr/sbin/policy-rc.d; \
		test -e $$policy || { trap "rm -f $$policy" EXIT; printf '#!/bin/sh\nexit 101\n' >$$policy; chmod +x $$policy; }; \
		apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends fail2ban; \
	fi
	SHUNTTEST_FAIL2BAN=1 $(GO) test ./cmd/shunt/e2e -run '^TestFail2banReadsTheLog$$' -v -count=1

# Prometheus is Debian's package. It is installed if missing, and not started.
.PHONY: prometheus-tools
prometheus-tools:
	@if ! { command -v prometheus && command -v promtool; } >/dev/null; then \
		policy=/usr/sbin/policy-rc.d; \
		test -e $$policy || { trap "rm -f $$policy" EXIT; printf '#!/bin/sh\nexit 101\n' >$$policy; chmod +x $$policy; }; \
		apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends prometheus; \
	fi

.PHONY: prometheus-test
prometheus-test: sick-tools prometheus-tools ## make alerts fire and clear in a real Prometheus, and ask it the dashboard's queries (a minute); needs root, installs prometheus
	$(GO) test ./api -count=1 -run 'RulesAndDashboard|EveryAlertHas|RunbooksCommands|PrometheusLinter'
	SHUNTTEST_PROMETHEUS=1 $(GO) test ./cmd/shunt/e2e -run '^TestPrometheusAlertsOnFaultsAndAnswersTheDashboard$$' -v -count=1 -timeout 10m

.PHONY: desync
desync: proxies ## send ambiguous requests and prefetches through a real nginx and HAProxy (20 s); as root it installs them
	SHUNTTEST_DESYNC=1 $(GO) test ./cmd/shunt/e2e -run '^Test(ProxiesAndServerFrameRequestsAlike|APrefetchIsNoFailureToProxies)$$' -v -count=1 -timeout 10m

# The authority is Let's Encrypt's test server. It is not a dependency of the program: go install
# fetches and builds it in another folder.
ACME_SERVER ?= github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1

.PHONY: acme
acme: ## get, renew and keep certificates by ACME, from a real authority on this machine (a minute; fetches its source)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		GOBIN=$$tools $(GO) install $(ACME_SERVER); \
		SHUNTTEST_ACME=$$tools/pebble $(GO) test ./cmd/shunt/... -run 'ACertificate|AnACME|AnAuthority' -v -count=1 -timeout 10m

# The tests of clusters need servers of etcd, which are built for them. OPERATIONS are those of the
# histories, OUTAGE the seconds without a majority of etcd, NEMESIS those of faults at random (SEED=n repeats them).
CLUSTERTESTS = AnyNode|RevokedToken|ALastUse|WritesComeBack|ACutOffLeader|AnAliasHas|Histories|OutliveALost|MistakesWithACluster|ClockIsHoursApart|ANodeThatRuns|BelowTheFloor|ACapIsNever|ForgottenTakes|Edge|ThatJoinsHas|FullServers|AnythingAtRandom|TheSameSeed|PacketsAreLost|ReplacedOneByOne|ARoleOnThePrefix|OutliveTheDeletion|TheWideRole|ACopyOfTheData|ARefusedCertificate|ForgettingANode|SilentConnections
.PHONY: cluster-test
cluster-test: ROUNDS = 50
cluster-test: OPERATIONS = 200000
cluster-test: OUTAGE = 60
cluster-test: NEMESIS = 120
cluster-test: CLUSTER = SHUNTTEST_OPERATIONS=$(OPERATIONS) SHUNTTEST_OUTAGE=$(OUTAGE) SHUNTTEST_NEMESIS=$(NEMESIS) SHUNTTEST_SEED=$(SEED)
cluster-test: ## test clusters against real servers of etcd that are paused, killed and cut off (20 min, as root; ROUNDS, OPERATIONS, OUTAGE; fetches etcd)
	@command -v ip >/dev/null || { apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends iproute2; }
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		CGO_ENABLED=0 $(GO) build -C storage/etcdlog/server -o "$$tools/etcd" .; \
		export SHUNTTEST_ETCD=$$tools/etcd; \
		SHUNTTEST_ROUNDS=$(ROUNDS) $(GO) test ./storage/etcdlog -v -count=1 -timeout 30m && \
		$(CLUSTER) $(GO) test ./cmd/shunt/e2e -run '$(CLUSTERTESTS)' -v -count=1 -timeout $$((3600 + $(NEMESIS)))s

.PHONY: nemesis
nemesis: NEMESIS = 3600
nemesis: ## only the faults at random of cluster-test (an hour; NEMESIS=seconds, SEED=n repeats them; a run that fails leaves its logs; fetches etcd)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		CGO_ENABLED=0 $(GO) build -C storage/etcdlog/server -o "$$tools/etcd" .; \
		SHUNTTEST_ETCD=$$tools/etcd SHUNTTEST_NEMESIS=$(NEMESIS) SHUNTTEST_SEED=$(SEED) \
		$(GO) test ./cmd/shunt/e2e -run AnythingAtRandom -v -count=1 -timeout $$((1800 + $(NEMESIS)))s

.PHONY: cluster-figures
cluster-figures: SECONDS = 20
cluster-figures: FIGURES = FiguresOf
cluster-figures: ## measure clusters of three nodes on this machine (SECONDS=20 each; FIGURES=regexp; fetches etcd)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		CGO_ENABLED=0 $(GO) build -C storage/etcdlog/server -o "$$tools/etcd" .; \
		SHUNTTEST_ETCD=$$tools/etcd SHUNTTEST_FIGURES=$(SECONDS) \
		$(GO) test ./cmd/shunt/e2e -run '$(FIGURES)' -v -count=1 -timeout 60m

# The older program is that of a commit, the newer one this tree's with entries of another version.
.PHONY: cluster-upgrade
cluster-upgrade: OLDER = HEAD
cluster-upgrade: ## upgrade a cluster node by node under load, from the program of a commit (OLDER=HEAD; 2 min; fetches etcd)
	@tools=$$(mktemp -d); trap 'git worktree remove --force "$$tools/older"; rm -rf "$$tools"' EXIT; \
		git worktree add -q --detach "$$tools/older" $(OLDER); \
		CGO_ENABLED=0 $(GO) build -C "$$tools/older" -o "$$tools/shunt-older" ./cmd/shunt; \
		CGO_ENABLED=0 $(GO) build -C storage/etcdlog/server -o "$$tools/etcd" .; \
		SHUNTTEST_ETCD=$$tools/etcd SHUNTTEST_OLDER=$$tools/shunt-older \
		$(GO) test ./cmd/shunt/e2e -run ReplacedOneByOne -v -count=1 -timeout 10m

# What makes a release is a module of its own, so that it is no dependency of the program.
DIST ?= dist
DISTTOOL = $(GO) build -C cmd/deploy/dist -o "$$work/dist" . && "$$work/dist" --root .

.PHONY: dist
dist: ## write a release to DIST (dist): static binaries, .deb, .rpm, tarballs, lists of parts, checksums (2 min); ARGS='--version 0.1.0'
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; $(DISTTOOL) --out "$(DIST)" $(ARGS)

.PHONY: dist-test
dist-test: ## make a release twice, from two folders, and compare all bytes (5 min; short with ARGS='--only linux/amd64')
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
		git clone -q . "$$work/elsewhere"; \
		$(DISTTOOL) --out "$$work/one" $(ARGS); \
		"$$work/dist" --root "$$work/elsewhere" --out "$$work/two" $(ARGS); \
		(cd "$$work/two" && sha256sum --check --quiet SHA256SUMS); \
		diff -r "$$work/one" "$$work/two" && echo "dist-test: two builds are the same, byte for byte"

# Both tests of the Debian package make two versions of it first.
DEBIAN_PACKAGES = $(DISTTOOL) --out "$$work/old" --version 0.0.1 --only linux/amd64; \
	"$$work/dist" --root . --out "$$work/new" --version 0.0.2 --only linux/amd64; \
	cp "$$work"/old/*.deb "$$work/old.deb"; cp "$$work"/new/*.deb "$$work/new.deb"

.PHONY: debootstrap
debootstrap:
	@test "$$(id -u)" = 0 || { echo "this needs root: it makes a root of its own"; exit 1; }
	@command -v debootstrap >/dev/null || { apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends debootstrap; }

.PHONY: deb-test
deb-test: debootstrap ## install, use, upgrade, remove and purge the Debian package in a fresh Debian (3 min); needs root, and installs debootstrap
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; $(DEBIAN_PACKAGES); cmd/deploy/dist/deb-test.sh "$$work"

.PHONY: systemd-test
systemd-test: debootstrap ## do the same with a systemd of its own, and restart, kill and upgrade under requests (3 min); needs root, and installs debootstrap
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; $(DEBIAN_PACKAGES); cmd/deploy/dist/systemd-test.sh "$$work" $(ARGS)

.PHONY: image-root
image-root: ## build the root of the container image, and run it without a container engine (10 s); needs root and curl
	@test "$$(id -u)" = 0 || { echo "this needs root: it enters a root of its own"; exit 1; }
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
		CGO_ENABLED=0 $(GO) build -trimpath -o "$$work/shunt" ./cmd/shunt; cmd/deploy/docker/image-root.sh "$$work"

# The units name /usr/bin/shunt and its man pages, which are not on this machine: the copies that
# are verified name /bin/true, and no man page.
.PHONY: units
units: ## check the units of systemd: their syntax, and that their exposure is at most 2.0 of 10
	@command -v systemd-analyze >/dev/null || { apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends systemd; }
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
		cp cmd/deploy/systemd/* "$$work"; sed -i -e 's|/usr/bin/shunt|/bin/true|' -e '/^Documentation=/d' "$$work"/*.service; \
		systemd-analyze verify "$$work"/*; \
		! grep -HnE '^(PartOf|BindsTo|Requires|Requisite|PropagatesStopTo)=' "$$work/shunt.socket" || \
			{ echo "the socket must outlive the service: a restart would close the port"; exit 1; }; \
		for unit in "$$work"/*.service; do systemd-analyze security --no-pager --offline=true --threshold=20 "$$unit" | tail -n 1; done

# The list of known faults is on the network. Where it cannot be reached, this is skipped and says so.
.PHONY: vuln
vuln: ## look for known faults in what the program uses (govulncheck; skipped where the list of faults cannot be reached)
	@.ci/vuln-test
	@GO='$(GO)' .ci/vuln

# Generators of clients are not dependencies of the program: they are fetched and built in another
# folder. Node is Debian's nodejs and npm, installed if missing. That takes some 350 small
# packages and over a minute, so check does not run this.
OPENAPI_GO ?= github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
OPENAPI_NODE ?= openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20.19.43 @redocly/cli@2.77.0

.PHONY: node
node:
	@{ command -v node && command -v npm; } >/dev/null || { \
		echo "installing Debian's nodejs and npm"; apt-get update -q; \
		DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends nodejs npm; }

.PHONY: openapi-clients
openapi-clients: node ## generate, compile and use clients for Go and TypeScript from openapi.json, and lint it with Redocly (a minute; as root it installs Node)
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		echo "fetching $(OPENAPI_GO) $(OPENAPI_NODE)"; \
		GOBIN=$$tools $(GO) install $(OPENAPI_GO); \
		npm install --prefix "$$tools" --no-save --ignore-scripts --no-audit --no-fund --loglevel error $(OPENAPI_NODE); \
		SHUNTTEST_OPENAPI=$$tools $(GO) test ./cmd/shunt/e2e -run '^TestGeneratedClients' -v -count=1 -timeout 10m

# The browser is Debian's chromium; it is installed if missing, and so are curl, which the tests use
# as people do, and nodejs and npm (node), which fetch axe-core, the checker of accessibility.
# axe-core goes into a temporary folder; it is not a dependency of the program.
AXE ?= axe-core@4.14.1
AXE_SHA256 ?= 29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c

.PHONY: chromium
chromium:
	@{ command -v chromium && command -v curl; } >/dev/null || { \
		echo "installing Debian's chromium and curl"; apt-get update -q; \
		DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium curl fonts-dejavu-core; }

# The HTTP clients are Debian's packages, installed if missing, and packages of npm, in a temporary folder. got needs
# Node 20, which Debian has since 13. check does not run this: it installs a browser, a JDK and 80 packages.
HTTP_CLIENTS ?= axios@1.21.1 got@14.6.6 needle@3.5.0 superagent@10.4.2 node-fetch@3.3.2

.PHONY: http-clients
http-clients: chromium node ## follow redirects to unusual targets with 14 HTTP clients, and write what they ask for into cmd/shunt/httpclients/RESULTS.md (3 min); needs root, and installs them
	@test "$$(id -u)" = 0 || { echo "this needs root: it gives the clients a file of hosts of their own"; exit 1; }
	@{ command -v wget && command -v python3 && command -v javac && perl -MLWP -e 1; } >/dev/null 2>&1 || { \
		echo "installing Debian's wget, python3, default-jdk-headless and libwww-perl"; apt-get update -q; \
		DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends wget python3 default-jdk-headless libwww-perl; }
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		npm install --prefix "$$tools" --no-save --ignore-scripts --no-audit --no-fund --loglevel error $(HTTP_CLIENTS); \
		SHUNTTEST_HTTPCLIENTS=$$tools $(GO) test ./cmd/shunt/httpclients -v -count=1 -timeout 20m

.PHONY: browser
browser: BROWSER = long
browser: chromium node ## use the pages in a real browser and check them with axe-core (10 min; as root it installs chromium); BROWSER=short for a quick run, RUN=regexp
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
		echo "fetching $(AXE)"; \
		npm install --prefix "$$tools" --no-save --ignore-scripts --no-audit --no-fund --loglevel error $(AXE); \
		axe=$$tools/node_modules/axe-core/axe.min.js; \
		echo "$(AXE_SHA256)  $$axe" | sha256sum --check --quiet; \
		SHUNTTEST_BROWSER=$(BROWSER) SHUNTTEST_AXE=$$axe $(GO) test ./cmd/shunt/browser -run '$(or $(RUN),.)' -v -count=1 -timeout 40m

.PHONY: screenshots
screenshots: SCREENSHOTS = screenshots
screenshots: chromium ## draw every page, light and dark, wide and on a phone, into the folder SCREENSHOTS (screenshots)
	SHUNTTEST_BROWSER=long SHUNTTEST_SCREENSHOTS="$(abspath $(SCREENSHOTS))" \
		$(GO) test ./cmd/shunt/browser -run '^TestScreenshotsOfEveryPage$$' -v -count=1 -timeout 15m

.PHONY: pictures
pictures: chromium ## draw the two pages that the README shows again, on a store of big-store: make pictures DIR=big
	@test -n "$(DIR)" || { echo "make pictures DIR=big: name a folder of make big-store"; exit 2; }
	SHUNTTEST_BROWSER=long SHUNTTEST_SCREENSHOTS="$(abspath api/dashboard/pictures)" SHUNTTEST_BIG_STORE="$(abspath $(DIR))" \
		$(GO) test ./cmd/shunt/browser -run '^TestPicturesOfTheReadme$$' -v -count=1

.PHONY: slow
slow: ## attack with slow clients (Debian's slowhttptest) and measure the cost of idle connections; SIEGE=short for a quick run
	SHUNTTEST_SLOW=$(or $(SIEGE),long) $(GO) test ./cmd/shunt/e2e -run '^TestSlowClientsHarmNobody$$' -v -count=1 -timeout 30m

.PHONY: floods
floods: ## flood with 30,000 connections that come and go, send nothing, trickle, read nothing, idle, and each port with half heads from 50 networks and from one /48 (5 min; needs root and ip); FLOOD=short for a quick run
	SHUNTTEST_FLOOD=$(or $(FLOOD),long) $(GO) test ./cmd/shunt/e2e -run '^(TestFloodsHarmNobody|TestHalfHeadsHarmNobody)$$' -v -count=1 -timeout 30m

.PHONY: login-flood
login-flood: SECONDS = 60
login-flood: ## flood with logins of invented names from three addresses for SECONDS (60); none of 100 correct logins may be refused
	SHUNTTEST_LOGIN_FLOOD=$(SECONDS) $(GO) test ./cmd/shunt/e2e -run '^TestAFloodOfLoginsRefusesNoCorrectLogin$$' -v -count=1 -timeout $$(( $(SECONDS) + 300 ))s

.PHONY: latency
latency: SECONDS = 10
latency: PAIRS = 6
latency: ## measure 5,000 redirects a second during logins, large bodies and QR codes, and during a busy loop: PAIRS (6) of SECONDS (10) each
	SHUNTTEST_LATENCY_PAIRS=$(PAIRS) SHUNTTEST_LATENCY_SECONDS=$(SECONDS) $(GO) test ./cmd/shunt/e2e \
		-run '^TestRedirectsAreFastDuringCostlyRequests$$' -v -count=1 -timeout $$(( $(PAIRS) * ($(SECONDS) + 2) * 2 + 300 ))s

.PHONY: big-store
big-store: ## write a data folder with a million links and 400 days of figures that ends now, for page-times (3 min, 1.5 GB): make big-store DIR=big
	@test -n "$(DIR)" || { echo "make big-store DIR=big: name a folder that does not exist"; exit 2; }
	SHUNT_BENCH_BIG_STORE="$(abspath $(DIR))" SHUNT_BENCH_LINKS=$(LINKS) SHUNT_BENCH_DAYS=$(DAYS) \
		$(GO) test ./bench -run '^TestABigStoreIsSoundAndEndsNow$$' -v -count=1 -timeout 30m

.PHONY: page-times
page-times: SECONDS = 20
page-times: PAIRS = 4
page-times: ## time every page on the folder of big-store: one by one, by ten people, beside redirects (PAIRS of SECONDS): make page-times DIR=big
	@test -n "$(DIR)" || { echo "make page-times DIR=big: name the folder that make big-store has written"; exit 2; }
	SHUNTTEST_PAGE_TIMES="$(abspath $(DIR))" SHUNTTEST_PAGE_SECONDS=$(SECONDS) SHUNTTEST_PAGE_PAIRS=$(PAIRS) SHUNTTEST_PAGE_ONLY='$(ONLY)' \
		$(GO) test ./cmd/shunt/e2e -run '^TestPagesAreFastOnABigStore$$' -v -count=1 -timeout $$(( $(SECONDS) * ($(PAIRS) * 2 + 2) + 600 ))s

.PHONY: scrape-cost
scrape-cost: SECONDS = 10
scrape-cost: PAIRS = 6
scrape-cost: ## time scrapes of /metrics on the folder of big-store, and redirects with and without one a second: make scrape-cost DIR=big LINKS=1000000
	@test -n "$(DIR)" || { echo "make scrape-cost DIR=big: name the folder that make big-store has written"; exit 2; }
	SHUNTTEST_SCRAPE="$(abspath $(DIR))" SHUNTTEST_SCRAPE_LINKS=$(LINKS) SHUNTTEST_SCRAPE_SECONDS=$(SECONDS) SHUNTTEST_SCRAPE_PAIRS=$(PAIRS) \
		$(GO) test ./cmd/shunt/e2e -run '^TestAScrapeCostsRedirectsNothing$$' -v -count=1 -timeout $$(( ($(SECONDS) + 2) * $(PAIRS) * 2 + 600 ))s

# The three proofs run in one process, because each one alone would build the same test program.
.PHONY: proofs
proofs: ## run short forms of crash-clone, faults and bitflip, as make check does
	SHUNTTEST_CRASHES=$(CHECK_CRASHES) SHUNTTEST_FAULT_STEP=$(CHECK_EVERY) SHUNTTEST_FLIPS=$(CHECK_FLIPS) $(GO) test ./storage/crashtest -v -count=1 \
		-timeout 20m -run '^Test(NothingAcknowledgedIsLostByACrash|AFailedFileOperationIsHarmlessOrClear|AFlippedBitIsNeverSilentlyWrong)$$'

.PHONY: check
check: lint vuln race proofs ## run lint, vuln, race, and short forms of the proofs, fuzz and crash; with test and browser, all that CI runs without root
	$(MAKE) fuzz FUZZ_BUILD='$(CHECK_FUZZ_BUILD)' FUZZTIME=$(CHECK_FUZZTIME) LONG='$(OUTSIDE)' LONGTIME=$(CHECK_OUTSIDE_FUZZTIME)
	$(MAKE) crash N=$(CHECK_CRASH)

# What is shipped beside the program, as CI checks it. deb-test and dist-test take minutes each, so
# they are not part of it.
.PHONY: check-deploy
check-deploy: CHECK_RESTARTS = 5
check-deploy: units fail2ban image-root prometheus-test ## run units, fail2ban, image-root, prometheus-test and a short restart-test, as CI does; needs root
	$(MAKE) restart-test N=$(CHECK_RESTARTS)

# The tests that mount file systems, make namespaces, or install proxies and run them as root. They run in one
# process, because each target alone would build the same test program.
CHECK_ROOT = ProxiesAndServerFrame|ASmallDiskStarts|AFullDiskCosts|AServerOnAFullDisk|AStalledDiskStopsNo|AServerWithoutDescriptors|TheComposeFileWorks

.PHONY: check-root
check-root: sick-tools proxies ## run desync, the compose file, and short forms of diskfull, diskstall and fdlimit, as CI does; needs root
	SHUNTTEST_DESYNC=1 SHUNTTEST_NAMESPACES=1 SHUNTTEST_DISKFULL=$(CHECK_DISKFULL) SHUNTTEST_DISKSTALL=$(CHECK_DISKSTALL) SHUNTTEST_FDLIMIT=$(CHECK_FDLIMIT) \
		$(GO) test ./cmd/shunt/e2e -v -count=1 -timeout 15m -run '^Test($(CHECK_ROOT))'
