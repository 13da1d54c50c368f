package storage

import (
	"context"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// DefaultCacheBytes is the size of the block cache unless Options set another. An export of
	// 150,000 links reads 26 MB of blocks. A page of 1,000 links reads up to 16 MB: one block per
	// link, since codes are not in order of time.
	DefaultCacheBytes = 64 << 20

	// memTableRoom is how many full memtables may reserve memory without taking it from the blocks,
	// which is 1 GiB if they have the default size. It covers the queue (writes stall at
	// maxQueuedMemTables full memtables), the one begun after those, one that Pebble keeps for
	// reuse, and as many full ones again that are flushed and still being read. A batch of more than half a memtable
	// (some 850,000 rows of a flush) also reserves its own size until it is flushed, which takes seconds; this number
	// does not include that.
	memTableRoom = 2*maxQueuedMemTables + 2

	// settleInterval is the time between two runs of settle after a log was made. The room may be too
	// large by one memtable for up to twice that time. A call costs some 10 µs. If none was made and nothing has
	// changed, settle runs each restInterval: what readers still have of memtables is given back later.
	settleInterval = time.Second
	restInterval   = 30 * time.Second

	// scanRoom is up to how much blocks may grow during scans. Records are in order of code and an export goes by time,
	// so it reads each block several times if few fit.
	scanRoom = 128 << 20
)

// A blockCache is Pebble's cache of blocks, with room of its own. Any goroutine may call its
// methods.
//
// Pebble reserves the memory of memtables in its cache (DB.newMemTable, Cache.Reserve), so that
// both together have one bound. Memtables never shrink, and Pebble keeps a flushed one for reuse.
// So once writes have made two of 128 MiB, a cache of less than 256 MiB holds nothing, not even
// index and filter blocks, until the process ends. Therefore the capacity of this cache is its size
// plus the room of memTableRoom memtables. The cache itself reserves the part of that room that memtables have not
// reserved, because otherwise blocks would fill it:
//
//	capacity = size + room of memtables = reserved by Pebble + held here + room of blocks
//
// Pebble makes a log first and its memtable after that (DB.makeRoomForWrite). So expect, which
// Pebble calls when it makes a log, releases the size of a memtable, and settle, within seconds,
// reserves the surplus again. Between the two the room is too large, never too small.
type blockCache struct {
	cache         *pebble.Cache
	memTableBytes int64         // of a full one
	made          chan struct{} // a log was made

	mu struct {
		sync.Mutex
		held    int64  // bytes
		release func() // nil: nothing is held
		logs    int    // made since the last settle

		scans   int
		scanned int64  // bytes that blocks may not have during scans
		endScan func() // nil: none
	}
}

func newBlockCache(o *Options) *blockCache {
	return &blockCache{cache: pebble.NewCache(o.CacheBytes + memTableRoom*o.MemTableBytes), memTableBytes: o.MemTableBytes, made: make(chan struct{}, 1)}
}

// use sets the cache in the options of a database.
func (c *blockCache) use(o *pebble.Options) { o.Cache = c.cache }

// close releases the cache. Its memory is freed when the last database that uses it is closed.
func (c *blockCache) close() { c.cache.Unref() }

// expect makes room for the memtable that follows a log.
func (c *blockCache) expect(pebble.WALCreateInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.logs++
	c.holdLocked(c.mu.held - c.memTableBytes)
	select {
	case c.made <- struct{}{}:
	default:
	}
}

// opened settles for the first time. By now the logs that were made while db was opened have their
// memtables.
func (c *blockCache) opened(db *pebble.DB) {
	c.mu.Lock()
	c.mu.logs = 0
	c.mu.Unlock()
	c.settle(db)
}

// watch settles until ctx is done.
func (c *blockCache) watch(ctx context.Context, db *pebble.DB) {
	timer := time.NewTimer(settleInterval)
	defer timer.Stop()
	for made := (<-chan struct{})(nil); ; { // c.made while settle rests
		select {
		case <-ctx.Done():
			return
		case <-made:
			made = nil // the next one must not put off settle
			timer.Reset(settleInterval)
		case <-timer.C:
			if made = nil; c.settle(db) {
				timer.Reset(settleInterval)
			} else {
				made = c.made
				timer.Reset(restInterval)
			}
		}
	}
}

// settle reserves the memory that memtables have not reserved. If a log was made since the last
// call, its memtable may be about to be made; then settle leaves the memory for it until the next
// call. Pebble makes one at a time, also where small memtables make several logs a second. It reports
// whether anything has changed.
func (c *blockCache) settle(db *pebble.DB) (changed bool) {
	taken := reserved(db.Metrics())
	c.mu.Lock()
	defer c.mu.Unlock()
	held := memTableRoom*c.memTableBytes - taken
	if c.mu.logs > 0 {
		held -= c.memTableBytes
	}
	before := c.mu.held
	c.holdLocked(held)
	changed = c.mu.logs > 0 || c.mu.held != before
	c.mu.logs = 0
	return changed
}

// holdLocked releases before it reserves, so that the room is never too small.
func (c *blockCache) holdLocked(bytes int64) {
	bytes = max(bytes, 0)
	if bytes == c.mu.held {
		return
	}
	if c.mu.release != nil {
		c.mu.release()
		c.mu.release = nil
	}
	if c.mu.held = bytes; bytes > 0 {
		c.mu.release = c.cache.Reserve(int(bytes))
	}
}

// BeginScan tells the store that somebody begins to read all links, once. Without it the cache would take in all that
// is read, hundreds of MB on a machine with much memory, and nobody would ask for it again. The caller must call end,
// once. Until then the blocks in memory grow up to scanRoom at most.
func (s *Store) BeginScan() (end func()) {
	s.cache.beginScan(s.db.Metrics(), scanRoom)
	return s.cache.scanEnds
}

// beginScan leaves blocks the room bytes, or as much as they have now, unless a scan runs.
func (c *blockCache) beginScan(m *pebble.Metrics, room int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.scans++; c.mu.scans > 1 {
		return
	}
	if c.mu.scanned = max(0, c.roomLocked(m)-max(room, c.cache.Size())); c.mu.scanned > 0 {
		c.mu.endScan = c.cache.Reserve(int(c.mu.scanned))
	}
}

// scanEnds ends a scan.
func (c *blockCache) scanEnds() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.scans--; c.mu.scans == 0 && c.mu.endScan != nil {
		c.mu.endScan()
		c.mu.scanned, c.mu.endScan = 0, nil
	}
}

// room returns how many bytes of blocks fit.
func (c *blockCache) room(m *pebble.Metrics) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.roomLocked(m))
}

func (c *blockCache) roomLocked(m *pebble.Metrics) int64 {
	return c.cache.MaxSize() - c.mu.held - c.mu.scanned - reserved(m)
}

// reserved returns the memory that memtables have reserved: those in use, and those that wait for
// their readers or for reuse. Pebble counts the latter from all that is reserved.
func reserved(m *pebble.Metrics) int64 { return int64(m.MemTable.Size + m.MemTable.ZombieSize) }
