package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"shunt/engine"
	"shunt/engine/zone"
)

// links is the number of links that the benchmarks work on: SHUNT_BENCH_LINKS, by default 10 M.
func links() uint64 { return number("SHUNT_BENCH_LINKS", 10_000_000) }

// number reads a positive number from the environment.
func number(name string, unset uint64) uint64 {
	s := os.Getenv(name)
	if s == "" {
		return unset
	}
	n, err := strconv.ParseUint(s, 10, 40)
	if err != nil || n == 0 {
		panic(fmt.Sprintf("%s=%q is not a positive number", name, s))
	}
	return n
}

// human writes a round number of links as benchmark names do: 10M, 50k.
func human(n uint64) string {
	switch {
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return strconv.FormatUint(n, 10)
}

// appendCode appends the code of link i: 8 characters. The last five are i in base 62, so that
// codes are distinct.
func appendCode(dst []byte, i uint64) []byte {
	for h, n := mix(i), 0; n < 3; n++ {
		dst = append(dst, base62[h%62])
		h /= 62
	}
	for n := 0; n < 5; n++ {
		dst = append(dst, base62[i%62])
		i /= 62
	}
	return dst
}

// idOf is the id of link i.
func idOf(i uint64) uint64 { return i + 1 }

// generate calls fn with n links with targets of kind k, some at a time, on two goroutines, as a store does when it
// starts.
func generate(n uint64, k kind, fn func([]engine.HotView) error) error {
	var wg sync.WaitGroup
	var errs [2]error
	for g := range errs {
		wg.Go(func() {
			var batch [256]engine.HotView
			for i := uint64(g); i < n && errs[g] == nil; {
				filled := 0
				for ; filled < len(batch) && i < n; i += uint64(len(errs)) {
					v := &batch[filled]
					code, target := appendCode(v.Code[:0], i), k.append(v.Target[:0], i)
					*v = engine.HotView{KeyView: engine.KeyView{Domain: engine.DefaultDomain, Code: code}, Target: target, ID: idOf(i), Owner: 1}
					filled++
				}
				errs[g] = fn(batch[:filled])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// codes draws codes of n links: uniformly, or by a Zipf distribution with exponent 1.1 whose ranks
// are independent of age.
type codes struct {
	n    uint64
	rng  *rand.Rand
	zipf *rand.Zipf // nil: uniform
	buf  []byte
}

func newCodes(n uint64, dist string, seed uint64) *codes {
	c := &codes{n: n, rng: rand.New(rand.NewPCG(seed, 1))}
	if dist == "zipf" {
		c.zipf = rand.NewZipf(c.rng, 1.1, 1, n-1)
	}
	return c
}

// next returns a code that is valid until the next call.
func (c *codes) next() []byte {
	var i uint64
	if c.zipf != nil {
		i = mix(c.zipf.Uint64()) % c.n
	} else {
		i = c.rng.Uint64N(c.n)
	}
	c.buf = appendCode(c.buf[:0], i)
	return c.buf
}

// discard is a store of n links that keeps nothing, for benchmarks of the memory.
type discard struct {
	n         uint64
	targets   kind
	loaded    atomic.Uint64
	hits      uint64 // of each link when it is loaded
	positions engine.Positions
}

func (d *discard) ReadOnly() bool { return false }

func (d *discard) ReadImported(uint32, uint32) (uint64, error) { return 0, nil }

func (d *discard) ReadImports([]uint64, func(uint64, int64)) error { return nil }

func (d *discard) HasImports(uint32) (bool, error) { return false, nil }

func (d *discard) Identity() engine.Identity { return engine.Identity{} }

func (d *discard) AllocateIDs(uint64) (uint64, error) { return d.n + 1, nil }

func (d *discard) Apply(_ engine.Mutation, done func(error)) { done(nil) }

func (d *discard) ApplyAll(_ engine.Bulk, done func(error)) { done(nil) }

func (d *discard) LoadLinks(_ context.Context, fn func([]engine.HotView) error) error {
	return generate(d.n, d.targets, func(links []engine.HotView) error {
		d.loaded.Add(uint64(len(links)))
		return fn(links)
	})
}

func (d *discard) Scanned() (share float64, records uint64) {
	n := d.loaded.Load()
	return float64(n) / float64(d.n), n
}

func (d *discard) ReadHot(engine.Key) (engine.Hot, error) { return engine.Hot{}, engine.ErrNotFound }

func (d *discard) ReadRecord(engine.Key) (engine.Record, error) {
	return engine.Record{}, engine.ErrNotFound
}

func (d *discard) LoadReceipts(context.Context, func(engine.RequestKey)) error { return nil }

func (d *discard) ReadReceipt(engine.RequestKey) (engine.Receipt, error) {
	return engine.Receipt{}, engine.ErrNotFound
}

func (d *discard) View() (engine.View, error) { return nothing{d.positions.FlushSeq, d}, nil }

func (d *discard) Zone() *zone.Zone { return nil }

func (d *discard) Kept() (firstHour, firstDay uint32) { return 0, 0 }

func (d *discard) LowerKept(uint32, uint32) error { return nil }

func (d *discard) Owners(engine.OwnerRange, uint32) ([]uint32, error)                { return nil, nil }
func (d *discard) TalliedOwners(_, _, _ uint32) ([]uint32, error)                    { return nil, nil }
func (d *discard) ListLinks(uint32, string, func(uint64, engine.KeyView) bool) error { return nil }
func (d *discard) ListFolder(uint32, func(uint64, engine.KeyView) bool) error        { return nil }

func (d *discard) Listing(context.Context) (engine.Listing, error) { return nothing{}, nil }

func (d *discard) Deletions(bool, uint32, uint64, uint32, int) ([]engine.Deletion, error) {
	return nil, nil
}

func (d *discard) ReadTrashed(uint32, engine.TrashPlace) (engine.Record, error) {
	return engine.Record{}, engine.ErrNotFound
}

func (d *discard) Clock() (engine.SeenClock, error) { return engine.SeenClock{}, nil }

func (d *discard) Positions() (engine.Positions, error) { return d.positions, nil }

func (d *discard) Flush(b engine.FlushBatch) error {
	d.positions = b.Positions
	return nil
}

func (d *discard) RollUp(engine.RollUpLimits) (bool, error) { return false, nil }

func (d *discard) ListAudit(uint64, uint64, func(*engine.AuditEntry) bool) error { return nil }

func (d *discard) OldestAudit() (uint64, error) { return 0, nil }

func (d *discard) SweepAudit(uint64) error { return nil }

func (d *discard) SweepReceipts(engine.ReceiptSweep) (bool, error) { return false, nil }

func (d *discard) LoadCaps(context.Context, func(uint64, engine.Cap)) error {
	return nil
}

// nothing is a view without tallies, but the hits of the links of a store, and a listing without links.
type nothing struct {
	flushSeq uint64
	of       *discard
}

func (n nothing) FlushSeq() uint64 { return n.flushSeq }

func (n nothing) LoadHits(_ context.Context, fn func(id, hits uint64)) error {
	for i := range n.of.n {
		fn(idOf(i), n.of.hits)
	}
	return nil
}

func (nothing) Targets(uint64) ([]uint8, error) { return nil, nil }

func (nothing) LastHits(uint32, func(id uint64, quiet bool) error) error { return nil }

func (nothing) ReadLife(uint64, engine.Parts) (engine.Tally, error) { return engine.Tally{}, nil }

func (nothing) SumSpans([]uint64, []engine.Span, []engine.Parts, func(int, *engine.Tally)) error {
	return nil
}

func (nothing) ReadSpans([]uint64, []engine.Span, engine.Parts, func(i, j int, t *engine.Tally) error) error {
	return nil
}

func (nothing) SumOwnerSpans([]uint32, []engine.Span, []engine.Parts, func(int, *engine.Tally)) error {
	return nil
}

func (nothing) Scan(engine.ListRange, int, func(uint64, engine.KeyView) bool) (uint64, bool, error) {
	return 0, false, nil
}

func (nothing) FiguresAsOf() (uint32, error)          { return 0, nil }
func (nothing) SummedVisitors(uint64) (uint64, error) { return 0, nil }

func (nothing) Parts(engine.ListRange) ([]engine.Part, error) { return nil, nil }

func (nothing) Reusable(uint32, uint64, int, func(*engine.Record) bool) error { return nil }

func (nothing) ReadRecordOf(uint64) (engine.Record, error) {
	return engine.Record{}, engine.ErrNotFound
}

func (nothing) TrashOwners(engine.OwnerRange, uint32) ([]uint32, error) { return nil, nil }

func (nothing) TrashPlaces(uint32, *engine.TrashPlace, func(engine.TrashPlace) bool) error {
	return nil
}

func (nothing) ReadTrashed(uint32, engine.TrashPlace) (engine.Record, error) {
	return engine.Record{}, engine.ErrNotFound
}

func (nothing) CountTags(*engine.TagScan, int, func(engine.TagCount) bool) (bool, error) {
	return false, nil
}

func (nothing) ReadRecord(engine.Key) (engine.Record, error) {
	return engine.Record{}, engine.ErrNotFound
}

func (nothing) Close() error { return nil }
