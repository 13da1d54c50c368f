package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"shunt/api"
	"shunt/api/account"
	"shunt/api/admin"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/identity"
	"shunt/cmd/shunt/node"
	"shunt/engine"
	"shunt/storage"
)

// A core is shared by serve and the local commands: the store, the engine over it, and the
// accounts.
type core struct {
	store    *storage.Store
	engine   *engine.Engine
	accounts *account.Accounts
	created  bool // the folder was made by this process
	serves   bool // this is serve, which tells by itself what a user may not do
	reads    bool // nothing is changed, neither in the store nor in any folder

	backedUp atomic.Pointer[admin.Backup] // the last backup; nil: never
}

// storePart is the part whose stop closes the store, when nothing uses it any more.
const storePart = "closing the store"

// openStore opens the store in s.dataDir as a part of parts, and makes it if there is none and
// create is true.
func (c *core) openStore(parts *stack, s *dataSettings, create bool, log *slog.Logger) (err error) {
	if err := s.checkFolder(); err != nil {
		return err
	}
	o := storage.Options{
		Logger: log, MinFree: s.minFree, AcceptLoss: s.acceptLoss, MaxOpenFiles: openTables(), CacheBytes: s.cacheBytes, MemTableBytes: s.memTableBytes,
		ReadOnly: c.reads, Replicate: node.Replicate, Fold: func(copy *storage.Store) error { return s.foldJournal(copy, log) },
	}
	c.store, err = storage.Open(s.dataDir, o)
	if errors.Is(err, storage.ErrNoStore) && create {
		c.created, o.Create = true, true
		c.store, err = storage.Open(s.dataDir, o)
	}
	switch {
	case err != nil && c.serves && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("opening the data folder: %w", err)
	case err != nil:
		return storeError(s.dataDir, err)
	}
	if err := c.readLastBackup(); err != nil { // not worth a refusal to start
		log.Warn("the time of the last backup cannot be read; metrics show none until the next one", "cause", err)
	}
	parts.onStop(storePart, c.store.Close)
	parts.run("store", c.store.Run)
	c.accounts = account.New(c.store.Accounts(), nil)
	if c.reads {
		c.accounts.ReadOnly()
		return nil
	}
	parts.run("accounts", func(ctx context.Context) error { return c.accounts.Run(ctx, log) })
	return nil
}

// load loads every link and shows the progress.
func (c *core) load(ctx context.Context, say *console.Console) error {
	start := time.Now()
	err := c.engine.Load(ctx, func(loaded uint64) { say.Loading(start, loaded) })
	say.Loaded(c.engine.Metrics().Links, time.Since(start))
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	return nil
}

// apiOptions returns the options of the API that follow from c; serve adds its own.
func (c *core) apiOptions(s *dataSettings, baseURL string, log *slog.Logger) api.Options {
	clients, admins := connectionsWithin(descriptors(), openTables())
	return api.Options{
		MaxConnections: clients, AdminConnections: admins,
		Engine: c.engine, Accounts: c.accounts, BaseURL: baseURL, Listens: []string{s.listen}, PrivateTargets: s.privateTargets,
		Logger: log, Version: versionText(), Metrics: admin.Sources{Store: c.storageMetrics, Backup: c.lastBackup},
		Operations: api.Operations{Backup: c.backUp, Check: c.check},
	}
}

// serveOn serves ln as a part of parts; it ends by the server's Shutdown. An error of the listener
// after that is not a failure: the server may have been shut down before it began to serve.
func serveOn(parts *stack, name string, serve func(net.Listener) error, ln net.Listener) {
	parts.run(name, func(context.Context) error {
		err := serve(ln)
		if parts.stopping.Load() {
			return nil
		}
		return err
	})
}

// dataPart is what tells whose a data folder is: the folder of the store in it. The data folder itself
// may be root's, such as a volume of Kubernetes.
const dataPart = "db"

// becomeOwner makes a process of root one of the user whose data it is, so that what it writes can be
// used by the server. Paths are absolute from then on: the user may not enter the working directory.
func (s *dataSettings) becomeOwner() error {
	data, journal := absolute(s.dataDir), absolute(s.journalDir)
	became, err := identity.Become(s.dataDir, dataPart)
	if !became {
		return err
	}
	if s.dataDir = data; s.journalDir != "" {
		s.journalDir = journal
	}
	return nil
}

