package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// survivors are what the clients of a sick server know of it. A request that was answered has its effect, once. A
// request that was cut off has its whole effect, once, or none. Figures that a restart has shown must not change.
type survivors struct {
	*e2e
	dir    string
	seed   uint64
	lines  []string // addresses that new links begin with
	drafts atomic.Uint64

	orphans int      // links that no client was told of and whose codes are unknown
	unborn  []string // aliases of creates that were cut off and had not happened after the restart

	mu struct {
		sync.Mutex
		links []*survivor
		cut   []draft // creates that were cut off since the last start
	}
}

// A draft is a create as it is sent. No two have the same target.
type draft struct {
	URL   string   `json:"url"`
	Alias string   `json:"alias,omitempty"`
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
}

// draw draws a visit, every second one to one of the newest links.
func (k *survivors) draw(random *rand.Rand) visit {
	k.mu.Lock()
	defer k.mu.Unlock()
	link := random.IntN(len(k.mu.links))
	if random.IntN(2) == 0 {
		link = len(k.mu.links) - 1 - random.IntN(connections)
	}
	return visit{link, random.IntN(killVisitors)}
}

// visit follows a link and reports whether it got an answer.
func (k *survivors) visit(c *fasthttp.HostClient, v visit) (answered bool) {
	k.mu.Lock()
	path := "/" + k.mu.links[v.link].code
	k.mu.Unlock()
	response, err := k.try(c, http.MethodGet, path, visitorHeader(v.visitor), nil)
	k.visited(v, response, err)
	return err == nil
}

func (k *survivors) writeVisit(to *bytes.Buffer, v visit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fmt.Fprintf(to, "GET /%s HTTP/1.1\r\nHost: sho.rt\r\n", k.mu.links[v.link].code)
	for name, value := range visitorHeader(v.visitor) {
		fmt.Fprintf(to, "%s: %s\r\n", name, value)
	}
	to.WriteString("\r\n")
}

// visited notes how a redirect ended: with an answer or with err.
func (k *survivors) visited(v visit, response *fasthttp.Response, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.mu.links[v.link]
	if err != nil {
		l.cut++
		if !l.visitors[v.visitor] {
			l.cutVisitors[v.visitor] = true
		}
		return
	}
	k.checkLocation(&l.tracked, response)
	l.hits++
	l.visitors[v.visitor] = true
	delete(l.cutVisitors, v.visitor) // whether or not those were counted, this visit is
}

// A survivor is a link that must exist. tracked has the redirects that were answered.
type survivor struct {
	tracked
	object, etag string // as first shown; the object without its figures

	cut         uint64       // redirects that were cut off, and may have been counted
	cutVisitors map[int]bool // their visitors, if it is unknown whether they were counted
	unique      uint64       // shown by the last restart
}

// add makes the link in response, which must be that of d, a survivor.
func (k *survivors) add(d draft, response *fasthttp.Response, status int) {
	got := struct {
		draft
		Code string
	}{}
	body := string(response.Body())
	if err := json.Unmarshal(response.Body(), &got); err != nil || response.StatusCode() != status {
		k.t.Errorf("%+v: got %d %s, want %d", d, response.StatusCode(), body, status)
		return
	}
	want := storedForm(d.URL)
	expect.That(k.t, got.URL == want && (d.Alias == "" || got.Code == d.Alias) && got.Title == d.Title && slices.Equal(got.Tags, d.Tags),
		"%+v: got %s", d, body)
	l := &survivor{
		tracked: tracked{input: d.URL, code: got.Code, url: want, visitors: map[int]bool{}},
		object:  withoutFigures(body), etag: string(response.Header.Peek("ETag")), cutVisitors: map[int]bool{},
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.links = append(k.mu.links, l)
}

// withoutFigures returns a link object without its figures, which are last.
func withoutFigures(object string) string {
	rest, _, _ := strings.Cut(object, `,"hits":`)
	return rest
}

// check compares everything with what the server knows after a restart.
func (k *survivors) check() {
	k.settleCreates()
	k.each(len(k.mu.links), func(c *fasthttp.HostClient, i int) { k.checkSurvivor(c, k.mu.links[i]) })
	k.each(len(k.unborn), func(c *fasthttp.HostClient, i int) {
		if response := k.api(c, http.MethodGet, "/links/"+k.unborn[i], nil); response.StatusCode() != http.StatusNotFound {
			k.t.Errorf("%s was not there after an earlier restart: got %d %s", k.unborn[i], response.StatusCode(), response.Body())
		}
	})
	k.t.Logf("%d links", len(k.mu.links)+k.orphans)
}

// settleCreates finds out which of the creates that were cut off have happened. Of those without an
// alias only the number is known.
func (k *survivors) settleCreates() {
	cut, nameless := k.mu.cut, 0
	k.mu.cut = nil
	k.each(len(cut), func(c *fasthttp.HostClient, i int) {
		if cut[i].Alias != "" {
			k.adopt(c, cut[i].Alias, cut[i])
		}
	})
	for _, d := range cut {
		if d.Alias == "" {
			nameless++
		}
	}
	orphans := k.number() - len(k.mu.links)
	expect.That(k.t, orphans >= k.orphans && orphans <= k.orphans+nameless,
		"got %d links that no client was told of, want %d to %d", orphans, k.orphans, k.orphans+nameless)
	k.orphans = orphans
}

// adopt makes the link of a create that was cut off a survivor, if the link exists.
func (k *survivors) adopt(c *fasthttp.HostClient, code string, d draft) {
	response := k.api(c, http.MethodGet, "/links/"+code, nil)
	if response.StatusCode() != http.StatusNotFound {
		k.add(d, response, http.StatusOK)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unborn = append(k.unborn, code)
}

// checkSurvivor compares a link with what the server knows of it, and notes outcomes that were
// unknown until now.
func (k *survivors) checkSurvivor(c *fasthttp.HostClient, l *survivor) {
	k.checkLocation(&l.tracked, k.send(c, http.MethodHead, "/"+l.code, nil, nil)) // HEAD is not counted
	read := k.api(c, http.MethodGet, "/links/"+l.code, nil)
	object, etag := withoutFigures(string(read.Body())), string(read.Header.Peek("ETag"))
	expect.That(k.t, object == l.object && etag == l.etag, "%s: got %s %s, want %s %s", l.code, object, etag, l.object, l.etag)
	response := k.api(c, http.MethodGet, "/stats/"+l.code, nil)
	got := struct{ Hits, Unique uint64 }{}
	if err := json.Unmarshal(response.Body(), &got); err != nil || response.StatusCode() != http.StatusOK {
		k.t.Errorf("stats of %s: %d %s", l.code, response.StatusCode(), response.Body())
		return
	}
	expect.That(k.t, got.Hits >= l.hits && got.Hits <= l.hits+l.cut, "%s: got %d hits, want %d to %d", l.code, got.Hits, l.hits, l.hits+l.cut)
	least, most := uint64(len(l.visitors)), uint64(len(l.visitors)+len(l.cutVisitors))
	expect.That(k.t, got.Unique >= max(least, l.unique) && got.Unique <= most,
		"%s: got %d unique visitors, want %d to %d", l.code, got.Unique, max(least, l.unique), most)
	l.hits, l.cut, l.unique = got.Hits, 0, got.Unique
	for visitor := range l.cutVisitors {
		switch got.Unique {
		case most:
			l.visitors[visitor] = true
			delete(l.cutVisitors, visitor)
		case least:
			delete(l.cutVisitors, visitor)
		}
	}
}
