package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/storage"
)

// heldStore is the real store, whose links and hits are loaded only when their channels are closed.
type heldStore struct {
	*storage.Store
	links, hits chan struct{}

	readHot func() // runs after a hot record was read, if it is set
}

func (s *heldStore) LoadLinks(ctx context.Context, fn func([]engine.HotView) error) error {
	<-s.links
	return s.Store.LoadLinks(ctx, fn)
}

func (s *heldStore) View() (engine.View, error) {
	v, err := s.Store.View()
	return heldView{v, s.hits}, err
}

func (s *heldStore) ReadHot(k engine.Key) (engine.Hot, error) {
	h, err := s.Store.ReadHot(k)
	if s.readHot != nil {
		s.readHot()
	}
	return h, err
}

type heldView struct {
	engine.View
	held <-chan struct{}
}

func (v heldView) LoadHits(ctx context.Context, fn func(id, hits uint64)) error {
	<-v.held
	return v.View.LoadHits(ctx, fn)
}

// loader starts engines over one store whose loading it holds.
type loader struct {
	t     testing.TB
	store *heldStore
	dir   string
	*engine.Engine
	loaded    chan error // of Load; nil: it was not called
	heldLinks bool
	heldHits  bool
	stopRun   func()
}

func newLoader(t testing.TB) *loader {
	t.Helper()
	store, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem()})
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		expect.NoError(t, store.Close())
	})
	return &loader{t: t, store: &heldStore{Store: store}, dir: inMemory(t)}
}

// open opens an engine and starts its loops. Load has to be called.
func (l *loader) open() {
	l.t.Helper()
	l.store.links, l.store.hits = make(chan struct{}), make(chan struct{})
	l.heldLinks, l.heldHits, l.loaded = true, true, nil
	var err error
	l.Engine, err = engine.Open(l.store, engine.Options{
		JournalDir: filepath.Join(l.dir, "journal"), Rings: 2, RingRecords: 256, FlushInterval: time.Millisecond,
	})
	expect.OK(l.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		expect.NoError(l.t, l.Run(ctx))
	})
	l.stopRun = func() {
		cancel()
		running.Wait()
	}
}

// load calls Load, which waits until links and hits are released.
func (l *loader) load() {
	if l.loaded == nil {
		l.loaded = make(chan error, 1)
		e, loaded := l.Engine, l.loaded
		go func() { loaded <- e.Load(context.Background(), nil) }()
	}
}

func (l *loader) releaseLinks() {
	if l.heldLinks {
		close(l.store.links)
		l.heldLinks = false
	}
}

func (l *loader) releaseHits() {
	if l.heldHits {
		close(l.store.hits)
		l.heldHits = false
	}
}

// finish lets Load end, and waits for it.
func (l *loader) finish() {
	l.t.Helper()
	l.load()
	l.releaseLinks()
	l.releaseHits()
	expect.OK(l.t, <-l.loaded)
	l.loaded <- nil
}

// end ends the engine by closing it, or as a kill would. A Load under way is cut off first, as far as
// it can be.
func (l *loader) end(end func() error) {
	l.t.Helper()
	if l.loaded != nil {
		l.finish()
	}
	l.stopRun()
	expect.OK(l.t, end())
}

// fetched returns the link of code from memory or the store.
func (l *loader) fetched(code string) (index.Link, bool) {
	l.t.Helper()
	if found, err := l.Fetch(context.Background(), keyOf(code).View()); err != nil {
		l.t.Fatal(err)
	} else if !found {
		return index.Link{}, false
	}
	return l.Resolve(keyOf(code).View())
}

func (l *loader) create(d engine.Draft) {
	l.t.Helper()
	d.Owner, d.Target = 1, "https://example.com/"+d.Alias
	_, _, err := l.Create(context.Background(), d)
	expect.OK(l.t, err)
}

// Random lives of engines over one store: hits come before, while and after links and hits are
// loaded, beside flushes every millisecond; engines are closed or killed at any of these moments.
func TestHitsCountOnceHoweverTheyMeetALoad(t *testing.T) {
	t.Parallel()
	const links, limit = 6, 9 // the even ones have a cap
	rapid.Check(t, func(rt *rapid.T) {
		l := newLoader(t)
		l.open()
		l.finish()
		for i := range links {
			d := engine.Draft{Alias: fmt.Sprintf("link%d", i)}
			if i%2 == 0 {
				d.MaxHits = limit
			}
			l.create(d)
		}
		var want [links]uint64
		check := func() {
			for i := range want {
				s, err := l.Stats(context.Background(), keyOf(fmt.Sprintf("link%d", i)))
				expect.MustThat(rt, err == nil && s.Hits == want[i], "link%d: got %d hits, %v, want %d", i, s.Hits, err, want[i])
			}
		}
		hit := func() {
			i := rapid.IntRange(0, links-1).Draw(rt, "link")
			link, ok := l.fetched(fmt.Sprintf("link%d", i))
			expect.MustThat(rt, ok, "link%d is not found", i)
			defer link.Release()
			capped := i%2 == 0
			if capped && !l.HitsLoaded() {
				return // as redirects do
			}
			admitted := l.Hit(link, engine.Visit{Visitor: want[i], NowMs: time.Now().UnixMilli()})
			expect.MustEqual(rt, admitted, !capped || want[i] < limit, "link%d after %d hits", i, want[i])
			if admitted {
				want[i]++
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":     func(*rapid.T) {},
			"hit":  func(*rapid.T) { hit() },
			"hits": func(*rapid.T) { hit(); hit(); hit() },
			"load": func(*rapid.T) { l.load() },
			"load links": func(*rapid.T) {
				l.load()
				l.releaseLinks()
			},
			"load all": func(*rapid.T) {
				l.finish()
				check()
			},
			"flush": func(*rapid.T) {
				expect.OK(rt, l.FlushRecorded(context.Background()))
			},
			"close": func(*rapid.T) {
				l.end(l.Close)
				l.open()
			},
			"kill": func(*rapid.T) {
				l.end(l.Abandon)
				l.open()
			},
		})
		l.finish()
		check()
		l.end(l.Close)
		_ = os.RemoveAll(l.dir)
	})
}