// drainOnStop makes closing the listeners of server the first step of the stop.
func drainOnStop(parts *stack, server *api.Server, log *slog.Logger) {
	parts.onStop("drain", func() error {
		until := max(leastDrain, time.Until(parts.began.Add(drainBy))) // idle clients get api's own 3 s of it
		ctx, cancel := context.WithTimeout(context.Background(), until)
		defer cancel()
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			log.Warn("some requests did not finish in time and were cut off", "after", drainBy)
			return nil
		}
		return err
	})
}

// storeError adds to an error of storage.Open what to do about it. A wrong folder is named by its
// absolute path, because a relative one looks right from everywhere.
func storeError(dir string, err error) error {
	const elsewhere = "is your server's data elsewhere? Name its folder with --data"
	switch {
	case errors.Is(err, storage.ErrNoStore):
		return fmt.Errorf("there is %w in %s; %s", storage.ErrNoStore, absolute(dir), elsewhere)
	case errors.Is(err, storage.ErrNotAStore):
		return fmt.Errorf("%s is not a data folder (%w); %s", absolute(dir), errors.Unwrap(err), elsewhere)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is not a folder; %s", absolute(dir), elsewhere)
	case errors.Is(err, fs.ErrPermission):
		return denied(dir, err)
	case errors.Is(err, storage.ErrLocked):
		return fmt.Errorf("%s: %w, perhaps by another shunt: stop it, or name another folder (--data)", dir, storage.ErrLocked)
	case errors.Is(err, storage.ErrOldFormat):
		return fmt.Errorf("%s: %w; nothing was changed. %s", dir, err, keepOldLinks)
	case errors.Is(err, storage.ErrNewerFormat):
		return fmt.Errorf("%s: %w; nothing was changed. Run the newer program, or restore a backup from before the upgrade: shunt restore BACKUP --data NEW", dir, err)
	case errors.Is(err, storage.ErrLostWrites):
		return fmt.Errorf("%s: %w. Nothing was changed. Restore a backup ('shunt restore'), or start with 'shunt serve "+
			"--accept-loss' to go on without them", dir, err)
	case errors.Is(err, storage.ErrCorrupt):
		return fmt.Errorf("opening %s: %w; restore a backup ('shunt restore')", dir, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("opening %s: %w; free some space and start again", dir, err)
	case errors.Is(err, storage.ErrUnfinishedRestore):
		return fmt.Errorf("a restore into %s did not finish; run it again: shunt restore BACKUP --data %s", dir, console.Quote(dir))
	case errors.Is(err, storage.ErrUnfinishedBackup):
		return fmt.Errorf("the backup in %s did not finish and cannot be used; remove the folder", dir)
	case errors.Is(err, storage.ErrBackup):
		return fmt.Errorf("%s is a backup and is not changed; to make a data folder from it, run: shunt restore %s --data NEW", dir, console.Quote(dir))
	}
	return folderError(dir, "--data", err)
}

// denied is the error of a command that may not open a data folder: its owner may, unless root has made
// files in it.
func denied(dir string, err error) error {
	hint := "run the command as the user of the server (sudo -u USER)"
	switch owner, unknown := identity.OwnerOf(dir); {
	case unknown != nil:
	case owner.UID == os.Geteuid():
		if in := (*fs.PathError)(nil); errors.As(err, &in) {
			err = in
		}
		return fmt.Errorf("you may not open the data folder %s; %w", absolute(dir), (&dataSettings{dataDir: dir}).mend(err))
	default:
		hint = fmt.Sprintf("run the command as its owner (sudo -u %v)", owner)
	}
	return fmt.Errorf("you may not open the data folder %s; %s", absolute(dir), hint)
}

// refuseForeign refuses to serve, as root, the data of another user: that user's server could not use
// the files that this one makes.
func (s *dataSettings) refuseForeign() error {
	owner, foreign := identity.Foreign(s.dataDir, dataPart)
	if !foreign {
		return nil
	}
	return fmt.Errorf("the data in %[1]s belongs to the user %[2]v (%[3]s), and a server of root would make files in it that this user may not use; "+
		"run the server as that user (sudo -u %[2]v; User= of a service; --user %[3]s of a container), or give root the data: chown -R 0:0 %[4]s",
		absolute(s.dataDir), owner, owner.Numbers(), console.Quote(absolute(s.dataDir)))
}

// mend adds to an error, if it is one of permission, the command with which root gives this user what
// it may not use. It names no sudo: a container has none.
func (s *dataSettings) mend(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	self, dir := identity.Self(), s.unusable(err)
	command := fmt.Sprintf("chown -R %s %s", self.Numbers(), console.Quote(dir))
	if _, absent := os.Lstat(dir); errors.Is(absent, fs.ErrNotExist) {
		command = fmt.Sprintf("mkdir -p %s && chown %s %[1]s", console.Quote(dir), self.Numbers())
	}
	return fmt.Errorf("%w; this process runs as the user %v (%s): let root run: %s", err, self, self.Numbers(), command)
}

// unusable returns the folder that has what err is about.
func (s *dataSettings) unusable(err error) string {
	data := absolute(s.dataDir)
	in := (*fs.PathError)(nil)
	if !errors.As(err, &in) {
		return data
	}
	file := absolute(in.Path)
	if inside(file, data) {
		return data
	}
	if last, err := s.lastJournal(slog.New(slog.DiscardHandler)); err == nil && inside(file, last) {
		return last
	}
	if s.journalDir != "" && inside(file, absolute(s.journalDir)) {
		return absolute(s.journalDir)
	}
	return data
}

// inside reports whether file is dir or in it.
func inside(file, dir string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// edgeError adds to an error of openStore how the folder of an edge is made: no start makes one.
func edgeError(edge bool, err error) error {
	if edge && errors.Is(err, storage.ErrNoStore) {
		return fmt.Errorf("%w. The folder of an edge begins with a copy for it (shunt join)", err)
	}
	return err
}

// keepOldLinks says what to do with data from before the first release.
const keepOldLinks = "To keep its links, use the version that wrote it (a backup is made into data by its 'shunt restore'): print the links " +
	"with its 'shunt export', and read them into a new data folder with 'shunt import' of this version"

// folderError explains what is wrong with a folder that flag, or an argument, names, without the
// operation that failed.
func folderError(dir, flag string, err error) error {
	inPath := (*fs.PathError)(nil)
	switch {
	case !errors.As(err, &inPath):
		return fmt.Errorf("opening %s: %w", dir, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s (%s) is a file, or inside one, not a folder", dir, flag)
	}
	return fmt.Errorf("%s (%s): %w", dir, flag, inPath)
}

// absolute returns the absolute path of dir, or dir itself if the working directory is gone.
func absolute(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	return path
}

// checkFolder refuses a data folder that every user may write to: whoever can replace the socket in
// it gets the passwords that commands send, and whoever can replace the journal invents hits. Its
// group may write to it: Kubernetes gives a volume to a group (fsGroup).
func (s *dataSettings) checkFolder() error { return s.refuseOpen("data", s.dataDir) }

// refuseOpen refuses a folder that every user may write to, unless that is allowed. One that cannot
// be looked at is for whoever opens it to refuse.
func (s *dataSettings) refuseOpen(kind, dir string) error {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o002 == 0 || s.allowOpen {
		return nil
	}
	return fmt.Errorf("every user of this machine may write to the %s folder %s (mode %04o); run: chmod o-w %s (or, if that is meant, use --allow-open-data)",
		kind, absolute(dir), info.Mode().Perm(), console.Quote(absolute(dir)))
}

// warnOfOpenFolder logs a warning if others can enter or read the data folder. The socket and the
// journal are not open to them, but a user who can write there can replace both.
func (s *server) warnOfOpenFolder() error {
	dir := s.cfg.data.dataDir
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		s.say.Log.Warn("other users can enter the data folder; unless you want that, close it",
			"folder", dir, "mode", fmt.Sprintf("%04o", info.Mode().Perm()), "run", "chmod 700 "+console.Quote(dir))
	}
	return nil
}
