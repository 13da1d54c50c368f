package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/problem"
)

// exported makes more links than one page of an export has, and returns how many.
func (st *site) exported(token string) int {
	st.t.Helper()
	const links = 400
	line := `{"url":"https://a.example/` + strings.Repeat("x", 7000) + `"}` + "\n"
	r := send(st.t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten/bulk", strings.Repeat(line, links),
		"Authorization: Bearer "+token, "Content-Type: application/x-ndjson"))
	if r.status != 200 {
		st.t.Fatalf("got %+v", r)
	}
	return links
}

// export starts an export and returns its connection and body, unread.
func (st *site) export(token, query string) (net.Conn, io.Reader) {
	st.t.Helper()
	c, err := st.publicAt.Dial()
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, requestText("GET", "/api/v1/export"+query, "", "Authorization: Bearer "+token)); err != nil {
		st.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "GET"})
	if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/x-ndjson" {
		st.t.Fatalf("got %+v, %v", res, err)
	}
	return c, res.Body
}

// How many exports are open at a time, in all and of a caller.
const maxExports, maxExportsCaller = 16, 2

// awaitExports waits until n exports are open.
func (st *site) awaitExports(n int) {
	st.t.Helper()
	open := st.calls.ExportsHeld
	for start := time.Now(); open() != n; time.Sleep(time.Millisecond) {
		if time.Since(start) > 5*time.Second {
			st.t.Fatalf("%d exports are open after 5 s, want %d", open(), n)
		}
	}
}

// readLines reads to the end and returns the lines that are links, the code of the line that is a
// problem, and how the body ended.
func readLines(t *testing.T, body io.Reader) (links []linkObject, broken string, err error) {
	t.Helper()
	text, err := io.ReadAll(body)
	for line := range bytes.Lines(text) {
		var p problem.Body
		var o linkObject
		if json.Unmarshal(line, &p) == nil && strings.HasPrefix(p.Type, "urn:shunt:problem:") {
			broken = p.Code
			continue
		}
		if err := json.Unmarshal(line, &o); err != nil || o.ShortURL == "" || broken != "" {
			t.Fatalf("line %.100q: %v", line, err)
		}
		links = append(links, o)
	}
	return links, broken, err
}

func TestAnExportHasEachLinkOfItsFirstMomentOnce(t *testing.T) {
	st := newSite(t, nil)
	n := st.exported(st.token)
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"https://a.example/"}`)
	_, body := st.export(st.token, "")
	first := make([]byte, 100)
	if _, err := io.ReadFull(body, first); err != nil {
		t.Fatal(err)
	}
	st.shorten(`{"url":"https://a.example/","alias":"late"}`)
	links, problem, err := readLines(t, io.MultiReader(bytes.NewReader(first), body))
	seen := map[string]bool{}
	for _, o := range links {
		seen[o.Code] = true
	}
	if len(links) != n || len(seen) != n || seen["late"] || problem != "" || err != nil {
		t.Errorf("got %d links, %d of them different, late: %v, %q, %v", len(links), len(seen), seen["late"], problem, err)
	}
	st.awaitExports(0)
	_, body = st.export(st.token, "?owner=all&include=unique")
	if links, _, err := readLines(t, body); len(links) != n+2 || err != nil || links[0].Unique == nil {
		t.Errorf("of all owners: got %d links, %v", len(links), err)
	}
	_, body = st.export(st.member("bob@example.com"), "")
	if links, _, err := readLines(t, body); len(links) != 0 || err != nil {
		t.Errorf("of a user without links: got %d, %v", len(links), err)
	}
}

func TestABrokenExportEndsWithAProblemWithoutLastChunk(t *testing.T) {
	for name, c := range map[string]struct {
		problem string
		stop    func(st *site, token string)
	}{
		"revoked": {"unauthorized", func(st *site, token string) {
			caller, err := st.accounts.Authenticate(token)
			check(st.t, err)
			check(st.t, st.accounts.RevokeToken(account.Caller{}, caller.User.ID, caller.TokenID))
		}},
		"shut down": {"overloaded", func(st *site, _ string) {
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				check(st.t, st.Shutdown(context.Background()))
			}()
			st.t.Cleanup(func() { <-stopped })
			<-st.ending
		}},
	} {
		st := newSite(t, nil)
		token := st.member("ann@example.com")
		n := st.exported(token)
		_, body := st.export(token, "")
		c.stop(st, token)
		links, problem, err := readLines(t, body)
		if len(links) == 0 || len(links) >= n || problem != c.problem || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %d links, problem %q, %v", name, len(links), problem, err)
		}
		st.awaitExports(0)
	}
}

func TestAnExportEndsWhenItsClientGoesAway(t *testing.T) {
	st := newSite(t, nil)
	st.exported(st.token)
	for range 3 * maxExportsCaller {
		c, _ := st.export(st.token, "")
		st.awaitExports(1)
		check(t, c.Close())
		st.awaitExports(0)
	}
}

func TestExportsAreBounded(t *testing.T) {
	st := newSite(t, nil)
	tokens := []string{st.token}
	for i := range maxExports/maxExportsCaller - 1 {
		tokens = append(tokens, st.tokenOfNew("user"+strconv.Itoa(i)+"@example.com", account.RoleAdmin, account.AllScopes...))
	}
	late := st.member("late@example.com")
	st.exported(st.token)
	for _, token := range tokens {
		for range maxExportsCaller {
			st.export(token, "?owner=all")
		}
		if token != st.token {
			continue
		}
		if r := st.call("GET", "/export", ""); r.status != 503 || r.problem() != "overloaded" {
			t.Errorf("one more than a caller may have: got %d %s", r.status, r.body)
		}
	}
	if r := st.callAs(late, "GET", "/export", ""); r.status != 503 || r.problem() != "overloaded" {
		t.Errorf("one more than there may be: got %d %s", r.status, r.body)
	}
}

func TestAnExportNeedsChunksAndRefusesFilters(t *testing.T) {
	st := newSite(t, nil)
	old := strings.Replace(requestText("GET", "/api/v1/export", "", "Authorization: Bearer "+st.token), "HTTP/1.1", "HTTP/1.0", 1)
	if r := send(t, st.publicAt, "GET", old); r.status != 400 {
		t.Errorf("HTTP/1.0: got %d %s", r.status, r.body)
	}
	if r := st.call("GET", "/export?q=x", ""); r.fields() != "q:unknown" {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := st.call("HEAD", "/export", ""); r.status != 200 || r.body != "" || r.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("HEAD: got %+v", r)
	}
	st.awaitExports(0)
}
