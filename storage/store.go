package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
)

// DefaultOpenFiles is how many tables are kept open, unless Options say otherwise.
const DefaultOpenFiles = 1000

// Options are the settings of Open; the zero value of each field but Create is its default.
type Options struct {
	Create bool         // make the store if there is none
	Logger *slog.Logger // default: slog.Default()
	FS     vfs.FS       // default: vfs.Default. Everything goes through it, so crashes and I/O errors can be tested

	// VisitorKey, if set, becomes the secret key of a store that is created; default: drawn. For tests that count on
	// estimates.
	VisitorKey *[16]byte

	// MinFree is how much free space is wanted for writes of links.
	MinFree Floor
	// AcceptLoss opens a store although it has lost writes that were acknowledged (ErrLostWrites), and goes on without them.
	AcceptLoss bool
	// MaxOpenFiles bounds the tables that are kept open; default DefaultOpenFiles.
	MaxOpenFiles int
	// CacheBytes is the room of the block cache, beside what memtables take; default DefaultCacheBytes.
	CacheBytes int64
}

// Store keeps links and tallies in Pebble. It is the engine.Store in use; what may be called at once is said there.
// Run commits what Apply takes, so it must run while links are written.
type Store struct {
	db       *pebble.DB
	cache    *blockCache
	folder   *folder
	lock     *pebble.Lock
	identity engine.Identity

	fs      *patientFS
	opening atomic.Bool
	lost    uint64 // number of the last write that was acknowledged, if the store has lost some and that is accepted
	space   space
	writer  writer
	commits committer
	ids     struct {
		sync.Mutex
		bound uint64 // every id below it may have been given
	}
	hours   hourSet
	flusher flusher
	backups sync.Mutex // held by the backup under way

	accountWrites struct {
		sync.WaitGroup
		slots chan struct{}
	}

	firstHour, firstDay atomic.Uint32 // see Kept; written by the flusher
}

var _ engine.Store = (*Store)(nil)

// Open opens the store in the folder dir. It starts no goroutine of its own; Pebble's end with Close.
// Errors: ErrNoStore, ErrLocked, ErrOldFormat, ErrNewerFormat, ErrNotAStore, ErrBackup, ErrUnfinishedBackup, ErrUnfinishedRestore,
// ErrLostWrites, ErrCorrupt.
func Open(dir string, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.MaxOpenFiles == 0 {
		o.MaxOpenFiles = DefaultOpenFiles
	}
	s := &Store{fs: &patientFS{FS: o.FS, dir: dir, fatal: pebbleLogger{o.Logger}.Fatalf}}
	s.fs.full = s.space.full
	s.folder = &folder{fs: s.fs, dir: dir}
	s.accountWrites.slots = make(chan struct{}, maxAccountWrites)
	s.space.init(dir, &o)
	s.cache = newBlockCache(o.CacheBytes)
	if err := s.openFolder(s.folder, &o); err != nil {
		s.cache.close()
		return nil, fmt.Errorf("storage: %w", err)
	}
	return s, nil
}

func (s *Store) openFolder(f *folder, o *Options) error {
	state, err := f.inspect()
	if err != nil {
		return err
	}
	if state != stored {
		if !o.Create {
			return fmt.Errorf("%w in %s", ErrNoStore, f.dir)
		}
		if err := f.make(); err != nil {
			return err
		}
	}
	if s.lock, err = f.lock(); err != nil {
		return err
	}
	if err := s.openLocked(f, o); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	return nil
}

// openLocked looks at the folder once more, since another process may have created the store meanwhile.
func (s *Store) openLocked(f *folder, o *Options) error {
	state, err := f.inspect()
	if err != nil {
		return err
	}
	if err := s.space.findReserve(); err != nil {
		return err
	}
	if state == stored {
		s.lost, err = f.checkWrites(o, s.lock)
		if err == nil {
			err = s.space.wantRoom(f)
		}
	} else {
		err = f.beginCreation()
	}
	if err != nil {
		return err
	}
	s.opening.Store(true)
	defer s.opening.Store(false)
	options := pebbleOptions(f.fs, o, s.lock, state != stored)
	options.EventListener.BackgroundError = s.backgroundError(o.Logger)
	options.EventListener.WALCreated = s.cache.expect
	s.cache.use(options)
	if s.db, err = f.openDB(options); err != nil {
		return err
	}
	if err := s.begin(f, o, state != stored); err != nil {
		return errors.Join(err, s.writer.acked.close(), s.db.Close())
	}
	s.cache.opened(s.db)
	s.fs.waits.Store(true)
	return nil
}

