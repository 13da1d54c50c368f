package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"shunt/engine/expect"
	"shunt/storage/row"
)

// openCompacted opens the database of a store that is closed, with the options that the store has
// used, and compacts all of it, so that each row is there once. It rewrites the whole store:
// minutes for gigabytes.
func openCompacted(b *testing.B, dir string) *pebble.DB {
	b.Helper()
	db, err := pebble.Open(dir, optionsOf(b, dir))
	expect.OK(b, err)
	expect.OK(b, db.Flush())
	expect.OK(b, db.Compact(context.Background(), []byte{0}, []byte{0xff}, false))
	return db
}

// optionsOf reads the options that Pebble has written beside a database when it was last opened.
func optionsOf(b *testing.B, dir string) *pebble.Options {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	expect.MustThat(b, err == nil && len(files) != 0, "no options in %s: %v", dir, err)
	text, err := os.ReadFile(files[len(files)-1])
	expect.OK(b, err)
	o := &pebble.Options{Logger: quietLogger{}}
	err = o.Parse(string(text), &pebble.ParseHooks{
		NewFilterPolicy: func(string) (pebble.FilterPolicy, error) { return bloom.FilterPolicy(10), nil },
		NewMerger: func(string) (*pebble.Merger, error) {
			return &pebble.Merger{
				Name:  row.MergerName,
				Merge: func(key, operand []byte) (pebble.ValueMerger, error) { return row.NewMerge(key, operand) },
			}, nil
		},
	})
	expect.OK(b, err)
	return o
}

// quietLogger drops what Pebble says of its work.
type quietLogger struct{}

func (quietLogger) Infof(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}
func (quietLogger) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// sizeOf returns what tables take on disk, in bytes.
func sizeOf(b *testing.B, db *pebble.DB, tables ...byte) (bytes uint64) {
	b.Helper()
	for _, table := range tables {
		keys := row.TableRange(table)
		n, err := db.EstimateDiskUsage(keys.Lower, keys.Upper)
		expect.OK(b, err)
		bytes += n
	}
	return bytes
}
