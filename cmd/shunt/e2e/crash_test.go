package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// The real binary under mixed load (creates, edits, deletes, races for an alias, redirects, capped
// links, statistics) is killed again and again, on one data folder, at random moments and during
// rare phases. After each start the test compares everything that the clients were told with
// everything that the server has:
//
//   - an acknowledged write is there exactly; no link returns to an earlier state, and no deleted
//     link comes back;
//   - a write that was cut off has happened completely or not at all, and once a client has seen
//     it, or a start has shown it, it stays;
//   - every redirect that was answered is counted, none that was not sent is counted, and a link
//     never has more hits than its cap.
//
// Three kills prove little about rare moments: `make crash N=1000` runs it for a long time. A failing seed is printed,
// although no kill comes twice at the same moment.
//
// The files: crashbook_test.go has what clients know, crashvisit_test.go and crashwrite_test.go
// what they send, crashphase_test.go the moments of the kills, crashcompare_test.go the comparison
// afterwards, crashtable_test.go the summary.
const (
	crashesVariable = "SHUNTTEST_CRASHES" // how many kills of the server
	seedVariable    = "SHUNTTEST_SEED"    // of the moments and of the requests of each client; random by default

	firstLinks   = 64
	killVisitors = 1_000 // at most exactVisitors: unique is exact
	burstVisits  = 32    // at once, on one connection

	startLimit    = 20 * time.Second // within which each start must be ready
	checkRounds   = 20               // a folder is checked once in this many kills
	tellKills     = 50               // one line of progress per this many kills
	manyKills     = 60               // from this number on each phase must have been met
	leastOfAPhase = 100              // once in this many kills
)

func TestEverythingClientsWereToldSurvivesAnyKill(t *testing.T) {
	kills, seed := int(numberOf(t, crashesVariable, 3)), numberOf(t, seedVariable, rand.Uint64())
	t.Logf("%s=%d %s=%d", crashesVariable, kills, seedVariable, seed)
	k := newCrash(t, seed)
	defer func() { t.Logf("\n%s", k.table()) }()
	k.start()
	k.newToken()
	k.each(firstLinks, func(c *fasthttp.HostClient, i int) { k.create(c, rand.New(rand.NewPCG(seed, uint64(i)))) })
	for k.killed() < kills {
		k.live(kills)
		if k.lives%checkRounds == 0 {
			k.check()
		}
	}
	k.check()
	k.server.terminate()
	expect.That(t, k.replayed != 0, "no hit was in the journal only")
	if kills >= manyKills {
		k.wantPhases(max(1, kills/leastOfAPhase))
	}
}

// wantPhases checks that a long run has met every phase at least least times.
func (k *crash) wantPhases(least int) {
	names := []string{loadPhase, startPhase, startFlushPhase, compactionPhase}
	for _, phase := range rarePhases {
		names = append(names, phase.name)
	}
	for _, name := range names {
		n := k.kills[name]
		expect.That(k.t, n >= least, "killed %s: got %d, want %d", name, n, least)
	}
}

// crash is a server that is killed, and its clients.
type crash struct {
	*e2e
	*crashTally
	dir     string
	seed    uint64
	journal []string // arguments

	lines   []string // addresses that new links begin with
	drafts  atomic.Uint64
	lives   int               // of the server, in which there was load
	opening int               // how many links there were at its start
	made    map[string]string // by key: the codes that repeats got after the last start

	lastStart time.Duration
	written   atomic.Int64 // creates and edits that were answered in this life
	folders   int          // of backups and of restores

	backupSaid string // output and outcome of the latest backup command during which the server was killed

	mu       sync.Mutex
	book     book
	failures []failure
}

