package core

import (
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"shunt/api/admin"
)

func TestTheStoreReportsExactlyTheFiguresOfTheTable(t *testing.T) {
	parts := NewStack()
	defer func() {
		if err := parts.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var c Core
	if err := c.OpenStore(parts, &Data{Dir: filepath.Join(t.TempDir(), "data")}, true, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	m := c.storageMetrics()
	got := slices.Sorted(maps.Keys(m.Values))
	got = slices.Sorted(slices.Values(slices.AppendSeq(got, maps.Keys(m.Histograms))))
	if want := slices.Sorted(slices.Values(admin.StoreNames())); !slices.Equal(got, want) {
		t.Errorf("the store reports %v,\nthe table has %v", got, want)
	}
}
