package e2e

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// This file chooses the moment of the kill of crash_test.go. A phase counts only if the kill has
// met it: by the log of the server or its files on disk, the phase had begun and had not ended.

// A crashPhase is what the server is doing when it is killed.
type crashPhase struct {
	name  string
	grows bool // the clients mostly write

	// kill kills the server under load, and returns the time right before the signal. met is called
	// after the server has ended, and reports whether the kill met the phase.
	kill func(k *crash) (signalled time.Time)
	met  func(k *crash) bool
}

// The names under which a kill counts if it does not aim at one of rarePhases, or does not meet it.
const (
	loadPhase  = "under load, at a random moment"
	startPhase = "while it starts and replays"
	idlePhase  = "without requests under way"

	startFlushPhase = "while it starts and memtables are flushed"
	compactionPhase = "while it starts and tables are compacted"
)

const (
	latestCrash = 300 * time.Millisecond // after the first answers
	awaitPhase  = 3 * time.Second        // for a line in the log, or for enough writes
	leastWrites = 1_000                  // of a burst of writes
	moreWrites  = 2_000
)

var (
	momentPhase = crashPhase{name: loadPhase, kill: (*crash).killSometime, met: (*crash).always}
	rarePhases  = []*crashPhase{
		{name: "in a burst of more than 1,000 writes", grows: true, kill: (*crash).killInBurst, met: (*crash).burstMet},
		{name: "while it makes a backup", kill: (*crash).killInBackup, met: (*crash).backupMet},
		{name: "before its backup is restored", kill: (*crash).killAfterBackup, met: (*crash).restoreMet},
		{name: "while it stops after SIGTERM", kill: (*crash).killWhileStopping, met: (*crash).stoppingMet},
	}
)

var (
	flushBegun      = regexp.MustCompile(`pebble: \[JOB (\d+)\] flushing`)
	flushEnded      = regexp.MustCompile(`pebble: \[JOB (\d+)\] flush(?:ed| error)`)
	compactionBegun = regexp.MustCompile(`pebble: \[JOB (\d+)\] compacting`)
	compactionEnded = regexp.MustCompile(`pebble: \[JOB (\d+)\] compact(?:ed|ion)`)
)

// choose returns the phase of the next life: every third time a random moment, otherwise a phase
// that was rarely met and tried.
func (k *crash) choose() *crashPhase {
	if k.lives%3 == 0 {
		return &momentPhase
	}
	seldom := slices.MinFunc(rarePhases, func(a, b *crashPhase) int { return k.often(a) - k.often(b) })
	k.tried[seldom.name]++
	return seldom
}

// often counts a kill that met the phase three times more than one that did not, so that a phase
// that is never met does not take all kills.
func (k *crash) often(phase *crashPhase) int { return 3*k.kills[phase.name] + k.tried[phase.name] }

// strain sends requests over all connections, on each until a request gets no answer, and kills the
// server meanwhile.
func (k *crash) strain(phase *crashPhase) {
	k.written.Store(0)
	first, last := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(last)
		k.each(connections, func(c *fasthttp.HostClient, client int) {
			random := rand.New(rand.NewPCG(k.seed, uint64(k.lives)<<32|uint64(client)))
			if client == 0 {
				k.create(c, random)
				k.visit(c, random)
				close(first)
			}
			k.request(c, client, phase, random)
		})
	}()
	<-first
	signalled := phase.kill(k)
	<-last
	k.server.kill()
	k.ended(k.server.stderr())
	status, ok := k.server.cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed := ok && status.Signal() == syscall.SIGKILL
	underWay := k.underWay(signalled)
	switch met := phase.met(k); {
	case met:
		k.kills[phase.name]++
	case !killed:
		expect.Contains(k.t, k.server.lastWords(), `"msg":"stopped"`, "the server ended by itself: %v", k.server.cmd.ProcessState)
	case underWay == 0:
		k.kills[idlePhase]++
	default:
		k.kills[loadPhase]++
	}
}

// request sends requests of a client until one is cut off.
func (k *crash) request(c *fasthttp.HostClient, client int, phase *crashPhase, random *rand.Rand) {
	role := crashRoles[client%len(crashRoles)]
	if phase.grows {
		role = growingRoles[client%len(growingRoles)]
	}
	rival := &fasthttp.HostClient{Addr: c.Addr, MaxConns: 1, MaxIdemponentCallAttempts: 1, ReadBufferSize: answerBytes}
	defer rival.CloseIdleConnections()
	for answered := true; answered; {
		switch role {
		case 'b':
			answered = k.burst(c.Addr, random)
		case 'c':
			answered = k.create(c, random)
		case 'd':
			answered = k.delete(c, random)
			answered = answered && k.create(c, random)
		case 'e':
			answered = k.edit(c, random)
		case 'r':
			answered = k.race([]*fasthttp.HostClient{c, rival}, random)
		case 's':
			answered = k.readStats(c, random)
		default:
			answered = k.visit(c, random)
		}
	}
}

