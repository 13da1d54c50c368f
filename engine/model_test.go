package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// TestTheEngineIsAMapThatCounts runs random operations against the engine on its real store and
// against a plain map, while readers run, and compares everything that can be asked after each
// operation. `go test -rapid.checks=N` runs more; a failure prints how to replay it.
func TestTheEngineIsAMapThatCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, rt)
		defer func() {
			m.close()
			_ = os.RemoveAll(m.dir) // now, not at the end of all checks
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"":                m.check,
			"create":          m.create,
			"create an alias": m.createAlias,
			"create once":     m.createOnce,
			"import variant":  m.importVariant,
			"take again":      m.takeAgain,
			"race an alias":   m.raceAlias,
			"edit":            m.edit,
			"delete":          m.delete,
			"purge":           m.purge,
			"restore":         m.restore,
			"reset":           m.reset,
			"give":            m.give,
			"admin takes":     m.adminTakes,
			"hit":             m.hit,
			"hit many":        m.hitMany,
			"race a cap":      m.raceCap,
			"let time pass":   m.passTime,
			"let hours pass":  m.passHours,
			"flush":           m.flush,
			"restart":         m.restart,
			"kill":            m.kill,
		})
	})
}

// modelLink is the model's entry of a code.
type modelLink struct {
	target, title string
	tags          []string
	owner         uint32
	version       uint64
	status        int
	expiresAtMs   int64
	maxHits       uint64
	deletedAtMs   int64 // 0: live
	purged        bool  // it was deleted and is not in the trash

	hits, bots, prefetches, heads uint64
	visitors                      map[uint64]bool
}

// sameAs reports whether l and o are the same in all fields that an edit may change.
func (l *modelLink) sameAs(o *modelLink) bool {
	return l.target == o.target && l.title == o.title && slices.Equal(l.tags, o.tags) && l.status == o.status &&
		l.maxHits == o.maxHits && l.expiresAtMs == o.expiresAtMs
}

func (l *modelLink) live() bool { return l.deletedAtMs == 0 }

type model struct {
	links    map[string]*modelLink
	receipts map[engine.RequestKey]*modelReceipt
	nowMs    atomic.Int64

	t     *testing.T
	fs    *vfs.MemFS
	dir   string // of the journal
	store *storage.Store
	e     *engine.Engine
	stop  context.CancelFunc // of the engine's goroutines
	done  sync.WaitGroup

	stopStore context.CancelFunc
	storeDone sync.WaitGroup

	readers   sync.WaitGroup
	stopped   atomic.Bool
	published sync.Map // code: *sync.Map of every target that it ever had
}

var owners = []uint32{1, 2}

const (
	tombstoneMs = engine.TombstoneDays * 24 * 3600 * 1000
	trashMs     = engine.TrashDays * 24 * 3600 * 1000
)

func newModel(t *testing.T, rt *rapid.T) *model {
	m := &model{t: t, links: make(map[string]*modelLink), receipts: make(map[engine.RequestKey]*modelReceipt), fs: vfs.NewMem(), dir: inMemory(t)}
	m.nowMs.Store(time.Date(2026, 1, 2, 3, 59, 0, 0, time.UTC).UnixMilli())
	m.open()
	return m
}

func (m *model) now() time.Time { return time.UnixMilli(m.nowMs.Load()) }

func (m *model) open() {
	var err error
	m.store, err = storage.Open("data", storage.Options{Create: true, FS: m.fs})
	expect.OK(m.t, err)
	ctx, stop := context.WithCancel(context.Background())
	m.stopStore = stop
	m.storeDone.Go(func() { _ = m.store.Run(ctx) })
	m.openEngine()
}

func (m *model) openEngine() {
	var err error
	m.e, err = engine.Open(m.store, engine.Options{
		JournalDir: filepath.Join(m.dir, "journal"), Rings: 2, RingRecords: 512, FlushInterval: 3 * time.Millisecond, Now: m.now, ClockSettles: -1,
	})
	expect.OK(m.t, err)
	m.start()
	expect.OK(m.t, m.e.Load(context.Background(), nil))
	m.startReaders()
}

func (m *model) start() {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.done.Go(func() { _ = m.e.Run(ctx) })
}

