package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/domains"
	"shunt/api/exchange"
	"shunt/api/folder"
	"shunt/api/problem"
	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// A site is the whole server over a real store whose files are in memory, reached through listeners
// that use no network. What a disk adds, the tests of storage and of the program hold.
type site struct {
	*Server
	t        testing.TB
	store    *storage.Store
	engine   *engine.Engine
	accounts *account.Accounts
	domains  *domain.Domains
	table    table.Table  // of accounts
	now      atomic.Int64 // Unix ms; the clock of server, engine and accounts
	log      *syncBuffer
	token    string // of the admin, all scopes

	secrets struct { // tokens, passwords and cookies: at the end none may be in the log
		sync.Mutex
		texts []string
	}

	publicAt         dialer // event loops, where the tests have them; see servePublic
	adminAt, localAt *fasthttputil.InmemoryListener
}

// A dialer connects to a listener.
type dialer interface{ Dial() (net.Conn, error) }

// syncBuffer is a log that tests can read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// withAddr is a listener that makes every connection come from addr.
type withAddr struct {
	net.Listener
	addr *atomic.Pointer[net.TCPAddr]
}

type connFrom struct {
	net.Conn
	addr net.Addr
}

func (c connFrom) RemoteAddr() net.Addr { return c.addr }

func (l withAddr) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if addr := l.addr.Load(); err == nil && addr != nil {
		return connFrom{c, addr}, nil
	}
	return c, err
}

// newSite starts a site and loads it. change may change its options.
func newSite(t testing.TB, change func(*Options)) *site {
	t.Helper()
	return newSiteOn(t, nil, change)
}

// newSiteOn does what newSite does, with an engine whose options tune may change.
func newSiteOn(t testing.TB, tune func(*engine.Options), change func(*Options)) *site {
	t.Helper()
	return loaded(t, unloadedSiteOn(t, storage.Options{}, tune, change))
}

// newSiteOver does what newSite does, with the files of fs.
func newSiteOver(t testing.TB, fs vfs.FS) *site {
	t.Helper()
	return loaded(t, unloadedSiteOn(t, storage.Options{FS: fs}, nil, openAll))
}

func loaded(t testing.TB, st *site) *site {
	t.Helper()
	expect.OK(t, st.engine.Load(t.Context(), func(uint64) {}))
	st.run(func(ctx context.Context) error { return st.engine.Run(ctx) })
	return st
}

func unloadedSite(t testing.TB, change func(*Options)) *site {
	t.Helper()
	return unloadedSiteOn(t, storage.Options{}, nil, change)
}

func unloadedSiteOn(t testing.TB, kept storage.Options, tune func(*engine.Options), change func(*Options)) *site {
	t.Helper()
	st := &site{t: t, log: new(syncBuffer)}
	st.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	clock := func() time.Time { return time.UnixMilli(st.now.Load()).UTC() }
	logger := testLogger(st.log)

	t.Cleanup(st.wantNothingSecretLogged) // after everything has stopped
	dir := t.TempDir()
	kept.Create, kept.Logger = true, logger
	if kept.FS == nil {
		kept.FS = vfs.NewMem()
	}
	store, err := storage.Open(filepath.Join(dir, "store"), kept)
	expect.OK(t, err)
	st.store = store
	t.Cleanup(func() { expect.NoError(t, store.Close()) })
	st.run(store.Run)
	engineOptions := engine.Options{
		JournalDir: filepath.Join(dir, "journal"), Rings: 2, RingRecords: 1 << 12, Now: clock, Logger: logger,
		FlushInterval: time.Hour, // a test that needs a flush calls it
		ClockSettles:  -1,        // time passes as the test says
	}
	if tune != nil {
		tune(&engineOptions)
	}
	st.engine, err = engine.Open(store, engineOptions)
	expect.OK(t, err)
	t.Cleanup(func() { expect.NoError(t, st.engine.Close()) })
	st.table = store.Accounts()
	st.accounts, st.domains = account.New(st.table, clock), domain.New(store.Domains(), clock)
	folders := folder.New(store.Folders(), clock)
	st.run(func(ctx context.Context) error { return st.accounts.Run(ctx, logger) })
	o := Options{
		Engine: st.engine, Accounts: st.accounts, Domains: st.domains, Folders: folders, BaseURL: "http://127.0.0.1:8080", Logger: logger, Now: clock, Version: "test",
		AdminHosts: []string{"any.example"}, // the Host of requestText
		Certificates: domains.Certificates{ // cmd/shunt/orders has the tests of certificates
			Check: func(_ context.Context, host string) (domains.HostCheck, error) {
				return domains.HostCheck{Host: host, Addresses: []string{"203.0.113.7"}, DNS: "ok", HTTP: "ok", HTTPS: "ok"}, nil
			},
		},
		Edges: Edges{ // cmd/shunt/edge has the tests of edges
			Met: func() ([]string, error) { return []string{"frankfurt"}, nil }, Forget: func(string) error { return nil }, Head: func() uint64 { return 0 },
		},
	}
	if change != nil {
		change(&o)
	}
	if st.Server, err = NewServer(o); err != nil {
		t.Fatal(err)
	}
	st.watch()
	st.publicAt, st.adminAt, st.localAt = st.servePublic(), st.serve(st.ServeAdmin), st.serve(st.ServeLocal)
	t.Cleanup(st.shutDown)
	admin, _, err := st.accounts.EnsureAdmin()
	expect.OK(t, err)
	st.token = st.issue(account.CallerOf(admin), account.AllScopes...)
	return st
}

func testLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// run runs fn until the end of the test. It waits for the end of fn before it closes anything that
// was opened earlier.
func (st *site) run(fn func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		err := fn(ctx)
		expect.That(st.t, err == nil || ctx.Err() != nil, "%v", err)
	})
	st.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// shutDown shuts the server down, if it was not shut down yet.
func (st *site) shutDown() {
	err := st.Shutdown(context.Background())
	expect.That(st.t, err == nil || err == errShutDown, "%v", err)
}

func (st *site) serve(serve func(net.Listener) error) *fasthttputil.InmemoryListener {
	ln := fasthttputil.NewInmemoryListener()
	st.serveOn(ln, serve)
	return ln
}

func (st *site) serveOn(ln net.Listener, serve func(net.Listener) error) {
	var serving sync.WaitGroup
	serving.Go(func() { expect.NoError(st.t, serve(ln)) })
	st.t.Cleanup(serving.Wait) // runs after the Shutdown that is registered later
}

// from serves the public address on another listener, whose connections come from addr.
func (st *site) from(addr string) *fasthttputil.InmemoryListener {
	ln := fasthttputil.NewInmemoryListener()
	at := new(atomic.Pointer[net.TCPAddr])
	at.Store(tcpAddr(addr))
	var serving sync.WaitGroup
	serving.Go(func() { expect.NoError(st.t, st.ServePublic(withAddr{ln, at})) })
	st.t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return ln
}

func (st *site) issue(c account.Caller, scopes ...account.Scope) string {
	st.t.Helper()
	_, text, err := st.accounts.IssueToken(c, account.TokenDraft{Name: "test", Scopes: scopes})
	expect.OK(st.t, err)
	return st.secret(text)
}

// secret notes that text must not be in the log.
func (st *site) secret(text string) string {
	st.secrets.Lock()
	defer st.secrets.Unlock()
	st.secrets.texts = append(st.secrets.texts, text)
	return text
}

func (st *site) wantNothingSecretLogged() { st.wantNothingSecretIn("the log", st.log.String()) }

func (st *site) wantNothingSecretIn(name, text string) {
	st.t.Helper()
	st.secrets.Lock()
	defer st.secrets.Unlock()
	for _, secret := range st.secrets.texts {
		expect.That(st.t, !strings.Contains(text, secret), "%s holds %q:\n%s", name, secret, text)
	}
}

// spoil makes a row of the accounts unreadable.
func (st *site) spoil(key string) {
	st.t.Helper()
	done := make(chan error, 1)
	st.table.Write([][2][]byte{{[]byte(key), []byte("{")}}, nil, nil, func(err error) { done <- err })
	expect.NoError(st.t, <-done)
}

// goodPassword is the password of every user that logs in.
const goodPassword = "correct horse battery"

// person makes a user that can log in.
func (st *site) person(email string, role account.Role) account.User {
	st.t.Helper()
	u, err := st.accounts.AddUser(account.UserDraft{Email: email, Role: role, Password: st.secret(goodPassword)})
	expect.OK(st.t, err)
	return u
}

// logIn returns the cookie line of a new session.
func (st *site) logIn(email string) string {
	st.t.Helper()
	r := st.post("/session", fmt.Sprintf(`{"email":%q,"password":%q}`, email, goodPassword))
	cookie, _, found := strings.Cut(r.header.Get("Set-Cookie"), ";")
	if _, value, _ := strings.Cut(cookie, "="); r.status != 200 || !found || len(value) != 43 {
		st.t.Fatalf("log in as %s: got %+v", email, r)
	} else {
		st.secret(value)
	}
	return "Cookie: " + cookie
}

// post sends JSON without a token.
func (st *site) post(path, body string, lines ...string) reply {
	st.t.Helper()
	return st.as(lines, "POST", path, body)
}

// as sends an API request with these header lines.
func (st *site) as(lines []string, method, path, body string) reply {
	st.t.Helper()
	if body != "" {
		lines = append(slices.Clone(lines), typeOf(body))
	}
	return send(st.t, st.publicAt, method, requestText(method, "/api/v1"+path, body, lines...))
}

// typeOf returns the Content-Type of a body of the API.
func typeOf(body string) string {
	if body == tinyPNG {
		return "Content-Type: image/png"
	}
	return "Content-Type: application/json"
}

// ownPage is the header that a browser sends with a request by one of our own pages.
const ownPage = "Sec-Fetch-Site: same-origin"

