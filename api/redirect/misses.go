package redirect

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/engine"
)

// missCounters is how many codes are counted at once. A counter is 88 bytes, and its places in the
// heap and the index are 18 more: 424 KiB in all. The totals by domain take 32 KiB, of which the kernel
// gives what is used.
const (
	missCounters = 1 << 12
	missChains   = missCounters // one counter a chain on average
)

// misses counts requests for codes that no link has, in bounded memory whatever is requested.
//
// It is a Space-Saving summary (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and
// Top-k Elements in Data Streams, ICDT 2005). A code that has no counter takes over the one with
// the lowest count, with that count as its error. So, of n misses with m counters:
//
//  1. the counts add up to n;
//  2. misses of a code ≤ count ≤ misses + error, and error ≤ n/m;
//  3. every code with more than n/m misses has a counter.
//
// The codes of all domains share the counters, so n is the misses of all of them. Only the totals are of each domain:
// counters for each of up to 1,000 domains would take hundreds of megabytes.
//
// The lowest count is found by a binary heap, not by the paper's lists of equal counts, which need
// three times the code. There is one lock: a miss of one code, of Zipf's, of a scan takes 18, 81,
// 99 ns. Eight shards by hash, each with as many counters so that 2 and 3 hold as before, took 20,
// 74, 205 ns (BenchmarkMisses, two cores): their memory is cold. A lock that is held for 0.1 µs is
// not a bottleneck where the 404 itself costs more than 1 µs.
type misses struct {
	seed  maphash.Seed // a secret, so that nobody can fill one chain
	since time.Time

	mu       sync.Mutex // guards all below
	used     int        // counters: they are used from the first on, and never freed
	chains   [missChains]uint16
	heap     [missCounters]heapEntry // of the counters in use, the lowest count first
	counters [missCounters]missCounter
	totals   missTotals
}

// missTotals are the misses of each domain.
type missTotals [engine.MaxDomain + 1]uint64

// in returns the misses of the domains that of accepts.
func (t *missTotals) in(of func(engine.Domain) bool) (total uint64) {
	for d, misses := range t {
		if misses > 0 && of(engine.Domain(d)) {
			total += misses
		}
	}
	return total
}

// heapEntry has the count next to the number of its counter, so that sifting stays within the heap.
type heapEntry struct {
	count   uint64
	counter uint16
}

type missCounter struct {
	err  uint64 // how much too high the count may be
	hash uint64
	next uint16 // counter of the same chain, plus 1; 0: none
	at   uint16 // in the heap

	domain engine.Domain
	size   uint8 // of the code
	code   [engine.MaxCodeBytes]byte
}

func (c *missCounter) is(hash uint64, k engine.KeyView) bool {
	return c.hash == hash && c.domain == k.Domain && string(c.code[:c.size]) == string(k.Code)
}

func newMisses(since time.Time) *misses { return &misses{seed: maphash.MakeSeed(), since: since} }

// hash differs between the domains as between codes.
func (m *misses) hash(k engine.KeyView) uint64 {
	return maphash.Bytes(m.seed, k.Code) ^ uint64(k.Domain)*0x9e3779b97f4a7c15
}

// add counts a request for k, which must be valid. It takes a lock and allocates nothing.
func (m *misses) add(k engine.KeyView) {
	hash := m.hash(k)
	m.mu.Lock()
	m.totals[k.Domain]++
	chain := &m.chains[hash%missChains]
	for i := *chain; i != 0; i = m.counters[i-1].next {
		if c := &m.counters[i-1]; c.is(hash, k) {
			m.heap[c.at].count++
			m.siftDown(int(c.at))
			m.mu.Unlock()
			return
		}
	}
	i := m.take()
	c := &m.counters[i]
	c.hash, c.domain, c.size, c.next = hash, k.Domain, uint8(copy(c.code[:], k.Code)), *chain
	*chain = i + 1
	m.mu.Unlock()
}

// take returns a counter that is in no chain, and counts one miss with it. It is an unused counter,
// or else the one with the lowest count, which becomes its error.
func (m *misses) take() uint16 {
	if m.used < missCounters {
		i := m.used
		m.used++
		m.counters[i].at = uint16(i)
		m.heap[i] = heapEntry{1, uint16(i)}
		m.siftUp(i)
		return uint16(i)
	}
	lowest := &m.heap[0]
	i := lowest.counter
	c := &m.counters[i]
	link := &m.chains[c.hash%missChains]
	for *link != i+1 {
		link = &m.counters[*link-1].next
	}
	*link = c.next
	c.err = lowest.count
	lowest.count++
	m.siftDown(0)
	return i
}

func (m *misses) siftUp(at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if m.heap[parent].count <= m.heap[at].count {
			return
		}
		m.swap(at, parent)
		at = parent
	}
}

func (m *misses) siftDown(at int) {
	for {
		child := 2*at + 1
		if child >= m.used {
			return
		}
		if child+1 < m.used && m.heap[child+1].count < m.heap[child].count {
			child++
		}
		if m.heap[at].count <= m.heap[child].count {
			return
		}
		m.swap(at, child)
		at = child
	}
}

func (m *misses) swap(a, b int) {
	m.heap[a], m.heap[b] = m.heap[b], m.heap[a]
	m.counters[m.heap[a].counter].at = uint16(a)
	m.counters[m.heap[b].counter].at = uint16(b)
}

// A MissedCode is one row of GET /misses.
type MissedCode struct {
	engine.Key
	Count uint64
	Error uint64 // how much too high the count may be
}

// Missed returns the n most-missed codes, of the domains that of accepts, that still have no link, and the number of
// all misses in these domains since a time. Call it only once the engine is ready.
func (r *Redirector) Missed(n int, of func(engine.Domain) bool) (top []MissedCode, total uint64, since time.Time) {
	top, total = r.missed.top(n, of, func(k engine.Key) bool {
		if strings.Contains(k.Code, "shunt_") { // perhaps a token that somebody sent as a code
			return false
		}
		l, ok := r.engine.Resolve(k.View())
		l.Release()
		return !ok
	})
	return top, total, r.missed.since
}

// top returns the n most-missed codes accepted by keep, of the domains that of accepts, ordered by guaranteed misses
// (count − error), so that a scan does not push down codes that are missed again and again; and the number of all
// misses in these domains. It costs a millisecond or two, and holds the lock for a fraction of one.
func (m *misses) top(n int, of func(engine.Domain) bool, keep func(engine.Key) bool) (top []MissedCode, total uint64) {
	rows, totals := m.rows()
	slices.SortFunc(rows, func(a, b MissedCode) int {
		return cmp.Or(cmp.Compare(b.Count-b.Error, a.Count-a.Error), cmp.Compare(b.Count, a.Count), a.Key.Compare(b.Key))
	})
	top = make([]MissedCode, 0, min(n, len(rows)))
	for _, row := range rows {
		if len(top) == n {
			break
		}
		if of(row.Domain) && keep(row.Key) {
			top = append(top, row)
		}
	}
	return top, totals.in(of)
}

func (m *misses) rows() (rows []MissedCode, totals *missTotals) {
	rows, totals = make([]MissedCode, 0, missCounters), new(missTotals)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.heap[:m.used] {
		c := &m.counters[e.counter]
		rows = append(rows, MissedCode{engine.Key{Domain: c.domain, Code: string(c.code[:c.size])}, e.count, c.err})
	}
	*totals = m.totals
	return rows, totals
}