// startReaders resolves published codes without end: a code has one of the targets that it was ever
// given, or is gone.
func (m *model) startReaders() {
	m.stopped.Store(false)
	for range 2 {
		e := m.e
		m.readers.Go(func() {
			for !m.stopped.Load() {
				m.published.Range(func(code, targets any) bool {
					if l, ok := e.Resolve(keyOf(code.(string)).View()); ok {
						if _, known := targets.(*sync.Map).Load(string(l.AppendTarget(nil))); !known {
							m.t.Errorf("%s resolves to %q, which it never was", code, l.AppendTarget(nil))
						}
						l.Release()
					}
					return !m.stopped.Load()
				})
			}
		})
	}
}

func (m *model) stopAll() {
	m.stopped.Store(true)
	m.readers.Wait()
	m.stop()
	m.done.Wait()
}

func (m *model) close() {
	m.stopAll()
	err := m.e.Close()
	m.stopStore()
	m.storeDone.Wait()
	expect.NoError(m.t, errors.Join(err, m.store.Close()))
}

// mayPublish tells the readers that code may lead to target from now on.
func (m *model) mayPublish(code, target string) {
	fresh := new(sync.Map)
	fresh.Store(target, true)
	if targets, known := m.published.LoadOrStore(code, fresh); known {
		targets.(*sync.Map).Store(target, true)
	}
}

func drawTarget(rt *rapid.T) string {
	return "https://example.com/" + rapid.StringMatching(`[a-z]{0,40}`).Draw(rt, "path")
}

func (m *model) drawDraft(rt *rapid.T) engine.Draft {
	d := engine.Draft{
		Owner: rapid.SampledFrom(owners).Draw(rt, "owner"), Target: drawTarget(rt),
		RedirectStatus: rapid.SampledFrom([]int{0, 301, 302, 307, 308}).Draw(rt, "status"),
		Texts:          engine.Texts{Title: rapid.StringMatching(`[a-z]{0,9}`).Draw(rt, "title")},
		Tags:           rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(rt, "tags"),
		MaxHits:        rapid.SampledFrom([]uint64{0, 0, 0, 1, 3, 20}).Draw(rt, "max_hits"),
	}
	if s := rapid.SampledFrom([]int{0, 0, 0, 1, 100, 9000}).Draw(rt, "expires in s"); s > 0 {
		d.ExpiresAt = m.now().Add(time.Duration(s) * time.Second)
	}
	return d
}

func newModelLink(d engine.Draft) *modelLink {
	l := &modelLink{
		target: d.Target, title: d.Title, tags: d.Tags, owner: d.Owner, version: 1,
		status: d.RedirectStatus, maxHits: d.MaxHits, visitors: make(map[uint64]bool),
	}
	if l.status == 0 {
		l.status = 302
	}
	if !d.ExpiresAt.IsZero() {
		l.expiresAtMs = d.ExpiresAt.UnixMilli()
	}
	if d.Import != nil {
		l.hits = d.Import.Hits
	}
	return l
}

// replace makes l the link of code. Its version continues from that of an earlier link, unless that
// link was purged.
func (m *model) replace(code string, l *modelLink, version uint64) {
	if old := m.links[code]; old != nil && !(version == 1 && m.nowMs.Load() > old.deletedAtMs+tombstoneMs) {
		l.version = old.version + 2
	}
	m.links[code] = l
}

func (m *model) create(rt *rapid.T) {
	d := m.drawDraft(rt)
	got, existed, err := m.e.Create(context.Background(), d)
	expect.MustThat(rt, err == nil && !existed && len(got.Code) == engine.DrawnCodeBytes, "create: %+v, %v, %v", got, existed, err)
	expect.MustThat(rt, m.links[got.Code] == nil, "drew %s, which is taken", got.Code)
	m.mayPublish(got.Code, d.Target)
	m.links[got.Code] = newModelLink(d)
}

func drawAlias(rt *rapid.T) string {
	return rapid.OneOf(rapid.StringMatching(`[abAB_]{1,3}`), rapid.SampledFrom([]string{"ab", "aB", "Ab", "AB"})).Draw(rt, "alias")
}

// taken is the contract's rule for taken codes.
func (m *model) taken(alias string, owner uint32, imported bool) bool {
	mine := m.links[alias]
	former := mine != nil && !mine.live() && mine.owner == owner && m.held(mine)
	for code, l := range m.links {
		switch others := l.owner != owner; {
		case imported && code != alias, !strings.EqualFold(code, alias):
		case l.live() && (code == alias || !others):
			return true
		case others && m.held(l) && !former:
			return true
		}
	}
	return false
}

