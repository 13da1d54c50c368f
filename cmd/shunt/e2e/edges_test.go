package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// edgeSite is a server and its edges, all of which may be killed and started again at the same addresses.
type edgeSite struct {
	t      *testing.T
	writer *process
	args   []string // with which the writer starts; none: it keeps its address, and its journal is in memory
	edges  []*process
	starts []func() *process
	paths  []*edgePath // of each edge to the writer

	edgeArgs []string // with which edges start; none: their journals are in memory
	rounds   uint64   // of disturb
	faults   []int    // that come next in these

	mu      sync.Mutex
	counted map[string]uint64 // answered redirects at edges, by code
	unknown map[string]uint64 // requests whose answer did not come
}

func (s *edgeSite) startWriter(dir string) {
	s.t.Helper()
	if len(s.args) == 0 {
		s.args = append([]string{"--listen", freeAddress(s.t)}, journalInMemory(s.t)...)
	}
	s.writer = startServer(s.t, dir, s.args...)
}

// addEdge makes a token for an edge, and starts it in an empty folder.
func (s *edgeSite) addEdge(name string) {
	s.t.Helper()
	token := filepath.Join(s.t.TempDir(), "token")
	text := shunt(s.t, "", nil, "token", "add", "--edge", name, "--data", s.writer.dir).done(s.t)
	expect.OK(s.t, os.WriteFile(token, []byte(text), 0o600))
	dir := filepath.Join(s.t.TempDir(), "data")
	path := newEdgePath(s.t, strings.TrimPrefix(s.writer.public, "http://"))
	args := append([]string{"--edge-of", path.url, "--edge-token-file", token, "--listen", freeAddress(s.t), "--flush-interval", "50ms"}, s.edgeArgs...)
	if len(s.edgeArgs) == 0 {
		args = append(args, journalInMemory(s.t)...)
	}
	start := func() *process { return startServer(s.t, dir, args...) }
	s.edges, s.starts, s.paths = append(s.edges, start()), append(s.starts, start), append(s.paths, path)
}

var edgeClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 10 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true},
}

