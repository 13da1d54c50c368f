package storage

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row/rowtest"
)

// readsFS counts the reads of table files.
type readsFS struct {
	vfs.FS
	reads *atomic.Int64
}

func (f readsFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err == nil && strings.HasSuffix(name, ".sst") {
		file = readsFile{file, f.reads}
	}
	return file, err
}

type readsFile struct {
	vfs.File
	reads *atomic.Int64
}

func (f readsFile) ReadAt(p []byte, off int64) (int, error) {
	f.reads.Add(1)
	return f.File.ReadAt(p, off)
}

// A cachedStore is a store with links in its tables, and a count of the reads of those.
type cachedStore struct {
	*Store
	dir   string
	reads *atomic.Int64
}

const cachedLinks = engine.MaxBulk

func openCached(t *testing.T, dir string) *cachedStore {
	t.Helper()
	c := &cachedStore{dir: dir, reads: new(atomic.Int64)}
	c.Store = open(t, dir, Options{FS: readsFS{vfs.Default, c.reads}})
	return c
}

// newCached makes a store whose links are all in tables.
func newCached(t *testing.T) *cachedStore {
	t.Helper()
	c := openCached(t, filepath.Join(t.TempDir(), "store"))
	stop := start(t, c.Store)
	bulk := engine.Bulk{}
	for id := uint64(1); id <= cachedLinks; id++ {
		bulk.Creations = append(bulk.Creations, rowtest.Creation(rowtest.Link(cachedCode(id), id, 1)))
	}
	done := make(chan error, 1)
	c.ApplyAll(bulk, func(err error) { done <- err })
	expect.OK(t, <-done)
	stop()
	c.toTables(t)
	return c
}

func cachedCode(id uint64) string { return fmt.Sprintf("code%05d", id) }

// toTables writes everything into tables.
func (c *cachedStore) toTables(t *testing.T) {
	t.Helper()
	expect.OK(t, c.db.Flush())
}

// fillMemTables writes until the memtable in use has its largest size and is more than half full.
// The rows belong to a table that this program does not use.
func (c *cachedStore) fillMemTables(t *testing.T) {
	t.Helper()
	value := make([]byte, 64<<10)
	n := uint32(0)
	write := func() {
		n++
		expect.OK(t, c.db.Set(binary.BigEndian.AppendUint32([]byte{0xff}, n), value, pebble.NoSync))
	}
	for c.db.Metrics().MemTable.Size < DefaultMemTableBytes {
		write()
	}
	for range DefaultMemTableBytes * 5 / 8 / len(value) {
		write()
	}
}

// readAll reads every link, and as many codes that do not exist.
func (c *cachedStore) readAll(t *testing.T) {
	t.Helper()
	for id := uint64(1); id <= cachedLinks; id++ {
		for _, code := range []string{cachedCode(id), cachedCode(id) + "x"} {
			_, err := c.ReadRecord(keyOf(code))
			expect.MustThat(t, err == nil || strings.HasSuffix(code, "x"), "ReadRecord(%q): %v", code, err)
		}
	}
}

// wantCached checks that a second read of rows, indexes and filters comes from the cache.
func (c *cachedStore) wantCached(t *testing.T) {
	t.Helper()
	hits, reads := c.Metrics().CacheHits, int64(-1)
	for range 20 { // compactions read too
		before := c.reads.Load()
		c.readAll(t)
		if reads = c.reads.Load() - before; reads == 0 {
			break
		}
	}
	expect.That(t, reads <= 0, "read again, %d links and as many unknown codes took %d reads of files, want 0", cachedLinks, reads)
	m := c.Metrics()
	expect.That(t, m.CacheHits != hits && m.BlockCacheBytes != 0, "the cache has %d bytes and %d hits, want some", m.BlockCacheBytes, m.CacheHits-hits)
	expect.That(t, m.CacheRoomBytes >= DefaultCacheBytes,
		"room for %d bytes of blocks with %d bytes of memtables, want %d", m.CacheRoomBytes, m.MemTableBytes, DefaultCacheBytes)
}

func TestLargeMemtablesLeaveTheBlockCacheItsRoom(t *testing.T) {
	c := newCached(t)
	defer closeStore(t, c.Store)
	c.fillMemTables(t)
	c.wantCached(t)
	c.toTables(t) // and one more memtable that is kept for reuse
	c.wantCached(t)
}

func TestTheBlockCacheHasRoomAfterReplayOfALog(t *testing.T) {
	c := newCached(t)
	c.fillMemTables(t)
	c.space.readOnly.Store(true) // so that Close leaves the log as it is
	closeStore(t, c.Store)
	c = openCached(t, c.dir)
	defer closeStore(t, c.Store)
	m := c.db.Metrics().MemTable
	expect.MustThat(t, m.Size+m.ZombieSize >= DefaultMemTableBytes/2, "after the restart memtables take %d bytes: too few to prove anything", m.Size+m.ZombieSize)
	c.wantCached(t)
}

