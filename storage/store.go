package storage

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/audit"
	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/tables"
)

// DefaultOpenFiles is the number of tables kept open unless Options set another.
const DefaultOpenFiles = 1000

// Options are the settings of Open; the zero value of each field but Create is its default.
type Options struct {
	Create bool         // make the store if there is none
	Logger *slog.Logger // default: slog.Default()
	FS     vfs.FS       // default: vfs.Default. All file access goes through it, so crashes and I/O errors can be tested

	// VisitorKey, if set, becomes the secret key of a store that is created; by default it is drawn
	// at random. An edge has that of its writer; tests need reproducible estimates.
	VisitorKey *[16]byte

	// ReadOnly opens the store without changing a byte, and without making a file. It needs no permission
	// to write, and shares the lock with others that read. Of a Store opened so, only what reads may be
	// used, and Backup, BackupToStream and RemoveStream.
	ReadOnly bool
	// Fold adds to copy, a store that Backup is making of one that is ReadOnly, what only its caller
	// has: the hits of the journal. nil: nothing.
	Fold func(copy *Store) error

	// MinFree is the free space below which writes of links are refused.
	MinFree Floor
	// AcceptLoss opens a store that has lost acknowledged writes (ErrLostWrites), and continues
	// without them.
	AcceptLoss bool
	// MaxOpenFiles bounds the tables that are kept open; default DefaultOpenFiles.
	MaxOpenFiles int
	// CacheBytes is the size of the block cache, not counting the memory of memtables; default
	// DefaultCacheBytes.
	CacheBytes int64
	// MemTableBytes is the size of a full memtable, of which there may be up to eight (memTableRoom)
	// and two stay; default DefaultMemTableBytes. Small ones take less memory and cost more
	// compaction.
	MemTableBytes int64
	// Replicate makes what replicates the store, if it is that of a node of a cluster, or becomes one. nil: it is
	// of no cluster.
	Replicate func() Replication
}

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.FS = cmp.Or(o.FS, vfs.Default)
	o.MaxOpenFiles = cmp.Or(o.MaxOpenFiles, DefaultOpenFiles)
	o.CacheBytes = cmp.Or(o.CacheBytes, DefaultCacheBytes)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, DefaultMemTableBytes)
	return o
}

// The rooms of subjects are embedded under names of this package: their methods are those of engine.Store.
type (
	changeLog = audit.Log
	hitRows   = hits.Hits
	linkRows  = links.Links
)

// Store keeps links and tallies in Pebble. It implements engine.Store, which documents what may be
// called at once. Run commits the mutations that Apply accepts, so it must run while links are
// written.
type Store struct {
	*changeLog
	*hitRows
	*linkRows

	db       *pebble.DB
	cache    *blockCache
	folder   *disk.Folder
	lock     *pebble.Lock
	identity engine.Identity

	fs       *disk.PatientFS
	opening  atomic.Bool
	reads    *Options                  // of a store that is opened ReadOnly; nil: it may be changed
	settleBy atomic.Pointer[time.Time] // see Settle
	stream   string                    // the folder of BackupToStream, if the store is opened ReadOnly
	streams  atomic.Uint64             // backups that were sent since the start
	lost     uint64                    // number of the last acknowledged write, if the store has lost some and that is accepted
	space    space
	stalls   writeStalls
	writer   kv.Writer
	backups  sync.Mutex // held by the backup under way
	scanned  kv.Scanned // of LoadLinks and View.LoadHits

	replication Replication // nil: there is none

	tables tables.Writes
}

var _ engine.Store = (*Store)(nil)

// Close closes the store. All other calls must have returned, including Run. Mutations that Run did
// not take are answered with engine.ErrClosed. What was written last goes from the log into tables, so
// that the next Open is fast, unless the disk has no room or takes longer than some seconds.
func (s *Store) Close() error {
	if err := s.linkRows.Close(); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	s.backups.Lock() // for good: waits for one that is under way
	s.tables.Wait()
	if s.reads == nil {
		s.awaitSettled()
	}
	s.fs.Waits.Store(false)
	err := errors.Join(s.closeParts(), s.db.Close(), s.writer.Acked.Close(), s.lock.Close())
	s.cache.close()
	if err != nil {
		return fmt.Errorf("storage: closing: %w", err)
	}
	return nil
}

// Accounts returns the table of accounts.
func (s *Store) Accounts() *tables.Table { return s.table(row.TableAccounts) }

// Domains returns the table of domains.
func (s *Store) Domains() *tables.Table { return s.table(row.TableDomains) }

// Certificates returns the table of certificates.
func (s *Store) Certificates() *tables.Table { return s.table(row.TableCertificates) }

// Folders returns the table of folders.
func (s *Store) Folders() *tables.Table { return s.table(row.TableFolders) }

func (s *Store) table(table byte) *tables.Table {
	if s.reads != nil {
		return tables.New(table, s.db, nil)
	}
	return tables.New(table, s.db, &s.tables)
}

// Identity implements engine.Store.
func (s *Store) Identity() engine.Identity { return s.identity }