// openDB opens the database.
func (f *folder) openDB(o *pebble.Options) (*pebble.DB, error) {
	db, err := pebble.Open(f.path(dbName), o)
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return nil, fmt.Errorf("opening the database: %w: no database in %s", ErrCorrupt, f.path(dbName))
	case err != nil:
		return nil, fmt.Errorf("opening the database: %w", pebbleError{err})
	}
	return db, nil
}

// backgroundError says what Pebble tries again. While the store is opened that may be for ever: without space, that ends the
// process. Later nothing fails for want of space, unless the store is closed meanwhile: what was to be written is in the log.
func (s *Store) backgroundError(log *slog.Logger) func(error) {
	return func(err error) {
		if wantsSpace(err) && s.opening.Load() {
			pebbleLogger{log}.Fatalf("opening it: %v", err)
		}
		log.Error("pebble: background error, it is tried again", "error", err)
	}
}

// checkWrites looks, without writing anything, whether the store contains every write that was acknowledged. Whatever opens
// a damaged database for writing tidies up, and with that goes what could be saved. If it does not and that is accepted,
// lost is the number of the last write that there was.
func (f *folder) checkWrites(o *Options, lock *pebble.Lock) (lost uint64, err error) {
	options := pebbleOptions(f.fs, o, lock, false)
	options.ReadOnly = true
	db, err := f.openDB(options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	contained, err := readSequence(db)
	if err != nil {
		return 0, err
	}
	acked, err := f.ackedOf(db, contained, o.Logger)
	if err != nil {
		return 0, fmt.Errorf("reading the number of the last acknowledged write: %w", err)
	}
	if err = checkWhole(contained, acked); errors.Is(err, ErrLostWrites) && o.AcceptLoss {
		o.Logger.Warn("going on without writes that were acknowledged", "cause", err)
		return max(contained.last, acked), nil
	}
	return 0, err
}

// ackedOf returns the number of the last acknowledged write, or, where that is not known, of the last one that db contains.
func (f *folder) ackedOf(db *pebble.DB, contained sequence, log *slog.Logger) (uint64, error) {
	var storeID [16]byte
	v, err := read(db, metaKey(metaStoreID))
	if err == nil {
		err = decodeFixed(storeID[:], v, "store id")
	}
	if err != nil {
		return 0, err
	}
	acked, known, err := f.readAcked(storeID)
	if err != nil || known {
		return acked, err
	}
	if contained.last > 0 {
		log.Warn("it is not known which writes were acknowledged, so none is missed", "file", f.path(ackedName))
	}
	return contained.last, nil
}

// begin makes s of an open database.
func (s *Store) begin(f *folder, o *Options, create bool) error {
	s.writer.init(s.db, o.Logger)
	s.commits.init(s.db, &s.writer)
	s.flusher.init(s.db)
	if create {
		if err := s.create(f, o.VisitorKey); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return err
	}
	if err := s.beginWriting(f, o); err != nil {
		return err
	}
	if !create && s.db.Metrics().Flush.Count == 0 {
		if err := s.writeTable(); err != nil {
			return err
		}
	}
	return nil
}

// writeTable has Pebble write a table, and with it a manifest. As a rule it does that in opening, when it has replayed a log. A start
// that finds none, because the last one was killed when the old logs were gone and the new one was not there yet, would have no
// manifest until there is another table, and its checkpoints an empty one, which nobody can open.
func (s *Store) writeTable() error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := s.sync(b, "writing the first table"); err != nil { // nothing is flushed where nothing was written
		return err
	}
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("writing the first table: %w", err)
	}
	return nil
}

// beginWriting continues the numbers of writes, and notes that what the store contains is acknowledged.
func (s *Store) beginWriting(f *folder, o *Options) error {
	contained, err := readSequence(s.db)
	if err != nil {
		return err
	}
	s.writer.mu.last = max(contained.last, s.lost)
	s.writer.raise(s.writer.mu.last)
	if s.lost > 0 {
		if err := s.closeGap(contained); err != nil {
			return fmt.Errorf("going on without what is lost: %w", err)
		}
	}
	if err := s.writer.acked.open(f, s.identity.StoreID, s.writer.mu.last, o.Logger); err != nil {
		return fmt.Errorf("noting the last acknowledged write: %w", err)
	}
	if err := s.space.look(); err != nil {
		return fmt.Errorf("looking at free space: %w", err)
	}
	return nil
}

// idsALostWrite is how many ids a write that is lost may have allocated: more than anybody asks for at once.
const idsALostWrite = 1 << 16

// closeGap makes up for writes that are lost and accepted to be. Each may have been an allocation of ids: the links that had
// them are gone, but their hits may be in the journal, so they are not given again.
func (s *Store) closeGap(contained sequence) error {
	b := s.db.NewBatch()
	defer b.Close()
	missing := s.lost - contained.count
	merge(b, metaKey(metaSequence), appendSequence(nil, sequence{count: missing, last: s.lost}))
	s.ids.bound = min(s.ids.bound+missing*idsALostWrite, 1<<idCounterBits)
	set(b, metaKey(metaIDBound), binary.BigEndian.AppendUint64(nil, s.ids.bound))
	return s.writer.commit(b)
}

