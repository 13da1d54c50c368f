package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// startVariable says how many links, startLinks by default; make start-time sets it.
const (
	startVariable = "SHUNTTEST_START_LINKS"
	startLinks    = 100_000
	startHot      = 500 // links that clients ask for
	startHits     = 3   // of each link before
)

// A slowStart is a data folder with many links, and what clients know of some of them. make
// start-time runs it with 10 M links.
type slowStart struct {
	t          *testing.T
	dir        string
	links      int
	journal    []string // arguments
	measured   bool
	sent       [startHot]atomic.Uint64
	answered   [startHot]atomic.Uint64
	whileLoads atomic.Uint64 // redirects before the server said ready
}

func newSlowStart(t *testing.T) *slowStart {
	t.Helper()
	s := &slowStart{
		t: t, dir: filepath.Join(t.TempDir(), "data"), links: int(numberOf(t, startVariable, startLinks)), measured: os.Getenv(startVariable) != "",
	}
	if !s.measured {
		s.journal = journalInMemory(t)
	}
	s.plant()
	return s
}

// startCode returns the code of link i: in another order than the ids.
func startCode(i int) string { return fmt.Sprintf("%08x", uint32(i)*2654435761) }

func startTarget(i int) string { return fmt.Sprintf("https://example.com/page/%d", i) }

// plant writes the links as an earlier server would have.
func (s *slowStart) plant() {
	s.t.Helper()
	store, err := storage.Open(s.dir, storage.Options{Create: true})
	expect.OK(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	first, err := store.AllocateIDs(uint64(s.links))
	expect.OK(s.t, err)
	slots := make(chan struct{}, 2048)
	for i := range s.links {
		code := startCode(i)
		slots <- struct{}{}
		store.Apply(engine.Mutation{
			Hot:  engine.Hot{Key: keyOf(code), ID: first + uint64(i), Owner: 1, Target: startTarget(i)},
			Cold: engine.Cold{Key: keyOf(code), Version: 1, CreatedAtMs: 1000, UpdatedAtMs: 1000, ImportedHits: startHits},
		}, func(err error) {
			expect.NoError(s.t, err)
			<-slots
		})
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	cancel()
	running.Wait()
	expect.OK(s.t, store.Close())
	syscall.Sync() // the disk is not still busy with the links when a start is timed
}

// start starts a server, and clients that ask for hot links from its first line on until it is ready,
// or end comes before that.
func (s *slowStart) start(end <-chan time.Time) (p *process, first, ready time.Duration) {
	s.t.Helper()
	begun := time.Now()
	p = launch(s.t, s.dir, s.journal...)
	select {
	case <-p.listening:
	case <-p.ended:
		s.t.Fatalf("serve ended:\n%s", p.stderr())
	}
	s.ask(p, rand.IntN(startHot))
	first = time.Since(begun)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-p.ended:
					return
				default:
					s.ask(p, rand.IntN(startHot))
				}
			}
		})
	}
	select {
	case <-p.ready:
		ready = time.Since(begun)
	case <-end:
		p.kill()
	}
	close(stop)
	clients.Wait()
	return p, first, ready
}

// ask asks for hot link i, which must redirect unless the server is killed meanwhile.
func (s *slowStart) ask(p *process, i int) {
	request, err := http.NewRequest(http.MethodGet, p.public+"/"+startCode(i), nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	request.Header.Set("User-Agent", browser)
	loading := true
	select {
	case <-p.ready:
		loading = false
	default:
	}
	s.sent[i].Add(1)
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		if p.cmd.Process.Signal(syscall.Signal(0)) == nil {
			time.Sleep(time.Millisecond) // it may just be dying
		}
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if got := answer.Header.Get("Location"); answer.StatusCode != 302 || got != startTarget(i) {
		s.t.Errorf("%s: got %d %q, want 302 to %s", startCode(i), answer.StatusCode, got, startTarget(i))
		return
	}
	s.answered[i].Add(1)
	if loading {
		s.whileLoads.Add(1)
	}
}

// wantHits compares the hits of the hot links with what clients sent and were answered.
func (s *slowStart) wantHits(p *process) {
	s.t.Helper()
	token := p.token("stats:read")
	for i := range startHot {
		text := ask(s.t, p.public+"/api/v1/stats/"+startCode(i), token)
		var hits, unique uint64
		expect.OK(s.t, expect.Err(fmt.Sscanf(text, `{"hits":%d,"unique":%d}`, &hits, &unique)), text)
		low, high := startHits+s.answered[i].Load(), startHits+s.sent[i].Load()
		expect.That(s.t, hits >= low && hits <= high, "%s: got %d hits, want %d to %d", startCode(i), hits, low, high)
	}
}

// A server of many links is stopped, killed while it loads, and killed when it has loaded. Each start
// redirects before it has loaded, says so, and at the end every answered hit is counted once.
func TestAStartRedirectsBeforeItHasLoaded(t *testing.T) {
	s := newSlowStart(t)
	p, first, ready := s.start(nil)
	say := func(what string) {
		t.Logf("%d links, %s: first redirect after %v, all loaded after %v (%.0f links/s)", s.links, what,
			first.Round(time.Millisecond), ready.Round(time.Millisecond), float64(s.links)/(ready-first).Seconds())
	}
	say("after a clean stop")
	expect.That(t, !s.measured || first <= time.Second, "the first redirect came after %v, want a second at most", first)
	p.kill()
	for range 5 {
		var none time.Duration
		if p, first, none = s.start(time.After(rand.N(max(ready/2, 20*time.Millisecond)))); none == 0 {
			t.Logf("killed while it loaded; first redirect after %v", first.Round(time.Millisecond))
		}
		p.kill()
	}
	p, first, ready = s.start(nil)
	say("after kill -9")
	expect.Equal(t, strings.TrimSpace(ask(t, p.admin+"/readyz", "")), "ready", "/readyz")
	s.wantHits(p)
	p.terminate()
	p, first, ready = s.start(nil)
	say("after a clean stop")
	s.wantHits(p)
	p.terminate()
	t.Logf("%d redirects while links were loaded", s.whileLoads.Load())
	expect.That(t, s.whileLoads.Load() != 0, "no redirect came while links were loaded")
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }
