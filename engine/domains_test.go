package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

const elsewhere = engine.Domain(1)

// ownElsewhere is user 1 in the other domain.
var ownElsewhere = engine.OwnerIn(elsewhere, 1)

func inTwoDomains(codes ...string) (all []engine.BulkItem) {
	for _, code := range codes {
		for _, d := range []engine.Draft{{Domain: engine.DefaultDomain, Owner: 1}, {Domain: elsewhere, Owner: ownElsewhere}} {
			d.Alias, d.Target = code, fmt.Sprintf("https://%d.example/%s", d.Domain, code)
			all = append(all, engine.BulkItem{Draft: d})
		}
	}
	return all
}

// TestABulkOverTwoDomainsRacesItsReverse makes equal codes in two domains by one request, and again by one with its
// items in the other order. If the locks had no order, one would wait for the other until its deadline.
func TestABulkOverTwoDomainsRacesItsReverse(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for round := range 40 {
		forth := inTwoDomains(fmt.Sprint("a", round), fmt.Sprint("B", round), fmt.Sprint("a-longer-code-", round))
		back := slices.Clone(forth)
		slices.Reverse(back)
		var made [2]int
		var both sync.WaitGroup
		for i, items := range [][]engine.BulkItem{forth, back} {
			both.Go(func() {
				results, err := e.CreateBulk(context.Background(), items)
				expect.Error(t, err, nil, "round %d", round)
				for _, r := range results {
					if r.Err == nil {
						made[i]++
					} else if !errors.Is(r.Err, engine.ErrTaken) {
						t.Errorf("round %d: %v", round, r.Err)
					}
				}
			})
		}
		both.Wait()
		expect.That(t, made[0]+made[1] == len(forth) && (made[0] == 0 || made[1] == 0),
			"round %d: one request has made %d links and the other %d, want %d and 0", round, made[0], made[1], len(forth))
		for _, item := range forth {
			e.wantTarget(t, engine.Key{Domain: item.Draft.Domain, Code: item.Draft.Alias}, item.Draft.Target)
		}
	}
}

// wantTarget checks where the link of a key leads, in memory and in the store; nowhere: "".
func (e *testEngine) wantTarget(t *testing.T, k engine.Key, want string) {
	t.Helper()
	got := ""
	if l, ok := e.Resolve(k.View()); ok {
		got = string(l.AppendTarget(nil))
		l.Release()
	}
	rec, err := e.gate.ReadRecord(k)
	expect.That(t, got == want && rec.Hot.Target == want && (want == "" || err == nil && rec.Hot.Key == k && rec.Cold.Key == k),
		"%v leads to %q in memory, and in the store to %+v, %v; want %q", k, got, rec, err, want)
}

func TestAPurgeInOneDomainLeavesTheOther(t *testing.T) {
	e, now := atClock(t, -1)
	codes := []string{"a", "eight_by", "nine_byte"}
	_, err := e.CreateBulk(context.Background(), inTwoDomains(codes...))
	expect.OK(t, err)
	for i, code := range codes {
		gone, stays := engine.Key{Domain: engine.Domain(i % 2), Code: code}, engine.Key{Domain: engine.Domain((i + 1) % 2), Code: code}
		expect.OK(t, e.Delete(context.Background(), gone, engine.Guard{AnyOwner: true}))
		e.wantTarget(t, gone, "")
		e.wantTarget(t, stays, fmt.Sprintf("https://%d.example/%s", stays.Domain, code))
	}
	now.Add(holdsFor.Milliseconds() + 3600_000)
	e.turn(t)
	m := e.Metrics()
	expect.That(t, m.Tombstones == 0 && m.Links == uint64(len(codes)), "%d tombstones and %d links are left", m.Tombstones, m.Links)
	for i, code := range codes {
		gone, stays := engine.Key{Domain: engine.Domain(i % 2), Code: code}, engine.Key{Domain: engine.Domain((i + 1) % 2), Code: code}
		rec, err := e.gate.ReadRecord(gone)
		expect.Error(t, err, engine.ErrNotFound, "%v is still in the store: %+v", gone, rec)
		e.wantTarget(t, stays, fmt.Sprintf("https://%d.example/%s", stays.Domain, code))
	}
	if err := e.Load(context.Background(), nil); err != nil { // the hot records say their domains
		t.Fatal(err)
	}
}