// create writes what never changes in the store's life, and the first id bound, in one batch, and makes it a store.
func (s *Store) create(f *folder, visitorKey *[16]byte) error {
	var storeID, randomKey [16]byte
	rand.Read(storeID[:])
	rand.Read(randomKey[:])
	if visitorKey == nil {
		visitorKey = &randomKey
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, metaKey(metaLayout), binary.BigEndian.AppendUint32(nil, layoutVersion))
	set(b, metaKey(metaStoreID), storeID[:])
	set(b, metaKey(metaVisitorKey), visitorKey[:])
	set(b, metaKey(metaNode), binary.BigEndian.AppendUint16(nil, 0))
	set(b, metaKey(metaIDBound), binary.BigEndian.AppendUint64(nil, 1))
	if err := s.sync(b, "creating the store"); err != nil {
		return err
	}
	return f.end(formatNewName)
}

// start reads what is kept in memory.
func (s *Store) start() (err error) {
	if err := s.checkLayout(); err != nil {
		return err
	}
	if err := s.readMeta(); err != nil {
		return err
	}
	if s.flusher.mark, err = readMark(s.db); err != nil {
		return err
	}
	if s.flusher.sweep, err = readSweep(s.db); err != nil {
		return err
	}
	if err := s.readKept(); err != nil {
		return err
	}
	return s.findHours()
}

// checkLayout refuses a layout version that this program does not know.
func (s *Store) checkLayout() error {
	var layout [4]byte
	if err := s.readFixed(metaLayout, layout[:], "layout version"); err != nil {
		return err
	}
	version := binary.BigEndian.Uint32(layout[:])
	if version == 0 {
		return fmt.Errorf("%w: layout version 0", ErrCorrupt)
	}
	return checkLayout(version)
}

func (s *Store) readMeta() error {
	var node [2]byte
	var bound [8]byte
	err := errors.Join(
		s.readFixed(metaStoreID, s.identity.StoreID[:], "store id"),
		s.readFixed(metaVisitorKey, s.identity.VisitorKey[:], "visitor key"),
		s.readFixed(metaNode, node[:], "node"),
		s.readFixed(metaIDBound, bound[:], "id bound"),
	)
	s.identity.Node = binary.BigEndian.Uint16(node[:])
	s.ids.bound = binary.BigEndian.Uint64(bound[:])
	if err == nil && (s.ids.bound == 0 || s.ids.bound > 1<<idCounterBits) {
		err = fmt.Errorf("%w: id bound %d", ErrCorrupt, s.ids.bound)
	}
	return err
}

// readFixed reads a meta row of a fixed width, which must be there.
func (s *Store) readFixed(name byte, dst []byte, what string) error {
	v, err := s.get(metaKey(name))
	if err != nil {
		return err
	}
	return decodeFixed(dst, v, what)
}

// Close closes the store. Everything else must have returned, Run as well. Mutations that no Run has taken are answered
// with engine.ErrClosed.
func (s *Store) Close() error {
	if err := s.commits.close(); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	s.backups.Lock() // for good: waits for one that is under way
	s.fs.waits.Store(false)
	s.accountWrites.Wait()
	err := errors.Join(s.flusher.batch.Close(), s.db.Close(), s.writer.acked.close(), s.lock.Close())
	s.cache.close()
	if err != nil {
		return fmt.Errorf("storage: closing: %w", err)
	}
	return nil
}

// Identity implements engine.Store.
func (s *Store) Identity() engine.Identity { return s.identity }

// get returns a copy of a value, nil if there is none.
func (s *Store) get(key []byte) ([]byte, error) { return read(s.db, key) }

// read returns a copy of a value, nil if there is none. A value that is there and empty is not nil.
func read(r pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := r.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading a row: %w", pebbleError{err})
	}
	v = append([]byte{}, v...)
	if err := closer.Close(); err != nil {
		return nil, fmt.Errorf("reading a row: %w", pebbleError{err})
	}
	return v, nil
}

// sync commits b durably.
func (s *Store) sync(b *pebble.Batch, doing string) error {
	if err := s.writer.commit(b); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// set, remove and merge put an operation into a batch without index: those return no error.
func set(b *pebble.Batch, key, value []byte)   { must(b.Set(key, value, nil)) }
func remove(b *pebble.Batch, key []byte)       { must(b.Delete(key, nil)) }
func merge(b *pebble.Batch, key, value []byte) { must(b.Merge(key, value, nil)) }

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("storage: putting an operation into a batch: %v", err))
	}
}