// follow follows a code at a server, and returns the status and the target; 0: no answer came.
func (s *edgeSite) follow(at, code string) (status int, location string) {
	resp, err := edgeClient.Get(at + "/" + code)
	if dialing := (*net.OpError)(nil); errors.As(err, &dialing) && dialing.Op == "dial" { // nobody was asked
		return 0, ""
	}
	if err != nil {
		s.mu.Lock()
		s.unknown[code]++
		s.mu.Unlock()
		return 0, ""
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode == http.StatusFound {
		s.mu.Lock()
		s.counted[code]++
		s.mu.Unlock()
	}
	return resp.StatusCode, resp.Header.Get("Location")
}

func (s *edgeSite) hits(code string) uint64 {
	s.t.Helper()
	r := shunt(s.t, "", nil, "stats", code, "--json", "--data", s.writer.dir)
	var said struct{ Hits uint64 }
	expect.OK(s.t, json.Unmarshal([]byte(r.done(s.t)), &said))
	return said.Hits
}

// TestEdgesOfAServerOutliveKills kills a server and its three edges at random, and cuts their connections, while codes
// are followed at the edges, and links are made, changed and deleted at the server. At the end each edge redirects the
// links that the server exports, and no other, and the server has counted each answered redirect: a kill may leave one
// that was counted and not answered, and none that was answered and not counted.
func TestEdgesOfAServerOutliveKills(t *testing.T) {
	t.Parallel()
	s := &edgeSite{t: t, counted: make(map[string]uint64), unknown: make(map[string]uint64)}
	dir := filepath.Join(t.TempDir(), "data")
	s.startWriter(dir)
	w := &edgeWrites{site: s, token: s.writer.token("links:read", "links:write"), may: make(map[string][]string)}
	for n := range hotCodes {
		expect.MustThat(t, w.add(fmt.Sprintf("hot-%d", n)), "no link was made")
	}
	w.codes = nil // they stay as they are
	for _, name := range []string{"frankfurt", "tokyo", "oslo"} {
		s.addEdge(name)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for range numberOf(t, "SHUNTTEST_EDGE_KILLS", 9) {
		s.disturb(w, rng)
	}
	s.wantFewUnknown()
	for i, p := range s.paths {
		expect.That(t, p.wasCut(), "no connection of edge %d was cut", i)
	}
	exported := s.exported()
	expect.That(t, w.added > 0 && w.edited > 0 && w.deleted > 0 && len(exported) >= hotCodes, "%d links made, %d changed, %d deleted, %d exported", w.added, w.edited, w.deleted, len(exported))
	w.judge(exported)
	for i, e := range s.edges {
		s.wantExported(i, e.public, exported, w)
	}
	s.wantHits()
	hears := regexp.MustCompile(`(?m)^(frankfurt|oslo|tokyo) +connected +\S+ +[0-9]{16} +0 +\S+s +0 +\S+ +- +127\.0\.0\.1$`)
	s.within("the server hears all, which have everything", func() bool {
		return len(hears.FindAllString(shunt(t, "", nil, "edges", "--data", dir).done(t), -1)) == len(s.edges)
	})
	for _, e := range s.edges { // which has no users
		shunt(t, "", nil, "check", "--data", e.dir).done(t)
		shunt(t, "", nil, "backup", filepath.Join(t.TempDir(), "copy"), "--data", e.dir).done(t)
	}
	s.wantAlone()
}

// wantFewUnknown checks that hardly a redirect has an unknown outcome: the one under way at each edge that was killed.
// A hit that is counted twice cannot hide among them.
func (s *edgeSite) wantFewUnknown() {
	s.t.Helper()
	unknown := uint64(0)
	for _, n := range s.unknown {
		unknown += n
	}
	expect.That(s.t, unknown <= s.rounds, "%d redirects have no answer after %d disturbances", unknown, s.rounds)
	s.t.Logf("%d redirects without an answer in %d rounds", unknown, s.rounds)
}

// hotCodes is the number of codes that are followed most.
const hotCodes = 4

// edgeWrites are the writes of a client of a writer, and what it knows of their outcome.
type edgeWrites struct {
	site  *edgeSite
	token string

	mu                     sync.Mutex
	may                    map[string][]string // by code: where a link may lead; "": it may be gone
	codes                  []string            // of links that there may be
	added, edited, deleted int                 // writes that were answered
}

// call writes, and reports whether that was answered with a status. Another answer says nothing of the outcome.
func (w *edgeWrites) call(code, target, method, path string, body any, status int) bool {
	w.mu.Lock()
	w.may[code] = append(w.may[code], target)
	w.mu.Unlock()
	if a := callOf(edgeClient, w.site.writer.public, w.token, method, path, body); a.status != status {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.may[code] = []string{target}
	return true
}

// add makes a link.
func (w *edgeWrites) add(code string) bool {
	target := "https://example.org/" + code
	w.mu.Lock()
	w.may[code], w.codes = []string{""}, append(w.codes, code)
	w.mu.Unlock()
	return w.call(code, target, "POST", "/shorten", map[string]any{"url": target, "alias": code}, http.StatusCreated)
}

// run makes links, and changes or deletes some of those that it made, until ctx ends.
func (w *edgeWrites) run(ctx context.Context, round uint64, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		switch code, which := w.drawn(rng), rng.IntN(4); {
		case which < 2 || code == "":
			if w.add(fmt.Sprintf("round-%d-%d", round, n)) {
				w.added++
			}
		case which == 2:
			if target := fmt.Sprintf("https://example.org/%s/%d-%d", code, round, n); w.call(code, target, "PATCH", "/links/"+code, map[string]any{"url": target}, http.StatusOK) {
				w.edited++
			}
		default:
			if w.call(code, "", "DELETE", "/links/"+code, nil, http.StatusNoContent) {
				w.deleted++
			}
		}
		select {
		case <-time.After(time.Duration(rng.IntN(60)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// drawn returns the code of a link that certainly exists; "": none was drawn.
func (w *edgeWrites) drawn(rng *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.codes) == 0 {
		return ""
	}
	code := w.codes[rng.IntN(len(w.codes))]
	if may := w.may[code]; len(may) != 1 || may[0] == "" {
		return ""
	}
	return code
}

// judge checks that each link is what a write has made of it.
func (w *edgeWrites) judge(exported map[string]exportedLink) {
	w.site.t.Helper()
	for code, may := range w.may {
		target := exported[code].URL
		expect.That(w.site.t, slices.Contains(may, target), "%s leads to %q, and the answers to its writes say: one of %q", code, target, may)
	}
	for code := range exported {
		expect.That(w.site.t, w.may[code] != nil, "nobody made %s", code)
	}
}

// exportedLink is a line of an export.
type exportedLink struct {
	Code string `json:"code"`
	URL  string `json:"url"`
	Hits uint64 `json:"hits"`
}

// exported returns the links of the server, by code.
func (s *edgeSite) exported() map[string]exportedLink {
	s.t.Helper()
	all := make(map[string]exportedLink)
	for line := range strings.Lines(shunt(s.t, "", nil, "export", "--data", s.writer.dir).done(s.t)) {
		var link exportedLink
		expect.OK(s.t, json.Unmarshal([]byte(line), &link))
		all[link.Code] = link
	}
	return all
}

// disturb kills or cuts something while codes are followed at all edges, and links are written.
func (s *edgeSite) disturb(w *edgeWrites, rng *rand.Rand) {
	ctx, stop := context.WithCancel(s.t.Context())
	var clients sync.WaitGroup
	rest := func() { stop(); clients.Wait() }
	defer rest()
	s.rounds++
	seed, round := rng.Uint64(), s.rounds
	for i, e := range s.edges {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for n := 0; ctx.Err() == nil; n++ {
				code := fmt.Sprintf("hot-%d", (n+i)%hotCodes)
				if other := w.drawn(rng); n%4 == 3 && other != "" {
					code = other
				}
				s.follow(e.public, code)
			}
		})
	}
	clients.Go(func() { w.run(ctx, round, rand.New(rand.NewPCG(seed, 99))) })
	time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
	if len(s.faults) == 0 {
		s.faults = rng.Perm(7)
	}
	which := s.faults[0]
	s.faults = s.faults[1:]
	switch which {
	case 0:
		s.writer.kill()
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		rest()
		s.startWriter(s.writer.dir)
	case 1, 2, 3:
		s.paths[which-1].cut(time.Duration(rng.IntN(600)) * time.Millisecond)
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	default:
		s.edges[which-4].kill()
		rest()
		s.edges[which-4] = s.starts[which-4]()
	}
}

// wantExported checks that an edge redirects the links that the server exports, and none of those that are gone.
func (s *edgeSite) wantExported(edge int, at string, exported map[string]exportedLink, w *edgeWrites) {
	s.t.Helper()
	for code, link := range exported {
		s.within(fmt.Sprintf("edge %d redirects %s to %s", edge, code, link.URL), func() bool { return s.leads(at, code, link.URL) })
	}
	for code := range w.may {
		if _, there := exported[code]; !there {
			s.within(fmt.Sprintf("edge %d does not redirect %s, which is gone", edge, code), func() bool {
				status, _ := s.follow(at, code)
				return status == http.StatusNotFound || status == http.StatusGone
			})
		}
	}
}

// settled reports whether the server hears all edges, which have all links and have given all hits.
func (s *edgeSite) settled() bool {
	s.t.Helper()
	var said struct {
		Data []struct {
			State  string
			Behind *uint64
			Hits   *uint64 `json:"hits_waiting"`
		}
	}
	expect.OK(s.t, json.Unmarshal([]byte(shunt(s.t, "", nil, "edges", "--json", "--data", s.writer.dir).done(s.t)), &said))
	for _, e := range said.Data {
		if e.State != "connected" || e.Behind == nil || *e.Behind > 0 || e.Hits == nil || *e.Hits > 0 {
			return false
		}
	}
	return len(said.Data) == len(s.edges)
}

// wantHits checks the hits of all links once no edge has any left to give, and again some seconds later. Nobody follows
// a link meanwhile.
func (s *edgeSite) wantHits() {
	s.t.Helper()
	time.Sleep(2 * time.Second) // each edge has flushed, and asked since
	s.within("no hits wait at an edge", s.settled)
	exported := s.exported()
	for code, link := range exported {
		counted, unknown := s.counted[code], s.unknown[code]
		expect.That(s.t, link.Hits >= counted && link.Hits <= counted+unknown, "%s: %d hits, %d redirects answered, %d without an answer", code, link.Hits, counted, unknown)
	}
	time.Sleep(5 * time.Second)
	for code, link := range s.exported() {
		expect.Equal(s.t, link.Hits, exported[code].Hits, "hits of %s seconds later", code)
	}
}

// wantAlone stops the server: its edges redirect on, and say that they are stale. Then it stops them, too.
func (s *edgeSite) wantAlone() {
	t := s.t
	t.Helper()
	s.writer.terminate()
	alone := shunt(t, "", nil, "edges", "--data", s.writer.dir)
	expect.That(t, alone.code == exitFailed && strings.Contains(alone.stderr, "no server runs on "+s.writer.dir), "edges of a server that does not run: %+v", alone)
	for i, e := range s.edges {
		status, _ := s.follow(e.public, "hot-0")
		expect.Equal(t, status, http.StatusFound, "edge %d without the server", i)
		s.within("it says that it is stale", func() bool {
			resp, err := edgeClient.Get(e.admin + "/readyz")
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(text), "stale")
		})
		e.terminate()
		report := shunt(t, "", nil, "check", "--data", e.dir).done(t)
		expect.That(t, strings.Contains(report, "faults               0"), "edge %d: %s", i, report)
	}
}

// TestMistakesWithEdgesAreExplained starts edges in ways that cannot work.
func TestMistakesWithEdgesAreExplained(t *testing.T) {
	t.Parallel()
	w := startServer(t, filepath.Join(t.TempDir(), "data"))
	token := writeFile(t, "token", shunt(t, "", nil, "token", "add", "--edge", "frankfurt", "--data", w.dir).done(t))
	empty := writeFile(t, "empty", "\n")
	plain := writeFile(t, "plain", w.token()+"\n")
	used := filepath.Join(t.TempDir(), "used")
	shunt(t, "", nil, "token", "add", "--name", "n", "--init", "--data", used).done(t)
	fresh := func() string { return filepath.Join(t.TempDir(), "data") }
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no token":             {[]string{"--data", fresh(), "--edge-of", w.public}, exitUsage, "--edge-token-file"},
		"no server":            {[]string{"--data", fresh(), "--edge-token-file", token}, exitUsage, "needs --edge-of"},
		"an empty token":       {[]string{"--data", fresh(), "--edge-of", w.public, "--edge-token-file", empty}, exitUsage, "is empty"},
		"no file":              {[]string{"--data", fresh(), "--edge-of", w.public, "--edge-token-file", "/nowhere/token"}, exitUsage, "--edge-token-file"},
		"plain HTTP":           {[]string{"--data", fresh(), "--edge-of", "http://192.0.2.1", "--edge-token-file", token}, exitUsage, "https://"},
		"a path":               {[]string{"--data", fresh(), "--edge-of", w.public + "/x", "--edge-token-file", token}, exitUsage, "origin"},
		"another token":        {[]string{"--data", fresh(), "--edge-of", w.public, "--edge-token-file", plain}, exitFailed, "refuses the token"},
		"the admin address":    {[]string{"--data", fresh(), "--edge-of", w.admin, "--edge-token-file", token}, exitFailed, "--edge-of"},
		"the folder of others": {[]string{"--data", used, "--edge-of", w.public, "--edge-token-file", token}, exitFailed, "server of its own"},
	} {
		r := shunt(t, "", nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, c.args...)...)
		expect.That(t, r.code == c.code && strings.Contains(r.stderr, c.want), "%s: exit code %d, want %d with %q: %s", name, r.code, c.code, c.want, r.stderr)
		text, err := os.ReadFile(token)
		expect.OK(t, err)
		expect.That(t, !strings.Contains(r.stderr, strings.TrimSpace(string(text))), "%s: it shows the token", name)
	}
}

// TestAnEdgeThatWasOffForLongComesBack stops an edge with hits that its writer has not taken, imports
// SHUNTTEST_EDGE_ABSENCE links (2,000), and starts it again, without a command. The writer keeps 256 MiB of entries: of
// many more links the edge takes a copy.
func TestAnEdgeThatWasOffForLongComesBack(t *testing.T) {
	t.Parallel()
	const logged = 100_000 // links whose entries are kept for certain; those of 2.5 million are not
	links := numberOf(t, "SHUNTTEST_EDGE_ABSENCE", 2000)
	s := &edgeSite{t: t, counted: make(map[string]uint64), unknown: make(map[string]uint64)}
	dir := filepath.Join(t.TempDir(), "data")
	s.startWriter(dir)
	shunt(t, "", nil, "add", "https://example.org/", "--alias", "before", "--data", dir).done(t)
	s.addEdge("frankfurt")
	within := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
			expect.MustThat(t, time.Now().Before(deadline), "three minutes later: %s", what)
		}
	}
	redirects := func(code string) bool {
		status, location := s.follow(s.edges[0].public, code)
		return status == http.StatusFound && location != ""
	}
	within("the edge redirects", func() bool { return redirects("before") })
	s.paths[0].cut(time.Hour)
	for range 100 {
		expect.That(t, redirects("before"), "without its writer the edge does not redirect")
	}
	s.edges[0].kill()
	shunt(t, t.TempDir(), nil, "import", manyLinks(t, t.TempDir(), links), "--data", dir).done(t)
	if links > logged {
		time.Sleep(25 * time.Second) // the writer drops entries each ten seconds
	}
	s.paths[0].cut(0)
	s.edges[0] = s.starts[0]()
	within("all hits are at the writer", func() bool { return s.hits("before") >= s.counted["before"] })
	expect.Equal(t, s.hits("before"), s.counted["before"], "hits at the writer")
	for i := range links {
		if i%(links/1000+1) == 0 || i == links-1 {
			code := fmt.Sprintf("%08x", uint32(i*2654435761))
			within("the edge redirects "+code, func() bool { return redirects(code) })
		}
	}
	copied := strings.Contains(s.edges[0].stderr(), "takes a new copy")
	expect.Equal(t, copied, links > logged, "%d links were made meanwhile: the edge took a copy", links)
}

