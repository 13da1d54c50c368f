package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/storage"
)

func TestEachKindWritesLinksThatTheStoreCanRead(t *testing.T) {
	for name, write := range kinds {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			store, err := storage.Open(dir, storage.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			lastLink.Store(0)
			r, err := measure(db, write, 4, 20*time.Millisecond)
			if err != nil || r.Links == 0 || r.Batches == 0 || r.Links < r.Batches || r.CPU <= 0 {
				t.Errorf("got %+v, %v", r, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if got := linksIn(t, dir); got < int(r.Links) {
				t.Errorf("the store has %d links, want at least %d", got, r.Links)
			}
		})
	}
}

func TestArgumentsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"x", "group", "0", "1s"}, {"x", "group", "9999", "1s"}, {"x", "none", "1", "1s"}, {"x", "each", "1", "-1s"}} {
		if err := run(args); !errors.Is(err, errUsage) {
			t.Errorf("%q: got %v", args, err)
		}
	}
	if err := run([]string{t.TempDir(), "each", "1", "1s"}); err == nil {
		t.Error("a folder without a store was accepted")
	}
}

func linksIn(t *testing.T, dir string) (n int) {
	store, err := storage.Open(dir, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all atomic.Int64
	err = store.LoadLinks(context.Background(), engine.EachLink(func(engine.HotView) error { all.Add(1); return nil }))
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return int(all.Load())
}
