package api

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/engine"
)

func openBlockFile(t *testing.T, path string, log *slog.Logger) *BlockFile {
	t.Helper()
	f, err := OpenBlockFile(path, log)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// write writes text to f's file and makes f check it.
func (f *BlockFile) write(t *testing.T, text string) {
	t.Helper()
	check(t, os.WriteFile(f.path, []byte(text), 0o600))
	f.look()
}

func (f *BlockFile) blocks(host string) bool { return f.list.Blocks([]byte("http://" + host + "/")) }

func TestTheBlockListIsReadAgainWhenItsFileChanges(t *testing.T) {
	f := openBlockFile(t, writeTo(t, "list", []byte("evil.example\n")), testLogger(io.Discard))
	if !f.blocks("evil.example") || f.blocks("other.example") {
		t.Fatal("the first list is not in force")
	}
	f.write(t, "evil.example\nother.example\n")
	if !f.blocks("evil.example") || !f.blocks("other.example") {
		t.Error("a line that was added is not in force")
	}
	before, err := os.Stat(f.path)
	check(t, err)
	check(t, os.WriteFile(f.path, []byte("evil.example\nothur.example\n"), 0o600))
	check(t, os.Chtimes(f.path, time.Time{}, before.ModTime())) // as if written in the same tick of the clock
	f.look()
	if f.blocks("other.example") || !f.blocks("othur.example") {
		t.Error("a change that shows only in the content is not in force")
	}
	other := writeTo(t, "list2", []byte("third.example\n"))
	check(t, os.Rename(other, f.path))
	if f.look(); f.blocks("evil.example") || !f.blocks("third.example") {
		t.Error("a file that was moved over the list is not in force")
	}
}

func TestMetricsSayHowTheBlockListIs(t *testing.T) {
	f := openBlockFile(t, writeTo(t, "list", []byte("evil.example\n")), testLogger(io.Discard))
	first := f.figures()
	if first.Entries != 1 || first.Failing || time.Since(first.LoadedAt) > time.Hour || first.Took <= 0 {
		t.Errorf("at first: got %+v", first)
	}
	text, err := os.ReadFile(f.path)
	check(t, err)
	check(t, os.Remove(f.path))
	f.look()
	if got := f.figures(); !got.Failing || got.Entries != 1 || got.LoadedAt != first.LoadedAt {
		t.Errorf("without its file: got %+v", got)
	}
	f.write(t, string(text))
	if got := f.figures(); got != first {
		t.Errorf("with the same text again: got %+v, want %+v", got, first)
	}
	check(t, os.Remove(f.path))
	f.look()
	f.write(t, "evil.example\nother.example\n")
	if got := f.figures(); got.Failing || got.Entries != 2 || !got.LoadedAt.After(first.LoadedAt) {
		t.Errorf("with another: got %+v", got)
	}
}

func TestAnUnchangedBlockListIsNotReadAgain(t *testing.T) {
	f := openBlockFile(t, writeTo(t, "list", []byte("evil.example\n")), testLogger(io.Discard))
	old := time.Now().Add(-time.Hour)
	check(t, os.Chtimes(f.path, old, old))
	f.look()
	readAt := f.readAt
	f.look()
	if f.readAt != readAt {
		t.Error("it was read again")
	}
}

func TestAnUnreadableBlockListLeavesTheLastInForce(t *testing.T) {
	log := new(syncBuffer)
	f := openBlockFile(t, writeTo(t, "list", []byte("evil.example\n")), testLogger(log))
	for what, spoil := range map[string]func() error{
		"it is gone":     func() error { return nil },
		"it is a folder": func() error { return os.Mkdir(f.path, 0o700) },
		"it is a pipe":   func() error { return syscall.Mkfifo(f.path, 0o600) },
		"it is too long": func() error {
			return os.WriteFile(f.path, []byte(strings.Repeat("a\n", engine.MaxBlocked+1)), 0o600)
		},
	} {
		check(t, os.RemoveAll(f.path))
		check(t, spoil())
		before := strings.Count(log.String(), "the last one stays")
		f.look()
		f.look()
		if !f.blocks("evil.example") {
			t.Errorf("%s: the list is not in force any more", what)
		}
		if n := strings.Count(log.String(), "the last one stays") - before; n != 1 {
			t.Errorf("%s: said %d times, want once", what, n)
		}
		check(t, os.RemoveAll(f.path))
		f.write(t, "evil.example\n")
		if f.failing {
			t.Errorf("%s: the file is good again, and not read", what)
		}
	}
}

func TestAMissingBlockListAtStartIsAnError(t *testing.T) {
	if _, err := OpenBlockFile(filepath.Join(t.TempDir(), "none"), testLogger(io.Discard)); err == nil {
		t.Error("got no error")
	}
	if _, err := OpenBlockFile(t.TempDir(), testLogger(io.Discard)); err == nil {
		t.Error("a folder: got no error")
	}
}

// An empty file blocks nothing. Somebody may want that, or a script that makes the list has failed, so it
// is taken, and a warning says so.
func TestABlockListThatIsEmptiedIsAWarning(t *testing.T) {
	log := new(syncBuffer)
	f := openBlockFile(t, writeTo(t, "list", []byte("evil.example\nother.example\n")), testLogger(log))
	f.write(t, "")
	if f.blocks("evil.example") || strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "entries_before=2") {
		t.Errorf("got\n%s", log)
	}
	f.write(t, "evil.example\n")
	f.write(t, "other.example\n")
	if f.blocks("evil.example") || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("got\n%s", log)
	}
}

func TestAMalformedLineIsNamedOnce(t *testing.T) {
	log := new(syncBuffer)
	f := openBlockFile(t, writeTo(t, "list", []byte("evil.example\nnot a host\n")), testLogger(log))
	f.write(t, "evil.example\nnot a host\nother.example\n")
	if n := strings.Count(log.String(), "line=2"); n != 1 {
		t.Errorf("got %d log lines about line 2, want 1:\n%s", n, log)
	}
	f.write(t, "evil.example\nnot a host either\n")
	if n := strings.Count(log.String(), "line=2"); n != 2 {
		t.Errorf("another bad line: got %d log lines about line 2, want 2:\n%s", n, log)
	}
	f.write(t, strings.Repeat("bad line\n", 1000))
	if n := strings.Count(log.String(), "is skipped"); n > 2+maxLineWarnings || !strings.Contains(log.String(), "lines=980") {
		t.Errorf("1,000 bad lines: got %d log lines:\n%.2000s", n, log)
	}
}

func TestANewlyBlockedHostStopsRedirectingButKeepsItsLink(t *testing.T) {
	var f *BlockFile
	st := newSite(t, func(o *Options) { f = openBlockFile(t, writeTo(t, "list", nil), o.Logger); o.Blocks = f })
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
