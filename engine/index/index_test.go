package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
)

func newIndex() *Index {
	x := new(Index)
	x.Init()
	return x
}

// put publishes h without a counter, so that any id will do.
func (x *Index) put(t testing.TB, h HotView) {
	t.Helper()
	p := placeOf(&x.key, h.KeyView)
	expect.OK(t, x.shards[p.shard].put(p.tag, &h))
}

// get looks a code up without the fast path, so that codes of eight bytes take the same path as
// others.
func (x *Index) get(code string) (Link, bool) { return x.resolveAny(keyOf(code).View()) }

func TestCodesThatDifferByCaseAreDifferentLinks(t *testing.T) {
	x := newIndex()
	for i, code := range []string{"Abc_-9", "abc_-9", "ABC_-9"} {
		x.put(t, HotView{KeyView: keyOf(code).View(), Target: []byte("https://x/" + code), ID: uint64(i)})
	}
	for i, code := range []string{"Abc_-9", "abc_-9", "ABC_-9"} {
		l, ok := x.get(code)
		expect.That(t, ok && l.ID() == uint64(i) && string(l.AppendTarget(nil)) == "https://x/"+code, "%s: got %+v, %v", code, l, ok)
	}
	_, ok := x.get("aBC_-9")
	expect.That(t, !ok, "a variant that was never put is found")
	var found []string
	x.Variants(keyOf("aBC_-9"), func(v HotView) { found = append(found, string(v.Code)) })
	expect.Equal(t, len(found), 3, "variants of aBC_-9 are %v", found)
}

func TestFoldingJoinsOnlyCodesThatDifferByCase(t *testing.T) {
	seen := make(map[string]byte)
	for c := range 256 {
		code := []byte{byte(c)}
		if !ValidCode(code) {
			continue
		}
		var folded [limits.MaxCodeBytes]byte
		key := string(foldCase(&folded, code))
		other, dup := seen[key]
		expect.That(t, !dup || strings.EqualFold(string(code), string([]byte{other})), "%q and %q fold to the same", code, other)
		seen[key] = byte(c)
	}
	if len(seen) != 38 { // 26 letters, 10 digits, _ and -
		t.Errorf("%d folded code bytes, want 38", len(seen))
	}
}

// Every character beyond ASCII folds to what strings.EqualFold says is the same, and takes no more bytes than before.
func TestFoldingJoinsCharactersThatDifferByCase(t *testing.T) {
	characters, folds := 0, make(map[string]rune)
	for c := rune(utf8.RuneSelf); c <= unicode.MaxRune; c++ {
		code := []byte(string(c))
		if !ValidCode(code) {
			continue
		}
		characters++
		var folded [limits.MaxCodeBytes]byte
		key := string(foldCase(&folded, code))
		other, dup := folds[key]
		expect.MustThat(t, len(key) <= len(code) && (!dup || strings.EqualFold(string(c), string(other))), "%q and %q fold to the same, %q", c, other, key)
		for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
			expect.MustEqual(t, string(foldCase(&folded, []byte(string(next)))), key, "%q and %q fold to two", c, next)
		}
		folds[key] = c
	}
	expect.That(t, characters > 100_000, "only %d characters can be codes", characters)
}

func TestRecordsKeepEveryField(t *testing.T) {
	x := newIndex()
	want := HotView{
		KeyView: keyOf(strings.Repeat("c", limits.MaxCodeBytes)).View(), Target: []byte(strings.Repeat("t", limits.MaxTargetBytes)), ID: 1<<64 - 2,
		ExpiresAtMs: 1 << 50, MaxHits: 1<<64 - 1, Owner: 1<<32 - 1, Flags: 3 | FlagForwardQuery | FlagExpires | FlagCapped,
	}
	x.put(t, want)
	l, ok := x.get(string(want.Code))
	if !ok || l.ID() != want.ID || l.ExpiresAtMs() != want.ExpiresAtMs || l.MaxHits() != want.MaxHits || l.Owner() != want.Owner ||
		l.Flags() != want.Flags || string(l.AppendTarget(nil)) != string(want.Target) {
		t.Errorf("got %d %d %d %d %b %q, %v", l.ID(), l.ExpiresAtMs(), l.MaxHits(), l.Owner(), l.Flags(), l.AppendTarget(nil), ok)
	}
	expect.Equal(t, l.Flags().RedirectStatus(), 308, "redirect status")
}