// inTheWay is taken for an admin: deleted links do not block. A live variant of another owner does,
// unless the code was the owner's own until not long ago.
func (m *model) inTheWay(alias string, owner uint32) bool {
	mine := m.links[alias]
	former := mine != nil && !mine.live() && mine.owner == owner && m.held(mine)
	for code, l := range m.links {
		if strings.EqualFold(code, alias) && l.live() && (code == alias || l.owner == owner || !former) {
			return true
		}
	}
	return false
}

// held reports whether a link blocks its code for others: it is live, or was deleted not long ago.
func (m *model) held(l *modelLink) bool {
	return l.live() || m.nowMs.Load() <= l.deletedAtMs+tombstoneMs
}

func (m *model) createAlias(rt *rapid.T) {
	d := m.drawDraft(rt)
	d.Alias = drawAlias(rt)
	if rapid.IntRange(0, 3).Draw(rt, "import") == 0 {
		m.drawImport(rt, &d)
	}
	m.createDraft(rt, d)
}

// importVariant imports a variant of a code.
func (m *model) importVariant(rt *rapid.T) {
	code, _ := m.pick(rt)
	d := m.drawDraft(rt)
	d.Alias = rapid.SampledFrom([]string{strings.ToUpper(code), strings.ToLower(code)}).Draw(rt, "alias")
	m.drawImport(rt, &d)
	m.createDraft(rt, d)
}

// takeAgain has the former owner of a deleted code ask for it.
func (m *model) takeAgain(rt *rapid.T) {
	code, l := m.pick(rt)
	if l.live() {
		rt.Skip("it is live")
	}
	d := m.drawDraft(rt)
	d.Alias, d.Owner = code, l.owner
	m.createDraft(rt, d)
}

func (m *model) drawImport(rt *rapid.T, d *engine.Draft) {
	at := m.now().Add(-time.Hour)
	d.Import = &engine.Import{CreatedAt: at, UpdatedAt: at, Hits: rapid.SampledFrom([]uint64{0, 1, 19, 1 << 40}).Draw(rt, "hits")}
}

func (m *model) createDraft(rt *rapid.T, d engine.Draft) {
	if rapid.Bool().Draw(rt, "same is asked") {
		d.Same = func(old engine.Detail) bool { return old.Title == d.Title }
	}
	old, taken := m.links[d.Alias], m.taken(d.Alias, d.Owner, d.Import != nil)
	if d.TakesDeleted {
		taken = m.inTheWay(d.Alias, d.Owner)
	}
	wantExisting := taken && old != nil && old.live() && old.owner == d.Owner && d.Same != nil && old.title == d.Title
	if !taken {
		m.mayPublish(d.Alias, d.Target)
	}
	got, existed, err := m.e.Create(context.Background(), d)
	switch {
	case wantExisting:
		expect.MustThat(rt, err == nil && existed && got.Target == old.target, "create of %s, which is there: %+v, %v, %v", d.Alias, got, existed, err)
	case taken:
		expect.MustError(rt, err, engine.ErrTaken, "create of %s, which is taken", d.Alias)
	case err != nil || existed || got.Code != d.Alias:
		rt.Fatalf("create of %s, which is free: %+v, %v, %v", d.Alias, got, existed, err)
	default:
		m.replace(d.Alias, newModelLink(d), got.Version)
	}
}

