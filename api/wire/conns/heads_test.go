package conns

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"shunt/engine/expect"
)

// crowdAt is crowd with a clock of the test.
func crowdAt(t *testing.T, lim Limits, now *time.Duration) *Table {
	l := crowd(t, lim)
	l.age = func() time.Duration { return *now }
	return l
}

func TestFirstHeadsGoFirstTheOldestOfTheLargestNetwork(t *testing.T) {
	for name, flood := range map[string]string{"one /48": "2001:db8:1:%x::1", "one /24": "198.51.100.%d"} {
		t.Run(name, func(t *testing.T) {
			now := time.Second
			l := crowdAt(t, Limits{Connections: 16, PerAddress: 10}, &now)
			answered, visitor := join(t, l, "192.0.2.1"), join(t, l, "192.0.2.2")
			l.answered(answered)
			l.Finish(answered.Row)
			var attack []*Served
			for i := range 9 {
				attack = append(attack, join(t, l, fmt.Sprintf(flood, i+1)))
			}
			for range 5 {
				l.slots <- struct{}{}
			}
			l.pass(3)
			now += ripeFor
			l.MakeRoom()
			expect.That(t, !isOpen(attack[0]) && isOpen(attack[1]) && isOpen(visitor) && isOpen(answered),
				"got open: oldest %v, second %v, visitor %v, answered %v", isOpen(attack[0]), isOpen(attack[1]), isOpen(visitor), isOpen(answered))
		})
	}
}

func (l *Table) pass(seconds int) {
	for range seconds {
		l.Sweep()
	}
}

func TestFirstHeadsOfANetworkAreLimitedAndAnsweredConnectionsAreNot(t *testing.T) {
	now := time.Second
	l := crowdAt(t, Limits{PerAddress: 1}, &now)
	for i := range 20 {
		c := join(t, l, fmt.Sprintf("2001:db8:1:%x::1", i))
		l.Finish(c.Row)
	}
	var silent []*Served
	for i := range 6 {
		silent = append(silent, join(t, l, fmt.Sprintf("2001:db8:1:%x::1", 100+i)))
	}
	expect.That(t, !isOpen(silent[0]) && !isOpen(silent[1]) && isOpen(silent[2]), "the two oldest must go for the fifth and the sixth")
	if n := l.Open(); n != 26 { // nobody reads from those that are closed
		t.Errorf("got %d connections", n)
	}
}

func TestARowIsACacheLine(t *testing.T) {
	expect.Equal(t, unsafe.Sizeof(Row{}), 64, "bytes")
}

func TestStrangersHaveAPoolOfTheirOwn(t *testing.T) {
	now := time.Second
	l := crowdAt(t, Limits{Connections: 100, FirstHeads: 3}, &now)
	first := join(t, l, "192.0.2.1")
	for i := range 6 {
		join(t, l, fmt.Sprintf("198.51.100.%d", i))
	}
	n := l.mu.heads.n
	expect.That(t, n == 3 && isOpen(first), "got %d, the only one of its network open: %v; want 3, true", n, isOpen(first))
}

func TestAFirstHeadHasLessTimeTheFewerSlotsAreFree(t *testing.T) {
	now := time.Second
	l := crowdAt(t, Limits{Connections: 20}, &now)
	for _, want := range []time.Duration{10, 10, 5, 1} { // after 5, 10, 15, 20
		for range 5 {
			join(t, l, "192.0.2.1")
		}
		l.mu.Lock()
		l.hurryLocked()
		l.mu.Unlock()
		expect.Equal(t, time.Duration(l.First.Load()), want*time.Second, "%d connections, want %v s", l.Open(), want)
	}
}

// Any history leaves the networks as a plain count has them, and all of it is gone at the end.
func TestHeadsAreCountedByNetwork(t *testing.T) {
	l := crowd(t, Limits{Connections: 1000})
	var rows []*Row
	seed := uint32(1)
	random := func(n int) int { seed = seed*1664525 + 1013904223; return int(seed>>8) % n }
	for range 20_000 {
		if len(rows) < 500 && random(2) == 0 {
			r := l.Join(netip.AddrFrom4([4]byte{10, 0, byte(random(20)), 1}), ByServer)
			l.slots <- struct{}{}
			rows = append(rows, r)
		} else if i := random(max(1, len(rows))); i < len(rows) {
			l.Forget(rows[i])
			rows[i] = rows[len(rows)-1]
			rows = rows[:len(rows)-1]
		}
		of, most := map[netip.Addr]int{}, 0
		for _, r := range rows {
			of[wideNetworkOf(r.Peer())]++
			most = max(most, of[wideNetworkOf(r.Peer())])
		}
		if h := &l.mu.heads; h.most != most || h.n != len(rows) || len(h.networks) != len(of) || most > 0 && h.by[most] == nil {
			t.Fatalf("got most %d, n %d, %d networks; want %d, %d, %d", h.most, h.n, len(h.networks), most, len(rows), len(of))
		}
	}
}