func TestAnEditAfterTheLoadIsNotUndoneByAFetch(t *testing.T) {
	l := newLoader(t)
	l.open()
	l.finish()
	l.create(engine.Draft{Alias: "edited"})
	l.end(l.Close)

	l.open()
	read, mayPut := make(chan struct{}), make(chan struct{})
	l.store.readHot = func() {
		close(read)
		<-mayPut
	}
	fetched := make(chan error, 1)
	go func() {
		_, err := l.Fetch(context.Background(), keyOf("edited").View())
		fetched <- err
	}()
	<-read // the fetch has the old record
	l.finish()
	updated := make(chan error, 1)
	go func() {
		_, err := l.Update(context.Background(), keyOf("edited"), engine.Guard{Owner: 1}, func(r *engine.Record) error {
			r.Hot.Target = "https://example.com/new"
			return nil
		})
		updated <- err
	}()
	select {
	case err := <-updated:
		t.Errorf("the edit did not wait for the fetch: %v", err)
		updated <- err
	case <-time.After(20 * time.Millisecond): // long enough for it to end, if nothing held it up
	}
	close(mayPut)
	expect.OK(t, errors.Join(<-fetched, <-updated))
	link, ok := l.Resolve(keyOf("edited").View())
	if !ok || string(link.AppendTarget(nil)) != "https://example.com/new" {
		t.Errorf("got %v, %q, want the edited target", ok, link.AppendTarget(nil))
	}
	link.Release()
	l.end(l.Close)
}

func TestAFetchFindsExactlyTheLinksOfTheStore(t *testing.T) {
	l := newLoader(t)
	l.open()
	l.finish()
	for _, code := range []string{"Live", "gone"} {
		l.create(engine.Draft{Alias: code})
	}
	l.create(engine.Draft{Alias: "lIVE", Import: new(engine.Import)})
	expect.OK(t, l.Delete(context.Background(), keyOf("gone"), engine.Guard{Owner: 1}))
	l.end(l.Close)

	l.open()
	for code, want := range map[string]bool{"Live": true, "lIVE": true, "live": false, "gone": false, "never": false, "": false, "no code!": false} {
		link, ok := l.fetched(code)
		expect.Equal(t, ok, want, "%q", code)
		if ok {
			expect.Equal(t, string(link.AppendTarget(nil)), "https://example.com/"+code, "%q", code)
			link.Release()
		}
	}
	l.finish()
	m := l.Metrics()
	expect.That(t, m.Links == 2 && m.Tombstones == 1, "loaded: got %d links and %d tombstones, want 2 and 1", m.Links, m.Tombstones)
	l.end(l.Close)
}

func TestFetchesRaceALoadWithoutLoss(t *testing.T) {
	const links, clients = 200, 4
	l := newLoader(t)
	l.open()
	l.finish()
	for i := range links {
		l.create(engine.Draft{Alias: fmt.Sprintf("link%d", i)})
	}
	l.end(l.Close)

	l.open()
	l.load()
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for i := range links {
				if i == links/4 {
					l.store.Scanned() // as a page that shows the progress does
				}
				link, ok := l.fetched(fmt.Sprintf("link%d", i))
				if !ok {
					t.Errorf("link%d is not found", i)
					return
				}
				l.Hit(link, engine.Visit{Visitor: uint64(i), NowMs: time.Now().UnixMilli()})
				link.Release()
			}
		})
	}
	l.finish()
	running.Wait()
	for i := range links {
		s, err := l.Stats(context.Background(), keyOf(fmt.Sprintf("link%d", i)))
		expect.That(t, err == nil && s.Hits == clients, "link%d: got %d hits, %v, want %d", i, s.Hits, err, clients)
	}
	l.end(l.Close)
}

func TestProgressRisesToOneWhenAllIsLoaded(t *testing.T) {
	l := newLoader(t)
	l.open()
	expect.Equal(t, l.LoadProgress(), (engine.Progress{}), "not begun")
	l.finish()
	p := l.LoadProgress()
	expect.That(t, p.Share == 1 && p.Left == 0, "loaded: got %+v", p)
	l.end(l.Close)
}
