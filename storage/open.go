package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
)

// Open opens the store in the folder dir. It starts no goroutine of its own; those of Pebble end
// with Close. Errors: ErrNoStore, ErrLocked, ErrOldFormat, ErrNewerFormat, ErrNotAStore, ErrBackup,
// ErrUnfinishedBackup, ErrUnfinishedRestore, ErrLostWrites, ErrCorrupt.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	s, open := newStore(dir, &o), (*Store).openFolder
	if o.ReadOnly {
		s, open = newReader(dir, &o), (*Store).openReadOnly
	}
	if err := open(s, s.folder, &o); err != nil {
		s.cache.close()
		return nil, fmt.Errorf("storage: %w", err)
	}
	return s, nil
}

// newStore returns a store in dir that is not opened yet.
func newStore(dir string, o *Options) *Store {
	s := &Store{changeLog: new(changeLog), hitRows: new(hitRows), linkRows: new(linkRows), fs: &disk.PatientFS{FS: o.FS, Dir: dir, Fatal: pebbleLogger{o.Logger}.Fatalf}}
	s.fs.Full = s.space.full
	s.folder = &disk.Folder{FS: s.fs, Dir: dir}
	s.space.init(dir, o)
	if o.Replicate != nil {
		s.replication = o.Replicate()
	}
	s.cache = newBlockCache(o)
	return s
}

func (s *Store) openFolder(f *disk.Folder, o *Options) error {
	if err := f.Replace(); err != nil {
		return err
	}
	state, err := f.Inspect()
	if err != nil {
		return err
	}
	if state != disk.Stored {
		if !o.Create {
			return fmt.Errorf("%w in %s", disk.ErrNoStore, f.Dir)
		}
		if err := f.Make(); err != nil {
			return err
		}
	}
	if s.lock, err = f.Lock(); err != nil {
		return err
	}
	if err := s.openLocked(f, o); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	return nil
}

// openLocked inspects the folder again, since another process may have created the store meanwhile.
func (s *Store) openLocked(f *disk.Folder, o *Options) error {
	state, err := f.Inspect()
	if err != nil {
		return err
	}
	if err := s.space.findBallast(); err != nil {
		return err
	}
	if err := errors.Join(disk.RemoveStreams(f), f.RemoveNewReplacement()); err != nil { // before free space is looked for
		o.Logger.Warn("what a killed backup or copy left cannot be removed", "cause", err)
	}
	if state == disk.Stored {
		s.lost, err = checkWrites(f, o, s.lock)
		if err == nil {
			err = s.space.wantFreeSpace(f)
		}
	} else {
		err = f.BeginCreation()
	}
	if err != nil {
		return err
	}
	s.opening.Store(true)
	defer s.opening.Store(false)
	options := pebbleOptions(f.FS, o, s.lock, state != disk.Stored)
	options.EventListener.BackgroundError = s.backgroundError(o.Logger)
	options.EventListener.WALCreated = s.cache.expect
	s.stalls.watch(options.EventListener)
	s.cache.use(options)
	if s.db, err = openDB(f, options); err != nil {
		return err
	}
	if err := s.begin(f, o, state != disk.Stored); err != nil {
		return errors.Join(err, s.writer.Acked.Close(), s.db.Close())
	}
	s.cache.opened(s.db)
	s.fs.Waits.Store(true)
	return nil
}

// openDB opens the database of a folder.
func openDB(f *disk.Folder, o *pebble.Options) (*pebble.DB, error) {
	db, err := pebble.Open(f.Path(disk.DBName), o)
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return nil, fmt.Errorf("opening the database: %w: no database in %s", ErrCorrupt, f.Path(disk.DBName))
	case err != nil:
		return nil, fmt.Errorf("opening the database: %w", kv.PebbleError{Cause: err})
	}
	return db, nil
}

// backgroundError logs errors after which Pebble tries again. While the store is being opened, the
// attempts could go on for ever, so if there is no space, backgroundError then ends the process.
// Later nothing fails for lack of space unless the store is being closed, and then the data is in
// the log.
func (s *Store) backgroundError(log *slog.Logger) func(error) {
	return func(err error) {
		if disk.WantsSpace(err) && s.opening.Load() {
			pebbleLogger{log}.Fatalf("opening it: %v", err)
		}
		log.Error("pebble: background error, trying again", "error", err)
	}
}

