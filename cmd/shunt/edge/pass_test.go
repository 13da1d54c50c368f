package edge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/api"
	"shunt/api/accesslog"
	"shunt/api/account"
	"shunt/api/edges"
	"shunt/cmd/shunt/porttest"
	"shunt/engine/expect"
)

const (
	userName = "ann@example.com"
	password = "correct horse battery"
)

// newPassing returns a writer with a user and pages, which logs the clients of failures, and an edge of it that
// believes a proxy on this machine.
func newPassing(t *testing.T) (w, e *machine, edgeToken string) {
	t.Helper()
	w = &machine{t: t, dir: t.TempDir(), address: porttest.Hold(t, "127.0.0.1"), log: new(logs)}
	access, err := accesslog.Open(accesslog.Options{Path: filepath.Join(w.dir, "access"), Clients: true})
	expect.OK(t, err)
	w.run(access.Run)
	w.options = func(o *api.Options) {
		o.NoDashboard, o.LogClients, o.Access = false, true, access
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}
	w.start()
	t.Cleanup(w.stop)
	_, _, err = w.accounts.EnsureAdmin()
	expect.OK(t, err)
	_, err = w.accounts.AddUser(account.UserDraft{Email: userName, Role: account.RoleMember, Password: password})
	expect.OK(t, err)
	edgeToken, _ = w.token("frankfurt")
	e = newEdge(t, w.address, edgeToken)
	e.options = func(o *api.Options) {
		o.NoDashboard, o.TrustedProxies = false, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}
	e.startEdge()
	return w, e, edgeToken
}

