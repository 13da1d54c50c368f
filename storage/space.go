package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/disk"
)

const (
	// spaceInterval is the time between two checks of the free space while links are written, or
	// refused; otherwise it is idleInterval. If a file system fills up faster, the operation that finds it
	// full reports it.
	spaceInterval = time.Second
	idleInterval  = 30 * time.Second

	defaultFloorBytes   = 512 << 20
	defaultFloorPercent = 5

	// The ballast is a file that occupies space while there is some, and is removed when there is
	// none. It is large enough for the store to be opened, for operations under way to end, and for an
	// operator to log in. It is made only if there is room above the floor for what a start takes after
	// it, too: the journal (18 MiB) and the log's first steps. So a disk on which a start fails would be too small
	// without a ballast, too.
	ballastBytes = 2 * startBytes
	afterBallast = 32 << 20

	// startBytes is the space that opening a store needs in addition to the content of its log: for
	// a manifest and a log. The journal is separate.
	startBytes = 16 << 20

	// fullFor is the time for which a disk counts as full after an operation has found it full,
	// whatever the file system reports as free: the report may be more than a quota allows.
	fullFor = 3 * time.Second
)

// Floor is the free space below which the store refuses writes of links: the smaller of the two
// limits that are set. The zero value means 5 % or 512 MiB.
type Floor struct {
	Bytes   uint64
	Percent float64 // of the file system
	Off     bool    // no floor: only a full disk counts
}

func (f Floor) of(total uint64) uint64 {
	if f == (Floor{}) {
		f = Floor{Bytes: defaultFloorBytes, Percent: defaultFloorPercent}
	}
	share := uint64(float64(total) * f.Percent / 100)
	switch {
	case f.Off:
		return 0
	case f.Percent == 0:
		return f.Bytes
	case f.Bytes == 0:
		return share
	}
	return min(f.Bytes, share)
}

// space watches the free space of the store's file system. Below the floor, links and accounts are
// refused (ErrReadOnly), so that the rest is left for hits and compaction. On a full disk those
// wait (disk.PatientFS).
type space struct {
	fs    vfs.FS // not patient
	dir   string
	floor Floor
	log   *slog.Logger

	readOnly atomic.Bool
	wanted   atomic.Bool   // somebody has written since the last check
	woken    chan struct{} // so it has, and the watch waits for idleInterval
	free     atomic.Uint64 // bytes at the last check, including the ballast
	least    atomic.Uint64 // bytes of the floor at the last check
	kept     atomic.Uint64 // bytes of the ballast at the last check; mu is held while it is made

	mu struct {
		sync.Mutex
		ballast  uint64 // bytes of the existing ballast file
		lastFull time.Time
	}
}

func (s *space) init(dir string, o *Options) {
	s.fs, s.dir, s.floor, s.log, s.woken = o.FS, dir, o.MinFree, o.Logger, make(chan struct{}, 1)
}

func (s *space) path() string { return s.fs.PathJoin(s.dir, disk.BallastName) }

