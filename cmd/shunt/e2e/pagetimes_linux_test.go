package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/bench"
	"shunt/engine/expect"
)

// Settings of TestPagesAreFastOnABigStore.
const (
	pagesVariable        = "SHUNTTEST_PAGE_TIMES"    // the data folder, made by make big-store
	pageSecondsVariable  = "SHUNTTEST_PAGE_SECONDS"  // of ten people, and of each window of redirects
	pagePairsVariable    = "SHUNTTEST_PAGE_PAIRS"    // of windows of redirects
	pageOnlyVariable     = "SHUNTTEST_PAGE_ONLY"     // only paths that contain it
	pageRequestsVariable = "SHUNTTEST_PAGE_REQUESTS" // of each page, one after the other
	pageDefaultRequests  = 200
	pageDefaultSeconds   = 20
	pageDefaultPairs     = 4
	pageThink            = time.Second // between two pages of a person, on average
	pagePeople           = 10
	pageWarmUps          = 3
)

// TestPagesAreFastOnABigStore measures each page on a store of make big-store: one request after
// the other, by ten people at once, and redirects with and without the ten people. It logs tables;
// make page-times runs it.
func TestPagesAreFastOnABigStore(t *testing.T) {
	dir := os.Getenv(pagesVariable)
	if dir == "" {
		t.Skipf("%s names no store: see make page-times", pagesVariable)
	}
	expect.OK(t, expect.Err(os.Stat(dir)))
	p := startServer(t, dir, "--limit-logins", "off", "--limit-address-logins", "off")
	m := &pageTimes{t: t, server: p, cookie: bigSession(t, p, bench.BigAdmin), store: &bench.BigStore{Links: 1_000_000, Days: 400}}
	m.length = time.Duration(numberOf(t, pageSecondsVariable, pageDefaultSeconds)) * time.Second
	m.signIn()
	words, only := m.words(), os.Getenv(pageOnlyVariable)
	m.pages, m.others = chosenPages(words, "", only), chosenPages(words, "owner=1&", only)
	m.oneByOne(int(numberOf(t, pageRequestsVariable, pageDefaultRequests)))
	if m.length > 0 {
		m.restoredTabs()
		m.besideEachOther()
		if pairs := numberOf(t, pagePairsVariable, pageDefaultPairs); pairs > 0 {
			m.redirects(int(pairs))
		}
	}
	p.terminate()
}

// pageTimes measures pages of a server.
type pageTimes struct {
	t      *testing.T
	server *process
	cookie string // of the admin who owns the links
	store  *bench.BigStore
	length time.Duration
	pages  []timedPage // for the admin
	others []timedPage // the same for other admins
	people [pagePeople]person
}

// A person requests pages with a session.
type person struct {
	client *http.Client
	cookie string
}

// bigSession signs in as a user of a big store and returns the cookie.
func bigSession(t *testing.T, p *process, email string) string {
	t.Helper()
	r := do(t, "POST", p.public+"/api/v1/session", credentials(email, bench.BigPassword), "Content-Type", "application/json")
	cookies := r.Cookies()
	expect.MustThat(t, r.StatusCode == http.StatusOK && len(cookies) == 1, "POST /session: %s, %d cookies", r.Status, len(cookies))
	return cookies[0].Name + "=" + cookies[0].Value
}

// signIn makes ten admins, unless an earlier run has, and signs them in.
func (m *pageTimes) signIn() {
	for n := range m.people {
		email := fmt.Sprintf("person%d@example.com", n)
		body, _ := json.Marshal(map[string]string{"email": email, "role": "admin", "password": bench.BigPassword})
		r := do(m.t, "POST", m.server.public+"/api/v1/users", string(body),
			"Content-Type", "application/json", "Cookie", m.cookie, "Sec-Fetch-Site", "same-origin")
		expect.MustThat(m.t, r.StatusCode == http.StatusCreated || r.StatusCode == http.StatusUnprocessableEntity, "POST /users: %s", r.Status)
		m.people[n] = person{newPageClient(), bigSession(m.t, m.server, email)}
	}
}

// newPageClient returns a client that follows no redirect.
func newPageClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{MaxIdleConnsPerHost: pagePeople},
	}
}

// A gotPage is the answer to a request for a page.
type gotPage struct {
	took     time.Duration // until the whole answer was there
	body     []byte        // as sent
	encoding string
}

// text returns the body, uncompressed.
func (g *gotPage) text() string {
	text, err := g.body, error(nil)
	switch g.encoding {
	case "br":
		text, err = fasthttp.AppendUnbrotliBytes(nil, g.body)
	case "gzip":
		text, err = fasthttp.AppendGunzipBytes(nil, g.body)
	}
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// request requests a page as a browser does.
func (m *pageTimes) request(by *person, page *timedPage) (got gotPage, err error) {
	method, body := http.MethodGet, io.Reader(nil)
	if page.form != "" {
		method, body = http.MethodPost, strings.NewReader(page.form)
	}
	request, err := http.NewRequest(method, m.server.public+page.path, body)
	if err != nil {
		return got, err
	}
	if page.form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if !page.stranger {
		request.Header.Set("Cookie", by.cookie)
	}
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.Header.Set("Accept", "text/html,*/*")
	request.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	start := time.Now()
	response, err := by.client.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	got.body, err = io.ReadAll(response.Body)
	got.took, got.encoding = time.Since(start), response.Header.Get("Content-Encoding")
	if want := cmp.Or(page.status, http.StatusOK); err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s: %.200s", response.Status, got.text())
	}
	return got, err
}

