package storage

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/audit"
	"shunt/storage/check"
	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
)

// Replication is what a store does for other machines. It is plugged in (Options.Replicate); a store without one
// is of no cluster, and knows nothing of one.
type Replication interface {
	// Start is called once, when the store is opened and before anybody uses it.
	Start(p *Parts) error
	// Share commits a batch of links, receipts, accounts, entries of the audit log or the bound of ids: see
	// kv.Share.
	Share(b *pebble.Batch, doing string) error
	// MayWrite returns the error with which links and accounts must not be written now, or nil.
	MayWrite() error
	// Check returns how its own rows are checked. Start need not have been called.
	Check(*check.Run) check.Subject
	// Renew adds to b what makes a restored store, which r reads, another one than that of the backup. Start need
	// not have been called.
	Renew(r pebble.Reader, b *pebble.Batch) error
	// LoadCaps is that of engine.Store.
	LoadCaps(ctx context.Context, fn func(id uint64, c engine.Cap)) error
	// Close is called when nobody uses the store any more, also if it could not be opened.
	Close() error
}

// Parts are what a Replication may use of its store.
type Parts struct {
	Store  *Store
	DB     *pebble.DB
	Writer *kv.Writer
	Folder *disk.Folder
	Hits   *hits.Hits
	Links  *links.Links
	Log    *audit.Log
}

// Replication returns what Options.Replicate made for this store; nil: it is of no cluster.
func (s *Store) Replication() Replication { return s.replication }

// startReplication starts it, or refuses a store that needs one to be written to.
func (s *Store) startReplication() error {
	if s.replication != nil {
		return s.replication.Start(&Parts{s, s.db, &s.writer, s.folder, s.hitRows, s.linkRows, s.changeLog})
	}
	if s.reads != nil {
		return nil
	}
	return wantAlone(s.db)
}

// wantAlone returns ErrOfCluster unless the store that r reads is of no cluster.
func wantAlone(r pebble.Reader) error {
	joined, err := kv.Read(r, row.MetaKey(row.MetaLog))
	if err == nil && joined != nil {
		err = ErrOfCluster
	}
	return err
}

// share is kv.Share.
func (s *Store) share(b *pebble.Batch, doing string) error {
	if s.replication == nil {
		return s.writer.Sync(b, doing)
	}
	return s.replication.Share(b, doing)
}

// mayWrite returns the error with which links and accounts must not be written now, or nil.
func (s *Store) mayWrite() error {
	if s.reads != nil {
		return kv.ErrReads
	}
	if s.replication != nil {
		if err := s.replication.MayWrite(); err != nil {
			return err
		}
	}
	return s.space.check()
}

// closeParts releases what initParts and startReplication took.
func (s *Store) closeParts() error {
	err := s.hitRows.Close()
	if s.replication != nil {
		err = errors.Join(err, s.replication.Close())
	}
	return err
}

// LoadCaps implements engine.Store.
func (s *Store) LoadCaps(ctx context.Context, fn func(id uint64, c engine.Cap)) error {
	if s.replication == nil {
		return nil
	}
	return s.replication.LoadCaps(ctx, fn)
}