// findBallast finds the ballast of an earlier run.
func (s *space) findBallast() error {
	info, err := s.fs.Stat(s.path())
	switch {
	case err == nil:
		s.mu.ballast = uint64(info.Size())
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// wantFreeSpace refuses to open the store in f if there is too little space for that, because
// Pebble writes the content of the logs into tables and would try again as long as that fails. It
// removes the ballast if that frees enough.
func (s *space) wantFreeSpace(f *disk.Folder) error {
	need := uint64(startBytes)
	names, err := f.List(f.Path(disk.DBName))
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		info, err := f.FS.Stat(f.FS.PathJoin(f.Path(disk.DBName), name))
		if err != nil {
			return err
		}
		need += uint64(info.Size())
	}
	usage, err := s.fs.GetDiskUsage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	switch free := usage.AvailBytes + s.mu.ballast; {
	case err != nil || usage.AvailBytes >= need:
		return err
	case free < need:
		return fmt.Errorf("%w: %d MiB are free in %s, and %d are needed to open it", syscall.ENOSPC, free>>20, s.dir, need>>20)
	}
	s.log.Warn("too little space to open the store: removing its ballast file", "folder", s.dir, "free_bytes", usage.AvailBytes)
	s.mu.ballast = 0
	return s.fs.Remove(s.path())
}

// watch checks the space until ctx is done.
func (s *space) watch(ctx context.Context) error {
	for said := false; ; {
		if !s.pause(ctx) {
			return nil
		}
		if err := s.look(); err != nil && !said {
			said = true
			s.log.Warn("free space cannot be watched", "folder", s.dir, "error", err)
		}
	}
}

// pause waits until the space is to be checked. It returns false if ctx is done.
func (s *space) pause(ctx context.Context) bool {
	timer := time.NewTimer(idleInterval)
	defer timer.Stop()
	if !s.readOnly.Load() && !s.wanted.Swap(false) {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-s.woken:
		}
	}
	timer.Reset(spaceInterval)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// want makes the next check come soon.
func (s *space) want() {
	if s.wanted.Load() || s.wanted.Swap(true) {
		return
	}
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// look compares free space with the floor.
func (s *space) look() error {
	usage, err := s.fs.GetDiskUsage(s.dir)
	switch {
	case errors.Is(err, vfs.ErrUnsupported): // a file system in memory
		return nil
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	floor := s.floor.of(usage.TotalBytes)
	free := usage.AvailBytes + s.mu.ballast
	s.free.Store(free)
	s.least.Store(floor)
	s.kept.Store(s.mu.ballast)
	if time.Since(s.mu.lastFull) < fullFor {
		return nil
	}
	s.changeLocked(free < floor, "free_bytes", free, "floor_bytes", floor)
	if floor > 0 && s.mu.ballast == 0 && usage.AvailBytes >= floor+ballastBytes+afterBallast {
		s.makeBallastLocked(ballastBytes)
		s.kept.Store(s.mu.ballast)
	}
	return nil
}

// full is called by an operation that found no space. It removes the ballast and makes the store
// refuse new writes until there is space again.
func (s *space) full() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lastFull = time.Now()
	s.want()
	s.changeLocked(true, "cause", "no space left")
	if s.mu.ballast == 0 {
		return
	}
	s.mu.ballast = 0
	if err := s.fs.Remove(s.path()); err != nil {
		s.log.Error("the ballast file cannot be removed", "file", s.path(), "error", err)
	}
}

func (s *space) changeLocked(readOnly bool, why ...any) {
	if s.readOnly.Swap(readOnly) == readOnly {
		return
	}
	why = append(why, "folder", s.dir)
	if readOnly {
		s.log.Error("too little space: links cannot be written until there is more; redirects go on", why...)
	} else {
		s.log.Info("there is space again: links are written", why...)
	}
}

// makeBallastLocked makes the ballast file if the file system can reserve space; otherwise there is
// none.
func (s *space) makeBallastLocked(sizeBytes uint64) {
	if err := s.allocate(sizeBytes); err != nil {
		s.log.Debug("no ballast file", "error", err)
		_ = s.fs.Remove(s.path()) // it may not exist
		return
	}
	s.mu.ballast = sizeBytes
}

func (s *space) allocate(sizeBytes uint64) error {
	file, err := s.fs.OpenReadWrite(s.path(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = file.Preallocate(0, int64(sizeBytes)); err == nil {
		_, err = file.WriteAt([]byte{0}, int64(sizeBytes)-1) // so that it has its size
	}
	return errors.Join(err, file.Close())
}

// ReadOnly implements engine.Store.
func (s *Store) ReadOnly() bool { return s.space.readOnly.Load() }

// check returns engine.ErrReadOnly below the floor. It is called before a write of links or
// accounts.
func (s *space) check() error {
	s.want()
	if s.readOnly.Load() {
		return fmt.Errorf("storage: %w", engine.ErrReadOnly)
	}
	return nil
}
