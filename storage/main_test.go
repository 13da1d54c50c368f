package storage

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/audit"
	"shunt/storage/hits"
	"shunt/storage/links"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
)

// childEnv makes the test binary a process that runs one task on a store; see child.
const childEnv = "SHUNT_STORAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		child(task)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child runs a task: "hold DIR" holds a store open until standard input ends, "fatal" ends with a
// fatal error of Pebble.
func child(task string) {
	what, dir, _ := strings.Cut(task, " ")
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch what {
	case "fatal":
		pebbleLogger{log}.Fatalf("disk %s\nis %d", "full", 1)
	case "hold":
		s, err := Open(dir, Options{})
		if err != nil {
			panic(err)
		}
		s.db.TestOnlyWaitForCleaning() // so that the folder does not change
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := s.Close(); err != nil {
			panic(err)
		}
	}
}

var quiet = slog.New(slog.DiscardHandler)

// open opens a store for a test, which closes it.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	o.Create = true
	if o.Logger == nil {
		o.Logger = quiet
	}
	s, err := Open(dir, o)
	expect.OK(t, err)
	return s
}

// openTemp opens a new store in a folder of its own, running, until the test ends.
func openTemp(t testing.TB) *Store {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	stop := start(t, s)
	t.Cleanup(func() {
		stop()
		closeStore(t, s)
	})
	return s
}

// openMem opens the store of a file system in memory.
func openMem(t testing.TB, mem vfs.FS) *Store { return open(t, "/data/store", Options{FS: mem}) }

// What tests of other rooms do with a store, too.
var (
	closeStore, start, apply, tryApply, flush = storetest.Close, storetest.Start, storetest.Apply, storetest.TryApply, storetest.Flush
	openView, closeView, readLife, wantTally  = storetest.OpenView, storetest.CloseView, storetest.ReadLife, storetest.WantTally
	rowOf, hitsOf, loadHits, rollUpAll        = storetest.RowOf, storetest.HitsOf, storetest.LoadHits, storetest.RollUpAll
	cloneStore, loseAll, loseNothing          = storetest.CloneStore, storetest.LoseAll, storetest.LoseNothing
	deletedAt, number, tell, keyOf            = storetest.DeletedAt, storetest.Number, storetest.Tell, rowtest.Key
)

// rows returns the rows of a table, or of a part of it, as strings.
func rows(t testing.TB, s *Store, prefix ...byte) map[string]string {
	return storetest.Rows(t, s.db, prefix...)
}

// rowsOfLinks is storetest.RowsOfLinks.
func rowsOfLinks(t testing.TB, s *Store) map[uint64]int {
	return storetest.RowsOfLinks(t, s.db, s.Mark().Hour)
}

// Names of rooms that tests use beside variables of the same name.
const (
	queueLimit   = links.QueueLimit
	receiptChunk = links.ReceiptChunk
	maxDaysByKey = links.MaxDaysByKey
	sweepIDs     = hits.SweepIDs
)

var readRecord = links.ReadRecord

// newBatch returns a batch of mutations that nobody has made.
func newBatch(b *pebble.Batch) *links.Batch { return links.NewBatch(b, audit.Entries{}) }

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
