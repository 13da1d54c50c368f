package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
)

const domains = 3

// ownerIn is the owner of all links of these tests in a domain.
func ownerIn(d Domain) uint32 { return OwnerIn(d, 100) }

// equalCodes are codes of the lengths that a look-up tells apart, which are equal in all domains.
var equalCodes = func() (codes []string) {
	for _, n := range []int{1, 8, 9, limits.MaxCodeBytes} {
		for _, c := range []string{"a", "A", "z"} {
			codes = append(codes, strings.Repeat(c, n))
		}
	}
	// s and ſ, ß and ẞ, Ⱥ and ⱥ differ by case only, and not all of them have as many bytes.
	return append(codes, "s", "S", "ſ", "straße", "STRAẞE", "éÉéé", "ÉÉÉé", "ȺȺȺȺ", "ⱥⱥⱥⱥ", "日本", strings.Repeat("é", 32), strings.Repeat("É", 32))
}()

// linkAt is the link of a key, which says in its target where it belongs.
func linkAt(k Key, id uint64) HotView {
	return HotView{KeyView: k.View(), Target: fmt.Appendf(nil, "https://%d.example/%s/%d", k.Domain, k.Code, id), ID: id, Owner: ownerIn(k.Domain)}
}

// modelOfDomains is an index, and a plain map of what it must have.
type modelOfDomains struct {
	x    *Index
	rng  *rand.Rand
	all  map[Key]HotView // the last record of each key that was not purged
	next uint64          // id
}

// TestEqualCodesInThreeDomainsAreThreeLinks puts, deletes, purges and looks up random keys while their shards
// grow and are rewritten.
func TestEqualCodesInThreeDomainsAreThreeLinks(t *testing.T) {
	expect.Long(t)
	m := &modelOfDomains{x: newIndex(), rng: rand.New(rand.NewPCG(5, 6)), all: make(map[Key]HotView), next: 1}
	for step := range 40_000 {
		m.step(t)
		m.check(t, m.key())
		if step%2_000 == 0 {
			for i := range m.x.shards {
				s := &m.x.shards[i]
				s.mu.Lock()
				s.rewriteLocked()
				s.mu.Unlock()
			}
		}
	}
	for k := range m.all {
		m.check(t, k)
	}
	live := 0
	m.x.Each(func(l Link) {
		live++
		if h := m.all[l.Key(nil).Own()]; h.ID != l.ID() || h.Flags&FlagTombstone != 0 {
			t.Errorf("%v: link %d is not there, or deleted", l.Key(nil).Own(), l.ID())
		}
	})
	expect.Equal(t, m.x.Figures().Links, uint64(live), "live links are counted, and %d found", live)
}

func (m *modelOfDomains) key() Key {
	k := Key{Domain: Domain(m.rng.IntN(domains)), Code: equalCodes[m.rng.IntN(len(equalCodes))]}
	if m.rng.IntN(2) == 0 { // makes tables grow
		k.Code = fmt.Sprintf("code%04d", m.rng.IntN(8_000))
	}
	return k
}

func (m *modelOfDomains) step(t *testing.T) {
	k := m.key()
	was, known := m.all[k]
	h := linkAt(k, m.next)
	switch kind := m.rng.IntN(8); {
	case kind == 0 && known && was.Flags&FlagTombstone == 0:
		h = HotView{KeyView: was.KeyView, ID: was.ID, Owner: was.Owner, Flags: FlagTombstone, DeletedAtMs: int64(m.next)}
	case kind == 1 && known && was.Flags&FlagTombstone != 0:
		m.x.Forget(k, was.ID)
		delete(m.all, k)
		return
	case kind == 2:
		h.ID = 1<<33 + m.next // wide
	case kind == 3:
		h.CountsAtOnce = true // wide too
	}
	m.next++
	expect.OK(t, m.x.PutAll([]HotView{h}))
	m.all[k] = h
}

func (m *modelOfDomains) check(t *testing.T, k Key) {
	t.Helper()
	want, known := m.all[k]
	live := known && want.Flags&FlagTombstone == 0
	for _, find := range []func(KeyView) (Link, bool){m.x.Resolve, m.x.resolveAny} {
		l, ok := find(k.View())
		if ok != live {
			t.Fatalf("%v: found is %v, want %v", k, ok, live)
		}
		if ok && (l.ID() != want.ID || l.Key(nil).Own() != k || l.Flags() != want.Flags || l.CountsAtOnce() != want.CountsAtOnce ||
			!bytes.Equal(l.AppendTarget(nil), want.Target)) {
			t.Fatalf("%v: found %v, %d, flags %#x, at once %v, %q, want %+v", k, l.Key(nil).Own(), l.ID(), l.Flags(), l.CountsAtOnce(), l.AppendTarget(nil), want)
		}
		l.Release()
	}
	m.checkFolded(t, k)
	m.x.Variants(k, func(v HotView) {
		if v.Domain != k.Domain || !strings.EqualFold(string(v.Code), k.Code) {
			t.Fatalf("%v is a variant of %v", v.Own(), k)
		}
	})
}

