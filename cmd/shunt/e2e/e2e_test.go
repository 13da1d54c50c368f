package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/idna"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// This test does the main job on real input: addresses become links, redirects are counted, and
// both survive a restart and a kill. `make e2e-urls URLS=FILE` runs it on your own file, `make
// test` on testdata/urls.txt, whose addresses are real, and testdata/odd-urls.txt, whose are not.
const (
	urlsVariable = "SHUNTTEST_URLS" // the file; not named SHUNT_…, because it is not a setting of the program

	connections = 16
	visitors    = 5_000
	hits        = 200_000
	shortHits   = 20_000 // with -short, as in make race
	killedHits  = 20_000 // before kill -9

	answerBytes = 16 << 10 // read buffer of a client: the longest Location and other headers

	exactVisitors = 1_024 // up to this number unique is exact
	tolerance     = 0.02  // beyond that
)

// visitorKey and the seed fix every visitor hash and which visitor follows which link, so the
// estimates are always the same.
var (
	visitorKey = [16]byte{0x5a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	seed       = [2]uint64{0x7368756e74, 2}
)

// A tracked link is the facts that the server must know about one link.
type tracked struct {
	input, code, url string
	hits             uint64
	visitors         map[int]bool
}

func TestLinksHitsAndVisitorsOutliveARestartAndAKill(t *testing.T) {
	lines, foreign := append(readLines(t, "testdata/urls.txt"), readLines(t, "testdata/odd-urls.txt")...), false
	if file := os.Getenv(urlsVariable); file != "" {
		lines, foreign = readLines(t, file), true
	}
	dir := t.TempDir()
	createStore(t, dir)
	args := append([]string{"--trusted-proxy", "127.0.0.1"}, journalInMemory(t)...)
	p := startServer(t, dir, args...)
	token := p.token("links:write", "links:read", "stats:read", "admin")
	r := &e2e{t: t, server: p, token: token, random: rand.New(rand.NewPCG(seed[0], seed[1])), foreign: foreign}

	r.timed("every address is posted", func() { r.post(lines) })
	r.timed("every redirect is followed", func() { r.visitEach() })
	n := hits
	if testing.Short() {
		n = shortHits
	}
	r.timed(fmt.Sprintf("%d redirects", n), func() { r.visit(n) })
	r.timed("every figure is read", r.check)

	p.terminate()
	r.server = startServer(t, dir, append([]string{"--front", "fasthttp"}, args...)...)
	r.timed("all of it after SIGTERM, by fasthttp alone", r.check)

	r.timed(fmt.Sprintf("%d redirects", killedHits), func() { r.visit(killedHits) })
	r.server.kill()
	r.server = startServer(t, dir, args...)
	r.timed("all of it after kill -9", r.check)
	r.server.terminate()
}

// createStore makes a store with a fixed visitor key.
func createStore(t *testing.T, dir string) {
	t.Helper()
	store, err := storage.Open(dir, storage.Options{Create: true, VisitorKey: &visitorKey})
	expect.OK(t, err)
	expect.OK(t, store.Close())
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	expect.OK(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

type e2e struct {
	t      *testing.T
	server *process
	token  string
	random *rand.Rand
	links  []*tracked

	// foreign means that the addresses are from a user's own file. Then a refused host or port is not
	// a failure, as long as the server says why: storedForm does not know all valid names.
	foreign bool
	refused refusals
}

func (r *e2e) timed(what string, step func()) {
	r.t.Helper()
	start := time.Now()
	step()
	r.t.Logf("%s: %v", what, time.Since(start).Round(time.Millisecond))
	if r.t.Failed() {
		r.t.FailNow()
	}
}

// each calls do with 0 … n−1 over several connections. Each connection belongs to one goroutine,
// and no request is sent twice, so that a request that was sent once is counted once.
func (r *e2e) each(n int, do func(c *fasthttp.HostClient, i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range connections {
		wg.Go(func() {
			c := &fasthttp.HostClient{
				Addr: strings.TrimPrefix(r.server.public, "http://"), MaxConns: 1, MaxIdemponentCallAttempts: 1,
				DisablePathNormalizing: true, NoDefaultUserAgentHeader: true, ReadTimeout: time.Minute,
				ReadBufferSize: answerBytes,
			}
			defer c.CloseIdleConnections()
			for i := range next {
				do(c, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// send sends a request, which must be answered, and returns the answer. Its bytes belong to the
// caller.
func (r *e2e) send(c *fasthttp.HostClient, method, path string, header map[string]string, body []byte) *fasthttp.Response {
	response, err := r.try(c, method, path, header, body)
	expect.NoError(r.t, err, "%s %s", method, path)
	return response
}

// try does what send does for a request that may get no answer.
func (r *e2e) try(c *fasthttp.HostClient, method, path string, header map[string]string, body []byte) (*fasthttp.Response, error) {
	request := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(request)
	request.SetRequestURI(r.server.public + path)
	request.Header.SetMethod(method)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.SetBody(body)
	response := new(fasthttp.Response)
	return response, c.Do(request, response)
}

func (r *e2e) api(c *fasthttp.HostClient, method, path string, body []byte) *fasthttp.Response {
	response, err := r.tryAPI(c, method, path, body)
	expect.NoError(r.t, err, "%s %s", method, path)
	return response
}

// tryAPI does what api does for a request that may get no answer.
func (r *e2e) tryAPI(c *fasthttp.HostClient, method, path string, body []byte) (*fasthttp.Response, error) {
	header := map[string]string{"Authorization": "Bearer " + r.token}
	if body != nil {
		header["Content-Type"] = "application/json"
	}
	return r.try(c, method, "/api/v1"+path, header, body)
}

// post posts every line. An http(s) address must become a link; everything else must be refused.
func (r *e2e) post(lines []string) {
	links := make([]*tracked, len(lines))
	r.each(len(lines), func(c *fasthttp.HostClient, i int) { links[i] = r.postOne(c, lines[i]) })
	for _, l := range links { // in the order of the file, not of the answers
		if l != nil {
			r.links = append(r.links, l)
		}
	}
	r.t.Logf("%d addresses: %d links, %d refused\n%s", len(lines), len(r.links), len(lines)-len(r.links), r.refused.text())
	expect.That(r.t, len(r.links) != 0, "no address of the file can be the target of a link")
}

// checkNumber compares the number of links with the one that the server reports: a refused address
// must not leave a link.
func (r *e2e) checkNumber() {
	expect.Equal(r.t, r.number(), len(r.links), "links")
}

// number returns how many links the server reports.
func (r *e2e) number() int {
	_, value, _ := strings.Cut(ask(r.t, r.server.admin+"/metrics", ""), "\nshunt_links ")
	value, _, _ = strings.Cut(value, "\n")
	n, err := strconv.ParseFloat(value, 64)
	expect.NoError(r.t, err, "shunt_links")
	return int(n)
}

func (r *e2e) postOne(c *fasthttp.HostClient, line string) *tracked {
	body, err := json.Marshal(map[string]string{"url": line})
	if err != nil {
		r.t.Error(err)
		return nil
	}
	response := r.api(c, http.MethodPost, "/shorten", body)
	want := storedForm(line)
	if response.StatusCode() == http.StatusUnprocessableEntity {
		field, reason, err := r.refused.add(line, response.Body())
		impossible := r.foreign && (reason == "host" || reason == "port")
		expect.That(r.t, err == nil && field == "url" && (want == "" || impossible), "%s: got problem %s (%v), want it as %q", line, response.Body(), err, want)
		return nil
	}
	if want == "" || response.StatusCode() != http.StatusCreated {
		r.t.Errorf("%s: got %d %s, want it as %q", line, response.StatusCode(), response.Body(), want)
		return nil
	}
	link := struct{ Code, URL string }{}
	expect.NoError(r.t, json.Unmarshal(response.Body(), &link), line)
	expect.Equal(r.t, link.URL, want, "%s is stored as", line)
	return &tracked{input: line, code: link.Code, url: link.URL, visitors: map[int]bool{}}
}

// storedForm returns how an address must be stored, "" if it must be refused. It states the rule a
// second time: only http and https, with a valid host and a port up to 65535, without user-info,
// spaces, control bytes and backslashes, of at most 8,192 bytes, also as it goes out; and only the host is
// rewritten, to lower case and punycode.
func storedForm(line string) string {
	scheme, rest, found := strings.Cut(line, "://")
	if !found || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return ""
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, err := idna.Punycode.ToASCII(strings.ToLower(rest[:end]))
	rest = rest[:end] + strings.ReplaceAll(rest[end:], " ", "%20")
	unfit := func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }
	if err != nil || !possibleHost.MatchString(host) || strings.ContainsFunc(rest, unfit) || len(line) > 8192 {
		return ""
	}
	stored := scheme + "://" + host + rest[end:]
	if len(engine.AppendASCII(nil, []byte(stored))) > 8192 {
		return ""
	}
	return stored
}

// possibleHost matches a name, or an IPv6 address in brackets, and a port.
var possibleHost = regexp.MustCompile(`^([0-9a-z_-]{1,63}(\.[0-9a-z_-]{1,63})*\.?|\[[0-9a-f:.]+\])` +
	`(:(0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?)?$`)

// visitorHeader returns the header of visitor i: an address and a User-Agent. Neighbours share an
// address and have different User-Agents; every fifth has IPv6.
func visitorHeader(i int) map[string]string {
	n := i / 2
	address := fmt.Sprintf("100.64.%d.%d", n>>8, n&0xff)
	if n%5 == 0 {
		address = fmt.Sprintf("2001:db8:%x:7::1", n)
	}
	return map[string]string{
		"X-Forwarded-For": address,
		"User-Agent":      fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64; rv:1%02d.0) Gecko/20100101 Firefox/1%02d.0", i%50, i%50),
	}
}

type visit struct{ link, visitor int }

// visitEach follows every link once.
func (r *e2e) visitEach() {
	visits := make([]visit, len(r.links))
	for i := range visits {
		visits[i] = visit{i, r.random.IntN(visitors)}
	}
	r.follow(visits)
}

// visit follows n links, a few of which get most of the visits, by visitors that are all equally
// busy.
func (r *e2e) visit(n int) {
	popularity := rand.NewZipf(r.random, 1.2, 1, uint64(len(r.links)-1))
	visits := make([]visit, n)
	for i := range visits {
		visits[i] = visit{int(popularity.Uint64()), r.random.IntN(visitors)}
	}
	r.follow(visits)
}

func (r *e2e) follow(visits []visit) {
	for _, v := range visits {
		r.links[v.link].hits++
		r.links[v.link].visitors[v.visitor] = true
	}
	r.each(len(visits), func(c *fasthttp.HostClient, i int) {
		l := r.links[visits[i].link]
		r.checkLocation(l, r.send(c, http.MethodGet, "/"+l.code, visitorHeader(visits[i].visitor), nil))
	})
}

func (r *e2e) checkLocation(l *tracked, response *fasthttp.Response) {
	location, want := response.Header.Peek("Location"), engine.AppendASCII(nil, []byte(l.url))
	expect.That(r.t, response.StatusCode() == http.StatusFound && bytes.Equal(location, want),
		"/%s: got %d to %q, want 302 to %q", l.code, response.StatusCode(), location, want)
}

// check compares every link with what the server knows: its target, its hits, its unique visitors.
func (r *e2e) check() {
	r.checkNumber()
	var mu sync.Mutex
	beyond, worst := 0, 0.0
	r.each(len(r.links), func(c *fasthttp.HostClient, i int) {
		l := r.links[i]
		r.checkLocation(l, r.send(c, http.MethodHead, "/"+l.code, nil, nil)) // HEAD is not counted
		deviation := r.checkStats(l, r.api(c, http.MethodGet, "/stats/"+l.code, nil))
		mu.Lock()
		defer mu.Unlock()
		if len(l.visitors) > exactVisitors {
			beyond++
			worst = max(worst, deviation)
		}
	})
	r.t.Logf("%d links of more than %d visitors: unique is at most %.2f %% off", beyond, exactVisitors, 100*worst)
	if beyond == 0 {
		r.t.Error("no link has more visitors than are counted exactly")
	}
}

// checkStats checks the statistics of a link and returns the relative error of unique.
func (r *e2e) checkStats(l *tracked, response *fasthttp.Response) float64 {
	got := struct{ Hits, Unique uint64 }{}
	if err := json.Unmarshal(response.Body(), &got); err != nil || response.StatusCode() != http.StatusOK {
		r.t.Errorf("stats of %s: %d %s", l.code, response.StatusCode(), response.Body())
		return 0
	}
	expect.Equal(r.t, got.Hits, l.hits, "%s hits", l.code)
	want := float64(len(l.visitors))
	deviation := max(float64(got.Unique)-want, want-float64(got.Unique)) / max(want, 1)
	limit := tolerance
	expect.That(r.t, deviation <= limit && (len(l.visitors) > exactVisitors || deviation == 0), "%s: got %d unique visitors, want %v", l.code, got.Unique, want)
	return deviation
}
