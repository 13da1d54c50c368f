package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

func TestReferrersLostToADamagedDictionaryAreCountedAndReported(t *testing.T) {
	store, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem()})
	expect.OK(t, err)
	stopStore := start(func(ctx context.Context) { _ = store.Run(ctx) })
	var log bytes.Buffer
	o := engine.Options{JournalDir: t.TempDir(), Rings: 1, RingRecords: 256, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	e := openLoaded(t, store, o)
	stopIDs := start(e.RefillIDs)
	_, _, err = e.Create(context.Background(), engine.Draft{Alias: "code", Owner: 1, Target: "https://example.com"})
	expect.OK(t, err)
	stopIDs()
	l, _ := e.Resolve(keyOf("code").View())
	for _, host := range []string{"whole.example", "", "broken.example", "broken.example"} {
		e.Hit(l, engine.Visit{Visitor: 1, NowMs: 1, Values: engine.Values{Referrer: e.Referrer([]byte(host))}})
	}
	l.Release()
	expect.OK(t, e.Abandon())
	damage(t, o.JournalDir, "broken.example")
	e = openLoaded(t, store, o)
	if m := e.Metrics(); m.JournalReplayed != 4 || m.JournalNameless != 2 {
		t.Errorf("%d records are replayed, %d without their referrer, want 4 and 2", m.JournalReplayed, m.JournalNameless)
	}
	expect.Contains(t, log.String(), "names are missing", "the log says %s", &log)
	expect.NoError(t, e.Close())
	stopStore()
	expect.NoError(t, store.Close())
}

func openLoaded(t *testing.T, store *storage.Store, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(store, o)
	expect.OK(t, err)
	expect.OK(t, e.Load(context.Background(), nil))
	return e
}

// damage flips a bit of a name in the dictionary of referrers.
func damage(t *testing.T, dir, name string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*-referrers"))
	expect.MustThat(t, err == nil && len(paths) == 1, "found %q, %v", paths, err)
	b, err := os.ReadFile(paths[0])
	expect.OK(t, err)
	b[bytes.Index(b, []byte(name))] ^= 1
	expect.OK(t, os.WriteFile(paths[0], b, 0o600))
}
