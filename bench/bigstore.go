package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"shunt/api/account"
	"shunt/engine"
	"shunt/storage"
)

// BigStore describes a data folder of a service that has run for years and ends now: links made
// over Days days, hits on each of them, hour rows of the last two days. It is written by the real
// engine and store, with a clock that walks through the days.
//
// Link i has the code BigCode(i) and is owned by the admin, except about 0.9 % that are the
// member's and 1 % of ten other users. 3 % each are disabled, expired and capped at ten hits; six in
// ten have a title. The links of tag "few" are ten, those of tag "some" about a thousandth, those
// of tag "many" about a fifth. 60 % are made on the first day, the others evenly on the days after.
// Hits are by a Zipf distribution over the 50,000 most-hit links, whose ranks are independent of
// age, and a twentieth on links made that day.
type BigStore struct {
	Links    uint64
	Days     int
	DayHits  uint64 // on each day; a tenth of it in each hour of the last two
	Progress func(format string, args ...any)
}

// Accounts and tags of a big store.
const (
	BigAdmin    = "admin@example.com"
	BigMember   = "member@example.com" // has about 9,000 links of a million
	BigPassword = "correct horse battery staple"
	BigTagFew   = "few"
	BigTagSome  = "some"
	BigTagMany  = "many"
)

const (
	bigRanks      = 50_000 // links with most of the hits
	bigHourly     = 49     // the last hours, which are walked through hour by hour
	bigUsers      = 10     // beside the admin and the member
	bigBulk       = 1000
	bigDeleted    = 500
	bigFlush      = 50 * time.Millisecond
	bigQuiet      = 2 * time.Second // without a row rolled up: the roll-up is done
	bigHourOfDay  = 12*time.Hour + 30*time.Minute
	bigSeed       = 0xb16
	bigFirstShare = 60 // percent of the links that are made on the first day
)

// BigCode returns the code of link i: 8 hexadecimal digits. The factor is odd, so codes are
// distinct; and they are in another order than the links.
func BigCode(i uint64) string { return fmt.Sprintf("%08x", uint32(i*2654435761)) }

// Ranked returns the number of the link with a rank among the most-hit ones; 0 is the most-hit one.
func (s *BigStore) Ranked(rank uint64) uint64 { return mix(rank+1) % s.firstLinks() }

func (s *BigStore) firstLinks() uint64 { return s.Links * bigFirstShare / 100 }

// madeBy returns the number of links that exist after a number of days.
func (s *BigStore) madeBy(days int) uint64 {
	first := s.firstLinks()
	return first + (s.Links-first)*uint64(days-1)/uint64(max(1, s.Days-1))
}

// bigMaker writes a BigStore.
type bigMaker struct {
	*BigStore
	engine *engine.Engine
	store  *storage.Store
	clock  atomic.Int64 // Unix ms
	visits *visits
	rng    *rand.Rand
	ranks  *rand.Zipf
	made   uint64 // links
}

// Make writes the data folder dir, which must not exist. A store of a million links and 400 days of
// 100,000 hits takes some minutes and some 2 GB.
func (s *BigStore) Make(ctx context.Context, dir string) (err error) {
	m := &bigMaker{BigStore: s, rng: rand.New(rand.NewPCG(7, 7))}
	m.ranks = rand.NewZipf(m.rng, 1.1, 1, bigRanks-1)
	now := time.Now().UTC()
	today := now.Truncate(24 * time.Hour)
	m.clock.Store(today.AddDate(0, 0, 1-s.Days).Add(bigHourOfDay).UnixMilli())
	stop, err := m.open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := m.addUsers(); err != nil {
		return err
	}
	if err := m.walk(ctx, today, now); err != nil {
		return err
	}
	return m.settle(ctx)
}

func (m *bigMaker) now() time.Time { return time.UnixMilli(m.clock.Load()) }