// TestEdgesAreForgotten makes a token for an edge and forgets it, before it was ever used.
func TestEdgesAreForgotten(t *testing.T) {
	t.Parallel()
	w := startServer(t, filepath.Join(t.TempDir(), "data"))
	expect.Equal(t, shunt(t, "", nil, "edges", "--data", w.dir).done(t), "NAME  STATE  HEARD  POSITION  BEHIND  LAG  WAITING  VERSION  CERTIFICATE  ADDRESS\n")
	token := shunt(t, "", nil, "token", "add", "--edge", "oslo", "--data", w.dir).done(t)
	text := shunt(t, "", nil, "edges", "--data", w.dir).done(t)
	expect.That(t, regexp.MustCompile(`(?m)^oslo +new +- +- +- +- +- +- +- +-$`).MatchString(text), "got %s", text)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"another name": {[]string{"forget", "rome"}, exitFailed, "has no edge of that name"},
		"no name":      {[]string{"forget"}, exitUsage, "NAME"},
		"another verb": {[]string{"remember"}, exitUsage, "remember"},
	} {
		r := shunt(t, "", nil, append(append([]string{"edges"}, c.args...), "--data", w.dir)...)
		expect.That(t, r.code == c.code && strings.Contains(r.stderr, c.want), "%s: exit code %d, want %d with %q: %s", name, r.code, c.code, c.want, r.stderr)
	}
	r := shunt(t, "", nil, "edges", "forget", "oslo", "--data", w.dir)
	expect.That(t, r.code == 0 && strings.Contains(r.stderr, "oslo is forgotten"), "got %+v", r)
	r = shunt(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"),
		"--edge-of", w.public, "--edge-token-file", writeFile(t, "token", token))
	expect.That(t, r.code == exitFailed && strings.Contains(r.stderr, "refuses the token"), "an edge that was forgotten: %+v", r)
}