// raceAlias has several writers create variants of one alias at once: one wins if the alias was
// free, otherwise none.
func (m *model) raceAlias(rt *rapid.T) {
	alias := drawAlias(rt)
	const racers = 6
	drafts := make([]engine.Draft, racers)
	free := true
	for i := range drafts {
		drafts[i] = m.drawDraft(rt)
		drafts[i].Alias, drafts[i].Owner = alias, 1
		if i%2 == 1 {
			drafts[i].Alias = strings.ToUpper(alias)
		}
		m.mayPublish(drafts[i].Alias, drafts[i].Target)
	}
	free = !m.taken(alias, 1, false) || !m.taken(strings.ToUpper(alias), 1, false)
	var wins, winner atomic.Int64
	var version atomic.Uint64
	var wg sync.WaitGroup
	for i, d := range drafts {
		wg.Go(func() {
			got, _, err := m.e.Create(context.Background(), d)
			if err == nil {
				wins.Add(1)
				version.Store(got.Version)
				winner.Store(int64(i))
			} else if !errors.Is(err, engine.ErrTaken) {
				m.t.Errorf("racing create: %v", err)
			}
		})
	}
	wg.Wait()
	switch {
	case free && wins.Load() != 1, !free && wins.Load() != 0:
		rt.Fatalf("%d winners of %s, which was free: %v", wins.Load(), alias, free)
	case free:
		d := drafts[winner.Load()]
		m.replace(d.Alias, newModelLink(d), version.Load())
	}
}

// pick draws a code that the model knows, as a rule a live one.
func (m *model) pick(rt *rapid.T) (string, *modelLink) {
	if len(m.links) == 0 {
		rt.Skip("no links")
	}
	codes := slices.Sorted(maps.Keys(m.links))
	code := rapid.SampledFrom(codes).Draw(rt, "code")
	return code, m.links[code]
}

func (m *model) drawGuard(rt *rapid.T, l *modelLink) (g engine.Guard, want error) {
	g.Owner = rapid.SampledFrom(owners).Draw(rt, "as")
	g.AnyOwner = rapid.IntRange(0, 4).Draw(rt, "admin") == 0
	g.Version = rapid.SampledFrom([]uint64{0, 0, l.version, l.version + 1}).Draw(rt, "if-match")
	switch {
	case !l.live() || !g.AnyOwner && g.Owner != l.owner:
		return g, engine.ErrNotFound
	case g.Version != 0 && g.Version != l.version:
		return g, engine.ErrVersion
	}
	return g, nil
}

func (m *model) edit(rt *rapid.T) {
	code, l := m.pick(rt)
	g, want := m.drawGuard(rt, l)
	d := m.drawDraft(rt)
	if want == nil {
		m.mayPublish(code, d.Target)
	}
	refuse := rapid.IntRange(0, 9).Draw(rt, "refuse") == 0
	errRefused := errors.New("refused")
	if refuse && want == nil {
		want = errRefused
	}
	got, err := m.e.Update(context.Background(), keyOf(code), g, func(r *engine.Record) error {
		if refuse {
			return errRefused
		}
		next := newModelLink(d)
		flags, _ := engine.StatusFlags(next.status)
		r.Hot.Target, r.Hot.Flags, r.Hot.MaxHits, r.Hot.ExpiresAtMs = d.Target, flags, d.MaxHits, next.expiresAtMs
		r.Cold.Title, r.Cold.Tags = d.Title, d.Tags
		r.Hot.Owner, r.Cold.Version = 77, 77 // an edit cannot change these
		return nil
	})
	expect.MustError(rt, err, want, "edit of %s", code)
	if want != nil {
		return
	}
	next := newModelLink(d)
	if !next.sameAs(l) {
		l.version++
	}
	l.target, l.title, l.tags, l.status, l.maxHits, l.expiresAtMs = next.target, next.title, next.tags, next.status, next.maxHits, next.expiresAtMs
	expect.MustThat(rt, got.Version == l.version && got.Owner == l.owner,
		"edited %s: version %d of owner %d, want %d of %d", code, got.Version, got.Owner, l.version, l.owner)
}

func (m *model) delete(rt *rapid.T) {
	code, l := m.pick(rt)
	g, want := m.drawGuard(rt, l)
	expect.MustError(rt, m.e.Delete(context.Background(), keyOf(code), g), want, "delete of %s", code)
	if want == nil {
		l.deletedAtMs = m.nowMs.Load()
	}
}

// inTrash reports whether a link can be restored, unless its code is taken.
func (m *model) inTrash(l *modelLink) bool {
	return !l.live() && !l.purged && m.nowMs.Load() <= l.deletedAtMs+trashMs
}

// drawTrashGuard is drawGuard for a call about a link in the trash.
func (m *model) drawTrashGuard(rt *rapid.T, l *modelLink) (g engine.Guard, want error) {
	g, _ = m.drawGuard(rt, l)
	switch {
	case !g.AnyOwner && g.Owner != l.owner, !l.live() && !m.inTrash(l):
		return g, engine.ErrNotFound
	case l.live():
		return g, engine.ErrTaken
	case g.Version != 0 && g.Version != l.version:
		return g, engine.ErrVersion
	}
	return g, nil
}

