package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/storage"
)

// TestHitsMayComeBeforeTheirLink pulls hits of links that the engine learns later, one of which brings
// hits along.
func TestHitsMayComeBeforeTheirLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour, Cluster: true})
	err := e.Pulled(func() ([]engine.PulledHits, error) {
		return []engine.PulledHits{{ID: 7, Hits: 4}, {ID: 1 << 20, Hits: 2}, {ID: 7, Hits: 1}}, nil
	})
	expect.OK(t, err)
	err = e.Learn(&engine.Learned{
		Links: []index.HotView{
			{KeyView: keyOf("seven").View(), Target: []byte("https://example.com/"), ID: 7, Owner: 1},
			{KeyView: keyOf("million").View(), Target: []byte("https://example.com/"), ID: 1 << 20, Owner: 1},
			{KeyView: keyOf("imported").View(), Target: []byte("https://example.com/"), ID: 8, Owner: 1},
		},
		Hits: []engine.ImportedHits{{ID: 7, Hits: 100}, {ID: 8, Hits: 30}},
	})
	expect.OK(t, err)
	for code, want := range map[string]uint64{"seven": 105, "million": 2, "imported": 30} {
		s := e.stats(t, code)
		expect.Equal(t, s.Hits, want, "%s: hits", code)
	}
}

// TestNothingIsPulledBeforeLinksAreLoaded has an engine whose Load has not run.
func TestNothingIsPulledBeforeLinksAreLoaded(t *testing.T) {
	store, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem()})
	expect.OK(t, err)
	e, err := engine.Open(store, engine.Options{JournalDir: filepath.Join(t.TempDir(), "journal"), Rings: 1, RingRecords: 256})
	expect.OK(t, err)
	called := false
	apply := func() ([]engine.PulledHits, error) {
		called = true
		return nil, errors.New("no")
	}
	err = e.Pulled(apply)
	expect.That(t, errors.Is(err, engine.ErrLoading) && !called, "got %v, apply called: %v; want ErrLoading", err, called)
	expect.OK(t, e.Load(context.Background(), nil))
	if err := e.Pulled(apply); err == nil || !called {
		t.Errorf("after Load: got %v, apply called: %v", err, called)
	}
	expect.NoError(t, errors.Join(e.Close(), store.Close()))
}