// answer is what came back to a client.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request to a machine. fields are names and values.
func (m *machine) ask(method, path, body string, fields ...string) answer {
	m.t.Helper()
	req, err := http.NewRequest(method, "http://"+m.address+path, strings.NewReader(body))
	expect.OK(m.t, err)
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Host" {
			req.Host = fields[i+1]
			continue
		}
		req.Header.Add(fields[i], fields[i+1])
	}
	resp, err := noRedirects.Do(req)
	expect.OK(m.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	expect.OK(m.t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// code returns the code of a problem, "" of another answer.
func (a answer) code() string {
	var p struct{ Code string }
	if json.Unmarshal([]byte(a.body), &p) != nil {
		return ""
	}
	return p.Code
}

// TestAnEdgePassesCallsAndPagesOn uses the API with a token and with a session, and the pages, all at an edge.
func TestAnEdgePassesCallsAndPagesOn(t *testing.T) {
	w, e, _ := newPassing(t)
	user, err := w.accounts.UserByName(userName)
	expect.OK(t, err)
	_, token, err := w.accounts.IssueToken(account.CallerOf(user), account.TokenDraft{Name: "t"})
	expect.OK(t, err)
	made := e.ask("POST", "/api/v1/shorten", `{"url":"https://a.example/x","alias":"made"}`, "Authorization", "Bearer "+token, "Content-Type", "application/json")
	expect.That(t, made.status == 201 && strings.HasSuffix(made.header.Get("Location"), "/made") && made.header.Get("X-Request-Id") != "", "a link: %+v", made)
	twice := e.ask("GET", "/api/v1/links?limit=1", "", "Authorization", "Bearer "+token)
	direct := w.ask("GET", "/api/v1/links?limit=1", "", "Authorization", "Bearer "+token)
	expect.That(t, twice.status == 200 && twice.body == direct.body, "a list: %+v, want %+v", twice, direct)
	e.redirects("made", "https://a.example/x")
	head := e.ask("HEAD", "/api/v1/links/made", "", "Authorization", "Bearer "+token)
	expect.That(t, head.status == 200 && head.body == "" && head.header.Get("Etag") != "", "HEAD: %+v", head)
	deep := e.ask("POST", "/api/v1/shorten", `{"url":"https://a.example/deep","alias":"a/b"}`, "Authorization", "Bearer "+token, "Content-Type", "application/json")
	expect.That(t, deep.status == 201 && strings.HasSuffix(deep.header.Get("Location"), "/a%2Fb"), "a code of two segments: %+v", deep)
	e.redirects("a/b", "https://a.example/deep")
	read := e.ask("GET", "/api/v1/links/a%2Fb", "", "Authorization", "Bearer "+token)
	expect.That(t, read.status == 200 && strings.Contains(read.body, `"code":"a/b"`), "a code of two segments in a path: %+v", read)
	refused := e.ask("POST", "/api/v1/tokens", `{"name":"n"}`, "Authorization", "Bearer "+token, "Content-Type", "application/json")
	expect.That(t, refused.status == 403 && strings.Contains(refused.body, "frankfurt"), "a token through an edge: %+v", refused)

	entered := e.ask("POST", "/_/sign-in", url.Values{"email": {userName}, "password": {password}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Host", "fra.sho.rt:8080", "Origin", "http://fra.sho.rt:8080")
	cookie, _, _ := strings.Cut(entered.header.Get("Set-Cookie"), ";")
	expect.That(t, entered.status == 303 && strings.HasPrefix(cookie, "shunt_session=") && strings.HasPrefix(entered.header.Get("Location"), "/_/"), "signing in: %+v", entered)
	home := e.ask("GET", "/_/links", "", "Cookie", cookie, "Host", "fra.sho.rt:8080")
	expect.That(t, home.status == 200 && strings.Contains(home.body, "made"), "the list of links: %d", home.status)
	forged := e.ask("POST", "/_/sign-out", "", "Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie, "Host", "fra.sho.rt:8080", "Origin", "http://evil.example")
	expect.Equal(t, forged.status, 403, "a form of another page")
	for _, path := range []string{"/robots.txt", "/_/docs"} {
		expect.Equal(t, e.ask("GET", path, "").status, 200, path)
	}
}

// TestTheWriterBelievesOnlyItsEdges sends what edges send, with tokens that are none of an edge, and incomplete.
func TestTheWriterBelievesOnlyItsEdges(t *testing.T) {
	w, e, edgeToken := newPassing(t)
	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	_, all, err := w.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "all", Scopes: account.AllScopes})
	expect.OK(t, err)
	const login = `{"email":"ann@example.com","password":"wrong wrong wrong"}`
	try := func(m *machine, fields ...string) answer {
		return m.ask("POST", "/api/v1/session", login, append([]string{"Content-Type", "application/json"}, fields...)...)
	}
	a := try(e, "X-Forwarded-For", "192.0.2.7", "X-Forwarded-Proto", "https", "Shunt-Client", "192.0.2.99:1")
	expect.That(t, a.status == 401 && w.log.has(`msg="login failed" client=192.0.2.7`), "a login at the edge: %+v", a)
	a = try(e, "X-Forwarded-For", "192.0.2.6")
	expect.That(t, a.status == 403 && a.code() == "https_required", "a login over plain HTTP: %+v", a)
	a = try(w, "Shunt-Client", "192.0.2.8:1", "Shunt-Plain", "1", "Shunt-Host", "x")
	expect.That(t, a.status == 401 && !w.log.has("192.0.2.8"), "without a token the fields mean something: %+v", a)
	whole := []string{"Shunt-Client", "192.0.2.9:1", "Shunt-Plain", "0", "Shunt-Host", "x"}
	for name, c := range map[string]struct {
		fields []string
		status int
	}{
		"a token that is none":  {append([]string{edges.TokenField, "shunt_wrong"}, whole...), 401},
		"a token of an admin":   {append([]string{edges.TokenField, all}, whole...), 401},
		"an empty token":        {append([]string{edges.TokenField, ""}, whole...), 401},
		"two tokens":            {append([]string{edges.TokenField, edgeToken, edges.TokenField, edgeToken}, whole...), 400},
		"no client":             {[]string{edges.TokenField, edgeToken, "Shunt-Plain", "0", "Shunt-Host", "x"}, 400},
		"two clients":           {append([]string{edges.TokenField, edgeToken, "Shunt-Client", "192.0.2.9:2"}, whole...), 400},
		"a socket as a client":  {[]string{edges.TokenField, edgeToken, "Shunt-Client", "unix", "Shunt-Plain", "0", "Shunt-Host", "x"}, 400},
		"a name as a client":    {[]string{edges.TokenField, edgeToken, "Shunt-Client", "x:1", "Shunt-Plain", "0", "Shunt-Host", "x"}, 400},
		"a strange way":         {[]string{edges.TokenField, edgeToken, "Shunt-Client", "192.0.2.9:1", "Shunt-Plain", "no", "Shunt-Host", "x"}, 400},
		"no host":               {[]string{edges.TokenField, edgeToken, "Shunt-Client", "192.0.2.9:1", "Shunt-Plain", "0"}, 400},
		"the whole, at an edge": {nil, 503},
	} {
		at := w
		if c.fields == nil {
			at, c.fields = e, append([]string{edges.TokenField, edgeToken}, whole...)
		}
		a := try(at, c.fields...)
		expect.That(t, a.status == c.status && a.header.Get("Shunt-Refused") == "1" && !w.log.has("client=192.0.2.9"), "%s: %+v", name, a)
	}
}

// TestTheClientOfARequestIsNotThatOfTheNext sends one of an edge, and then one of somebody else, on one connection, as
// a proxy in front of the writer does.
func TestTheClientOfARequestIsNotThatOfTheNext(t *testing.T) {
	w, _, edgeToken := newPassing(t)
	conn, err := net.Dial("tcp", w.address)
	expect.OK(t, err)
	defer conn.Close()
	r := bufio.NewReader(conn)
	for i, fields := range []string{
		edges.TokenField + ": " + edgeToken + "\r\nShunt-Client: 192.0.2.7:1\r\nShunt-Plain: 0\r\nShunt-Host: x\r\nX-Forwarded-For: 192.0.2.66\r\nX-Forwarded-Proto: https\r\n",
		"X-Forwarded-For: 192.0.2.8\r\nX-Forwarded-Proto: https\r\n",
	} {
		_, err := fmt.Fprintf(conn, "GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer shunt_wrong%d\r\n%s\r\n", i, fields)
		expect.OK(t, err)
		resp, err := http.ReadResponse(r, nil)
		expect.OK(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		expect.MustEqual(t, resp.StatusCode, 401, "request %d", i)
	}
	expect.That(t, w.log.has("client=192.0.2.7 ") && w.log.has("client=192.0.2.8 ") && !w.log.has("192.0.2.66"), "the clients are others: %s", w.log)
}

// TestTheAccessLogOfAWriterHasTheClientsOfItsEdges uses the API at an edge for a while. Calls of the edge that bring
// nothing have no line.
func TestTheAccessLogOfAWriterHasTheClientsOfItsEdges(t *testing.T) {
	w, e, _ := newPassing(t)
	for i := range 3 {
		e.ask("GET", "/api/v1/me", "", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", 20+i))
		time.Sleep(edges.Hold / 2)
	}
	w.stop()
	text, err := os.ReadFile(filepath.Join(w.dir, "access"))
	expect.OK(t, err)
	for i := range 3 {
		expect.Equal(t, strings.Count(string(text), fmt.Sprintf(`"192.0.2.%d"`, 20+i)), 1, "lines of client %d in %s", i, text)
	}
	expect.That(t, strings.Contains(string(text), edges.CopyPath) && !strings.Contains(string(text), edges.FollowPath), "calls of the edge: %s", text)
}

// TestWithoutItsWriterAnEdgeSaysSo stops the writer, and has another one that answers nothing.
func TestWithoutItsWriterAnEdgeSaysSo(t *testing.T) {
	w, e, _ := newPassing(t)
	w.link("code", "https://a.example/", 0)
	e.redirects("code", "https://a.example/")
	w.stop()
	wantGone := func(name, method string, codes ...string) {
		t.Helper()
		a := e.ask(method, "/api/v1/links", "{}")
		expect.That(t, a.status == 503 && a.header.Get("Retry-After") != "" && strings.Contains(strings.Join(codes, " "), a.code()), "%s: %+v", name, a)
	}
	wantGone("a read", "GET", "stale")
	wantGone("a write", "POST", "stale")
	page := e.ask("GET", "/_/", "", "Accept", "text/html")
	expect.That(t, page.status == 503 && page.header.Get("Retry-After") != "" && strings.Contains(page.header.Get("Content-Type"), "text/html") &&
		strings.Contains(page.body, "<h1>One moment, please</h1>"), "a page: %+v", page)
	status, _ := e.get("code")
	expect.Equal(t, status, 302, "a link")

	mute, err := net.Listen("tcp", w.address)
	expect.OK(t, err)
	defer mute.Close()
	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
	}()
	wantGone("a read that is not answered", "GET", "stale")
	wantGone("a write that is not answered", "POST", "outcome_unknown")
}

// TestLiveFiguresAndExportsComeThroughAnEdge reads the first event of live figures at an edge, and an export.
func TestLiveFiguresAndExportsComeThroughAnEdge(t *testing.T) {
	w, e, _ := newPassing(t)
	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	_, token, err := w.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "t"})
	expect.OK(t, err)
	for i := range 50 {
		w.link(fmt.Sprintf("code%d", i), "https://a.example/"+strings.Repeat("x", 1500), 0)
	}
	direct := w.ask("GET", "/api/v1/export", "", "Authorization", "Bearer "+token)
	passed := e.ask("GET", "/api/v1/export", "", "Authorization", "Bearer "+token)
	expect.That(t, direct.status == 200 && len(direct.body) > 50*1500 && passed.body == direct.body, "an export: %d bytes, want %d", len(passed.body), len(direct.body))
	req, err := http.NewRequest("GET", "http://"+e.address+"/api/v1/stats/code1/live", http.NoBody)
	expect.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := noRedirects.Do(req)
	expect.OK(t, err)
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	expect.That(t, resp.StatusCode == 200 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && err == nil && line != "", "live figures: %d %q, %v", resp.StatusCode, line, err)
}

// TestARevokedEdgePassesNothingOn revokes the token of an edge.
func TestARevokedEdgePassesNothingOn(t *testing.T) {
	w, e, _ := newPassing(t)
	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	tokens, err := w.accounts.ListTokens(admin.ID)
	expect.OK(t, err)
	expect.MustEqual(t, len(tokens), 1, "tokens")
	expect.OK(t, w.accounts.RevokeToken(account.CallerOf(admin), admin.ID, tokens[0].ID))
	a := e.ask("GET", "/api/v1/openapi.json", "")
	expect.That(t, a.status == 503 && a.code() == "stale", "at once: %d %s", a.status, a.code())
	until(t, "it is out of service", func() bool { return e.ask("GET", "/_/", "").status == 503 && e.node.source.revoked.Load() })
	for _, path := range []string{"/_/", "/api/v1/me", "/robots.txt"} {
		a := e.ask("GET", path, "")
		expect.That(t, a.status == 503 && strings.Contains(a.body, "out of service") && a.header.Get(edges.ProcessField) != "", "%s: %+v", path, a)
	}
}
