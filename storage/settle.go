package storage

import (
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// What was written last is in memory and in the log only, up to some 400 MB. A start reads the log
// twice, once to check that nothing is missing and once to open the database: 2 s for 70 MB on a busy
// machine. So a clean stop writes it into tables first, and the next start finds an empty log.

// settlePatience bounds how long Close waits for that, unless Settle has said how long. It is part of the time that a
// process manager gives a stop, and nothing is lost without it.
const settlePatience = 4 * time.Second

// Settle begins to write what is only in memory and in the log into tables, and does not wait for it.
// It is for a stop that goes on serving for a moment: Close has less left to do then, and waits for it until by.
// Any number of goroutines may call it before Close.
func (s *Store) Settle(by time.Time) {
	s.settleBy.Store(&by)
	s.settle()
}

// settle returns a channel that is closed when everything that was committed before is in tables; nil
// if there is no room for that, because then Pebble would try again and again.
func (s *Store) settle() (settled <-chan struct{}) {
	if m := s.db.Metrics(); !s.space.hasRoom(m.MemTable.Size + startBytes) {
		return nil
	}
	settled, err := s.db.AsyncFlush()
	if err != nil { // the data is in the log
		s.space.log.Warn("what was written last stays in the log; the next start takes longer", "error", err)
		return nil
	}
	return settled
}

// awaitSettled settles, and waits for it as long as patience lasts.
func (s *Store) awaitSettled() {
	settled := s.settle()
	if settled == nil {
		return
	}
	wait := settlePatience
	if by := s.settleBy.Load(); by != nil {
		wait = time.Until(*by)
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-settled:
	case <-patience.C:
	}
}

// hasRoom reports whether a number of bytes may be written that nobody has asked for.
func (s *space) hasRoom(bytes uint64) bool {
	if s.readOnly.Load() {
		return false
	}
	usage, err := s.fs.GetDiskUsage(s.dir)
	return errors.Is(err, vfs.ErrUnsupported) || err == nil && usage.AvailBytes >= bytes
}