// open opens and runs the store and the engine, as serve does.
func (m *bigMaker) open(dir string) (stop func() error, err error) {
	quiet := slog.New(slog.DiscardHandler)
	if m.store, err = storage.Open(dir, storage.Options{Create: true, Logger: quiet, CacheBytes: 256 << 20}); err != nil {
		return nil, err
	}
	m.engine, err = engine.Open(m.store, engine.Options{
		JournalDir: filepath.Join(dir, "journal"), FlushInterval: bigFlush, Now: m.now, ClockSettles: -1,
	})
	if err != nil {
		return nil, errors.Join(err, m.store.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { _ = m.store.Run(ctx) })
	stop = func() error {
		cancel()
		loops.Wait()
		return errors.Join(m.engine.Close(), m.store.Close())
	}
	if err := m.engine.Load(ctx, nil); err != nil {
		return nil, errors.Join(err, stop())
	}
	loops.Go(func() { _ = m.engine.Run(ctx) })
	m.visits = newVisits(m.engine, 5)
	return stop, nil
}

func (m *bigMaker) addUsers() error {
	accounts := account.New(m.store.Accounts(), m.now)
	drafts := []account.UserDraft{
		{Email: BigAdmin, Role: account.RoleAdmin, Password: BigPassword},
		{Email: BigMember, Role: account.RoleMember, Password: BigPassword},
	}
	for n := range bigUsers {
		drafts = append(drafts, account.UserDraft{Email: fmt.Sprintf("user%d@example.com", n), Role: account.RoleMember})
	}
	for _, d := range drafts {
		if _, err := accounts.AddUser(d); err != nil {
			return err
		}
	}
	return nil
}

// walk lets the days pass, and the last hours one by one up to now.
func (m *bigMaker) walk(ctx context.Context, today, now time.Time) error {
	hourly := now.Add(-bigHourly * time.Hour).Truncate(time.Hour)
	for day := 1; day <= m.Days; day++ {
		at := today.AddDate(0, 0, day-m.Days)
		if day%20 == 1 {
			m.say("day %d of %d: %d links, %d rows rolled up", day, m.Days, m.made, m.store.Metrics().RolledUpRows)
		}
		if noon := at.Add(bigHourOfDay); noon.Before(hourly) {
			if err := m.moment(ctx, noon, m.madeBy(day), m.DayHits); err != nil {
				return err
			}
			continue
		}
		for hour := at; hour.Before(at.AddDate(0, 0, 1)) && !hour.After(now); hour = hour.Add(time.Hour) {
			if hour.Before(hourly) {
				continue
			}
			if err := m.moment(ctx, minTime(hour.Add(30*time.Minute), now), m.madeBy(day), m.DayHits/10); err != nil {
				return err
			}
		}
	}
	return m.deleteSome(ctx)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (m *bigMaker) say(format string, args ...any) {
	if m.Progress != nil {
		m.Progress(format, args...)
	}
}

// moment sets the clock, makes links up to a number, and hits links.
func (m *bigMaker) moment(ctx context.Context, at time.Time, links, hits uint64) error {
	m.clock.Store(at.UnixMilli())
	before := m.made
	if err := m.makeLinks(ctx, links); err != nil {
		return err
	}
	for range hits {
		m.hit(before)
	}
	return m.engine.FlushRecorded(ctx) // before the clock goes on: a late record would count in a later hour
}

// hit does one redirect of a link; links from number young on were made today. Links that are used
// up are not redirected.
func (m *bigMaker) hit(young uint64) {
	i := m.Ranked(m.ranks.Uint64())
	if m.made > young && m.rng.Uint64N(20) == 0 {
		i = young + m.rng.Uint64N(m.made-young)
	}
	v := m.visits.next(m.clock.Load())
	if m.rng.Uint64N(10) == 0 {
		v.Kind = engine.Kind(engine.ClassBot)
	}
	if l, ok := m.engine.Resolve(keyOf(BigCode(i)).View()); ok {
		m.engine.Hit(l, v)
		l.Release()
	}
}

// makeLinks makes links up to a number, in bulks, several at once.
func (m *bigMaker) makeLinks(ctx context.Context, upTo uint64) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for first := m.made; first < upTo; first += bigBulk {
		g.Go(func() error {
			var items []engine.BulkItem
			for i := first; i < min(first+bigBulk, upTo); i++ {
				items = append(items, engine.BulkItem{Draft: m.draft(i)})
			}
			results, err := m.engine.CreateBulk(ctx, items)
			for i := range results {
				err = errors.Join(err, results[i].Err)
			}
			return err
		})
	}
	m.made = max(m.made, upTo)
	return g.Wait()
}

var bigWords = [...]string{"Spring", "sale", "report", "invitation", "to", "the", "annual", "meeting", "Price", "list", "Holiday", "photos", "Newsletter", "of", "our", "team"}

// draft returns link i.
func (m *bigMaker) draft(i uint64) engine.Draft {
	h := mix(i ^ bigSeed)
	d := engine.Draft{Domain: engine.DefaultDomain, Alias: BigCode(i), Owner: bigOwner(h % 1000), Target: string(appendTarget(nil, i))}
	switch stateOf(i) {
	case engine.StateDisabled:
		d.Disabled = true
	case engine.StateExpired:
		d.ExpiresAt = m.now().Add(time.Duration(1+h%90) * 24 * time.Hour)
	case engine.StateExhausted:
		d.MaxHits = 10
	}
	if h>>20%10 < 6 {
		for n := range 2 + h>>24%4 {
			d.Title += bigWords[h>>(30+4*n)%16] + " "
		}
		d.Title += fmt.Sprint(i)
	}
	if h>>52%5 == 0 {
		d.Tags = append(d.Tags, BigTagMany)
	}
	if h>>50%1024 == 0 {
		d.Tags = append(d.Tags, BigTagSome)
	}
	if i%max(1, m.Links/10) == 0 {
		d.Owner, d.Tags = 1, append(d.Tags, BigTagFew)
	}
	return d
}

// stateOf returns the state that link i has or will have, if it gets enough hits.
func stateOf(i uint64) engine.State {
	switch mix(i^bigSeed) >> 10 % 100 {
	case 0, 1, 2:
		return engine.StateDisabled
	case 3, 4, 5:
		return engine.StateExpired
	case 6, 7, 8:
		return engine.StateExhausted
	}
	return engine.StateActive
}

// Redirects reports whether link i redirects, whenever it was made and however often it was hit.
func (s *BigStore) Redirects(i uint64) bool { return stateOf(i) == engine.StateActive }

// bigOwner returns the owner of a thousandth of the links.
func bigOwner(thousandth uint64) uint32 {
	switch {
	case thousandth < 9:
		return 2
	case thousandth < 19:
		return uint32(3 + thousandth%bigUsers)
	}
	return 1
}

// deleteSome deletes links without rank, which leaves tombstones.
func (m *bigMaker) deleteSome(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(64)
	for n := range min(bigDeleted, m.Links/100) {
		g.Go(func() error {
			return m.engine.Delete(ctx, keyOf(BigCode(m.Links-1-n*7)), engine.Guard{AnyOwner: true})
		})
	}
	return g.Wait()
}

// settle sets the clock to the real time and waits until all closed hours are rolled up.
func (m *bigMaker) settle(ctx context.Context) error {
	m.clock.Store(time.Now().UnixMilli())
	if err := m.engine.FlushRecorded(ctx); err != nil {
		return err
	}
	last, since := uint64(0), time.Now()
	for time.Since(since) < bigQuiet {
		if rows := m.store.Metrics().RolledUpRows; rows != last {
			last, since = rows, time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	m.say("%d rows rolled up, %d MiB", last, m.store.Metrics().DiskBytes>>20)
	return nil
}
