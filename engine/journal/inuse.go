package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// The process that makes the files of a journal locks them (flock) until it closes them or ends.
// The lock on the data folder is not enough: a copy of the folder, made while a server runs, names
// the same files, and two copies of a store may share one journal folder. A process that finds a
// file locked does not replay, replace or remove it. On a file system without such locks there is
// no protection from this, but the journal works there, too.

// ErrInUse says that a running process, of another copy of the store, writes to a file.
var ErrInUse = errors.New("in use by a running server on another copy of this store")

// lockJournalFile takes the lock of a file that is about to be written.
func lockJournalFile(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// flock takes a lock without waiting. It is an error only if another process has the lock.
func flock(f *os.File, how int) error {
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", f.Name(), ErrInUse)
	}
	return nil
}

// unlockJournalFile releases the lock. Closing the file does not, as long as it is mapped.
func unlockJournalFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// checkUnused returns ErrInUse if the file is locked, or the error of opening it. It tries a shared
// lock, which is enough to see that and can be taken on a file that is only readable.
func checkUnused(path string) error {
	f, err := openOld(path)
	if err != nil {
		return err
	}
	return errors.Join(flock(f, syscall.LOCK_SH), f.Close())
}

// InUse returns ErrInUse if any file of p's epoch is locked. It ignores files that cannot be
// opened: Replay reports them.
func (d *Folder) InUse(p Positions) error {
	paths := []string{d.dictionary(p.Epoch)}
	for i := range p.OnDisk() {
		paths = append(paths, d.ring(p.Epoch, i))
	}
	for _, path := range paths {
		if err := checkUnused(path); errors.Is(err, ErrInUse) {
			return err
		}
	}
	return nil
}

// Readable returns an error if a file of p's epoch cannot be opened for a reason that an operator
// can remove: missing permission, or too many open files. It ignores anything else that is wrong
// with a file: Replay reports that.
func (d *Folder) Readable(p Positions) error {
	for i := range p.OnDisk() {
		f, err := openOld(d.ring(p.Epoch, i))
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			return err
		case err == nil:
			_ = f.Close()
		}
	}
	return nil
}

// removeUnused removes a file of a journal, unless it is in use, or permission to open it is missing:
// then it may be in use.
func removeUnused(path string) error {
	if err := checkUnused(path); errors.Is(err, ErrInUse) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return os.Remove(path)
}