// Blocks must not use the room that is kept for memtables, or the memory of a store that reads a
// lot would grow by it.
func TestTheBlockCacheGrowsNoFurtherThanItsSize(t *testing.T) {
	const size = 4 << 20
	s := newFilled(t, size)
	s.readAll(t)
	m := s.Metrics()
	if m.BlockCacheBytes < size/2 || m.BlockCacheBytes > size+size/16 { // one block too many per shard
		t.Errorf("having read %d MiB, the cache of %d bytes has %d", 4*size>>20, size, m.BlockCacheBytes)
	}
	expect.That(t, m.CacheRoomBytes >= size && m.CacheRoomBytes <= size+1024, "the cache of %d bytes has room for %d", size, m.CacheRoomBytes)
}

// An export reads every link once. If the cache took all of them in, that memory would be taken until the end.
func TestAScanFillsAPartOfTheCache(t *testing.T) {
	const size, room = 16 << 20, 2 << 20
	s := newFilled(t, size)
	s.cache.beginScan(s.db.Metrics(), room)
	s.cache.beginScan(s.db.Metrics(), 2*room) // another one meanwhile changes nothing
	s.readAll(t)
	s.cache.scanEnds()
	m := s.Metrics()
	expect.That(t, m.BlockCacheBytes >= room/2 && m.BlockCacheBytes <= room+room/8, "a scan left blocks of %d bytes, want %d", m.BlockCacheBytes, room)
	expect.That(t, m.CacheRoomBytes >= room && m.CacheRoomBytes <= room+1024, "room for %d bytes in a scan, want %d", m.CacheRoomBytes, room)
	s.cache.scanEnds()
	s.readAll(t)
	m = s.Metrics()
	expect.That(t, m.BlockCacheBytes >= size/2, "after it, what was read is kept no more: %d bytes", m.BlockCacheBytes)
	expect.That(t, m.CacheRoomBytes >= size && m.CacheRoomBytes <= size+1024, "room for %d bytes after a scan, want %d", m.CacheRoomBytes, size)

	s.cache.beginScan(s.db.Metrics(), room)
	s.readAll(t)
	now := s.Metrics().BlockCacheBytes
	expect.That(t, now >= m.BlockCacheBytes-room/8 && now <= m.BlockCacheBytes+room/8, "a later scan: blocks of %d bytes, %d before", now, m.BlockCacheBytes)
	s.cache.scanEnds()

	before := s.Metrics().CacheRoomBytes
	end := s.BeginScan() // there is less than its room
	expect.Equal(t, s.Metrics().CacheRoomBytes, before, "a scan that needs no limit: room for bytes")
	end()
}

// A filled store has four times as much in its tables as fits into its cache.
type filled struct{ *Store }

func newFilled(t *testing.T, size int64) filled {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{CacheBytes: size})
	t.Cleanup(func() { closeStore(t, s) })
	value := make([]byte, 8<<10)
	keys := make([]byte, 5)
	for n := range uint32(4 * int(size) / len(value)) {
		rng := binary.BigEndian.AppendUint32(keys[:1], n)
		for i := range value {
			value[i] = byte(uint32(i) * (n + 1) * 2654435761 >> 13) // not compressible
		}
		keys[0] = 0xff
		expect.OK(t, s.db.Set(rng, value, pebble.NoSync))
	}
	expect.OK(t, s.db.Flush())
	for range 3 { // a memtable may be about to be made; with Run that takes up to two seconds
		s.cache.settle(s.db)
	}
	return filled{s}
}

// readAll reads every row.
func (s filled) readAll(t *testing.T) {
	t.Helper()
	it, err := s.db.NewIter(nil)
	expect.OK(t, err)
	for it.First(); it.Valid(); it.Next() {
		_, err := it.ValueAndErr()
		expect.OK(t, err)
	}
	expect.OK(t, it.Close())
}

// Pebble makes a log before its memtable. If settle runs in between, the room must not become too
// small.
func TestTheRoomOfTheCacheIsNeverTooSmall(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	defer closeStore(t, s)
	for range 3 {
		s.cache.settle(s.db)
	}
	s.cache.expect(pebble.WALCreateInfo{})
	expect.Equal(t, s.Metrics().CacheRoomBytes, uint64(DefaultCacheBytes+DefaultMemTableBytes), "before a memtable is made there is room for bytes")
	s.cache.settle(s.db) // the memtable may not exist yet
	if got, want := s.Metrics().CacheRoomBytes, uint64(DefaultCacheBytes+DefaultMemTableBytes); got != want {
		t.Errorf("after the next settle there is room for %d bytes, want %d", got, want)
	}
	s.cache.settle(s.db)
	if got, want := s.Metrics().CacheRoomBytes, uint64(DefaultCacheBytes); got != want {
		t.Errorf("after one more settle there is room for %d bytes, want %d", got, want)
	}
}
