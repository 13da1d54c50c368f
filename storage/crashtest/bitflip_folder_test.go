package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage"
)

func init() { tasks["folder"] = buildFolder }

const (
	folderLinks    = 30
	folderRounds   = 6 // openings: each leaves a table, so that the store has several levels
	hoursARound    = 11
	denseVisitors  = 3000
	folderAccounts = 5
)

// folderEnd is the time when the folder is left and examined.
var folderEnd = scriptStart.Add(folderRounds * hoursARound * time.Hour)

// builder makes a data folder that holds every kind of row.
type builder struct {
	s     *session
	nowMs atomic.Int64
	n     int
}

// buildFolder runs the task "DIR": it makes a data folder and ends as a killed process does, with a
// log that is in no table and hits that are only in the journal.
func buildFolder() {
	b := &builder{}
	for round := range folderRounds {
		b.nowMs.Store(scriptStart.Add(time.Duration(round) * hoursARound * time.Hour).UnixMilli())
		b.open(os.Args[1])
		b.round(round)
		if round < folderRounds-1 {
			b.check(b.s.close())
		}
	}
	b.s.stop() // from here on nothing is flushed
	b.nowMs.Store(folderEnd.UnixMilli())
	for i := range folderLinks {
		b.hits(folderCode(i), 5)
	}
}

func (b *builder) check(err error) {
	if err != nil {
		end("building", err)
	}
}

func folderCode(i int) string { return fmt.Sprintf("link-%d", i) }

func (b *builder) open(dir string) {
	s, err := openSession(setting{
		fs: vfs.Default, dir: filepath.Join(dir, "data"), journal: filepath.Join(dir, "journal"), flushInterval: 2 * time.Millisecond,
		now: func() time.Time { return time.UnixMilli(b.nowMs.Load()) }, log: quiet, floor: storage.Floor{Off: true},
	})
	b.check(err)
	b.s = s
	s.start()
}

func (b *builder) round(round int) {
	ctx := context.Background()
	for i := round; i < folderLinks; i += 3 {
		b.write(ctx, i, round)
	}
	for i := range folderLinks {
		b.hits(folderCode(i), 3)
		b.nowMs.Add(int64(hoursARound) * 3600_000 / folderLinks)
	}
	if round == 1 {
		b.hits(folderCode(0), denseVisitors)
	}
	for i := range folderAccounts {
		row := [2][]byte{fmt.Append(nil, "account-", i), fmt.Append(nil, "value ", round)}
		b.check(b.s.writeAccounts([][2][]byte{row}, nil, nil))
	}
}

// write creates a link, or edits it if it exists; in the last rounds it deletes some.
func (b *builder) write(ctx context.Context, i, round int) {
	d := engine.Draft{
		Alias: folderCode(i), Owner: owners[i%2], RedirectStatus: []int{301, 302, 307, 308}[i%4], Texts: engine.Texts{Title: fmt.Sprint("title ", round)},
		Target: fmt.Sprintf("https://example.com/%d/%d/%s", i, round, strings.Repeat("x", i*9)), Tags: []string{"a", "b", "c"}[:i%4],
		MaxHits: []uint64{0, 0, 40}[i%3],
	}
	if i%5 == 0 {
		d.ExpiresAt = folderEnd.AddDate(1, 0, i)
	}
	_, _, err := b.s.e.Create(ctx, d)
	if err == nil {
		return
	}
	if i%7 == 6 && round > folderRounds-3 {
		b.check(b.s.e.Delete(ctx, keyOf(d.Alias), engine.Guard{AnyOwner: true}))
		return
	}
	_, err = b.s.e.Update(ctx, keyOf(d.Alias), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
		r.Hot.Target, r.Cold.Title = d.Target, d.Title
		return nil
	})
	b.check(err)
}

func (b *builder) hits(code string, n int) {
	l, ok := b.s.e.Resolve(keyOf(code).View())
	if !ok {
		return
	}
	defer l.Release()
	for range n {
		b.n++
		v := engine.Visit{
			Visitor: spread(uint64(b.n % (denseVisitors * 2))), NowMs: b.nowMs.Load(), Values: engine.Values{
				Agent: engine.AgentOf(engine.Device(1+b.n%3), engine.Browser(1+b.n%4)), Country: engine.Country(1 + b.n%20),
				Referrer: b.s.e.Referrer(fmt.Appendf(nil, "host-%d.example", b.n%12)),
			},
		}
		if b.n%9 == 0 {
			v.Kind = engine.Kind(engine.ClassBot)
		}
		b.s.e.Hit(l, v)
	}
}

// look returns everything that a session shows, line by line.
func look(s *session) map[string]string {
	lines := map[string]string{}
	note := func(key string, err error, value ...any) {
		if err != nil {
			lines[key] = "error: " + err.Error()
			return
		}
		lines[key] = fmt.Sprint(value...)
	}
	queries := map[string]engine.Query{
		"life": {AllTime: true, Parts: engine.Visitors | engine.Breakdowns}, "hours": {Interval: engine.Hourly, Parts: engine.Visitors},
		"days": {Interval: engine.Daily, Parts: engine.Visitors | engine.Breakdowns},
	}
	for i := range folderLinks {
		code := folderCode(i)
		f, err := s.read(code)
		note(code, err, f.state, " v", f.version, " id ", f.id, " ", f.counted, " hits ", f.unique)
		for name, q := range queries {
			r, err := s.e.LinkReport(context.Background(), keyOf(code), q)
			note(code+" "+name, err, r.Stats, r.Series, r.Dimensions)
		}
	}
	for _, owner := range owners {
		r, err := s.e.OwnerReport(context.Background(), []uint32{owner}, engine.Subset{}, queries["days"])
		note(fmt.Sprint("owner ", owner), err, r.Stats, r.Series, r.Dimensions)
		for _, tag := range []string{"", "a", "b"} {
			top, err := s.e.TopLinks(context.Background(), []uint32{owner}, engine.Subset{Tag: tag}, queries["days"], 100)
			note(fmt.Sprint("top of ", owner, " ", tag), err, top)
		}
	}
	var accounts []string
	err := s.store.Accounts().Scan([]byte("account"), func(k, v []byte) (bool, error) {
		accounts = append(accounts, string(k)+"="+string(v))
		return true, nil
	})
	note("accounts", err, accounts)
	k0, k1 := s.e.VisitorKey()
	note("visitor key", nil, k0, k1)
	codes, err := s.codes()
	note("codes", err, codes)
	first, err := s.store.AllocateIDs(1)
	note("next id", err, first)
	return lines
}
