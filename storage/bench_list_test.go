package storage

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row/rowtest"
)

// BenchmarkListing reads a page of 1,000 links, and all of 150,000 as an export does. It does so
// after the links were written, when the last ones are in memtables, and after a restart, when they
// are in tables. Both should cost about the same.
func BenchmarkListing(b *testing.B) {
	const links = 150_000
	dir := filepath.Join(b.TempDir(), "store")
	s := open(b, dir, Options{})
	stop := start(b, s)
	slots := make(chan struct{}, queueLimit)
	for id := uint64(1); id <= links; id++ {
		rec := rowtest.Link(fmt.Sprintf("%08x", id*0x9e3779b97f4a7c15>>32), id, 1)
		rec.Hot.Target = fmt.Sprintf("https://www.example%d.org/some/path/that/is/long/%d", id%5000, id)
		slots <- struct{}{}
		s.Apply(rowtest.Creation(rec), func(error) { <-slots })
	}
	benchmarkListing(b, s, "writes", links)
	stop()
	closeStore(b, s)
	s = open(b, dir, Options{})
	defer closeStore(b, s)
	defer start(b, s)()
	benchmarkListing(b, s, "restart", links)
}

func benchmarkListing(b *testing.B, s *Store, after string, links int) {
	for _, n := range []int{1000, links} {
		b.Run(fmt.Sprintf("after=%s/links=%d", after, n), func(b *testing.B) {
			for b.Loop() {
				listAll(b, s, n)
			}
		})
	}
}

// listAll reads n links of a listing, a page of 1,000 at a time.
func listAll(b *testing.B, s *Store, n int) {
	l, err := s.Listing(context.Background())
	expect.OK(b, err)
	defer l.Close()
	for r := (engine.ListRange{Owners: engine.OneOwner(1)}); n > 0; n -= 1000 {
		last, _, err := l.Scan(r, 1000, func(_ uint64, k engine.KeyView) bool {
			_, err := l.ReadRecord(k.Own())
			expect.OK(b, err)
			return true
		})
		expect.OK(b, err)
		r.Below = last
	}
}
