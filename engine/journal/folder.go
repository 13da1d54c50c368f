package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Folder is where the files of a store's journal are.
type Folder struct {
	storeID [16]byte
	path    string
}

// NewFolder returns the folder of a store's journal. It does not touch it.
func NewFolder(storeID [16]byte, path string) Folder { return Folder{storeID: storeID, path: path} }

// ring returns the path of a ring on the disk.
func (d *Folder) ring(epoch uint64, index int) string {
	return filepath.Join(d.path, ringName(d.storeID, epoch, index))
}

// dictionary returns the path of the dictionary of an epoch.
func (d *Folder) dictionary(epoch uint64) string {
	return filepath.Join(d.path, referrersName(d.storeID, epoch))
}

// HasDictionary reports whether the dictionary of an epoch exists. It is the last file of an epoch
// to be made.
func (d *Folder) HasDictionary(epoch uint64) bool {
	_, err := os.Lstat(d.dictionary(epoch))
	return !errors.Is(err, fs.ErrNotExist)
}

// removeEpochs deletes the store's files of the epochs that which accepts. An error that is
// ErrInUse means that a file was kept.
func (d *Folder) removeEpochs(which func(epoch uint64) bool) error {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), ringPrefix(d.storeID))
		number, _, ok := strings.Cut(rest, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if ours && ok && err == nil && which(n) {
			errs = append(errs, removeUnused(filepath.Join(d.path, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// RemoveBefore deletes the store's files of earlier epochs of the same history: their content is in
// the store.
func (d *Folder) RemoveBefore(epoch uint64) error {
	return d.removeEpochs(func(n uint64) bool { return n < epoch && sameHistory(n, epoch) })
}
