package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestEntriesAreKeptForTheDaysThatWereAsked(t *testing.T) {
	const keptDays = engine.DefaultKeptAuditDays
	var nowMs atomic.Int64
	now := func() time.Time { return time.UnixMilli(nowMs.Load()).UTC() }
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	nowMs.Store(start.UnixMilli())
	k := openKeeper(t, t.TempDir(), now, 1)
	turn := func() {
		expect.OK(t, k.RollUp(context.Background()))
	}
	for i, code := range []string{"first", "second"} { // an hour and a half apart
		nowMs.Store(start.Add(time.Duration(i) * 90 * time.Minute).UnixMilli())
		by := engine.By{AtMs: nowMs.Load(), User: 1, Name: "ann"}
		_, _, err := k.Create(context.Background(), engine.Draft{Target: "https://example.org/", Alias: code, Owner: 1, By: &by})
		expect.OK(t, err)
		turn()
	}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"second", "first"}},
		{time.Hour, []string{"second"}}, // the next sweep
		{2 * time.Hour, nil},
	} {
		nowMs.Store(start.AddDate(0, 0, keptDays).Add(c.after).UnixMilli())
		turn()
		var codes []string
		err := k.Audit(0, ^uint64(0), func(e *engine.AuditEntry) bool {
			codes = append(codes, e.After.Hot.Code)
			return true
		})
		expect.That(t, err == nil && slices.Equal(codes, c.want), "%v after %d days: got %v, %v, want %v", c.after, keptDays, codes, err, c.want)
	}
}