// purge deletes a link without the trash, or one that is in the trash.
func (m *model) purge(rt *rapid.T) {
	code, l := m.pick(rt)
	g, want := m.drawTrashGuard(rt, l)
	if l.live() {
		if want = nil; !g.AnyOwner && g.Owner != l.owner {
			want = engine.ErrNotFound
		} else if g.Version != 0 && g.Version != l.version {
			want = engine.ErrVersion
		}
	}
	expect.MustError(rt, m.e.Purge(context.Background(), keyOf(code), g), want, "purge of %s", code)
	if want != nil {
		return
	}
	if l.purged = true; l.live() {
		l.deletedAtMs = m.nowMs.Load()
	}
}

// restore brings a link back with all that it had, unless its owner has made a variant of its code.
func (m *model) restore(rt *rapid.T) {
	code, l := m.pick(rt)
	g, want := m.drawTrashGuard(rt, l)
	for variant, other := range m.links {
		if want == nil && variant != code && strings.EqualFold(variant, code) && other.live() && other.owner == l.owner {
			want = engine.ErrTaken
		}
	}
	got, err := m.e.Restore(context.Background(), keyOf(code), g)
	expect.MustError(rt, err, want, "restoring %s", code)
	if want != nil {
		return
	}
	l.deletedAtMs, l.version = 0, l.version+2
	expect.MustThat(rt, got.Version == l.version && got.Hits == l.hits && got.Target == l.target && got.DeletedAt.IsZero(), "restored %s: %+v, want %+v", code, got, *l)
}

// checkTrash compares what is in the trash of each owner.
func (m *model) checkTrash(rt *rapid.T) {
	for _, owner := range owners {
		want := map[string]string{}
		for code, l := range m.links {
			if l.owner == owner && m.inTrash(l) {
				want[code] = fmt.Sprintf("%q %q %v v%d %d hits deleted at %d", l.target, l.title, l.tags, l.version, l.hits, l.deletedAtMs)
			}
		}
		page, err := m.e.ListTrash(context.Background(), engine.TrashQuery{In: engine.OwnerRange{First: owner, Last: owner}, Limit: engine.MaxListed}, atOnce)
		expect.MustThat(rt, err == nil && page.Next == nil, "trash of %d: %v, and goes on at %v", owner, err, page.Next)
		last := time.Time{}
		got := map[string]string{}
		for _, d := range page.Links {
			got[d.Code] = fmt.Sprintf("%q %q %v v%d %d hits deleted at %d", d.Target, d.Title, d.Tags, d.Version, d.Hits, d.DeletedAt.UnixMilli())
			expect.MustThat(rt, d.State == engine.StateDeleted && d.Owner == owner && (last.IsZero() || !d.DeletedAt.After(last)), "in the trash: %+v after one of %v", d, last)
			last = d.DeletedAt
		}
		expect.MustThat(rt, maps.Equal(got, want), "trash of %d:\ngot  %q\nwant %q", owner, got, want)
	}
}

func (m *model) reset(rt *rapid.T) {
	code, l := m.pick(rt)
	g, want := m.drawGuard(rt, l)
	late, resolved := m.e.Resolve(keyOf(code).View())
	got, err := m.e.Reset(context.Background(), keyOf(code), g)
	expect.MustError(rt, err, want, "reset of %s", code)
	if resolved {
		if want == nil && rapid.Bool().Draw(rt, "a hit comes late") { // it is before the reset
			m.e.Hit(late, engine.Visit{Visitor: hashed(9), NowMs: m.nowMs.Load()})
		}
		late.Release()
	}
	if want != nil {
		return
	}
	l.version++
	l.hits, l.bots, l.prefetches, l.heads, l.visitors = 0, 0, 0, 0, make(map[uint64]bool)
	expect.MustThat(rt, got.Hits == 0 && got.Version == l.version && got.ImportedHits == 0, "reset %s: %+v, want version %d without hits", code, got, l.version)
}