// checkWrites checks, without writing anything, that the store contains every acknowledged write.
// Opening a damaged database for writing would tidy up and destroy data that could be saved. If
// writes are missing and that is accepted, lost is the number of the last acknowledged write.
func checkWrites(f *disk.Folder, o *Options, lock *pebble.Lock) (lost uint64, err error) {
	options := pebbleOptions(f.FS, o, lock, false)
	options.ReadOnly = true
	db, err := openDB(f, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return missing(f, db, o)
}

// missing checks that db contains every acknowledged write, as checkWrites does.
func missing(f *disk.Folder, db *pebble.DB, o *Options) (lost uint64, err error) {
	contained, err := kv.ReadSequence(db)
	if err != nil {
		return 0, err
	}
	acked, err := ackedOf(f, db, contained, o.Logger)
	if err != nil {
		return 0, fmt.Errorf("reading the number of the last acknowledged write: %w", err)
	}
	if err = kv.CheckWhole(contained, acked); errors.Is(err, kv.ErrLostWrites) && o.AcceptLoss {
		o.Logger.Warn("going on without writes that were acknowledged", "cause", err)
		return max(contained.Last, acked), nil
	}
	return 0, err
}

// ackedOf returns the number of the last acknowledged write, or, if that is not known, of the last
// write that db contains.
func ackedOf(f *disk.Folder, db *pebble.DB, contained row.Sequence, log *slog.Logger) (uint64, error) {
	var storeID [16]byte
	v, err := kv.Read(db, row.MetaKey(row.MetaStoreID))
	if err == nil {
		err = kv.DecodeFixed(storeID[:], v, "store id")
	}
	if err != nil {
		return 0, err
	}
	acked, known, err := f.ReadAcked(storeID)
	if err != nil || known {
		return acked, err
	}
	if contained.Last > 0 {
		log.Warn("it is not known which writes were acknowledged, so none is missed", "file", f.Path(disk.AckedName))
	}
	return contained.Last, nil
}

// initParts gives the parts of s its open database.
func (s *Store) initParts(o *Options) {
	s.writer.Init(s.db, pebbleLogger{o.Logger}.Fatalf)
	s.changeLog.Init(s.db, &s.writer, s.share)
	s.tables.Init(s.db, s.mayWrite, s.share, s.changeLog)
	s.hitRows.Init(s.db, &s.writer, hits.Options{ReadOnly: s.reads != nil, Busy: s.busy, UseClock: s.changeLog.Use, Progress: &s.scanned})
	s.linkRows.Init(s.db, &s.writer, links.Options{MayWrite: s.mayWrite, Share: s.share, Hits: s.hitRows, Log: s.changeLog, Progress: &s.scanned})
}

// begin initializes s from an open database.
func (s *Store) begin(f *disk.Folder, o *Options, create bool) error {
	s.initParts(o)
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

// writeTable makes Pebble write a table, and with it a manifest. Usually Pebble does that while
// opening, after it has replayed a log. But a start may find no log, if the last process was killed
// after the old logs were removed and before the new one was made. Then no manifest would exist
// until the next table is written, and checkpoints would have an empty one, which cannot be opened.
func (s *Store) writeTable() error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := s.writer.Sync(b, "writing the first table"); err != nil { // an empty memtable is not flushed
		return err
	}
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("writing the first table: %w", err)
	}
	return nil
}

// beginWriting continues the numbers of writes, and records that everything in the store is
// acknowledged.
func (s *Store) beginWriting(f *disk.Folder, o *Options) error {
	contained, err := kv.ReadSequence(s.db)
	if err != nil {
		return err
	}
	last := max(contained.Last, s.lost)
	s.writer.Begin(last)
	if s.lost > 0 {
		if err := s.closeGap(contained); err != nil {
			return fmt.Errorf("going on without what is lost: %w", err)
		}
	}
	if err := s.writer.Acked.Open(f, s.identity.StoreID, last, o.Logger); err != nil {
		return fmt.Errorf("noting the last acknowledged write: %w", err)
	}
	if err := s.space.look(); err != nil {
		return fmt.Errorf("looking at free space: %w", err)
	}
	return nil
}

// idsALostWrite is the number of ids that a lost write may have allocated: more than any caller
// allocates at once.
const idsALostWrite = 1 << 16

// closeGap accounts for lost writes, if the loss is accepted. Each may have been a reservation of
// ids. The links with these ids are lost, but their hits may be in the journal, so the ids are not
// given again.
func (s *Store) closeGap(contained row.Sequence) error {
	b := s.db.NewBatch()
	defer b.Close()
	missing := s.lost - contained.Count
	kv.Merge(b, row.MetaKey(row.MetaSequence), row.AppendSequence(nil, row.Sequence{Count: missing, Last: s.lost}))
	bound := min(s.IDBound()+missing*idsALostWrite, 1<<row.IDCounterBits)
	s.RaiseIDBound(bound)
	kv.Set(b, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, bound))
	return s.writer.Commit(b)
}
