//go:build !race

package engine_test

import (
	"context"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/index"
)

// TestASelectionAllocatesNothingPerRow compares pages over 500 rows and over 9,500. It runs without
// the race detector, under which the store allocates for each row.
func TestASelectionAllocatesNothingPerRow(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour})
	e.fill(t, 1, 500, 20_000)
	e.fill(t, 2, 9_500, 20_000)
	capped := func(l index.Link) bool { return l.Flags()&engine.FlagCapped != 0 }
	allocs := func(owner uint32) float64 {
		q := engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(owner)}, Limit: 50, Select: capped}
		return testing.AllocsPerRun(20, func() {
			if page, err := e.ListLinks(context.Background(), q); err != nil || len(page.Links) != 0 {
				t.Fatalf("got %d links, %v", len(page.Links), err)
			}
		})
	}
	if small, large := allocs(1), allocs(2); large > small+100 {
		t.Errorf("a page over 500 rows allocates %v times, and over 9,500 rows %v times", small, large)
	}
}