func (m *model) give(rt *rapid.T) {
	code, l := m.pick(rt)
	g, want := m.drawGuard(rt, l)
	to := rapid.SampledFrom(owners).Draw(rt, "to")
	got, err := m.e.Give(context.Background(), keyOf(code), g, to, func(*engine.Record) error { return nil })
	expect.MustError(rt, err, want, "giving %s away", code)
	if want != nil {
		return
	}
	if l.owner != to {
		l.owner = to
		l.version++
	}
	expect.MustThat(rt, got.Owner == to && got.Version == l.version && got.Hits == l.hits,
		"gave %s to %d: %+v, want version %d and %d hits", code, to, got, l.version, l.hits)
}

// adminTakes has an admin ask for a code: only what is live is in the way.
func (m *model) adminTakes(rt *rapid.T) {
	code, _ := m.pick(rt)
	d := m.drawDraft(rt)
	d.Alias, d.TakesDeleted = rapid.SampledFrom([]string{code, strings.ToUpper(code)}).Draw(rt, "alias"), true
	m.createDraft(rt, d)
}

// hashed makes a visitor hash of a number: a sketch expects uniform bits (SplitMix64's finalizer).
func hashed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// redirect acts as the front end does, and reports whether it redirected.
func (m *model) redirect(code string, class engine.Class, visitor uint64) bool {
	return m.redirectLate(code, class, visitor, 0)
}

// redirectLate is a redirect that was stamped a while before it is recorded.
func (m *model) redirectLate(code string, class engine.Class, visitor uint64, lateMs int64) bool {
	link, ok := m.e.Resolve(keyOf(code).View())
	if !ok || link.Expired(m.nowMs.Load()) {
		return false
	}
	defer link.Release()
	return m.e.Hit(link, engine.Visit{Visitor: hashed(visitor), NowMs: m.nowMs.Load() - lateMs, Kind: engine.Kind(class)})
}

// count applies a redirect to the model and reports whether the link may redirect.
func (m *model) count(l *modelLink, class engine.Class, visitor uint64) bool {
	expired := l.expiresAtMs != 0 && m.nowMs.Load() >= l.expiresAtMs
	if !l.live() || expired || l.maxHits != 0 && l.hits >= l.maxHits {
		return false
	}
	switch class {
	case engine.ClassHit:
		l.hits++
		l.visitors[visitor] = true
	case engine.ClassBot:
		l.bots++
	case engine.ClassPrefetch:
		l.prefetches++
	case engine.ClassHead:
		l.heads++
	}
	return true
}

func (m *model) hit(rt *rapid.T) {
	code, l := m.pick(rt)
	class := engine.Class(rapid.IntRange(0, 3).Draw(rt, "class"))
	visitor := rapid.Uint64Range(1, 5).Draw(rt, "visitor")
	lateMs := rapid.SampledFrom([]int64{0, 0, 1000, 3 * 3600 * 1000}).Draw(rt, "late by ms")
	if got, want := m.redirectLate(code, class, visitor, lateMs), m.count(l, class, visitor); got != want {
		rt.Fatalf("redirect of %s: %v, want %v (%+v)", code, got, want, *l)
	}
}

// hitMany hits a link from several goroutines, more times than the rings have slots.
func (m *model) hitMany(rt *rapid.T) {
	code, l := m.pick(rt)
	const clients, each = 4, 400
	first := rapid.Uint64Range(1, 1<<40).Draw(rt, "first visitor")
	if !l.live() || l.maxHits != 0 || l.expiresAtMs != 0 {
		rt.Skip("not a plain link")
	}
	var wg sync.WaitGroup
	for c := range uint64(clients) {
		wg.Go(func() {
			for i := range uint64(each) {
				expect.That(m.t, m.redirect(code, engine.ClassHit, first+(c*each+i)%700), "no redirect of %s", code)
			}
		})
	}
	wg.Wait()
	for i := range uint64(clients * each) {
		m.count(l, engine.ClassHit, first+i%700)
	}
}

// raceCap has many clients use up a cap: exactly the remaining number of clients get a redirect.
func (m *model) raceCap(rt *rapid.T) {
	code, l := m.pick(rt)
	if !l.live() || l.maxHits == 0 || l.expiresAtMs != 0 {
		rt.Skip("not a capped link")
	}
	left := l.maxHits - min(l.hits, l.maxHits)
	var got atomic.Uint64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if m.redirect(code, engine.ClassHit, 9) {
					got.Add(1)
				}
			}
		})
	}
	wg.Wait()
	expect.MustThat(rt, got.Load() == left, "%d redirects of %s with %d left of its cap", got.Load(), code, left)
	for range left {
		m.count(l, engine.ClassHit, 9)
	}
}

