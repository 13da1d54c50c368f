package source

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/engine/daily"
	"shunt/engine/expect"
)

// A million clicks on 100,000 links take a run of 16 MiB and what reading needs, and each click is counted once.
func TestALogOfManyClicksTakesBoundedMemory(t *testing.T) {
	const links, all = 100_000, 1_000_000
	rng, begin := rand.New(rand.NewPCG(1, 2)), time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	c, few := newClicks(ClickLog{First: begin.AddDate(0, 0, 10)}), make(map[string]uint64)
	var most, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	before := now.HeapAlloc
	for i := range all {
		code := fmt.Sprint("code", rng.IntN(links))
		if len(few) < 1000 || few[code] > 0 {
			few[code]++
		}
		expect.MustError(t, c.add(code, begin.Add(time.Duration(rng.IntN(400*24))*time.Hour)), nil)
		if i%(1<<16) == 0 {
			if runtime.ReadMemStats(&now); now.HeapAlloc > most.HeapAlloc {
				most = now
			}
		}
	}
	c.end()
	expect.That(t, most.HeapAlloc-before < 64<<20 && len(c.runs) == 1, "%d runs, and %d MiB at most", len(c.runs), (most.HeapAlloc-before)>>20)
	for code, clicks := range few {
		l := link{CreatedAt: begin.Format(time.RFC3339)}
		c.give(&l, code)
		expect.That(t, l.Hits >= clicks, "%s: got %d hits, want %d or more", code, l.Hits, clicks) // those before it was one of few, too
	}
	sum := int64(0)
	for i := range links {
		var l link
		c.give(&l, fmt.Sprint("code", i))
		sum += int64(l.Hits)
	}
	expect.Equal(t, sum, int64(all), "clicks of all links")
	expect.That(t, c.met.NotKept > all/50 && c.met.NotKept < all/30, "%d clicks are before the first day", c.met.NotKept)
}

func TestALogOfTooManyDaysIsRefused(t *testing.T) {
	c := newClicks(ClickLog{})
	c.room = 1000
	var err error
	n := 0
	for ; err == nil && n <= maxRuns*c.room; n++ {
		err = c.put(clickDay{code: uint64(n), day: 5, n: 1})
	}
	expect.Error(t, err, ErrManyClicks, "after %d days", n)
}

func TestALinkGetsItsNewestDaysAndAllHits(t *testing.T) {
	c := newClicks(ClickLog{Now: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)})
	begin := time.Date(2019, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range daily.Max + 5 {
		for range 1 + i%2 {
			expect.OK(t, c.add("a", begin.AddDate(0, 0, i)))
		}
	}
	expect.OK(t, c.add("a", time.Time{}))
	expect.OK(t, c.add("a", begin.AddDate(30, 0, 0)))
	c.end()
	l := link{Hits: 7, CreatedAt: "2019-01-01T12:02:00Z"}
	c.give(&l, "a")
	want := uint64(daily.Max+5)/2*3 + 1 + 2
	expect.That(t, l.Hits == want && len(l.Daily) == daily.Max && l.Daily[0] == dayHits{"2019-01-06", 2}, "got %d hits, want %d, %d days from %v on", l.Hits, want, len(l.Daily), l.Daily[0])
	expect.Equal(t, *c.summary(), ClicksMet{All: int64(want), NotKept: 7, NoDay: 2, Early: 1})
	l = link{Hits: 1 << 20}
	c.give(&l, "a")
	expect.Equal(t, l.Hits, uint64(1<<20), "a link with more hits than clicks in the log")
	l = link{Hits: 3}
	c.give(&l, "b")
	expect.That(t, l.Hits == 3 && l.Daily == nil, "a link without clicks: %+v", l)
}

// Of a log only codes and days are kept, wherever it stands in the dump.
func TestALogIsReadWhereverItStands(t *testing.T) {
	const urls = "CREATE TABLE `p_url` (`keyword` varchar(100), `url` text, `title` text, `timestamp` timestamp, `ip` varchar(41), `clicks` int);\n" +
		"INSERT INTO `p_url` VALUES ('a','https://a.example/','','2024-01-02 03:04:05','',1);\n"
	const log = "INSERT INTO `p_log` (`click_id`, `click_time`, `shorturl`, `referrer`, `user_agent`, `ip_address`, `country_code`) VALUES\n" +
		"(1,'2024-01-05 10:11:12','a','direct','it''s \\'; INSERT','192.0.2.1','DE'),(2,'2024-01-05 23:59:59',0x61,'x',NULL,'192.0.2.2',''),(3,'2024','a','','','',''),(4,'2024-01-05');\n"
	for name, text := range map[string]string{"before": log + urls, "after": urls + log, "twice": log + urls + log} {
		s, err := Open(strings.NewReader(text), int64(len(text)), Options{Clicks: &ClickLog{}})
		expect.OK(t, err, name)
		r, err := s.Next()
		n := strings.Count(text, "(1,'2024")
		want := fmt.Sprintf(`{"code":"a","url":"https://a.example/","created_at":"2024-01-02T03:04:05Z","hits":%d,"redirect_status":301,"daily":[{"day":"2024-01-05","hits":%d}]}`, 3*n, 2*n)
		expect.That(t, err == nil && string(r.Link) == want, "%s: got %s, %v, want %s", name, r.Link, err, want)
		_, err = s.Next()
		expect.Error(t, err, io.EOF, name)
		expect.Equal(t, *s.Summary().Clicks, ClicksMet{All: int64(4 * n), NoLink: int64(n), NoDay: int64(2 * n)}, name)
	}
	for text, want := range map[string]error{urls: ErrNoLog, "url,code\nhttps://a.example/,a\n": ErrNotDump, `{"code":"a","url":"https://a.example/"}`: ErrNotDump} {
		_, err := Open(strings.NewReader(text), int64(len(text)), Options{Clicks: &ClickLog{}})
		expect.That(t, errors.Is(err, want), "%.20s: got %v, want %v", text, err, want)
	}
}
