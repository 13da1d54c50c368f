package journal

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"
)

// A start fills small rings only, so that a new folder is small. The larger rings are sparse files. When
// the small ones fill up between two flushes that succeed, a goroutine fills the larger ones with zeros, as a start
// does with the small ones, and then hits go there until the process ends. If there is no room for them, hits stay in
// the small ones, which are as safe: a ring that is full waits for a flush. Rings that fill up because a flush hangs
// are no reason to grow: the disk would get 16 MiB a ring when it does not answer, and then its file system makes hits
// wait.

const (
	// growShare is the part of a ring that one flush must free to make the journal grow.
	growShare = 4

	// growPause is the time between a failure to grow and the next attempt.
	growPause = time.Minute
)

// cramped reports whether hits need larger rings.
func (j *Journal) cramped() bool {
	if j.grown.Load() || len(j.Rings) != 3*j.set {
		return false
	}
	for _, r := range j.Rings[:j.set] {
		if growShare*r.flushed.Load() > r.size {
			return true
		}
	}
	return false
}

// fill makes the larger rings ready for use, or leaves them sparse. It takes as long as the disk does.
func (j *Journal) fill(ctx context.Context) (err error) {
	rings := j.Rings[j.set : 2*j.set]
	for _, r := range rings {
		if _, err = r.file.Seek(ringHeaderBytes, io.SeekStart); err == nil {
			err = j.ops.fill(ctx, r.file, int(r.size)*slotBytes)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		return nil
	}
	for _, r := range rings { // give the room back: nobody has stored into them
		err = errors.Join(err, r.file.Truncate(ringHeaderBytes), r.file.Truncate(int64(len(r.mapping))))
	}
	return err
}

// useLarger sends hits to the larger rings, which are filled, unless the journal rests or is on standby: then
// hits go there afterwards. Only the keeper may call it.
func (j *Journal) useLarger() {
	j.grown.Store(true)
	j.active.CompareAndSwap(&j.tables[first], &j.tables[larger])
}

// growth is the part of the keeper that makes the journal grow. Run's goroutine alone uses it.
type growth struct {
	filled chan error // of the goroutine that fills the larger rings; nil: there is none
	next   time.Time  // no attempt before it
}

// await waits for the goroutine that fills the larger rings, if there is one.
func (g *growth) await() {
	if g.filled != nil {
		<-g.filled
	}
}

// grow begins to make the journal grow if hits need that, and ends it when the larger rings are filled.
func (k *Keeper) grow(ctx context.Context) {
	g := &k.growth
	if g.filled == nil {
		if k.journal.cramped() && !time.Now().Before(g.next) {
			g.filled = make(chan error, 1)
			go func() {
				g.filled <- k.journal.fill(ctx)
				k.hurry()
			}()
		}
		return
	}
	var err error
	select {
	case err = <-g.filled:
	default:
		return
	}
	g.filled = nil
	for _, r := range k.journal.Rings[k.journal.set : 2*k.journal.set] {
		if err == nil {
			err = k.keepRing(r)
		}
	}
	if err == nil {
		k.journal.useLarger()
		k.log.Info("the hit journal has grown", "folder", k.journal.in.path, "bytes", k.journal.SizeBytes())
		return
	}
	g.next = time.Now().Add(growPause)
	k.log.Warn("the hit journal cannot grow; its rings stay small, and hits may have to wait for flushes", slog.Any("cause", err))
}
