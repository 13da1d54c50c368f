package core

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/identity"
	"shunt/storage"
)

// storeError adds to an error of storage.Open what to do about it. A wrong folder is named by its
// absolute path, because a relative one looks right from everywhere.
func storeError(dir string, err error) error {
	const elsewhere = "is your server's data elsewhere? Name its folder with --data"
	switch {
	case errors.Is(err, storage.ErrNoStore):
		return fmt.Errorf("there is %w in %s; %s", storage.ErrNoStore, Absolute(dir), elsewhere)
	case errors.Is(err, storage.ErrNotAStore):
		return fmt.Errorf("%s is not a data folder (%w); %s", Absolute(dir), errors.Unwrap(err), elsewhere)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is not a folder; %s", Absolute(dir), elsewhere)
	case errors.Is(err, fs.ErrPermission):
		return denied(dir, err)
	case errors.Is(err, storage.ErrLocked):
		return fmt.Errorf("%s: %w, perhaps by another shunt: stop it, or name another folder (--data)", dir, storage.ErrLocked)
	case errors.Is(err, storage.ErrOldFormat):
		return fmt.Errorf("%s: %w; nothing was changed. %s", dir, err, KeepOldLinks)
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
		return fmt.Errorf("you may not open the data folder %s; %w", Absolute(dir), (&Data{Dir: dir}).Mend(err))
	default:
		hint = fmt.Sprintf("run the command as its owner (sudo -u %v)", owner)
	}
	return fmt.Errorf("you may not open the data folder %s; %s", Absolute(dir), hint)
}

// RefuseForeign refuses to serve, as root, the data of another user: that user's server could not use
// the files that this one makes.
func (s *Data) RefuseForeign() error {
	owner, foreign := identity.Foreign(s.Dir, dataPart)
	if !foreign {
		return nil
	}
	return fmt.Errorf("the data in %[1]s belongs to the user %[2]v (%[3]s), and a server of root would make files in it that this user may not use; "+
		"run the server as that user (sudo -u %[2]v; User= of a service; --user %[3]s of a container), or give root the data: chown -R 0:0 %[4]s",
		Absolute(s.Dir), owner, owner.Numbers(), console.Quote(Absolute(s.Dir)))
}

// Mend adds to an error, if it is one of permission, the command with which root gives this user what
// it may not use. It names no sudo: a container has none.
func (s *Data) Mend(err error) error {
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
func (s *Data) unusable(err error) string {
	data := Absolute(s.Dir)
	in := (*fs.PathError)(nil)
	if !errors.As(err, &in) {
		return data
	}
	file := Absolute(in.Path)
	if inside(file, data) {
		return data
	}
	if last, err := s.lastJournal(slog.New(slog.DiscardHandler)); err == nil && inside(file, last) {
		return last
	}
	if s.journalDir != "" && inside(file, Absolute(s.journalDir)) {
		return Absolute(s.journalDir)
	}
	return data
}

// inside reports whether file is dir or in it.
func inside(file, dir string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// KeepOldLinks says what to do with data from before the first release.
const KeepOldLinks = "To keep its links, use the version that wrote it (a backup is made into data by its 'shunt restore'): print the links " +
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

// dataPart is what tells whose a data folder is: the folder of the store in it. The data folder itself
// may be root's, such as a volume of Kubernetes.
const dataPart = "db"

// BecomeOwner makes a process of root one of the user whose data it is, so that what it writes can be
// used by the server. Paths are absolute from then on: the user may not enter the working directory.
func (s *Data) BecomeOwner() error {
	data, journal := Absolute(s.Dir), Absolute(s.journalDir)
	became, err := identity.Become(s.Dir, dataPart)
	if !became {
		return err
	}
	if s.Dir = data; s.journalDir != "" {
		s.journalDir = journal
	}
	return nil
}