func TestHeaderAndCodeOfARecordShareACacheLine(t *testing.T) {
	a := newArena(new(memory), nil)
	rng := rand.New(rand.NewPCG(1, 2))
	usedBytes := 0
	for i := range 20_000 { // more than four chunks
		h := HotView{KeyView: viewOf(make([]byte, 8+rng.IntN(limits.MaxCodeBytes-7))), Target: make([]byte, 10+rng.IntN(200)), ID: uint64(i)}
		if i%2 == 0 {
			h.Code = h.Code[:8]
		}
		offset, sizeBytes, ok := a.appendRecord(&h)
		expect.MustThat(t, ok, "the arena is full")
		usedBytes += sizeBytes
		first := uintptr(a.at(offset))
		last := first + uintptr(h.readBytes(h.narrow(a.idHigh))) - 1
		if read := last - first + 1; read <= cacheLineBytes && first/cacheLineBytes != last/cacheLineBytes {
			t.Fatalf("record %d: bytes %d to %d of a line", i, first%cacheLineBytes, first%cacheLineBytes+read)
		}
		v := a.view(offset)
		expect.MustThat(t, v.ID == h.ID && len(v.Target) == len(h.Target), "record %d: got %d, %d bytes of target", i, v.ID, len(v.Target))
	}
	wasted := a.usedBytes - uint64(usedBytes)
	expect.That(t, wasted != 0 && wasted <= uint64(usedBytes)/5, "%d bytes between records of %d", wasted, usedBytes)
}

func TestVariantsMadeAndDeletedShareOneSlot(t *testing.T) {
	x := newIndex()
	p := placeOf(&x.key, keyOf("abcdefghijkl").View())
	s := &x.shards[p.shard]
	for n := range int64(1 << 12) {
		code := []byte("abcdefghijkl")
		for i := range code {
			if n>>i&1 == 1 {
				code[i] -= 'a' - 'A'
			}
		}
		x.put(t, HotView{KeyView: viewOf(code), Target: []byte("https://x"), ID: uint64(n)})
		l, ok := x.get(string(code))
		expect.MustThat(t, ok && l.ID() == uint64(n), "%s is lost", code)
		x.put(t, HotView{KeyView: viewOf(code), Flags: FlagTombstone, DeletedAtMs: n + 1, ID: uint64(n)})
	}
	expect.That(t, s.mu.used == 1 && s.tombstones.Load() == 1 && s.links.Load() == 0,
		"4,096 variants made and deleted leave %d slots, %d tombstones, %d links", s.mu.used, s.tombstones.Load(), s.links.Load())
	// As on loading, in any order: a tombstone does not displace a record that blocks more.
	x.put(t, HotView{KeyView: keyOf("Abcdefghijkl").View(), Flags: FlagTombstone, DeletedAtMs: 5})
	x.put(t, HotView{KeyView: keyOf("aBcdefghijkl").View(), Target: []byte("https://live")})
	x.put(t, HotView{KeyView: keyOf("abCdefghijkl").View(), Flags: FlagTombstone, DeletedAtMs: 1 << 40})
	l, ok := x.get("aBcdefghijkl")
	expect.That(t, ok && string(l.AppendTarget(nil)) == "https://live" && s.mu.used == 1, "the live variant resolves: %v, in %d slots", ok, s.mu.used)
}

// TestMatchingMissesNoMark has marks that make the match borrow from the next byte.
func TestMatchingMissesNoMark(t *testing.T) {
	for _, control := range []uint64{0x0001_101f_ffff_ffff, 0x0101_0101_0101_0101, 0xffff_ffff_ffff_ff01} {
		for want := uint64(1); want < 256; want++ {
			m := matchByte(control, want*lowBits)
			for i := range groupSlots {
				expect.That(t, byte(control>>(8*i)) != byte(want) || m>>(8*i+7)&1 != 0, "matching %#x in %#x misses byte %d", want, control, i)
			}
		}
	}
}

// TestLinksStayWholeWhileTheirShardIsRewritten edits a few codes again and again, so that their
// shards are rewritten and the old arenas unmapped, while readers hold links and check every byte
// after garbage collections.
func TestLinksStayWholeWhileTheirShardIsRewritten(t *testing.T) {
	defer func(n int) { mappedTableBytes = n }(mappedTableBytes)
	mappedTableBytes = 0 // so that old tables are unmapped as well
	const codes, edits = 16, 4000
	x := newIndex()
	target := func(code, version int) []byte {
		return []byte(strings.Repeat(string(rune('a'+version%26)), 600+code))
	}
	put := func(code, version int) {
		x.put(t, HotView{KeyView: viewOf(fmt.Appendf(nil, "code%d", code)), Target: target(code, version), ID: uint64(code)})
	}
	for c := range codes {
		put(c, 0)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for n := 0; !stop.Load(); n++ {
				l, ok := x.get(fmt.Sprintf("code%d", n%codes))
				if !ok || len(l.AppendTarget(nil)) != 600+n%codes {
					t.Errorf("link lost or of wrong length: %v", ok)
					return
				}
				target := l.AppendTarget(nil)
				if n%64 == 0 {
					runtime.GC() // frees the arenas that nobody holds
				}
				if c := target[0]; strings.Trim(string(target), string(rune(c))) != "" {
					t.Errorf("target is torn: %q", target)
					return
				}
				l.Release()
			}
		})
	}
	first := x.shards[placeOf(&x.key, keyOf("code0").View()).shard].current.Load().arena
	for v := range edits {
		put(rand.IntN(codes), v)
	}
	for v := range 200 {
		put(0, v)
	}
	stop.Store(true)
	readers.Wait()
	expect.That(t, x.shards[placeOf(&x.key, keyOf("code0").View()).shard].current.Load().arena != first, "the shard was never rewritten: the test shows nothing")
}