func (m *model) passTime(rt *rapid.T) {
	m.nowMs.Add(rapid.Int64Range(1, 200_000).Draw(rt, "ms"))
}

// passHours closes hours, so that they are rolled up, and at times outlives tombstones.
func (m *model) passHours(rt *rapid.T) {
	hours := rapid.SampledFrom([]int64{1, 2, 30, 60, 29 * 24, 31 * 24, 91 * 24}).Draw(rt, "hours")
	m.nowMs.Add(hours * 3600 * 1000)
}

func (m *model) flush(rt *rapid.T) {
	m.stop()
	m.done.Wait()
	expect.OK(rt, m.e.Flush())
	m.start()
}

func (m *model) restart(rt *rapid.T) {
	m.close()
	m.open()
}

// kill leaves everything as a killed process does, except the store, whose recovery has tests of
// its own.
func (m *model) kill(rt *rapid.T) {
	m.stopAll()
	expect.OK(rt, m.e.Abandon())
	m.openEngine()
}

// check compares everything.
func (m *model) check(rt *rapid.T) {
	live := uint64(0)
	for code, l := range m.links {
		if l.live() {
			live++
		}
		m.checkLink(rt, code, l)
	}
	m.checkTrash(rt)
	metrics := m.e.Metrics()
	if metrics.Links != live {
		rt.Fatalf("%d links, want %d", metrics.Links, live)
	}
	if metrics.JournalUnprotected != 0 {
		rt.Fatalf("%d hits would not outlive a crash", metrics.JournalUnprotected)
	}
}

func (m *model) checkLink(rt *rapid.T, code string, l *modelLink) {
	link, ok := m.e.Resolve(keyOf(code).View())
	expect.MustEqual(rt, ok, l.live(), "%s resolves", code)
	got, err := m.e.Read(keyOf(code))
	if !ok {
		expect.MustError(rt, err, engine.ErrNotFound, "reading %s, which is deleted", code)
		return
	}
	if string(link.AppendTarget(nil)) != l.target || link.Owner() != l.owner || link.MaxHits() != l.maxHits || link.ExpiresAtMs() != l.expiresAtMs {
		rt.Fatalf("%s resolves to %q of %d, want %+v", code, link.AppendTarget(nil), link.Owner(), *l)
	}
	link.Release()
	state := engine.StateActive
	if l.expiresAtMs != 0 && m.nowMs.Load() >= l.expiresAtMs {
		state = engine.StateExpired
	} else if l.maxHits != 0 && l.hits >= l.maxHits {
		state = engine.StateExhausted
	}
	describe := func(target, title string, tags []string, owner uint32, version, hits uint64, status int, state engine.State) string {
		return fmt.Sprintf("%q %q %v %d v%d %d hits %d %s", target, title, tags, owner, version, hits, status, state)
	}
	have := describe(got.Target, got.Title, got.Tags, got.Owner, got.Version, got.Hits, got.RedirectStatus, got.State)
	want := describe(l.target, l.title, l.tags, l.owner, l.version, l.hits, l.status, state)
	expect.MustThat(rt, err == nil && have == want, "%s: %v\ngot  %s\nwant %s", code, err, have, want)
	s, err := m.e.Stats(context.Background(), keyOf(code))
	wantStats := engine.Stats{Hits: l.hits, Unique: uint64(len(l.visitors)), Bots: l.bots, Prefetches: l.prefetches, Heads: l.heads}
	if wantStats.Unique > engine.MaxExactVisitors { // an estimate
		expect.MustThat(rt, within(s.Unique, wantStats.Unique, 0.05), "%s has %d unique visitors, want about %d", code, s.Unique, wantStats.Unique)
		s.Unique = wantStats.Unique
	}
	expect.MustThat(rt, err == nil && s == wantStats, "%s: stats %+v, %v, want %+v", code, s, err, wantStats)
}

func within(got, want uint64, part float64) bool {
	return float64(got) >= float64(want)*(1-part) && float64(got) <= float64(want)*(1+part)
}
