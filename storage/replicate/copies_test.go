package replicate

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/disk"
)

// TestCopiesAreRememberedByTheirHistoryAlone: also after a restart, and not by a store that has left its
// cluster and begun another one, whose outbox is another.
func TestCopiesAreRememberedByTheirHistoryAlone(t *testing.T) {
	fs := vfs.NewMem()
	open := func() *Store {
		t.Helper()
		s, err := Open("data", Options{Create: true, FS: fs, Logger: slog.New(slog.DiscardHandler)})
		expect.OK(t, err)
		return s
	}
	s := open()
	join := func(id clusterlog.ID) {
		t.Helper()
		expect.OK(t, s.JoinLog(id, clusterlog.Origin(id)))
	}
	join(clusterlog.ID{1})
	check := func(when string, want []Copy) {
		t.Helper()
		got, err := s.Copies()
		expect.That(t, err == nil && len(got) == len(want) && (len(want) == 0 || reflect.DeepEqual(got, want)), "%s: got %+v, %v, want %+v", when, got, err, want)
	}
	check("at first", nil)
	copies := []Copy{
		{Name: "b", BegunMs: 1767225600123, Own: 7, Others: map[clusterlog.OutboxID]uint64{{1}: 5, {0xff, 2}: 0}},
		{Name: "c", BegunMs: 1767225600999, Others: map[clusterlog.OutboxID]uint64{}},
	}
	for _, now := range [][]Copy{copies[:1], copies} {
		expect.OK(t, s.NoteCopies(now))
		check("noted", now)
	}
	expect.OK(t, s.Close())
	s = open()
	defer func() {
		expect.NoError(t, s.Close())
	}()
	check("after a restart", copies)
	expect.OK(t, s.folder.WriteSynced(disk.CopiesName, `{"outbox":`))
	expect.That(t, expect.Err(s.Copies()) != nil, "half of the file is no error")
	expect.OK(t, s.NoteCopies(copies))
	expect.OK(t, s.LeaveLog())
	join(clusterlog.ID{2})
	check("of another history", nil)
}
