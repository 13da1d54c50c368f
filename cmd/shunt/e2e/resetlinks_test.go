package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// followed asks for links without following their redirects, and returns the statuses.
func followed(t *testing.T, p *process, codes ...string) string {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var statuses []string
	for _, code := range codes {
		r, err := c.Get(p.public + "/" + code)
		must(t, err)
		_ = r.Body.Close()
		statuses = append(statuses, r.Status[:3])
	}
	return strings.Join(statuses, " ")
}

// TestAResetOutlivesAKill kills the server while the journal alone has the hits of before and after the reset.
func TestAResetOutlivesAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startServer(t, dir, "--flush-interval", "1h")
	run := func(args ...string) result { return shunt(t, "", nil, append(args, "--data", dir)...) }
	run("add", "https://example.org/", "--alias", "x", "--max-hits", "3").want(t, exitDone, `\S+\n`, "^$")
	if got := followed(t, p, "x", "x", "x", "x"); got != "302 302 302 410" {
		t.Errorf("before the reset: got %s", got)
	}
	run("reset", p.public+"/x").want(t, exitDone, "^$", "^$")
	if got := followed(t, p, "x", "x"); got != "302 302" {
		t.Errorf("after it: got %s", got)
	}
	for _, when := range []string{"after a kill", "after another"} {
		p.kill()
		p = startServer(t, dir, "--flush-interval", "1h")
		run("stats", "/x").want(t, exitDone, `^hits +2\nunique +1\n$`, "^$")
		if t.Failed() {
			t.Fatal(when)
		}
	}
	if got := followed(t, p, "x", "x"); got != "302 410" {
		t.Errorf("the cap after the kills: got %s", got)
	}
	p.terminate()
	run("check").want(t, exitDone, `faults +0`, "")
}

// TestCommandsTakeSeveralLinks names one that does not exist among them, and one of another server.
func TestCommandsTakeSeveralLinks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startServer(t, dir)
	run := func(args ...string) result { return shunt(t, "", nil, append(args, "--data", dir)...) }
	for _, alias := range []string{"a", "b", "c"} {
		run("add", "https://example.org/", "--alias", alias).want(t, exitDone, `\S+\n`, "^$")
	}
	followed(t, p, "a", "a", "b")
	run("stats", "a", "none", "/b", p.public+"/a").want(t, exitFailed,
		`^code +a\nhits +2\nunique +1\n\ncode +b\nhits +1\nunique +1\n$`, `^shunt: stats none: link not found .*\nshunt: stats: 1 of 3 links failed\n$`)
	run("stats", "a", "b", "--json").want(t, exitDone, `^{"code":"a","hits":2,"unique":1}\n{"code":"b","hits":1,"unique":1}\n$`, "^$")
	run("show", "a", "none", "b").want(t, exitFailed, `(?s)^address +\S+/a\n.*\n\naddress +\S+/b\n`, `show none: .*\nshunt: show: 1 of 3 links failed\n$`)
	run("edit", "a", "none", "b", "--title", "T", "--json").want(t, exitFailed, `^{"code":"a".*"title":"T".*}\n{"code":"b".*}\n$`, `edit none`)
	run("edit", "a", "b", "--title", "U", "--if-match", "2").want(t, exitUsage, "^$", `^shunt: --if-match needs one link`)
	run("reset", "a", "none", "b").want(t, exitFailed, "^$", `reset none: .*\nshunt: reset: 1 of 3 links failed\n$`)
	run("rm", "a", "https://other.example/b").want(t, exitUsage, "^$", `^shunt: rm https://other.example/b: other.example is not this server`)
	run("rm", "a", "b c").want(t, exitUsage, "^$", `^shunt: rm b c: "b c" is not a code`)
	run("rm", "a", "").want(t, exitUsage, "^$", "^shunt: CODE is empty")
	run("rm").want(t, exitUsage, "^$", "^shunt: CODE is missing")
	run("stats", "a").want(t, exitDone, `^hits +0\n`, "^$") // nothing was deleted
	run("rm", "a", "none", "b").want(t, exitFailed, "^$", `^shunt: rm none: link not found .*\nshunt: rm: 1 of 3 links failed\n$`)
	run("ls").want(t, exitDone, `^CODE .*\nc .*\n$`, "^$")
}

// TestLinksAreGivenToAnotherUser by an admin, one by one and when their user is deleted.
func TestLinksAreGivenToAnotherUser(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	startServer(t, dir)
	run := func(args ...string) result { return shunt(t, "", nil, append(args, "--data", dir)...) }
	for _, email := range []string{"ann@example.com", "bob@example.com"} { // 2 and 3: with the first link, 1 is made
		run("add", "https://example.org/", "--alias", "first").want(t, exitDone, `\S+\n`, "^$")
		run("user", "add", email).want(t, exitDone, `\S+\n`, "^$")
	}
	for _, alias := range []string{"a", "b"} {
		run("add", "https://example.org/", "--alias", alias, "--user", "ann@example.com").want(t, exitDone, `\S+\n`, "^$")
	}
	run("edit", "a", "--owner", "BOB@example.com").want(t, exitDone, `owner +3\n`, "^$")
	run("edit", "a", "--owner", "2").want(t, exitDone, `owner +2\n`, "^$")
	run("edit", "a", "--owner", "nobody").want(t, exitFailed, "^$", `^shunt: edit a: there is no user "nobody"`)
	run("edit", "a", "--owner", "").want(t, exitUsage, "^$", "^shunt: --owner must be")
	run("edit", "a", "--owner", "bob@example.com", "--user", "ann@example.com").want(t, exitFailed, "^$", "admin")
	run("user", "rm", "ann@example.com").want(t, exitFailed, "^$", "--move-links-to USER another user gets them")
	run("user", "rm", "ann@example.com", "--move-links-to", "bob@example.com", "--keep-links").want(t, exitUsage, "^$", "exclude each other")
	run("user", "rm", "ann@example.com", "--move-links-to", "ann@example.com").want(t, exitFailed, "^$", "another user")
	run("user", "rm", "ann@example.com", "--move-links-to", "bob@example.com").want(t, exitDone, "^$", "^$")
	run("ls", "--owner", "3").want(t, exitDone, `^CODE .*\nb .*\na .*\n$`, "^$")
}
