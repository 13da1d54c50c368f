package offsite

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A log of tests may be written to by any goroutine.
type testLog struct {
	sync.Mutex
	strings.Builder
}

func (l *testLog) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Builder.Write(p)
}

func (l *testLog) text() string {
	l.Lock()
	defer l.Unlock()
	return l.String()
}

func TestAKeeperMakesOneBackupAfterAnother(t *testing.T) {
	s := newSite(t)
	dir, log := first.inFolder(t), new(testLog)
	ctx, end := context.WithCancel(t.Context())
	var verified []bool
	k := &Keeper{Order: s.order, Every: 1500 * time.Millisecond, Store: storeA, Log: slog.New(slog.NewTextHandler(log, nil))}
	k.Make = func(ctx context.Context, verify bool, take func(context.Context, Made) error) error {
		verified = append(verified, verify)
		switch len(verified) {
		case 2:
			return errors.New("no luck")
		case 4:
			end()
			return ctx.Err()
		}
		return take(ctx, Made{Dir: dir, Store: storeA, At: noon.Add(time.Duration(len(verified)) * time.Minute)})
	}
	expect.Error(t, k.Run(ctx), context.Canceled)
	f := k.Figures()
	expect.That(t, f.LastAt.Equal(noon.Add(3*time.Minute)) && f.Took > 0 && f.Failures == 1 && f.Every == k.Every && f.SentBytes == 292_000+15,
		"got %+v", f)
	expect.Slices(t, verified, []bool{true, false, false, false}, "whether the backup was to be verified")
	expect.That(t, strings.Count(log.text(), "the backup off this machine failed") == 1 && strings.Contains(log.text(), "no luck"), "got %s", log.text())
	expect.Equal(t, len(s.objects(storeA, backupsFolder)), 2)
}

func TestAKeeperWaitsUntilTheNextBackupIsDue(t *testing.T) {
	s := newSite(t)
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	s.push(storeA, at, first)
	k := &Keeper{Order: s.order, Every: time.Hour, Store: storeA, Log: slog.New(slog.DiscardHandler)}
	due := k.firstDue(t.Context())
	expect.That(t, due.Equal(at.Add(time.Hour)) && k.Figures().LastAt.Equal(at), "got %v, of %v, after a backup of %v", due, k.Figures().LastAt, at)
	k.Store = storeB
	due = k.firstDue(t.Context())
	expect.That(t, time.Until(due) <= 0 && k.Figures().LastAt.IsZero(), "of a store without one: got %v", due)
}