// member makes a user and returns a token of that user.
func (st *site) member(name string, scopes ...account.Scope) string {
	st.t.Helper()
	return st.tokenOfNew(name, account.RoleMember, scopes...)
}

// tokenOfNew returns a token of a new user without a password.
func (st *site) tokenOfNew(name string, role account.Role, scopes ...account.Scope) string {
	st.t.Helper()
	u, err := st.accounts.AddUser(account.UserDraft{Email: name, Role: role})
	expect.OK(st.t, err)
	return st.issue(account.CallerOf(u), scopes...)
}

// A reply is an HTTP response, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	close  bool
}

// whole returns all of r as text, without the date and the id, which differ between two replies.
func (r reply) whole() string {
	r.header = r.header.Clone()
	r.header.Del("Date")
	r.header.Del(exchange.HeaderRequestID)
	return fmt.Sprint(r)
}

// problem returns the code of a problem reply, "" if it is not a problem.
func (r reply) problem() string {
	if r.header.Get("Content-Type") != "application/problem+json" {
		return ""
	}
	var p problem.Body
	if json.Unmarshal([]byte(r.body), &p) != nil || p.Status != r.status || p.Type != "urn:shunt:problem:"+p.Code {
		return "not a problem: " + r.body
	}
	return p.Code
}

// fields returns "field:code" of each error of a problem.
func (r reply) fields() string {
	var p problem.Body
	_ = json.Unmarshal([]byte(r.body), &p)
	texts := make([]string, len(p.Errors))
	for i, e := range p.Errors {
		texts[i] = e.Field + ":" + e.Code
	}
	return strings.Join(texts, " ")
}

// send writes raw bytes on a new connection and reads one reply to a request of method.
func send(t testing.TB, ln dialer, method, raw string) reply {
	t.Helper()
	c, err := ln.Dial()
	expect.OK(t, err)
	defer c.Close()
	go io.WriteString(c, raw) // the server may answer before it has read all
	return readReply(t, bufio.NewReader(c), method)
}

func readReply(t testing.TB, r *bufio.Reader, method string) reply {
	t.Helper()
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	expect.OK(t, err, "reading the answer")
	body, err := io.ReadAll(res.Body)
	expect.OK(t, err, "reading the body")
	return reply{res.StatusCode, res.Header, string(body), res.Close}
}

// request returns the text of a request with header lines ("Name: value").
func requestText(method, target, body string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: any.example\r\n", method, target)
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

// get requests a path from the public address.
func (st *site) get(path string, lines ...string) reply {
	st.t.Helper()
	return send(st.t, st.publicAt, "GET", requestText("GET", path, "", lines...))
}

// call sends an API request with the admin's token.
func (st *site) call(method, path, body string, lines ...string) reply {
	st.t.Helper()
	return st.callAs(st.token, method, path, body, lines...)
}

func (st *site) callAs(token, method, path, body string, lines ...string) reply {
	st.t.Helper()
	lines = append(lines, "Authorization: Bearer "+token)
	if body != "" {
		lines = append(lines, typeOf(body))
	}
	return send(st.t, st.publicAt, method, requestText(method, "/api/v1"+path, body, lines...))
}

// known sends a request with an Idempotency-Key again until its outcome is known, as clients should: on a busy machine
// a large bulk may take longer than the store's time.
func known(t testing.TB, request func() reply) reply {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		r := request()
		if r.status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return r
		}
	}
}

// shorten makes a link of these JSON fields.
func (st *site) shorten(fields string) linkObject {
	st.t.Helper()
	r := st.call("POST", "/shorten", fields)
	var o linkObject
	err := json.Unmarshal([]byte(r.body), &o)
	expect.MustThat(st.t, err == nil && r.status == 201, "POST /shorten %s: got %d %s (%v), want 201", fields, r.status, r.body, err)
	return o
}

// wantStats checks the figures of a link in the API.
func (st *site) wantStats(code string, hits, unique uint64) {
	st.t.Helper()
	r := st.call("GET", "/stats/"+code, "")
	want := fmt.Sprintf("{\"hits\":%d,\"unique\":%d}\n", hits, unique)
	r.expect(st.t, fmt.Sprintf("stats of %s", code), 200, bodyOf(want))
}

// counted returns the numbers of links, of answered redirects and of counted hits.
func (st *site) counted() string {
	total := uint64(0)
	for _, n := range st.redirects.Counts().Redirects {
		total += n
	}
	return fmt.Sprintf("%d links, %d redirects", st.engine.Metrics().Links, total)
}

// metric returns the value of a line of /metrics.
func (st *site) metric(line string) string {
	st.t.Helper()
	r := send(st.t, st.adminAt, "GET", requestText("GET", "/metrics", ""))
	for l := range strings.SplitSeq(r.body, "\n") {
		if value, found := strings.CutPrefix(l, line+" "); found {
			return value
		}
	}
	return "none"
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