func newCrash(t *testing.T, seed uint64) *crash {
	k := &crash{
		e2e: &e2e{t: t, random: rand.New(rand.NewPCG(seed, 1))}, crashTally: newCrashTally(), dir: filepath.Join(t.TempDir(), "data"), seed: seed, journal: journalInMemory(t),
		book: book{codes: map[string]bool{}, nameless: map[string]order{}}, made: map[string]string{},
	}
	k.lines = slices.DeleteFunc(append(readLines(t, "testdata/urls.txt"), readLines(t, "testdata/odd-urls.txt")...),
		func(line string) bool { return storedForm(line+"/1") == "" || len(line) > 1024 })
	return k
}

// live runs one life of the server, from load to the start after its kill.
func (k *crash) live(kills int) {
	before := k.killed()
	k.lives++
	k.strain(k.choose())
	if k.lives%2 == 0 {
		k.killAtStart(k.lives / 2)
	}
	clear(k.made)
	k.start()
	k.compare(k.lives%checkRounds == 0)
	k.tidy()
	k.mayGoOn()
	if n := k.killed(); n/tellKills > before/tellKills {
		fmt.Printf("%d of %d kills after %v: %d requests answered, %d cut off, %d links, slowest start %v\n",
			n, kills, time.Since(k.begun).Round(time.Second), k.counted(answeredColumn), k.counted(cutColumn), len(k.book.live), rounded(k.slowest))
	}
}

// mayGoOn ends the test if a check has failed.
func (k *crash) mayGoOn() {
	k.t.Helper()
	for _, f := range k.failures {
		k.t.Errorf("a request without load: %v", f.err)
	}
	if k.t.Failed() {
		k.t.Fatalf("after %d kills; the server's last words:\n%s", k.killed(), k.server.lastWords())
	}
}

// start starts the server, which must be ready within startLimit.
func (k *crash) start() {
	begun := time.Now()
	k.server = startServer(k.t, k.dir, k.args()...)
	k.starts++
	k.lastStart = time.Since(begun)
	k.slowest = max(k.slowest, k.lastStart)
	expect.That(k.t, k.lastStart <= startLimit, "a start took %v", k.lastStart)
}

// args returns the arguments of a life. At level debug the server logs when it flushes memtables
// and compacts.
func (k *crash) args() []string {
	return append(append(killArgs(uint64(k.lives)), "--log-level", "debug"), k.journal...)
}

// newToken makes a token. The server keeps a bounded number of receipts of each.
func (k *crash) newToken() {
	k.token = k.server.token("links:write", "links:read", "stats:read", "admin")
}

// check checks the folder after the server has ended, adopts links that no client was told of, and
// starts the server again.
func (k *crash) check() {
	k.server.kill()
	k.ended(k.server.stderr())
	k.kills[idlePhase]++
	found := printed[checkOutcome](k.t, shunt(k.t, "", nil, "check", "--data", k.dir, "--json"))
	k.checks++
	if !found.OK {
		k.t.Fatalf("after %d kills: %+v", k.killed(), found)
	}
	k.adoptOrphans()
	k.start()
	k.newToken()
	k.compare(true)
	k.mayGoOn()
}

// wrong reports a difference from what the clients were told.
func (k *crash) wrong(what, format string, args ...any) {
	if k.fault(what) {
		k.t.Errorf(what+": "+format, args...)
	} else {
		k.t.Fail()
	}
}

// killIntervals are the flush intervals that lives use in turn: the hits of a killed server are in the journal only,
// in both journal and store, or the kill comes during one of many flushes.
var killIntervals = []string{"1h", "1s", "10ms"}

// killArgs returns the arguments of a life. Servers with either front take turns on one folder.
func killArgs(life uint64) []string {
	return []string{"--trusted-proxy", "127.0.0.1", "--base-url", "https://sho.rt", "--private-targets", "allow",
		"--front", turnFronts[life%uint64(len(turnFronts))],
		"--flush-interval", killIntervals[life%uint64(len(killIntervals))]}
}

// A failure is a request without an answer.
type failure struct {
	begun, failed time.Time
	err           error
}