// oneByOne requests each page n times, one request after the other, and logs the table. The
// processor time of the server for a request depends less than the latency on what else the machine
// does.
func (m *pageTimes) oneByOne(n int) {
	var table strings.Builder
	by := person{newPageClient(), m.cookie}
	defer by.client.CloseIdleConnections()
	for i := range m.pages {
		page := &m.pages[i]
		took, first, err := new(latencies), gotPage{}, error(nil)
		var before time.Duration
		for i := 0; i < n+pageWarmUps && err == nil; i++ {
			if i == pageWarmUps {
				before = m.server.processorTime(m.t)
			}
			var got gotPage
			if got, err = m.request(&by, page); i == 0 {
				first = got
			} else if i >= pageWarmUps && err == nil {
				took.add(got.took)
			}
		}
		used := (m.server.processorTime(m.t) - before) / time.Duration(n)
		fmt.Fprintf(&table, "%s %9v %8d %7d  %s\n", page.row(took), rounded(used), len(first.text()), len(first.body), withError(page.path+page.form, err))
	}
	m.t.Logf("one after the other, %d requests of each\n%s %9s %8s %7s  path\n%s", n, pageHeader, "processor", "bytes", "sent", &table)
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

// click begins ten people who click through all pages in random order. end waits until they have
// stopped, and returns how long each page took.
func (m *pageTimes) click() (end func() []*latencies) {
	took, over := make([]*latencies, len(m.others)), make(chan struct{})
	for i := range took {
		took[i] = new(latencies)
	}
	var all sync.WaitGroup
	for n := range pagePeople {
		all.Go(func() { m.clickOn(&m.people[n], rand.New(rand.NewPCG(1, uint64(n))), took, over) })
	}
	return func() []*latencies {
		close(over)
		all.Wait()
		return took
	}
}

func (m *pageTimes) clickOn(by *person, rng *rand.Rand, took []*latencies, over <-chan struct{}) {
	defer by.client.CloseIdleConnections()
	for {
		for _, i := range rng.Perm(len(m.others)) {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(rng.Int64N(int64(2*pageThink) + 1))):
			}
			got, err := m.request(by, &m.others[i])
			if err != nil {
				m.t.Logf("%s: %v", m.others[i].path, err)
				continue
			}
			took[i].add(got.took)
		}
	}
}

// restoredTabs logs how long ten pages take that one person's browser requests at once.
func (m *pageTimes) restoredTabs() {
	const rounds = 20
	took, refused := new(latencies), 0
	var mu sync.Mutex
	by := person{newPageClient(), m.cookie}
	defer by.client.CloseIdleConnections()
	pages := slices.DeleteFunc(slices.Clone(m.pages), func(p timedPage) bool { return !strings.HasPrefix(p.path, "/_/") || p.form != "" })
	for round := range rounds {
		var all sync.WaitGroup
		for tab := range pagePeople {
			all.Go(func() {
				got, err := m.request(&by, &pages[(round*pagePeople+tab)%len(pages)])
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					refused++
					m.t.Log(err)
				} else {
					took.add(got.took)
				}
			})
		}
		all.Wait()
	}
	m.t.Logf("ten tabs of one account at once, %d times: p50 %v, p99 %v, slowest %v; %d not answered",
		rounds, rounded(took.percentile(0.5)), rounded(took.percentile(0.99)), rounded(took.slowest), refused)
}

// besideEachOther logs how long pages take when ten people request them.
func (m *pageTimes) besideEachOther() {
	end := m.click()
	time.Sleep(m.length)
	var table strings.Builder
	all, short := new(latencies), page("all with a limit of "+pageLimit.String())
	for i, took := range end() {
		fmt.Fprintf(&table, "%s  %s\n", m.others[i].row(took), m.others[i].path)
		if m.others[i].limit == pageLimit {
			all.merge(took)
		}
	}
	fmt.Fprintf(&table, "%s  %s\n", short.row(all), short.path)
	m.t.Logf("ten people, %v between two pages of each\n%s  path\n%s", pageThink, pageHeader, &table)
}

// redirects logs how long redirects take: alone, with the ten people, and beside a busy loop of
// another process that uses as much of the processors as the ten people's pages did. On a machine
// with few cores, that loop already disturbs redirects; what is more is the server's own doing.
func (m *pageTimes) redirects(pairs int) {
	r := &redirectLoad{t: m.t, server: m.server, rate: openLoopRate, length: m.length, codes: hitCodesOf(m.store)}
	var without, with, busy []float64
	for range pairs {
		alone := r.measure(func() func() { return func() {} })
		r.row("without people", alone)
		beside := r.measure(func() func() { end := m.click(); return func() { end() } })
		r.row("with ten people", beside)
		share := min(1, max(0.01, beside.cores-alone.cores))
		loop := r.measure(func() func() { return beBusy(m.t, share) })
		r.row(fmt.Sprintf("beside a loop of %.2f cores", share), loop)
		without, with, busy = append(without, milliseconds(&alone.took)), append(with, milliseconds(&beside.took)), append(busy, milliseconds(&loop.took))
	}
	m.t.Logf("\n%-28s %9s %9s %9s %9s %9s  %s\n%s\nmedians of %d pairs: p99 %.2f ms without people, %.2f ms with ten, %.2f ms beside the loop",
		fmt.Sprintf("%d redirects/s", r.rate), "n", "p50", "p99", "p99.9", "slowest", "cores of the server", &r.table,
		pairs, median(without), median(with), median(busy))
}