func TestMemoryOfRewrittenArenasIsReturned(t *testing.T) {
	x := newIndex()
	for v := range 20_000 {
		x.put(t, HotView{KeyView: keyOf("one").View(), Target: []byte(strings.Repeat("x", 1000)), ID: uint64(v)})
	}
	s := &x.shards[placeOf(&x.key, keyOf("one").View()).shard]
	for deadline := time.Now().Add(time.Minute); x.memory.arenaBytes.Load() >= 1<<20 && time.Now().Before(deadline); {
		runtime.GC()
		runtime.Gosched() // cleanups run in a goroutine of their own, some time after the collection
	}
	got := x.memory.arenaBytes.Load()
	expect.That(t, got <= 1<<20, "%d bytes are mapped for one link after 20,000 edits of 1,000 bytes", got)
	expect.Equal(t, s.links.Load(), 1, "links")
}

// TestAPurgedCodeIsNotCountedAndGoesWithTheNextRewrite checks the slot after each step, and the
// memory.
func TestAPurgedCodeIsNotCountedAndGoesWithTheNextRewrite(t *testing.T) {
	x := newIndex()
	p := placeOf(&x.key, keyOf("dead").View())
	s := &x.shards[p.shard]
	want := func(when string, tombstones, slots int) {
		t.Helper()
		got := int(s.tombstones.Load())
		expect.That(t, got == tombstones && s.mu.used == slots, "%s: got %d tombstones in %d slots, want %d in %d", when, got, s.mu.used, tombstones, slots)
	}
	rewrite := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rewriteLocked()
	}
	dead := HotView{KeyView: keyOf("dead").View(), Flags: FlagTombstone, DeletedAtMs: 1000, ID: 1}
	x.put(t, dead)
	rewrite()
	want("rewritten", 1, 1)
	x.Forget(keyOf("dEad"), 1)
	want("a variant was purged", 1, 1)
	x.Forget(keyOf("dead"), 1)
	want("purged", 0, 1)
	x.put(t, dead)
	want("taken and deleted again", 1, 1)
	x.Forget(keyOf("dead"), 1)
	rewrite()
	want("rewritten again", 0, 0)
	for id := range uint64(1 << 14) {
		dead.ID = id
		x.put(t, dead)
		x.Forget(keyOf("dead"), id)
	}
	got := s.current.Load().arena.usedBytes
	expect.That(t, got <= 2*minGarbageBytes, "%d bytes of records for one code that was purged 16,384 times", got)
}

func TestCountersAreExactUnderACap(t *testing.T) {
	const id, limit = 70_000, 1000
	x := newIndex()
	expect.OK(t, x.Put(&HotView{KeyView: keyOf("capped").View(), Target: []byte("https://x"), ID: id, Flags: FlagCapped, MaxHits: limit}))
	l, _ := x.Resolve(keyOf("capped").View())
	defer l.Release()
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 100 {
				if x.Admit(l, id, true) {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if granted.Load() != limit || x.Hits(id) != limit {
		t.Errorf("%d granted, counter at %d, want %d", granted.Load(), x.Hits(id), limit)
	}
}

func TestCountersNeverMove(t *testing.T) {
	var c counters
	expect.OK(t, c.ensure(5))
	before := c.at(5)
	for id := uint64(0); id < 1<<22; id += 1 << slabBits {
		expect.OK(t, c.ensure(id))
	}
	expect.Equal(t, c.at(5), before, "a counter moved as others were added")
	expect.That(t, c.find(1<<40) == nil, "an id without a slab has a counter")
	expect.That(t, c.ensure(1<<47) != nil, "an absurd id gets a slab")
}

// TestALookUpAndAHitTakeNoLock holds every lock of the index while it looks links up and counts
// hits.
func TestALookUpAndAHitTakeNoLock(t *testing.T) {
	x := newIndex()
	expect.OK(t, x.Put(&HotView{KeyView: keyOf("capped").View(), Target: []byte("https://x"), ID: 5, Flags: FlagCapped, MaxHits: 9}))
	expect.OK(t, x.Put(&HotView{KeyView: keyOf("drawn123").View(), Target: []byte("https://x"), ID: 6}))
	for i := range x.shards {
		x.shards[i].mu.Lock()
	}
	x.counters.mu.Lock()
	done := make(chan bool)
	go func() {
		capped, ok := x.Resolve(keyOf("capped").View())
		_, ok2 := x.Resolve(keyOf("drawn123").View())
		x.AddHits(6, 1)
		done <- ok && ok2 && x.Admit(capped, 5, true) && x.CountsAtOnce(capped) && x.Hits(6) == 1
	}()
	select {
	case ok := <-done:
		expect.That(t, ok, "no hit")
	case <-time.After(10 * time.Second):
		t.Fatal("a look-up or a hit waits for a lock")
	}
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) Key { return Key{Domain: DefaultDomain, Code: code} }

// viewOf returns a view of the same.
func viewOf(code []byte) KeyView { return KeyView{Domain: DefaultDomain, Code: code} }
