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

// Options are the settings of Open; the zero value of each field but Create is its default.
type Options struct {
	Create bool         // make the store if there is none
	Logger *slog.Logger // default: slog.Default()
	FS     vfs.FS       // default: vfs.Default. Everything goes through it, so crashes and I/O errors can be tested

	// VisitorKey, if set, becomes the secret key of a store that is created; default: drawn. For tests that count on
	// estimates.
	VisitorKey *[16]byte
}

// Store keeps links and tallies in Pebble. It is the engine.Store in use; what may be called at once is said there.
// Run commits what Apply takes, so it must run while links are written.
type Store struct {
	db       *pebble.DB
	lock     *pebble.Lock
	identity engine.Identity
	layout   uint32 // as read

	commits committer
	ids     struct {
		sync.Mutex
		bound uint64 // every id below it may have been given
	}
	hours   hourSet
	flusher flusher

	firstHour, firstDay atomic.Uint32 // see Kept; written by the flusher
}

var _ engine.Store = (*Store)(nil)

// Open opens the store in the folder dir. It starts no goroutine of its own; Pebble's end with Close.
// Errors: ErrNoStore, ErrLocked, ErrNewerFormat, ErrNotAStore, ErrCorrupt.
func Open(dir string, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	s, err := openFolder(&folder{fs: o.FS, dir: dir}, &o)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return s, nil
}

func openFolder(f *folder, o *Options) (*Store, error) {
	state, err := f.inspect()
	if err != nil {
		return nil, err
	}
	if state != stored {
		if !o.Create {
			return nil, fmt.Errorf("%w in %s", ErrNoStore, f.dir)
		}
		if err := f.make(); err != nil {
			return nil, err
		}
	}
	lock, err := f.lock()
	if err != nil {
		return nil, err
	}
	s, err := openLocked(f, o, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// openLocked looks at the folder once more, since another process may have created the store meanwhile.
func openLocked(f *folder, o *Options, lock *pebble.Lock) (*Store, error) {
	state, err := f.inspect()
	if err == nil && state != stored {
		err = f.beginCreation()
	}
	if err != nil {
		return nil, err
	}
	db, err := pebble.Open(f.path(dbName), pebbleOptions(f.fs, o.Logger, lock, state != stored))
	if errors.Is(err, pebble.ErrDBDoesNotExist) {
		err = fmt.Errorf("%w: no database in %s", ErrCorrupt, f.path(dbName))
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	s := &Store{db: db, lock: lock}
	s.commits.init(db)
	s.flusher.init(db)
	if state != stored {
		err = s.create(f, o.VisitorKey)
	}
	if err == nil {
		err = s.start()
	}
	if err == nil {
		err = s.upgrade(f)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
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
	return f.endCreation()
}

// start reads what is kept in memory.
func (s *Store) start() (err error) {
	if s.layout, err = s.readLayout(); err != nil {
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

func (s *Store) readLayout() (version uint32, err error) {
	var layout [4]byte
	if err := s.readFixed(metaLayout, layout[:], "layout version"); err != nil {
		return 0, err
	}
	version = binary.BigEndian.Uint32(layout[:])
	if version == 0 {
		return 0, fmt.Errorf("%w: layout version 0", ErrCorrupt)
	}
	return version, checkLayout(version)
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
	if err := errors.Join(s.flusher.batch.Close(), s.db.Close(), s.lock.Close()); err != nil {
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
		return nil, fmt.Errorf("reading a row of table %#x: %w", key[0], err)
	}
	v = append([]byte{}, v...)
	if err := closer.Close(); err != nil {
		return nil, fmt.Errorf("reading a row of table %#x: %w", key[0], err)
	}
	return v, nil
}

// sync commits b durably. Pebble returns no commit errors (see pebbleLogger.Fatalf), but others.
func (s *Store) sync(b *pebble.Batch, doing string) error {
	if err := s.db.Apply(b, pebble.Sync); err != nil {
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