// checkFolded checks which of several links a code leads to that may be typed in any case.
func (m *modelOfDomains) checkFolded(t *testing.T, k Key) {
	t.Helper()
	if !slices.Contains(equalCodes, k.Code) {
		return
	}
	var want HotView
	var rank int
	for _, code := range equalCodes {
		h, known := m.all[Key{Domain: k.Domain, Code: code}]
		if !known || h.Flags&FlagTombstone != 0 || !strings.EqualFold(code, k.Code) {
			continue
		}
		r := 1
		if code == strings.ToLower(code) {
			r = 2
		}
		if code == k.Code {
			r = 3
		}
		if r > rank || r == rank && h.ID < want.ID {
			want, rank = h, r
		}
	}
	l, ok := m.x.ResolveFolded(k.View())
	if ok != (rank > 0) || ok && l.ID() != want.ID {
		t.Fatalf("%v in any case: found is %v, want %v", k, ok, want.Own())
	}
}

// TestRacingWritersOfEqualCodesNeverMixDomains has 64 writers of equal codes in three domains, and readers that
// must never find the target of another domain.
func TestRacingWritersOfEqualCodesNeverMixDomains(t *testing.T) {
	x := newIndex()
	var ids atomic.Uint64
	var writing, reading sync.WaitGroup
	var stop atomic.Bool
	for n := range 64 {
		writing.Go(func() {
			rng, d := rand.New(rand.NewPCG(uint64(n), 7)), Domain(n%domains)
			for range 400 {
				k := Key{Domain: d, Code: equalCodes[rng.IntN(len(equalCodes))]}
				h := linkAt(k, ids.Add(1))
				if rng.IntN(4) == 0 {
					h.Flags, h.Target, h.DeletedAtMs = FlagTombstone, nil, int64(h.ID)
				}
				if err := x.Put(&h); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 2 {
		reading.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 8))
			for !stop.Load() {
				k := Key{Domain: Domain(rng.IntN(domains)), Code: equalCodes[rng.IntN(len(equalCodes))]}
				l, ok := x.Resolve(k.View())
				if !ok {
					continue
				}
				if want := fmt.Sprintf("https://%d.example/%s/%d", k.Domain, k.Code, l.ID()); string(l.AppendTarget(nil)) != want || l.Domain() != k.Domain {
					t.Errorf("%v leads to %s", k, l.AppendTarget(nil))
					return
				}
				l.Release()
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	reading.Wait()
}

func TestALinkWhoseOwnerHasItsLinksInAnotherDomainIsRefused(t *testing.T) {
	x := newIndex()
	for _, h := range []HotView{
		{KeyView: KeyView{Domain: 2, Code: []byte("code")}, ID: 1, Owner: ownerIn(1)},
		{KeyView: KeyView{Domain: 2, Code: []byte("code")}, ID: 1, Owner: 5},
		{KeyView: keyOf("code").View(), ID: 1, Owner: ownerIn(1)},
	} {
		if err := x.Put(&h); err == nil {
			t.Errorf("%v of owner %d is put", h.Own(), h.Owner)
		}
	}
}

func TestAnOwnerIsADomainAndAUser(t *testing.T) {
	for _, d := range []Domain{DefaultDomain, 1, narrowDomains - 1, narrowDomains, MaxDomain} {
		for _, user := range []uint32{0, 1, narrowUserMask, narrowUserMask + 1, MaxUser} {
			owner := OwnerIn(d, user)
			expect.That(t, DomainOf(owner) == d && owner&MaxUser == user, "user %d in domain %d is owner %#x", user, d, owner)
			bits, narrow := narrowOwner(owner)
			expect.That(t, bits <= narrowOwnerMask || !narrow, "user %d in domain %d: %x does not fit into a narrow record", user, d, bits)
			expect.Equal(t, narrow, d == DefaultDomain || d < narrowDomains && user <= narrowUserMask, "user %d in domain %d", user, d)
		}
	}
}

func TestEqualCodesOfTwoDomainsHaveTwoLocksInOneOrder(t *testing.T) {
	x := newIndex()
	for _, code := range equalCodes {
		one, two, same := x.CodeLock(Key{Domain: 1, Code: code}), x.CodeLock(Key{Domain: 2, Code: code}), x.CodeLock(Key{Domain: 1, Code: strings.ToUpper(code)})
		if one.Folded() == two.Folded() || one.Folded().Compare(two.Folded()) >= 0 || one.Folded() != same.Folded() {
			t.Errorf("%s: the locks have the names %v, %v and %v", code, one.Folded(), two.Folded(), same.Folded())
		}
		expect.That(t, one.TryLock() == nil && two.TryLock() == nil && same.TryLock() != nil, "%s: its locks in two domains are one, or those of its cases are two", code)
		one.Unlock()
		two.Unlock()
	}
}

func TestTheCaseOfADomainIsNotFolded(t *testing.T) {
	x := newIndex()
	for d := range Domain(256) { // bit 5 too
		for _, code := range equalCodes {
			k, other := KeyView{Domain: d, Code: []byte(code)}, KeyView{Domain: d ^ 0x20, Code: []byte(code)}
			expect.That(t, placeOf(&x.key, k) != placeOf(&x.key, other), "%s has one place in domains %d and %d", code, d, d^0x20)
		}
	}
}
