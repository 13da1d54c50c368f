package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/bench"
)

// Settings of TestPagesAreFastOnABigStore.
const (
	pagesVariable        = "SHUNTTEST_PAGE_TIMES"    // the data folder, made by make big-store
	pageRequestsVariable = "SHUNTTEST_PAGE_REQUESTS" // of each page, one after the other
	pageSecondsVariable  = "SHUNTTEST_PAGE_SECONDS"  // of ten people, and of each window of redirects
	pagePairsVariable    = "SHUNTTEST_PAGE_PAIRS"    // of windows of redirects
	pageThinkVariable    = "SHUNTTEST_PAGE_THINK_MS" // between two pages of a person, on average
	pageOnlyVariable     = "SHUNTTEST_PAGE_ONLY"     // only paths that contain it
	pageProfileVariable  = "SHUNTTEST_PAGE_PROFILE"  // a file for a processor profile of the requests one after the other
	pageDefaultRequests  = 200
	pageDefaultSeconds   = 20
	pageDefaultPairs     = 4
	pageDefaultThinkMs   = 500
	pagePeople           = 10
	pageLimit            = 50 * time.Millisecond
	pageLongLimit        = 2 * time.Second // windows over 90 days over all links
	pageWarmUps          = 3
)

// A timedPage is a line of the table: a path, whose words in braces are replaced (see timedPaths),
// and what its p99 may be.
type timedPage struct {
	path  string
	limit time.Duration
}

// timedPages are all pages, or the calls that pages make. A page that is added here is measured in
// every way.
var timedPages = []timedPage{
	{"/api/v1/links?limit=50", pageLimit},
	{"/api/v1/links?limit=50&cursor={cursor}", pageLimit},
	{"/api/v1/links?limit=50&tag=few", pageLimit},
	{"/api/v1/links?limit=50&tag=some", pageLimit},
	{"/api/v1/links?limit=50&tag=many", pageLimit},
	{"/api/v1/links?limit=50&q=www", pageLimit},
	{"/api/v1/links?limit=50&q=price", pageLimit},
	{"/api/v1/links?limit=50&q=nowhere", pageLimit},
	{"/api/v1/links?limit=50&tag=many&q=nowhere", pageLimit},
	{"/api/v1/links?limit=50&owner=2", pageLimit},
	{"/api/v1/links?limit=50&owner=all", pageLimit},
	{"/api/v1/links?limit=50&owner=all&q=nowhere", pageLimit},
	{"/api/v1/links/{hot}", pageLimit},
	{"/api/v1/links/{rare}", pageLimit},
	{"/api/v1/stats/{hot}?include=" + everyPart, pageLimit},
	{"/api/v1/stats/{hot}?interval=hour&from={24h}&include=" + everyPart, pageLimit},
	{"/api/v1/stats/{hot}?interval=hour&include=" + everyPart, pageLimit},
	{"/api/v1/stats/{hot}?interval=day&include=" + everyPart, pageLimit},
	{"/api/v1/stats/{hot}?interval=day&from={399d}&include=" + everyPart, pageLimit},
	{"/api/v1/stats/{rare}?interval=day&from={399d}&include=" + everyPart, pageLimit},
	{"/api/v1/stats?from={0d}", pageLimit},
	{"/api/v1/stats?from={6d}", pageLimit},
	{"/api/v1/stats?from={13d}&to={6d}", pageLimit},
	{"/api/v1/stats?from={29d}", pageLimit},
	{"/api/v1/stats?from={59d}&to={29d}", pageLimit},
	{"/api/v1/stats?interval=hour", pageLimit},
	{"/api/v1/stats?interval=day", pageLimit},
	{"/api/v1/stats?interval=day&include=" + everyPart, pageLimit},
	{"/api/v1/stats?interval=day&from={89d}&include=" + everyPart, pageLimit},
	{"/api/v1/stats?interval=day&from={399d}&include=" + everyPart, pageLongLimit},
	{"/api/v1/stats?owner=all&interval=day&from={399d}&include=" + everyPart, pageLongLimit},
	{"/api/v1/stats?owner=2&from={6d}&top=10", pageLimit},
	{"/api/v1/stats?owner=2&from={29d}&top=10", pageLimit},
	{"/api/v1/stats?tag=some&from={29d}&top=10", pageLimit},
	{"/api/v1/stats?from={0d}&top=10", pageLimit},
	{"/api/v1/stats?from={6d}&top=10", pageLimit},
	{"/api/v1/stats?from={29d}&top=10", pageLimit},
	{"/api/v1/stats?from={399d}&top=10", pageLongLimit},
	{"/api/v1/me", pageLimit},
	{"/api/v1/tokens", pageLimit},
	{"/api/v1/users", pageLimit},
	{"/api/v1/misses?top=50", pageLimit},
	{"/_/docs", pageLimit},
}

