package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/engine"
	"shunt/storage"
)

// A Core is shared by serve and the local commands: the store, the engine over it, and the
// accounts.
type Core struct {
	Store        *storage.Store
	Engine       *engine.Engine
	Accounts     *account.Accounts
	Domains      *domain.Domains
	Folders      *folder.Folders
	Certificates *certificate.Certificates
	Created      bool // the folder was made by this process
	Serves       bool // this is serve, which tells by itself what a user may not do
	Reads        bool // nothing is changed, neither in the store nor in any folder

	backedUp atomic.Pointer[admin.Backup] // the last backup; nil: never
	streams  atomic.Int32                 // backups that are being sent
}

// OpenStore opens the store in s.Dir as a part of parts, and makes it if there is none and
// create is true.
func (c *Core) OpenStore(parts *Stack, s *Data, create bool, log *slog.Logger) (err error) {
	if err := s.CheckFolder(); err != nil {
		return err
	}
	o := storage.Options{
		Logger: log, MinFree: s.minFree, AcceptLoss: s.AcceptLoss, MaxOpenFiles: openTables(), CacheBytes: s.CacheBytes, MemTableBytes: s.MemTableBytes,
		VisitorKey: s.VisitorKey, ReadOnly: c.Reads, Replicate: Replicate, Fold: func(copy *storage.Store) error { return s.foldJournal(copy, log) },
	}
	c.Store, err = storage.Open(s.Dir, o)
	if errors.Is(err, storage.ErrNoStore) && create {
		c.Created, o.Create = true, true
		c.Store, err = storage.Open(s.Dir, o)
	}
	switch {
	case err != nil && c.Serves && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("opening the data folder: %w", err)
	case err != nil:
		return storeError(s.Dir, err)
	}
	if err := c.readLastBackup(); err != nil { // not worth a refusal to start
		log.Warn("the time of the last backup cannot be read; metrics show none until the next one", "cause", err)
	}
	parts.OnStop(storePart, c.Store.Close)
	parts.Run("store", c.Store.Run)
	c.Accounts, c.Domains = account.New(c.Store.Accounts(), nil), domain.New(c.Store.Domains(), nil)
	c.Certificates, c.Folders = certificate.New(c.Store.Certificates(), nil), folder.New(c.Store.Folders(), nil)
	if c.Reads {
		c.Accounts.ReadOnly()
		return nil
	}
	parts.Run("accounts", func(ctx context.Context) error { return c.Accounts.Run(ctx, log) })
	return nil
}

// readLastBackup reads the time of the last backup that an earlier process made.
func (c *Core) readLastBackup() error {
	atMs, err := c.Store.LastBackup()
	if err == nil && atMs > 0 {
		c.backedUp.CompareAndSwap(nil, &admin.Backup{At: time.UnixMilli(atMs)})
	}
	return err
}

// lastBackup returns the last backup for the metrics. Any goroutine may call it.
func (c *Core) lastBackup() admin.Backup {
	if last := c.backedUp.Load(); last != nil {
		return *last
	}
	return admin.Backup{}
}
