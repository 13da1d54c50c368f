package memory

import (
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"shunt/engine/expect"
)

const mib = 1 << 20

// testLimit returns a limit whose Go limit no test touches, and what it logs.
func testLimit(bytes uint64, links Links) (*Limit, *strings.Builder) {
	log := new(strings.Builder)
	l := NewLimit(bytes, func() Links { return links }, slog.New(slog.NewTextHandler(log, nil)))
	l.fixed = true
	return l, log
}

func TestAFullServerStaysFullUntilThereIsRoom(t *testing.T) {
	l, log := testLimit(1<<40, Links{N: 7})
	defer l.kernel.close()
	now := time.Now()
	l.freed = now // all garbage was collected just now
	for _, step := range []struct {
		mapped uint64
		full   bool
	}{
		{0, false}, {1<<40 - 1, false}, {1 << 40, true}, {1<<40 - 1, true},
		{1<<40 - 1<<35 + 1, true}, {1<<40 - 1<<35, false}, {1<<40 - 1, false}, {1 << 50, true},
	} {
		if l.look(now, Usage{Mapped: step.mapped}); l.Full() != step.full {
			t.Errorf("%d bytes in use: got full = %v, want %v", step.mapped, l.Full(), step.full)
		}
	}
	expect.Equal(t, strings.Count(log.String(), "--memory-limit"), 1, "the log lines about it, want one a minute:\n%s", log)
	expect.Contains(t, log.String(), "limit_bytes=1099511627776 used_bytes=1099511627776 links=7", "the log lacks both numbers:\n%s", log)
}

func TestAStoreThatDoesNotFitIsNamedWhileLoading(t *testing.T) {
	l, log := testLimit(1, Links{Loading: true})
	defer l.kernel.close()
	l.look(time.Now(), l.Used())
	expect.That(t, l.Full() && strings.Contains(log.String(), "the store does not fit in the memory limit"), "got full = %v and the log:\n%s", l.Full(), log)
}

// kept is memory that is in use.
var kept []byte

func TestAServerIsNotFullOfGarbage(t *testing.T) {
	const size = 128 * mib
	l, _ := testLimit(0, Links{})
	defer l.kernel.close()
	debug.FreeOSMemory()
	l.bytes = l.Used().Total() + size/2
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	kept = make([]byte, size)
	for i := range kept {
		kept[i] = 1
	}
	if l.look(time.Now(), l.Used()); !l.Full() {
		t.Fatalf("%d bytes are in use of %d, and it is not full", l.Used().Total(), l.bytes)
	}
	runtime.KeepAlive(kept)
	kept = nil
	if l.look(l.freed.Add(freeInterval-1), l.Used()); !l.Full() {
		t.Error("it collects garbage more often than each 10 s")
	}
	if l.look(l.freed.Add(freeInterval), l.Used()); l.Full() {
		t.Errorf("%d bytes are in use of %d, and it is full", l.Used().Total(), l.bytes)
	}
}

func TestTheRestOfTheLimitIsLeftToGo(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit uint64
		use   Usage
		live  uint64
		want  int64
	}{
		{"an empty server", 1024 * mib, Usage{Go: 20 * mib}, 5 * mib, 960 * mib},
		{"many links", 1024 * mib, Usage{Go: 100 * mib, Mapped: 500 * mib, Shared: 60 * mib}, 50 * mib, 400 * mib},
		{"links leave no room", 1024 * mib, Usage{Go: 100 * mib, Mapped: 2000 * mib}, 64 * mib, 112 * mib},
		{"a small limit", 64 * mib, Usage{Go: 60 * mib, Mapped: 40 * mib}, 16 * mib, 28 * mib},
	} {
		got := goLimitFor(c.limit, c.use, c.live)
		expect.Equal(t, got, c.want, "%s: got %d MiB, want %d", c.name, got/mib, c.want/mib)
	}
}

func TestGosLimitFollowsUnlessItIsSet(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	l, _ := testLimit(1024*mib, Links{})
	defer l.kernel.close()
	if l.look(time.Now(), Usage{}); debug.SetMemoryLimit(-1) != before {
		t.Error("GOMEMLIMIT is set, and was changed")
	}
	l.fixed = false
	for _, step := range []struct {
		mapped uint64
		want   int64
	}{{0, 960 * mib}, {8 * mib, 960 * mib}, {160 * mib, 800 * mib}, {0, 960 * mib}} {
		if l.look(time.Now(), Usage{Mapped: step.mapped}); debug.SetMemoryLimit(-1) != step.want {
			t.Errorf("%d MiB are mapped: got %d MiB, want %d", step.mapped/mib, debug.SetMemoryLimit(-1)/mib, step.want/mib)
		}
	}
	if l.collect(math.MaxInt64); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("the end leaves a limit")
	}
}

func TestTheDefaultLimitIs85PercentOfTheMemory(t *testing.T) {
	for _, c := range []struct {
		files fstest.MapFS
		want  func(limit uint64) bool
	}{
		{fstest.MapFS{}, func(n uint64) bool { return n == 0 || n == min(machineMemory(), addressable)/100*limitPercent }},
		{fstest.MapFS{
			"proc/self/cgroup":         {Data: []byte("0::/\n")},
			"sys/fs/cgroup/memory.max": {Data: []byte("104857600\n")},
		}, func(n uint64) bool { return n == 85<<20 }},
	} {
		got := LimitBytes(c.files)
		expect.That(t, c.want(got), "%v: got %d", c.files, got)
	}
}