// The work of each client: b bursts of redirects, c creates, d deletes and creates, e edits, r
// races, s statistics, v redirects one by one.
const (
	crashRoles   = "cbeevvbdvrescvdv"
	growingRoles = "cecceccbecrcevds"
)

// failedLocked notes a request that got no answer.
func (k *crash) failedLocked(kind string, begun time.Time, err error) {
	k.count(kind, cutColumn, 1)
	k.failures = append(k.failures, failure{begun, time.Now(), err})
}

func (k *crash) failed(kind string, begun time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failedLocked(kind, begun, err)
}

// underWay returns how many requests were sent before the signal and got no answer. None may have
// failed before the signal.
func (k *crash) underWay(signalled time.Time) (n int) {
	for _, f := range k.failures {
		if f.failed.Before(signalled) {
			k.t.Errorf("%v before the signal: %v", signalled.Sub(f.failed), f.err)
		}
		if f.begun.Before(signalled) {
			n++
		}
	}
	k.failures = nil
	return n
}

// upTo returns a random duration up to limit.
func (k *crash) upTo(limit time.Duration) time.Duration {
	return time.Duration(k.random.Int64N(int64(limit)))
}

func (k *crash) always() bool { return true }

func (k *crash) killSometime() (signalled time.Time) {
	return killAfter(k.t, k.server, k.upTo(latestCrash))
}

// killNow sends SIGKILL.
func (k *crash) killNow() (signalled time.Time) {
	signalled = time.Now()
	_ = k.server.cmd.Process.Kill() // it may have ended
	return signalled
}

// killInBurst kills the server once it has answered a random number of writes, or awaitPhase is
// over.
func (k *crash) killInBurst() (signalled time.Time) {
	want := int64(leastWrites + k.random.IntN(moreWrites))
	for begun := time.Now(); k.written.Load() < want && time.Since(begun) < awaitPhase; {
		time.Sleep(time.Millisecond)
	}
	return k.killNow()
}

func (k *crash) burstMet() bool { return k.written.Load() >= leastWrites }

// awaitLine returns when a server has logged a line, or some time later; and after awaitPhase if it
// does not log the line.
func (k *crash) awaitLine(p *process, line *regexp.Regexp) {
	seen := make(chan struct{})
	var once sync.Once
	watch := func(text string) {
		if line.MatchString(text) {
			once.Do(func() { close(seen) })
		}
	}
	p.watch.Store(&watch)
	select {
	case <-seen:
		if k.random.IntN(2) == 0 { // otherwise at once
			time.Sleep(k.upTo(4 * time.Millisecond))
		}
	case <-time.After(awaitPhase):
	}
}

// isOpenIn reports whether, by the log of a server, something has begun and not ended.
func isOpenIn(log string, begun, ended *regexp.Regexp) bool {
	open := map[string]bool{}
	for _, found := range begun.FindAllStringSubmatch(log, -1) {
		open[found[1]] = true
	}
	for _, found := range ended.FindAllStringSubmatch(log, -1) {
		delete(open, found[1])
	}
	return len(open) > 0
}

// killWhileStopping sends SIGTERM, and kills the server while it drains.
func (k *crash) killWhileStopping() (signalled time.Time) {
	time.Sleep(k.upTo(latestCrash))
	signalled = time.Now()
	expect.NoError(k.t, k.server.cmd.Process.Signal(syscall.SIGTERM), "SIGTERM")
	time.Sleep(k.upTo(30 * time.Millisecond))
	k.killNow()
	return signalled
}

func (k *crash) stoppingMet() bool {
	status, ok := k.server.cmd.ProcessState.Sys().(syscall.WaitStatus)
	words := k.server.lastWords()
	return ok && status.Signal() == syscall.SIGKILL && strings.Contains(words, `"msg":"draining`) && !strings.Contains(words, `"msg":"stopped"`)
}

// killAtStart kills a server that is starting: at a random moment, maybe while it replays, or when
// it begins to flush or compact the content of the log, which it does while it continues to start.
// (Under load memtables are flushed only once 64 MB wait, and compactions follow that: a life of a
// second is too short for either.)
func (k *crash) killAtStart(turn int) {
	p := launch(k.t, k.dir, k.args()...)
	switch turn % 3 {
	case 0:
		time.Sleep(k.upTo(k.lastStart))
	case 1:
		k.awaitLine(p, compactionBegun)
	case 2:
		k.awaitLine(p, flushBegun)
	}
	p.kill()
	log := p.stderr()
	k.ended(log)
	switch {
	case isOpenIn(log, compactionBegun, compactionEnded):
		k.kills[compactionPhase]++
	case isOpenIn(log, flushBegun, flushEnded):
		k.kills[startFlushPhase]++
	case readyLine.MatchString(log):
		k.kills[idlePhase]++
	default:
		k.kills[startPhase]++
	}
}
