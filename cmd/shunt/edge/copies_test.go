package edge

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
	"shunt/storage"
	"shunt/storage/replicate"
)

// TestAnEdgeSaysWhyItTakesACopy: whatever has become of the writer, its edge says it in words, and has the writer's
// links afterwards.
func TestAnEdgeSaysWhyItTakesACopy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, w *machine, before string) // while the edge is off; before has a backup and the folder of the writer, of some time ago
		want   string
		loses  bool // the link that was made last
	}{
		"entries that are gone": {func(t *testing.T, w *machine, _ string) {
			w.link("later", "https://later.example/", 0)
			for more := true; more; {
				var err error
				more, err = w.rows.TrimEdgeLog(0)
				expect.OK(t, err)
			}
		}, "away for longer than its writer keeps changes", false},
		"a restored backup": {func(t *testing.T, w *machine, before string) {
			w.stop()
			expect.OK(t, os.RemoveAll(w.dir))
			o := storage.RestoreOptions{Logger: slog.New(slog.DiscardHandler), Replicate: replicate.New}
			expect.OK(t, expect.Err(storage.Restore(t.Context(), filepath.Join(before, "backup"), filepath.Join(w.dir, "store"), o)))
			w.start()
		}, "it was restored from a backup", true},
		"a snapshot": {func(t *testing.T, w *machine, before string) {
			w.stop()
			w.putBack(filepath.Join(before, "folder"))
			w.start()
		}, "the data folder of the writer was rolled back", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter(t)
			w.link("first", "https://first.example/", 0)
			secret, _ := w.token("frankfurt")
			e := newEdge(t, w.address, secret)
			e.startEdge()
			e.redirects("first", "https://first.example/")
			before := t.TempDir()
			expect.OK(t, expect.Err(w.store.Backup(t.Context(), filepath.Join(before, "backup"))))
			w.stop()
			expect.OK(t, os.CopyFS(filepath.Join(before, "folder"), os.DirFS(w.dir)))
			w.start()
			w.link("last", "https://last.example/", 0)
			e.redirects("last", "https://last.example/")
			e.stop()
			c.change(t, w, before)
			w.link("new", "https://new.example/", 0)
			e.node = e.newNode(w.address)
			e.startEdge()
			until(t, "it says why", func() bool { return e.log.has(c.want) })
			e.redirects("new", "https://new.example/")
			status, _ := e.get("last")
			expect.Equal(t, status == 404, c.loses, "the link that was made last: got %d", status)
			e.redirects("first", "https://first.example/")
		})
	}
}