const everyPart = "bots,referrers,countries,devices,browsers,durability,error"

// TestPagesAreFastOnABigStore measures each page on a store of make big-store: one request after
// the other, by ten people at once, and redirects with and without the ten people. It logs tables;
// make page-times runs it.
func TestPagesAreFastOnABigStore(t *testing.T) {
	dir := os.Getenv(pagesVariable)
	if dir == "" {
		t.Skipf("%s names no store: see make page-times", pagesVariable)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	p := startServer(t, dir)
	m := &pageTimes{t: t, server: p, cookie: bigSession(t, p), store: &bench.BigStore{Links: 1_000_000, Days: 400}}
	m.think = time.Duration(numberOf(t, pageThinkVariable, pageDefaultThinkMs)) * time.Millisecond
	m.length = time.Duration(numberOf(t, pageSecondsVariable, pageDefaultSeconds)) * time.Second
	m.choose()
	m.oneByOne(int(numberOf(t, pageRequestsVariable, pageDefaultRequests)))
	if m.length > 0 {
		m.besideEachOther()
		if pairs := numberOf(t, pagePairsVariable, pageDefaultPairs); pairs > 0 {
			m.redirects(int(pairs))
		}
	}
	p.terminate()
}

// pageTimes measures pages of a server as an admin who has signed in.
type pageTimes struct {
	t      *testing.T
	server *process
	cookie string
	store  *bench.BigStore
	think  time.Duration
	length time.Duration
	pages  []timedPage // with paths to be requested
}

// bigSession signs in as the admin of a big store and returns the cookie.
func bigSession(t *testing.T, p *process) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"email": bench.BigAdmin, "password": bench.BigPassword})
	response, err := http.Post(p.public+"/api/v1/session", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cookies := response.Cookies()
	if response.StatusCode != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("POST /session: %s, %d cookies", response.Status, len(cookies))
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// choose replaces the words in paths: codes of the most-hit link and of one with few hits, a cursor
// somewhere in the list, and times back from now, in hours, or in whole days.
func (m *pageTimes) choose() {
	words := map[string]string{"hot": bench.BigCode(m.store.Ranked(0)), "rare": bench.BigCode(m.store.Ranked(45_000))}
	words["24h"] = time.Now().UTC().Add(-23 * time.Hour).Format("2006-01-02T15:00:00Z")
	for _, days := range []int{0, 6, 13, 29, 59, 89, 399} {
		words[strconv.Itoa(days)+"d"] = time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly)
	}
	words["cursor"] = url.QueryEscape(m.cursor())
	only := os.Getenv(pageOnlyVariable)
	for _, page := range timedPages {
		if !strings.Contains(page.path, only) {
			continue
		}
		for word, value := range words {
			page.path = strings.ReplaceAll(page.path, "{"+word+"}", value)
		}
		m.pages = append(m.pages, page)
	}
}

// cursor returns the cursor after the first thousand links.
func (m *pageTimes) cursor() string {
	_, body, err := m.request(new(http.Client), "/api/v1/links?limit=1000")
	var list struct {
		Next string `json:"next_cursor"`
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil || list.Next == "" {
		m.t.Fatalf("no cursor: %v", err)
	}
	return list.Next
}

// request requests a page and returns how long the whole answer took.
func (m *pageTimes) request(c *http.Client, path string) (took time.Duration, body []byte, err error) {
	request, err := http.NewRequest(http.MethodGet, m.server.public+path, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Cookie", m.cookie)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	start := time.Now()
	response, err := c.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, body)
	}
	return time.Since(start), body, err
}

// oneByOne requests each page n times, one request after the other, and logs the table. The
// processor time of the server for a request depends less than the latency on what else the machine
// does.
func (m *pageTimes) oneByOne(n int) {
	profiled := m.profile()
	var table strings.Builder
	c := new(http.Client)
	defer c.CloseIdleConnections()
	for _, page := range m.pages {
		took, bodyBytes, gzipBytes, err := new(latencies), 0, 0, error(nil)
		before := m.server.processorTime(m.t)
		for i := 0; i < n+pageWarmUps && err == nil; i++ {
			var d time.Duration
			var body []byte
			if d, body, err = m.request(c, page.path); i == 0 {
				bodyBytes, gzipBytes = len(body), gzipped(body)
			} else if i >= pageWarmUps && err == nil {
				took.add(d)
			}
		}
		used := (m.server.processorTime(m.t) - before) / time.Duration(n+pageWarmUps)
		fmt.Fprintf(&table, "%s %9v %8d %7d  %s\n", page.row(took), rounded(used), bodyBytes, gzipBytes, withError(page.path, err))
	}
	m.t.Logf("one after the other, %d requests of each\n%s %9s %8s %7s  path\n%s", n, pageHeader, "processor", "bytes", "gzip", &table)
	profiled()
}

