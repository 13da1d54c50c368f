package api

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/api/blocklist"
	"shunt/engine/expect"
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
	expect.OK(t, err)
	o.Blocks = list
	return &blockList{list, path}
}

// write puts other lines in force.
func (l *blockList) write(t testing.TB, lines string) {
	t.Helper()
	expect.NoError(t, os.WriteFile(l.path, []byte(lines), 0o600))
	commit, err := l.Prepare()
	expect.NoError(t, err)
	commit()
}

func TestANewlyBlockedHostStopsRedirectingButKeepsItsLink(t *testing.T) {
	var f *blockList
	st := newSite(t, func(o *Options) { f = blocking(t, o, "") })
	st.shorten(`{"url":"https://www.evil.example/x","alias":"a"}`)
	st.shorten(`{"url":"https://www.evil.example/x","alias":"past","expires_at":"2026-01-02T03:05:00Z"}`)
	st.shorten(`{"url":"https://good.example/","alias":"q","forward_query":true}`)
	st.get("/a").need(t, "before", 302)
	f.write(t, "evil.example\nhttp://good.example/?bad\n")
	for path, want := range map[string]string{
		"/a": "403 text/html; charset=utf-8", "/a?x": "403 text/html; charset=utf-8", "/a+": "403 text/html; charset=utf-8",
		"/a.svg": "403 text/html; charset=utf-8", "/q?good": "302 ", "/q?bad=1": "403 text/html; charset=utf-8", "/q": "302 ",
	} {
		r := st.get(path)
		expect.That(t, want == statusAndType(r) && (r.status != 403 || r.header.Get("Cache-Control") == "no-store"), "%s: got %s, want %s", path, statusAndType(r), want)
	}
	st.get("/a", "Accept: application/json").expect(t, "who prefers JSON", problemOf("blocked"), header("Vary", "Accept"))
	expect.Equal(t, st.metric(`shunt_redirect_misses_total{reason="blocked"}`), "4", "misses: three redirects and the one of a query; previews and QR codes count nothing")
	st.wantState("a", "blocked")
	st.now.Add((2 * time.Minute).Milliseconds())
	st.wantState("past", "blocked")
	st.get("/past").expect(t, "expired and blocked", 403)
	for what, r := range map[string]reply{
		"a link to it":       st.call("POST", "/shorten", `{"url":"https://EVIL.example./"}`),
		"an edit to it":      st.call("PATCH", "/links/q", `{"url":"https://evil.example/"}`),
		"an edit of a to it": st.call("PATCH", "/links/a", `{"url":"https://www.evil.example/y"}`),
	} {
		r.expect(t, what, 403, problemOf("blocked"), fieldsOf("url:blocked"))
	}
	st.call("POST", "/shorten", `{"url":"https://evil.example/","max_hits":0}`).expect(t, "blocked, and another field is wrong", 422, fieldsOf("url:blocked max_hits:range"))
	st.call("PATCH", "/links/a", `{"title":"t"}`).expect(t, "an edit of another field", 200)
	f.write(t, "")
	st.get("/a").expect(t, "no longer blocked", 302)
	st.wantState("a", "active")
}

func statusAndType(r reply) string {
	return strings.Join([]string{strconv.Itoa(r.status), r.header.Get("Content-Type")}, " ")
}

func (st *site) wantState(code, want string) {
	st.t.Helper()
	st.call("GET", "/links/"+code, "").expect(st.t, code, `"state":"`+want+`"`)
}

func writeTo(t testing.TB, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, content, 0o600))
	return path
}
