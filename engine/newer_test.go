package engine_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// A link may have fields that a newer program has stored. Edits, a change of owner, a reset, the trash and a
// backup keep them byte for byte. Copies in a cluster do, too: rowtest.Link has such a field.
func TestFieldsOfANewerProgramAreKept(t *testing.T) {
	const newer = "\x63\x05hello\x80\x01\x00"
	disk := vfs.NewMem()
	store, err := storage.Open("data", storage.Options{Create: true, FS: disk})
	expect.OK(t, err)
	stop := start(func(ctx context.Context) { _ = store.Run(ctx) })
	applied := make(chan error, 1)
	store.Apply(engine.Mutation{
		Hot:  engine.Hot{Key: keyOf("code"), ID: 9, Owner: 1, Target: "https://example.com/"},
		Cold: engine.Cold{Key: keyOf("code"), Version: 1, Texts: engine.Texts{Title: "T"}, Newer: newer},
	}, func(err error) { applied <- err })
	expect.OK(t, <-applied)
	e := openLoaded(t, store, engine.Options{JournalDir: t.TempDir(), Rings: 1, RingRecords: 256})
	stopIDs := start(e.RefillIDs)
	kept := func(what string, s *storage.Store) {
		t.Helper()
		rec, err := s.ReadRecord(keyOf("code"))
		expect.That(t, err == nil && rec.Cold.Newer == newer, "%s: got %q, %v, want %q", what, rec.Cold.Newer, err, newer)
	}
	kept("a start", store)
	anyone := engine.Guard{AnyOwner: true}
	for what, change := range map[string]func() error{
		"an edit": func() error {
			_, err := e.Update(t.Context(), keyOf("code"), anyone, func(r *engine.Record) error { r.Cold.Title = "U"; return nil })
			return err
		},
		"a gift": func() error {
			_, err := e.Give(t.Context(), keyOf("code"), anyone, 2, func(*engine.Record) error { return nil })
			return err
		},
		"the trash": func() error {
			if err := e.Delete(t.Context(), keyOf("code"), anyone); err != nil {
				return err
			}
			return expect.Err(e.Restore(t.Context(), keyOf("code"), anyone))
		},
		"a reset": func() error { _, err := e.Reset(t.Context(), keyOf("code"), anyone); return err },
	} {
		expect.OK(t, change(), what)
		kept(what, store)
	}
	_, err = store.Backup(t.Context(), "backup")
	expect.OK(t, err)
	stopIDs()
	expect.NoError(t, e.Close())
	stop()
	expect.NoError(t, store.Close())
	_, err = storage.Restore(t.Context(), "backup", "restored", storage.RestoreOptions{FS: disk})
	expect.OK(t, err)
	restored, err := storage.Open("restored", storage.Options{FS: disk})
	expect.OK(t, err)
	kept("a restored backup", restored)
	expect.NoError(t, restored.Close())
}
