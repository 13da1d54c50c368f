package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// This file sends redirects and reads of statistics under load; see crash_test.go.

// A flight is a redirect that is under way. Any state of the link since from may answer it.
type flight struct {
	link    *bookLink
	from    int
	visitor int
}

// takeOff draws a redirect, mostly to one of the newest links, and counts it as under way.
func (k *crash) takeOff(random *rand.Rand) flight {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.book.live[drawLink(random, len(k.book.live))]
	l.flying++
	return flight{l, len(l.states) - 1, random.IntN(killVisitors)}
}

// drawLink draws one of n links, often one of the last.
func drawLink(random *rand.Rand, n int) int {
	if random.IntN(4) == 0 {
		return random.IntN(n)
	}
	return n - 1 - random.IntN(min(n, 2*connections))
}

func (k *crash) visit(c *fasthttp.HostClient, random *rand.Rand) (answered bool) {
	f, begun := k.takeOff(random), time.Now()
	response, err := k.try(c, http.MethodGet, "/"+f.link.code, visitorHeader(f.visitor), nil)
	k.land(f, response, begun, err)
	return err == nil
}

// burst sends many redirects before it reads their answers, so that a kill finds redirects that are
// counted and not answered.
//
// It ends after maxBursts, because the server closes a connection after 100,000 requests, and
// reports whether all were answered.
func (k *crash) burst(address string, random *rand.Rand) (answered bool) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		k.failed("redirect", time.Now(), err)
		return false
	}
	defer conn.Close()
	answers := bufio.NewReaderSize(conn, answerBytes)
	for n := 0; n < maxBursts && err == nil; n++ {
		var requests bytes.Buffer
		flights := make([]flight, burstVisits)
		for i := range flights {
			flights[i] = k.takeOff(random)
			fmt.Fprintf(&requests, "GET /%s HTTP/1.1\r\nHost: sho.rt\r\n", flights[i].link.code)
			for name, value := range visitorHeader(flights[i].visitor) {
				fmt.Fprintf(&requests, "%s: %s\r\n", name, value)
			}
			requests.WriteString("\r\n")
		}
		begun := time.Now()
		_, err = conn.Write(requests.Bytes())
		for _, f := range flights {
			response := new(fasthttp.Response)
			if err == nil {
				err = response.Read(answers)
			}
			k.land(f, response, begun, err)
		}
	}
	return err == nil
}

const maxBursts = 50_000 / burstVisits

// land notes how a redirect ended: with an answer or with err.
func (k *crash) land(f flight, response *fasthttp.Response, begun time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := f.link
	l.flying--
	if err != nil {
		l.cut++
		if !l.visitors[f.visitor] {
			l.cutVisitors[f.visitor] = true
		}
		k.failedLocked("redirect", begun, err)
		return
	}
	k.count("redirect", answeredColumn, 1)
	if !l.admits(response, f.from) {
		k.wrong(altered, "/%s: got %d to %q, want one of %s", l.code, response.StatusCode(), response.Header.Peek("Location"), l.describe(f.from))
	}
	if status := response.StatusCode(); status == http.StatusGone || status == http.StatusNotFound {
		return
	}
	l.hits++
	if most := l.cap(f.from); most != 0 {
		k.count("redirect of a capped link", answeredColumn, 1)
		if l.hits > most {
			k.wrong(altered, "%s: %d redirects were answered, and its cap is %d", l.code, l.hits, most)
		}
	}
	l.visitors[f.visitor] = true
	delete(l.cutVisitors, f.visitor) // whether or not those were counted, this visit is
}

func (l *bookLink) describe(from int) (text string) {
	for _, s := range l.states[from:] {
		text += fmt.Sprintf(" {%d %.300s gone=%v}", s.version, s.set(), s.gone)
	}
	if l.pending != nil {
		text += fmt.Sprintf(" or {%d %.300s gone=%v}", l.pending.version, l.pending.set(), l.pending.gone)
	}
	return fmt.Sprintf("%s (%d to %d hits)", text, l.hits, l.hits+l.cut+l.flying)
}

// readStats reads the figures of a link, which must include every hit that was answered before.
func (k *crash) readStats(c *fasthttp.HostClient, random *rand.Rand) (answered bool) {
	k.mu.Lock()
	l := k.book.live[drawLink(random, len(k.book.live))]
	least := l.hits
	k.mu.Unlock()
	begun := time.Now()
	response, err := k.tryAPI(c, http.MethodGet, "/stats/"+l.code, nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.failedLocked("stats", begun, err)
		return false
	}
	got := struct{ Hits, Unique uint64 }{}
	status := response.StatusCode()
	gone := l.now().gone || l.pending != nil && l.pending.gone
	switch {
	case status == http.StatusNotFound && gone, k.unavailable(response):
		return true
	case status != http.StatusOK || json.Unmarshal(response.Body(), &got) != nil:
		k.wrong(altered, "stats of %s: got %d %s", l.code, status, response.Body())
		return true
	}
	k.count("stats", answeredColumn, 1)
	if most := l.hits + l.cut + l.flying; got.Hits < least || got.Hits > most {
		k.wrong(altered, "stats of %s: got %d hits, want %d to %d", l.code, got.Hits, least, most)
	}
	l.shownHits, l.unique = max(l.shownHits, got.Hits), max(l.unique, got.Unique)
	return true
}
