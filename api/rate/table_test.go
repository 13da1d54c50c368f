package rate

import (
	"encoding/binary"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/dchest/siphash"
	"pgregory.net/rapid"

	"shunt/engine/expect"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func key(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func newTable(t testing.TB, text string) *Table {
	t.Helper()
	l, err := Parse(text)
	expect.OK(t, err)
	return NewTable(l, epoch)
}

// bucket is a token bucket, as naive as can be: rational numbers, and filled by looking at the
// clock.
type bucket struct {
	limit  Limit
	tokens *big.Rat
	at     time.Time
}

func newBucket(l Limit) *bucket { return &bucket{l, big.NewRat(int64(l.Burst), 1), epoch} }

func (b *bucket) take(at time.Time, cost int) (allowed bool, left int64) {
	full := big.NewRat(int64(b.limit.Burst), 1)
	gain := big.NewRat(int64(b.limit.Events)*at.Sub(b.at).Milliseconds(), b.limit.Period.Milliseconds())
	if b.tokens.Add(b.tokens, gain).Cmp(full) > 0 {
		b.tokens.Set(full)
	}
	b.at = at
	if needed := big.NewRat(int64(min(cost, b.limit.Burst)), 1); b.tokens.Cmp(needed) >= 0 {
		b.tokens.Sub(b.tokens, big.NewRat(int64(cost), 1))
		allowed = true
	}
	if b.tokens.Sign() < 0 {
		return allowed, 0
	}
	return allowed, new(big.Int).Quo(b.tokens.Num(), b.tokens.Denom()).Int64()
}

func drawLimit(t *rapid.T) Limit {
	return Limit{
		Events: rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, MaxEvents)).Draw(t, "events"),
		Period: time.Duration(rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(1, 86400)).Draw(t, "period")) * time.Second,
		Burst:  rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, MaxBurst)).Draw(t, "burst"),
	}
}

// However clients come, each gets exactly what a token bucket of its own would give it, and what is
// said of waiting is true.
func TestATableIsATokenBucketForEachClient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		table := NewTable(l, epoch)
		clients := [3]*bucket{newBucket(l), newBucket(l), newBucket(l)}
		now := epoch
		step := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 2000), rapid.IntRange(0, 100_000_000))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(step.Draw(t, "ms")) * time.Millisecond)
			client := rapid.IntRange(0, len(clients)-1).Draw(t, "client")
			cost := rapid.OneOf(rapid.Just(1), rapid.IntRange(1, MaxCost)).Draw(t, "cost")
			got := table.Take(key(client), now, cost)
			allowed, left := clients[client].take(now, cost)
			expect.MustThat(t, got.Allowed == allowed && int64(got.Remaining) == left,
				"%v, client %d, cost %d: got %+v, want %v and %d left", l, client, cost, got, allowed, left)
			checkWait(t, clients[client], got, now, cost)
		}
	})
}

// checkWait: after Wait as many events are allowed, and a millisecond earlier they are not.
func checkWait(t *rapid.T, b *bucket, v Verdict, now time.Time, cost int) {
	expect.MustEqual(t, v.Allowed, v.Wait == 0, "got %+v", v)
	for early, want := range map[time.Duration]bool{0: true, time.Millisecond: false} {
		if v.Allowed {
			return
		}
		later := &bucket{b.limit, new(big.Rat).Set(b.tokens), b.at}
		allowed, _ := later.take(now.Add(v.Wait-early), cost)
		expect.MustEqual(t, allowed, want, "%v before the end of %v: allowed", early, v.Wait)
	}
}

func TestATimeBeforeTheEpochIsTheEpoch(t *testing.T) {
	table := newTable(t, "1/s:2")
	table.Take(key(1), epoch, 2)
	got := table.Take(key(1), epoch.Add(-time.Hour), 1)
	expect.That(t, !got.Allowed && got.Wait == time.Second, "got %+v, want a refusal for a second", got)
}

func TestAllowanceOutlivesTheLongestUptime(t *testing.T) {
	table := newTable(t, "999983/d:1000000")
	now := epoch.Add(250 * 365 * 24 * time.Hour)
	for range MaxBurst / MaxCost {
		expect.MustThat(t, table.Take(key(1), now, MaxCost).Allowed, "a burst is refused")
	}
	got := table.Take(key(1), now, 1)
	expect.That(t, !got.Allowed && got.Remaining == 0 && got.Wait > 0 && got.Wait <= time.Second, "got %+v", got)
}

// A million clients, who all come once before the others and once after them. The table is one
// value without pointers, so its size is what it takes, whoever comes.
func TestAMillionClientsTakeNoMoreMemoryAndGainNothing(t *testing.T) {
	if size := unsafe.Sizeof(Table{}); size > 1<<20+8<<10 {
		t.Errorf("a table has %d bytes, want 1 MiB and some", size)
	}
	table := newTable(t, "1/h:3")
	for range 3 {
		table.Take(key(-1), epoch, 1)
	}
	if n := testing.AllocsPerRun(1, func() {
		for n := range 1_000_000 {
			table.Take(key(n)[:8:8], epoch, 1)
		}
	}); n > 1_000_000 { // the keys
		t.Errorf("got %v allocations", n)
	}
	if got := table.Take(key(-1), epoch, 1); got.Allowed {
		t.Error("whoever had used up the burst got another by being pushed out")
	}
	for client := range 100 {
		allowed := 1
		for range 4 {
			if table.Take(key(client), epoch, 1).Allowed {
				allowed++
			}
		}
		if allowed > 3 {
			t.Errorf("client %d got %d of 3", client, allowed)
		}
	}
	later := epoch.Add(3 * time.Hour)
	for n := range 1000 {
		if got := table.Take(key(1_000_000+n), later, 1); !got.Allowed || got.Remaining != 2 {
			t.Fatalf("after a burst's time a newcomer gets %+v, want a full allowance", got)
		}
	}
}

