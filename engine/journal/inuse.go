package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Files of a journal are locked (flock) by the process that has made them, until it closes them or
// its process ends. The lock on a data folder does not do: a copy of the folder, made while a
// server runs, names the same files, and two copies of a store may have one journal folder. Whoever
// finds a file locked neither replays, nor replaces, nor removes it. A file system without such
// locks protects from none of this, and the journal works there all the same.

// ErrInUse says that a living process, of another copy of the store, writes to a file.
var ErrInUse = errors.New("in use by a running server on another copy of this store")

// lockJournalFile takes the lock of a file that is about to be written.
func lockJournalFile(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// flock takes a lock without waiting. Only that somebody else has it is an error.
func flock(f *os.File, how int) error {
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", f.Name(), ErrInUse)
	}
	return nil
}

// unlockJournalFile gives the lock back. Closing the file does not, as long as it is mapped.
func unlockJournalFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// checkUnused returns ErrInUse if the file is locked, or why it could not be opened. A shared lock
// is enough to see that, and can be had of a file that may only be read.
func checkUnused(path string) error {
	f, err := openOld(path)
	if err != nil {
		return err
	}
	return errors.Join(flock(f, syscall.LOCK_SH), f.Close())
}

// InUse returns ErrInUse if any file of p's epoch is locked. Files that cannot be opened are
// Replay's to report.
func (d *Folders) InUse(p Positions) error {
	paths := []string{d.dictionary(p.Epoch)}
	for i := range p.Rings {
		paths = append(paths, d.ring(p.Epoch, i, len(p.Rings)))
	}
	for _, path := range paths { // "" opens nothing
		if err := checkUnused(path); errors.Is(err, ErrInUse) {
			return err
		}
	}
	return nil
}

// Readable returns the error of opening a file of p's epoch that an operator can mend: it may not
// be read, or too many files are open. Anything else that is wrong with a file is Replay's to
// report.
func (d *Folders) Readable(p Positions) error {
	for i := range p.Rings {
		f, err := openOld(d.ring(p.Epoch, i, len(p.Rings)))
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			return err
		case err == nil:
			_ = f.Close()
		}
	}
	return nil
}

// removeUnused removes a file of a journal, unless it is in use, or not to be opened: then nobody
// can tell.
func removeUnused(path string) error {
	if err := checkUnused(path); errors.Is(err, ErrInUse) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return os.Remove(path)
}