func TestARepeatAnswersWithTheDomainsOfItsLinks(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	bulk := func() []engine.BulkResult {
		results, err := e.CreateBulkOnce(context.Background(), request("bulk"), inTwoDomains("x", "y"), nil)
		expect.OK(t, err)
		return results
	}
	one := func() engine.Detail {
		d, _, err := e.CreateOnce(context.Background(), request("one"), func() (engine.Draft, error) {
			return engine.Draft{Domain: elsewhere, Owner: ownElsewhere, Target: "https://1.example/"}, nil
		})
		expect.MustThat(t, err == nil && d.Domain == elsewhere, "%+v, %v", d, err)
		return d
	}
	first, again := bulk(), bulk()
	for i := range first {
		expect.That(t, first[i].Err == nil && again[i].Err == nil && first[i].Detail.ID == again[i].Detail.ID && first[i].Detail.Key == again[i].Detail.Key &&
			first[i].Detail.Domain == engine.Domain(i%2), "item %d: first %+v, again %+v", i, first[i], again[i])
	}
	a, b := one(), one()
	expect.That(t, a.Key == b.Key && a.ID == b.ID, "first %v, again %v", a.Key, b.Key)
}

func TestAnOwnerGetsNoLinkInADomainOfOthers(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for _, d := range []engine.Draft{{Domain: elsewhere, Owner: 1}, {Domain: engine.DefaultDomain, Owner: ownElsewhere}} {
		d.Alias, d.Target = "code", "https://x.example/"
		_, _, err := e.Create(context.Background(), d)
		expect.That(t, err != nil, "owner %d has a link in domain %d", d.Owner, d.Domain)
	}
	e.create(t, "code").Release()
	none := func(*engine.Record) error { return nil }
	expect.That(t, expect.Err(e.Give(context.Background(), keyOf("code"), engine.Guard{AnyOwner: true}, ownElsewhere, none)) != nil,
		"a link is given to its owner in another domain")
	e.wantTarget(t, keyOf("code"), "https://example.com/code")
}

// TestRacingWritersOfEqualCodesKeepTheirDomains has 64 writers, which make, edit and delete links of equal codes in
// three domains, and readers of all of them: nobody may see the target of another domain.
func TestRacingWritersOfEqualCodesKeepTheirDomains(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	domains := []engine.Domain{engine.DefaultDomain, elsewhere, engine.MaxDomain}
	codes := []string{"a", "eight-by", "nine-byte", strings.Repeat("x", engine.MaxCodeBytes)}
	target := func(k engine.Key, n int) string { return fmt.Sprintf("https://%d.example/%s/%d", k.Domain, k.Code, n) }
	check := func(k engine.Key) {
		l, ok := e.Resolve(k.View())
		if !ok {
			return
		}
		defer l.Release()
		got := string(l.AppendTarget(nil))
		expect.That(t, strings.HasPrefix(got, fmt.Sprintf("https://%d.example/%s/", k.Domain, k.Code)) && engine.DomainOf(l.Owner()) == k.Domain,
			"%v leads to %s of owner %d", k, got, l.Owner())
	}
	var writers sync.WaitGroup
	for w := range 64 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 39))
			for n := range 160 {
				k := engine.Key{Domain: domains[rng.IntN(3)], Code: codes[rng.IntN(4)]}
				g, ctx := engine.Guard{Owner: engine.OwnerIn(k.Domain, 1)}, context.Background()
				var err error
				switch rng.IntN(3) {
				case 0:
					_, _, err = e.Create(ctx, engine.Draft{Domain: k.Domain, Owner: g.Owner, Alias: k.Code, Target: target(k, n)})
				case 1:
					_, err = e.Update(ctx, k, g, func(rec *engine.Record) error { rec.Hot.Target = target(k, n); return nil })
				default:
					err = e.Delete(ctx, k, g)
				}
				known := errors.Is(err, engine.ErrTaken) || errors.Is(err, engine.ErrNotFound)
				expect.That(t, err == nil || known, "%v: %v", k, err)
				check(k)
			}
		})
	}
	writers.Wait()
	for _, d := range domains {
		for _, code := range codes {
			k := engine.Key{Domain: d, Code: code}
			rec, err := e.gate.ReadRecord(k)
			switch l, ok := e.Resolve(k.View()); {
			case ok:
				expect.That(t, err == nil && string(l.AppendTarget(nil)) == rec.Hot.Target, "%v leads elsewhere than in the store", k)
				l.Release()
				check(k)
			default:
				expect.That(t, err != nil || rec.Hot.Flags&engine.FlagTombstone != 0, "%v is in the store alone", k)
			}
		}
	}
}