// As long as a client is in debt, whoever else comes, it gets exactly what a bucket of its own
// would give it; and nobody who is not is refused.
func TestNoCrowdChangesWhatAClientGets(t *testing.T) {
	first := newTable(t, "1/s")
	keys := first.neighbours(3 * ways)
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{rapid.IntRange(1, 5).Draw(t, "events"), time.Second, rapid.IntRange(1, 5).Draw(t, "burst")}
		table := NewTable(l, epoch)
		table.k0, table.k1 = first.k0, first.k1
		debts := map[int]*bucket{} // of clients that are counted
		now := epoch
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
			for client, b := range debts {
				if _, left := b.take(now, 0); left == int64(l.Burst) {
					delete(debts, client)
				}
			}
			client := rapid.IntRange(0, len(keys)-1).Draw(t, "client")
			b, counted := debts[client]
			if !counted {
				b = newBucket(l)
				if b.at = now; len(debts) < ways {
					debts[client] = b
				}
			}
			peeked := table.Peek(keys[client], now, 1)
			got := table.Take(keys[client], now, 1)
			allowed, left := b.take(now, 1)
			expect.MustThat(t, got.Allowed == allowed && int64(got.Remaining) == left && peeked.Allowed == allowed,
				"client %d, beside %d: peeked %+v, got %+v; want %v and %d left", client, len(debts), peeked, got, allowed, left)
		}
	})
}

// neighbours returns keys that share a set of t with key(0).
func (t *Table) neighbours(n int) (keys [][]byte) {
	set := func(k []byte) uint64 { return siphash.Hash(t.k0, t.k1, k) % sets }
	for i := 0; len(keys) < n; i++ {
		if set(key(i)) == set(key(0)) {
			keys = append(keys, key(i))
		}
	}
	return keys
}

func TestANewcomerNeverPaysForOthers(t *testing.T) {
	table := newTable(t, "1/h:3")
	keys := table.neighbours(ways + 1)
	for _, k := range keys[:ways] {
		table.Take(k, epoch, 3)
	}
	newcomer := keys[ways]
	for range 10 {
		got := table.Take(newcomer, epoch, 1)
		expect.MustThat(t, got.Allowed && got.Remaining == 2 && got.Full == time.Hour, "beside a full set: got %+v, want the first of three", got)
	}
	for _, k := range keys[:ways] {
		expect.That(t, !table.Take(k, epoch, 1).Allowed, "one of the set was pushed out")
	}
	later := epoch.Add(3 * time.Hour)
	for i, want := range []bool{true, true, true, false} {
		got := table.Take(newcomer, later, 1)
		expect.Equal(t, got.Allowed, want, "with room again, %d: got %+v", i, got)
	}
}

func TestAPeekTakesNothing(t *testing.T) {
	table := newTable(t, "1/h:2")
	for range 10 {
		got := table.Peek(key(1), epoch, 2)
		expect.MustThat(t, got.Allowed && got.Remaining == 2 && got.Full == 0, "got %+v, want two", got)
	}
	table.Take(key(1), epoch, 2)
	got := table.Peek(key(1), epoch, 1)
	expect.That(t, !got.Allowed && got.Remaining == 0 && got.Wait == time.Hour, "got %+v, want none for an hour", got)
}

func TestWhatIsGivenBackCanBeTakenAgain(t *testing.T) {
	table := newTable(t, "1/h:3")
	table.GiveBack(key(1), epoch, 1) // of a client that is not known
	table.Take(key(1), epoch, 2)
	table.Take(key(1), epoch, 1)
	table.GiveBack(key(1), epoch, 2)
	for i, want := range []bool{true, true, false} {
		got := table.Take(key(1), epoch, 1)
		expect.Equal(t, got.Allowed, want, "event %d: got %+v", i, got)
	}
	later := epoch.Add(24 * time.Hour)
	table.GiveBack(key(1), later, 3)
	got := table.Take(key(1), later, 1)
	expect.Equal(t, got.Remaining, 2, "got %+v", got)
}

func TestRacingTakersGetABurstBetweenThem(t *testing.T) {
	table := newTable(t, "1/h:1000")
	var allowed atomic.Int64
	var takers sync.WaitGroup
	for range 8 {
		takers.Go(func() {
			for range 500 {
				if table.Take(key(1), epoch, 1).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	takers.Wait()
	expect.Equal(t, allowed.Load(), 1000)
}

func TestALimitThatIsOffHasNoTable(t *testing.T) {
	expect.That(t, NewTable(Limit{}, epoch) == nil, "got a table")
}

func TestATakeAllocatesNothing(t *testing.T) {
	table, client := newTable(t, "1000/s"), key(1)
	if n := testing.AllocsPerRun(100, func() {
		table.Peek(client, epoch, 1)
		table.Take(client, epoch, 1)
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// Three a second are one in 333⅓ ms.
func TestAThirdOfAMillisecondCounts(t *testing.T) {
	table := newTable(t, "3/s:1")
	table.Take(key(1), epoch, 1)
	for _, c := range []struct {
		ms   time.Duration
		want bool
	}{{333, false}, {334, true}, {666, false}, {668, true}} {
		got := table.Take(key(1), epoch.Add(c.ms*time.Millisecond), 1)
		expect.Equal(t, got.Allowed, c.want, "after %d ms: got %+v", c.ms, got)
	}
}
