package engine_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage"
)

// A link may have fields that a newer program has stored. Edits, a change of owner, a reset and a
// backup keep them byte for byte.
func TestFieldsOfANewerProgramAreKept(t *testing.T) {
	const newer = "\x63\x05hello\x80\x01\x00"
	disk := vfs.NewMem()
	store, err := storage.Open("data", storage.Options{Create: true, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(func(ctx context.Context) { _ = store.Run(ctx) })
	applied := make(chan error, 1)
	store.Apply(engine.Mutation{
		Hot:  engine.Hot{Key: keyOf("code"), ID: 9, Owner: 1, Target: "https://example.com/"},
		Cold: engine.Cold{Key: keyOf("code"), Version: 1, Title: "T", Newer: newer},
	}, func(err error) { applied <- err })
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	e := openLoaded(t, store, engine.Options{JournalDir: t.TempDir(), Rings: 1, RingRecords: 256})
	stopIDs := start(e.RefillIDs)
	kept := func(what string, s *storage.Store) {
		t.Helper()
		if rec, err := s.ReadRecord(keyOf("code")); err != nil || rec.Cold.Newer != newer {
			t.Errorf("%s: got %q, %v, want %q", what, rec.Cold.Newer, err, newer)
		}
	}
	kept("a start", store)
	for what, change := range map[string]func() error{
		"an edit": func() error {
			_, err := e.Update(t.Context(), keyOf("code"), engine.Guard{AnyOwner: true}, func(r *engine.Record) error { r.Cold.Title = "U"; return nil })
			return err
		},
		"a gift": func() error {
			_, err := e.Give(t.Context(), keyOf("code"), engine.Guard{AnyOwner: true}, 2, func(*engine.Record) error { return nil })
			return err
		},
		"a reset": func() error { _, err := e.Reset(t.Context(), keyOf("code"), engine.Guard{AnyOwner: true}); return err },
	} {
		if err := change(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		kept(what, store)
	}
	if _, err := store.Backup(t.Context(), "backup"); err != nil {
		t.Fatal(err)
	}
	stopIDs()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if _, err := storage.Restore(t.Context(), "backup", "restored", storage.RestoreOptions{FS: disk}); err != nil {
		t.Fatal(err)
	}
	restored, err := storage.Open("restored", storage.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	kept("a restored backup", restored)
	if err := restored.Close(); err != nil {
		t.Error(err)
	}
}
