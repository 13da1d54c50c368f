package api

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/api/blocklist"
)

// A blockList is a block list that the test rewrites.
type blockList struct {
	*blocklist.File
	path string
}

// blocking gives a server a block list.
func blocking(t testing.TB, o *Options, lines string) *blockList {
	t.Helper()
	path := writeTo(t, "list", []byte(lines))
	list, err := blocklist.Open(path, o.Logger)
	if err != nil {
		t.Fatal(err)
	}
	o.Blocks = list
	return &blockList{list, path}
}

// write puts other lines in force.
func (l *blockList) write(t testing.TB, lines string) {
	t.Helper()
	check(t, os.WriteFile(l.path, []byte(lines), 0o600))
	commit, err := l.Prepare()
	check(t, err)
	commit()
}

func TestANewlyBlockedHostStopsRedirectingButKeepsItsLink(t *testing.T) {
	var f *blockList
	st := newSite(t, func(o *Options) { f = blocking(t, o, "") })
	st.shorten(`{"url":"https://www.evil.example/x","alias":"a"}`)
	st.shorten(`{"url":"https://www.evil.example/x","alias":"past","expires_at":"2026-01-02T03:05:00Z"}`)
	st.shorten(`{"url":"https://good.example/","alias":"q","forward_query":true}`)
	if r := st.get("/a"); r.status != 302 {
		t.Fatalf("before: got %d", r.status)
	}
	f.write(t, "evil.example\nhttp://good.example/?bad\n")
	for path, want := range map[string]string{
		"/a": "403 text/html; charset=utf-8", "/a?x": "403 text/html; charset=utf-8", "/a+": "403 text/html; charset=utf-8",
		"/a.svg": "403 text/html; charset=utf-8", "/q?good": "302 ", "/q?bad=1": "403 text/html; charset=utf-8", "/q": "302 ",
	} {
		if r := st.get(path); want != statusAndType(r) || r.status == 403 && r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %s, want %s", path, statusAndType(r), want)
		}
	}
	if r := st.get("/a", "Accept: application/json"); r.problem() != "blocked" || r.header.Get("Vary") != "Accept" {
		t.Errorf("who prefers JSON: got %+v", r)
	}
	if got := st.metric(`shunt_redirect_misses_total{reason="blocked"}`); got != "4" {
		t.Errorf("got %s misses, want 4: three redirects and the one of a query; previews and QR codes count nothing", got)
	}
	st.wantState("a", "blocked")
	st.now.Add((2 * time.Minute).Milliseconds())
	st.wantState("past", "blocked")
	if r := st.get("/past"); r.status != 403 {
		t.Errorf("expired and blocked: got %d, want 403", r.status)
	}
	for what, r := range map[string]reply{
		"a link to it":       st.call("POST", "/shorten", `{"url":"https://EVIL.example./"}`),
		"an edit to it":      st.call("PATCH", "/links/q", `{"url":"https://evil.example/"}`),
		"an edit of a to it": st.call("PATCH", "/links/a", `{"url":"https://www.evil.example/y"}`),
	} {
		if r.status != 403 || r.problem() != "blocked" || r.fields() != "url:blocked" {
			t.Errorf("%s: got %d %s", what, r.status, r.body)
		}
	}
	if r := st.call("POST", "/shorten", `{"url":"https://evil.example/","max_hits":0}`); r.status != 422 || r.fields() != "url:blocked max_hits:range" {
		t.Errorf("blocked, and another field is wrong: got %d %s", r.status, r.body)
	}
	if r := st.call("PATCH", "/links/a", `{"title":"t"}`); r.status != 200 {
		t.Errorf("an edit of another field: got %d %s", r.status, r.body)
	}
	f.write(t, "")
	if r := st.get("/a"); r.status != 302 {
		t.Errorf("no longer blocked: got %d", r.status)
	}
	st.wantState("a", "active")
}

func statusAndType(r reply) string {
	return strings.Join([]string{strconv.Itoa(r.status), r.header.Get("Content-Type")}, " ")
}

func (st *site) wantState(code, want string) {
	st.t.Helper()
	if r := st.call("GET", "/links/"+code, ""); !strings.Contains(r.body, `"state":"`+want+`"`) {
		st.t.Errorf("%s: got %s, want state %s", code, r.body, want)
	}
}

func writeTo(t testing.TB, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
