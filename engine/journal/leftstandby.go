package journal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file finds and removes folders of standby rings that killed servers have left. The next
// start of the same store replays and removes its folder. If the data folder is gone, there is no
// such start, and the folder would stay until the machine stops. But a disk that is not mounted
// looks gone, too. So such folders are shown to an operator, and removed only on request.

// standbyNote is the file in a folder of standby rings that names its owner (of, as NewFolders
// takes it).
const standbyNote = "data-folder"

// maxNoteBytes is Linux's PATH_MAX.
const maxNoteBytes = 4096

// A LeftStandby describes a folder of standby rings that a killed server has left.
type LeftStandby struct {
	Path    string
	Of      string // of, as the last process that used the folder gave it to NewFolders; "": a version that did not write it
	Bytes   int64
	Begun   time.Time // when the last ring was made; without rings, when the folder was last changed
	Records uint64    // hits in the rings, whether the store has them or not
	Unread  int       // rings that cannot be read, so they may have hits
}

// Errors of RemoveStandby.
var (
	ErrNotStandby   = errors.New("not a folder of this user's that a server has left in memory")
	ErrStandbyInUse = errors.New("a running server has this folder in use")
	ErrUnreplayed   = errors.New("it may have hits that were answered and are counted nowhere else")
)

const (
	standbyPrefix  = "shunt-"
	standbyIDBytes = 8 // of the store id, in a folder's name

	// maxStandbyFiles bounds the files of such a folder: those of 16 killed starts with the greatest
	// number of rings.
	maxStandbyFiles = 16 * 2 * MaxRings
)

// LeftStandbyFolders returns the folders of standby rings in dir that this user owns, that no
// process uses, and whose data folder wanted accepts. It returns at most limit folders, and how
// many more there may be.
func LeftStandbyFolders(dir string, limit int, wanted func(of string) bool) (left []LeftStandby, more int) {
	paths, _ := filepath.Glob(filepath.Join(dir, standbyPrefix+"*")) // Glob fails only for a bad pattern
	for _, path := range paths {
		if dir == "" || !isStandbyName(filepath.Base(path)) || private(path) != nil || !wanted(readNote(path)) {
			continue
		}
		if len(left) == limit {
			more++
			continue
		}
		f, err := openLeft(dir, path, syscall.LOCK_SH) // shared: a server that starts meanwhile must see that nobody uses it
		if err != nil {                                // in use, removed meanwhile, or not what its name says
			continue
		}
		left = append(left, f.LeftStandby)
		f.close()
	}
	return left, more
}

// RemoveStandby removes a folder of standby rings in dir. It refuses a folder that is in use, one
// of another user, a link, and a folder with other files in it. It removes a folder that may have
// hits that no store has only with force. In either case it returns what the folder had, or has.
// Errors: ErrNotStandby, ErrStandbyInUse, ErrUnreplayed.
func RemoveStandby(dir, path string, force bool) (LeftStandby, error) {
	f, err := openLeft(dir, path, syscall.LOCK_EX)
	if err != nil {
		return LeftStandby{}, err
	}
	defer f.close() // holds the locks until then
	if !force && (f.Records > 0 || f.Unread > 0) {
		return f.LeftStandby, ErrUnreplayed
	}
	for _, file := range f.files {
		if err := os.Remove(file.Name()); err != nil {
			return f.LeftStandby, err
		}
	}
	return f.LeftStandby, removeStandbyFolder(f.Path)
}

