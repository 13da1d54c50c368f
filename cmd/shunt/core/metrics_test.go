package core

import (
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"shunt/api/admin"
	"shunt/engine/expect"
)

func TestTheStoreReportsExactlyTheFiguresOfTheTable(t *testing.T) {
	parts := NewStack()
	defer func() {
		expect.NoError(t, parts.Stop())
	}()
	var c Core
	expect.OK(t, c.OpenStore(parts, &Data{Dir: filepath.Join(t.TempDir(), "data")}, true, slog.New(slog.DiscardHandler)))
	m := c.storageMetrics()
	got := slices.Sorted(maps.Keys(m.Values))
	got = slices.Sorted(slices.Values(slices.AppendSeq(got, maps.Keys(m.Histograms))))
	want := slices.Sorted(slices.Values(admin.StoreNames()))
	expect.That(t, slices.Equal(got, want), "the store reports %v,\nthe table has %v", got, want)
}
