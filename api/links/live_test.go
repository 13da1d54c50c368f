package links

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/engine"
	"shunt/engine/expect"
)

// A bubble is a stream in a bubble of fake time; the test decides what its two functions return.
type bubble struct {
	liveStream
	hitsNow atomic.Uint64
	err     atomic.Pointer[error]
	reads   atomic.Int64 // calls of figures
	client  net.Conn
	freed   int
}

func newBubble() *bubble {
	b := new(bubble)
	b.recheck = func() error { return nil }
	b.hits = func() (uint64, error) {
		if err := b.err.Load(); err != nil {
			return 0, *err
		}
		return b.hitsNow.Load(), nil
	}
	b.figures = func() (liveFigures, error) {
		b.reads.Add(1)
		return liveFigures{b.hitsNow.Load(), min(b.hitsNow.Load(), 1)}, nil
	}
	b.client, b.conn = net.Pipe()
	b.ending, b.release, b.log = make(chan struct{}), func() { b.freed++ }, slog.New(slog.DiscardHandler)
	return b
}

// next returns what is sent next, and how long that took.
func (b *bubble) next() (string, time.Duration) {
	buf := make([]byte, 1000)
	start := time.Now()
	n, err := b.Read(buf)
	if err != nil {
		return err.Error(), time.Since(start)
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(buf[:n]), "\n\n"), "\n", "|"), time.Since(start)
}

func TestALiveStreamKeepsItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		b.want(t, 0, figuresEvent(0, 0))
		b.want(t, 15*time.Second, ":")
		b.want(t, 15*time.Second, ":")
		expect.Equal(t, b.reads.Load(), 2, "figures were read times without a change")
		b.hitsNow.Store(5)
		b.want(t, time.Second, figuresEvent(5, 1))
		b.hitsNow.Store(6)
		b.want(t, time.Second, figuresEvent(6, 1))
		b.want(t, 13*time.Second, ":")
		b.hitsNow.Store(7)
		var hits sync.WaitGroup
		hits.Go(func() {
			for range 100 { // ten a second
				b.hitsNow.Add(1)
				time.Sleep(100 * time.Millisecond)
			}
		})
		for range 10 {
			got, took := b.next()
			expect.That(t, took == time.Second && strings.HasPrefix(got, "data: "), "got %q after %v, want an event a second", got, took)
		}
		hits.Wait()
		expect.NoError(t, b.Close())
		expect.NoError(t, b.conn.Close())
		expect.Equal(t, b.freed, 1, "its place was given back times")
	})
}

func TestALiveStreamSaysWhyItEnds(t *testing.T) {
	for want, err := range map[string]error{
		"deleted": fmt.Errorf("x: %w", engine.ErrNotFound), "unauthorized": account.ErrUnauthorized, "error": errors.New("disk 7 is on fire"),
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble()
			b.want(t, 0, figuresEvent(0, 0))
			time.Sleep(400 * time.Millisecond)
			b.err.Store(&err)
			b.want(t, 600*time.Millisecond, `event: end|data: {"reason":"`+want+`"}`)
			b.want(t, 0, "EOF")
			expect.NoError(t, b.Close())
			expect.NoError(t, b.conn.Close())
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		b.want(t, 0, figuresEvent(0, 0))
		time.AfterFunc(300*time.Millisecond, func() { expect.NoError(t, b.client.Close()) })
		b.want(t, 300*time.Millisecond, "EOF")
		expect.NoError(t, b.Close())
		expect.NoError(t, b.conn.Close())
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		expect.NoError(t, b.Close()) // an unread stream can be closed
		expect.Equal(t, b.freed, 1, "its place was given back times")
	})
}

func TestABusyServerOnlyDelaysLiveFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		b.want(t, 0, figuresEvent(0, 0))
		overloaded := problem.New(problem.Overloaded, "all places are taken")
		b.err.Store(&overloaded)
		b.hitsNow.Store(1)
		time.AfterFunc(5*time.Second+time.Millisecond, func() { b.err.Store(nil) })
		b.want(t, 6*time.Second, figuresEvent(1, 1))
		expect.NoError(t, b.Close())
		expect.NoError(t, b.conn.Close())
	})
}

func TestLateFiguresAreSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		unique := uint64(0)
		b.figures = func() (liveFigures, error) { return liveFigures{b.hitsNow.Load(), unique}, nil }
		b.want(t, 0, figuresEvent(0, 0))
		b.hitsNow.Store(1) // the hit is counted, its visitor not yet
		b.want(t, time.Second, figuresEvent(1, 0))
		unique = 1
		b.want(t, time.Second, figuresEvent(1, 1))
		expect.NoError(t, b.Close())
		expect.NoError(t, b.conn.Close())
	})
}

func (b *bubble) want(t *testing.T, after time.Duration, want string) {
	t.Helper()
	got, took := b.next()
	expect.That(t, got == want && took == after, "got %q after %v, want %q after %v", got, took, want, after)
}

func TestLiveStreamsArePlacedForACallerAndInAll(t *testing.T) {
	l := newPlaces()
	for i := range uint32(maxLiveStreams) {
		expect.NoError(t, l.Take(turnstile.Key{User: 1 + i/maxLiveStreamsCaller}))
	}
	expect.That(t, l.Take(turnstile.Key{User: 1 << 20}) != nil, "stream %d: got none refused", maxLiveStreams+1)
	l.Leave(turnstile.Key{User: 3})
	expect.NoError(t, l.Take(turnstile.Key{User: 1 << 20}))
}

// fasthttp reads a stream outside of the handler: a panic there would end the process.
func TestAPanicInALiveStreamEndsTheStreamOnly(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	log := new(strings.Builder)
	l := &liveStream{
		figures: func() (liveFigures, error) { panic("boom") }, conn: server, release: func() {}, log: slog.New(slog.NewTextHandler(log, nil)),
	}
	n, err := l.Read(make([]byte, 100))
	expect.That(t, n == 0 && err == errStreamBroken, "got %d, %v", n, err)
	expect.NoError(t, l.Close())
	expect.Equal(t, strings.Count(log.String(), "boom"), 1, "log: got %s", log)
}

func figuresEvent(hits, unique int) string {
	return fmt.Sprintf(`data: {"hits":%d,"unique":%d}`, hits, unique)
}

func TestALiveStreamEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		b.want(t, 0, figuresEvent(0, 0))
		began, last := time.Now(), ""
		for {
			got, _ := b.next()
			expect.MustThat(t, time.Since(began) < time.Hour, "it goes on: %q", got)
			if got == "EOF" {
				break
			}
			last = got
		}
		expect.Equal(t, last, `event: end|data: {"reason":"time"}`)
		expect.Equal(t, time.Since(began), liveLongest+liveInterval, "it took")
		expect.NoError(t, b.Close())
		expect.NoError(t, b.conn.Close())
	})
}