const pageHeader = "      n       p50       p95       p99   slowest  over"

// row returns the figures of a page, marked if they are over its limit.
func (page *timedPage) row(took *latencies) string {
	mark := ""
	if took.percentile(0.99) > page.limit {
		mark = "OVER"
	}
	return fmt.Sprintf("%7d %9v %9v %9v %9v  %4s", took.n, rounded(took.percentile(0.5)), rounded(took.percentile(0.95)),
		rounded(took.percentile(0.99)), rounded(took.slowest), mark)
}

func withError(path string, err error) string {
	if err != nil {
		return path + ": " + err.Error()
	}
	return path
}

func gzipped(body []byte) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Len()
}

// profile begins a processor profile of the server, if one is asked for. end waits for it.
func (m *pageTimes) profile() (end func()) {
	file := os.Getenv(pageProfileVariable)
	if file == "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err := http.Get(m.server.admin + "/debug/pprof/profile?seconds=10")
		if err != nil {
			m.t.Error(err)
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		if err := os.WriteFile(file, body, 0o600); err != nil {
			m.t.Error(err)
		}
	}()
	return func() { <-done }
}

// people begins ten people who click through all pages in random order. end waits until they have
// stopped, and returns how long each page took.
func (m *pageTimes) people() (end func() []*latencies) {
	took, over := make([]*latencies, len(m.pages)), make(chan struct{})
	for i := range took {
		took[i] = new(latencies)
	}
	var all sync.WaitGroup
	for n := range pagePeople {
		all.Go(func() { m.click(rand.New(rand.NewPCG(1, uint64(n))), took, over) })
	}
	return func() []*latencies {
		close(over)
		all.Wait()
		return took
	}
}

func (m *pageTimes) click(rng *rand.Rand, took []*latencies, over <-chan struct{}) {
	c := new(http.Client)
	defer c.CloseIdleConnections()
	for {
		for _, i := range rng.Perm(len(m.pages)) {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(rng.Int64N(int64(2*m.think) + 1))):
			}
			d, _, err := m.request(c, m.pages[i].path)
			if err != nil {
				m.t.Logf("%s: %v", m.pages[i].path, err)
				continue
			}
			took[i].add(d)
		}
	}
}

// besideEachOther logs how long pages take when ten people request them.
func (m *pageTimes) besideEachOther() {
	end := m.people()
	time.Sleep(m.length)
	var table strings.Builder
	all, short := new(latencies), timedPage{"all with a limit of " + pageLimit.String(), pageLimit}
	for i, took := range end() {
		fmt.Fprintf(&table, "%s  %s\n", m.pages[i].row(took), m.pages[i].path)
		if m.pages[i].limit == pageLimit {
			all.merge(took)
		}
	}
	fmt.Fprintf(&table, "%s  %s\n", short.row(all), short.path)
	m.t.Logf("ten people, %v between two pages of each\n%s  path\n%s", m.think, pageHeader, &table)
}

// redirects logs how long redirects take, with and without the ten people, in turn.
func (m *pageTimes) redirects(pairs int) {
	r := &redirectLoad{t: m.t, server: m.server, rate: openLoopRate, length: m.length, codes: m.hitCodes}
	var without, with []float64
	for range pairs {
		alone := r.measure(func() func() { return func() {} })
		r.row("without people", alone)
		beside := r.measure(func() func() { end := m.people(); return func() { end() } })
		r.row("with ten people", beside)
		without, with = append(without, milliseconds(&alone.took)), append(with, milliseconds(&beside.took))
	}
	m.t.Logf("\n%-28s %9s %9s %9s %9s %9s  %s\n%s\nmedians of %d pairs: p99 %.2f ms without people, %.2f ms with ten: %.2f times",
		fmt.Sprintf("%d redirects/s", r.rate), "n", "p50", "p99", "p99.9", "slowest", "cores of the server", &r.table,
		pairs, median(without), median(with), median(with)/median(without))
}

// hitCodes returns a function that draws codes of links that redirect, by the distribution of the
// store.
func (m *pageTimes) hitCodes(client int) func() string {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(2, uint64(client))), 1.1, 1, 49_999)
	return func() string {
		for {
			if i := m.store.Ranked(zipf.Uint64()); m.store.Redirects(i) {
				return bench.BigCode(i)
			}
		}
	}
}
