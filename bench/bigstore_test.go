package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// TestABigStoreIsSoundAndEndsNow makes a small one, or with SHUNT_BENCH_BIG_STORE=DIR, which make
// big-store sets, the folder DIR with a million links and 400 days.
func TestABigStoreIsSoundAndEndsNow(t *testing.T) {
	s := &BigStore{Links: 3000, Days: 8, DayHits: 2000, Progress: t.Logf}
	dir := filepath.Join(t.TempDir(), "data")
	if named := os.Getenv("SHUNT_BENCH_BIG_STORE"); named != "" {
		dir = named
		s.Links, s.Days, s.DayHits = number("SHUNT_BENCH_LINKS", 1_000_000), int(number("SHUNT_BENCH_DAYS", 400)), number("SHUNT_BENCH_DAY_HITS", 100_000)
	}
	expect.MustThat(t, expect.Err(os.Stat(dir)) != nil, "%s exists", dir)
	start := time.Now()
	expect.OK(t, s.Make(t.Context(), dir))
	t.Logf("made in %v", time.Since(start).Round(time.Second))
	var faults engine.Faults
	inspected, err := storage.Inspect(dir, storage.Options{})
	expect.OK(t, err)
	report, err := inspected.Check(t.Context(), storage.CheckOptions{Faults: &faults})
	expect.MustThat(t, err == nil && inspected.Close() == nil, "%v", err)
	t.Logf("%+v", report)
	first, total := faults.Found()
	expect.That(t, total <= 0, "the check found %d faults: %v", total, first)
	expect.That(t, report.OwnerDays >= uint64(s.Days) && report.LinkHours != 0 && report.Tombstones != 0, "days, hours or deleted links are missing")
}