// removeStandbyFolder removes a folder that has no more rings.
func removeStandbyFolder(path string) error {
	if entries, err := os.ReadDir(path); err == nil && len(entries) == 1 && entries[0].Name() == standbyNote {
		if err := os.Remove(filepath.Join(path, standbyNote)); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// noteStandby writes the note that names the owner of a folder of standby rings.
func noteStandby(path, of string) error {
	if of == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(path, standbyNote), []byte(of+"\n"), 0o600)
}

// openedLeft is a folder whose rings this process has locked.
type openedLeft struct {
	LeftStandby
	lock  int // LOCK_SH or LOCK_EX
	files []*os.File
}

func (f *openedLeft) close() {
	for _, file := range f.files {
		_ = file.Close()
	}
}

// openLeft inspects a folder in dir, and locks its rings. It first checks that the folder belongs
// to this user alone, so its content is nobody else's.
func openLeft(dir, path string, lock int) (*openedLeft, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if dir == "" || filepath.Dir(path) != filepath.Clean(dir) || !isStandbyName(filepath.Base(path)) {
		return nil, fmt.Errorf("%w: such folders are %s", ErrNotStandby, filepath.Join(dir, standbyPrefix+"…"))
	}
	if err := private(path); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStandby, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxStandbyFiles {
		return nil, fmt.Errorf("%w: it has %d files", ErrNotStandby, len(entries))
	}
	f := &openedLeft{LeftStandby: LeftStandby{Path: path, Of: readNote(path)}, lock: lock}
	for _, entry := range entries {
		if err := f.add(entry); err != nil {
			f.close()
			return nil, err
		}
	}
	if len(f.files) == 0 { // killed before it made the first, or after it removed the last
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		f.Begun = info.ModTime()
	}
	return f, nil
}

// isStandbyName reports whether name is that of a folder of standby rings.
func isStandbyName(name string) bool {
	id, ok := strings.CutPrefix(name, standbyPrefix)
	return ok && len(id) == 2*standbyIDBytes && isHex(id)
}

func isHex(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && strings.ToLower(text) == text
}

// add inspects one file of the folder. It locks a ring.
func (f *openedLeft) add(entry os.DirEntry) error {
	path := filepath.Join(f.Path, entry.Name())
	epoch, index, ok := f.parseName(entry.Name())
	switch {
	case entry.Name() == standbyNote && entry.Type().IsRegular():
		return nil
	case !ok || !entry.Type().IsRegular():
		return fmt.Errorf("%w: it has %s", ErrNotStandby, entry.Name())
	}
	file, err := openOld(path)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	if err := flock(file, f.lock); err != nil {
		return fmt.Errorf("%w: %s", ErrStandbyInUse, path)
	}
	return f.look(file, epoch, index)
}

// readNote returns the owner that noteStandby wrote; "": it is not known.
func readNote(path string) string {
	file, err := openOld(filepath.Join(path, standbyNote))
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxNoteBytes)
	n, _ := file.Read(text) // an empty note names nobody
	return strings.Trim(string(text[:n]), "\n\x00")
}

// parseName returns the epoch and the index in the name of a ring's file.
func (f *openedLeft) parseName(name string) (epoch uint64, index uint32, ok bool) {
	rest, ours := strings.CutPrefix(name, "ring-"+strings.TrimPrefix(filepath.Base(f.Path), standbyPrefix)+"-")
	number, which, cut := strings.Cut(rest, "-")
	epoch, err := strconv.ParseUint(number, 10, 64)
	i, indexErr := strconv.ParseUint(which, 10, 8)
	return epoch, uint32(i), ours && cut && err == nil && indexErr == nil && i < 2*MaxRings
}

// look counts the records of a ring, also those that the store has: only the store knows which.
func (f *openedLeft) look(file *os.File, epoch uint64, index uint32) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.Bytes += info.Size()
	if made := info.ModTime(); made.After(f.Begun) {
		f.Begun = made
	}
	r := &oldRing{file: file, chunkAt: noChunk}
	records, err := r.count(epoch, index)
	if f.Records += records; err != nil {
		f.Unread++
	}
	return nil
}

// count returns how many records a ring has, of whatever store.
func (r *oldRing) count(epoch uint64, index uint32) (records uint64, err error) {
	b := make([]byte, ringHeaderBytes)
	if _, err := r.file.ReadAt(b, 0); err != nil {
		return 0, err
	}
	var h ringHeader
	if err := h.decode(b); err != nil {
		return 0, err
	}
	if err := r.readHeader(ringHeader{storeID: h.storeID, epoch: epoch, index: index}); err != nil {
		return 0, err
	}
	var found Replayed
	err = r.replay(new(uint64), &found, func(*Record) error { return nil })
	return found.Records, errors.Join(err, r.fault)
}
