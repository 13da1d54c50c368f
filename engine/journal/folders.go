package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Folders are the two folders of a store's journal: one for rings and dictionary, one for standby
// rings.
type Folders struct {
	storeID [16]byte
	rings   string
	standby string // in memory; "" or missing: standby rings are in the memory of the process
	of      string // the owner that the standby folder's note names
	reads   bool   // see ForReading
}

// ForReading returns d for a process that reads the files of another user's server, such as root. The
// folder of standby rings is then that user's.
func (d Folders) ForReading() Folders {
	d.reads = true
	return d
}

// NewFolders returns the folders of a store's journal: dir, and a folder of the store in
// standbyDir, which is in memory ("": there is none). A note in the latter names its owner: of, the
// path of the data folder. NewFolders touches neither folder.
func NewFolders(storeID [16]byte, dir, standbyDir, of string) Folders {
	return Folders{storeID: storeID, rings: dir, standby: standbyFolder(standbyDir, storeID), of: of}
}

// standbyFolder returns the path of a store's folder in dir. Anybody may be able to write to dir.
func standbyFolder(dir string, storeID [16]byte) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, fmt.Sprintf("%s%x", standbyPrefix, storeID[:standbyIDBytes]))
}

// ring returns the path of ring i of n. The second half are standby rings, except in a journal of a
// version that had none. The path of a ring that cannot have a file is "".
func (d *Folders) ring(epoch uint64, i, n int) string {
	name := ringName(d.storeID, epoch, i)
	path := filepath.Join(d.rings, name)
	if !isStandby(i, n) {
		return path
	}
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	if !d.hasStandby() {
		return ""
	}
	return filepath.Join(d.standby, name)
}

func (d *Folders) hasStandby() bool {
	if d.reads {
		standby, err := os.Lstat(d.standby)
		return err == nil && standby.IsDir() && standby.Mode().Perm()&0o077 == 0 && d.mayBeOurs(standby)
	}
	return d.standby != "" && private(d.standby) == nil
}

// mayBeOurs reports whether a folder of standby rings belongs to a user that may have run this store:
// this one, the owner of its journal, or root. A stranger may have put there one of any other user.
func (d *Folders) mayBeOurs(standby fs.FileInfo) bool {
	if of := owner(standby); of == os.Geteuid() || of == 0 {
		return true
	}
	rings, err := os.Stat(d.rings)
	return err == nil && owner(rings) == owner(standby)
}

// isStandby reports whether ring i of n is a standby ring. A power cut loses its file.
func isStandby(i, n int) bool { return i >= n/2 }

// each calls do for each folder that may have files of the journal.
func (d *Folders) each(do func(dir string) error) error {
	err := do(d.rings)
	if d.hasStandby() {
		err = errors.Join(err, do(d.standby))
	}
	return err
}

// dictionary returns the path of the dictionary of an epoch.
func (d *Folders) dictionary(epoch uint64) string {
	return filepath.Join(d.rings, referrersName(d.storeID, epoch))
}

// HasDictionary reports whether the dictionary of an epoch exists. It is the last file of an epoch
// to be made.
func (d *Folders) HasDictionary(epoch uint64) bool {
	_, err := os.Lstat(d.dictionary(epoch))
	return !errors.Is(err, fs.ErrNotExist)
}

// removeEpochs deletes the store's files of the epochs that which accepts. An error that is
// ErrInUse means that a file was kept.
func (d *Folders) removeEpochs(which func(epoch uint64) bool) error {
	return d.each(func(dir string) error { return removeIn(dir, d.storeID, which) })
}

// RemoveBefore deletes the store's files of earlier epochs of the same history: their content is in
// the store.
func (d *Folders) RemoveBefore(epoch uint64) error {
	return d.removeEpochs(func(n uint64) bool { return n < epoch && sameHistory(n, epoch) })
}

// RemoveStandby deletes the standby rings of one epoch. Those of other epochs may have the only
// copy of hits that a killed server took.
func (d *Folders) RemoveStandby(epoch uint64) error {
	if !d.hasStandby() {
		return nil
	}
	err := removeIn(d.standby, d.storeID, func(n uint64) bool { return n == epoch })
	return errors.Join(err, removeStandbyFolder(d.standby))
}

// removeIn deletes the store's files of the epochs that which accepts, in one folder.
func removeIn(dir string, storeID [16]byte, which func(epoch uint64) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), ringPrefix(storeID))
		number, _, ok := strings.Cut(rest, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if ours && ok && err == nil && which(n) {
			errs = append(errs, removeUnused(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// Foreign returns an error if the folder of standby rings cannot be read because it belongs to
// another user that may have run this store. A folder of any other user is ignored. Whoever only reads
// finds out when it opens the files.
func (d *Folders) Foreign() error {
	if d.standby == "" || d.reads {
		return nil
	}
	standby, err := os.Lstat(d.standby)
	if err != nil || owner(standby) == os.Geteuid() || !d.mayBeOurs(standby) {
		return nil
	}
	return &fs.PathError{Op: "open", Path: d.standby, Err: fs.ErrPermission}
}

// owner returns the user id of a file's owner, -1 if it is not known.
func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// makePrivate makes a folder for this user alone, if it does not exist. A folder that another user
// owns or can open is an error.
func makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return private(dir)
}

func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || owner(info) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}
