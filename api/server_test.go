package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/exchange"
	"shunt/engine"
)

func TestShutdownLetsClientsFinishAndTellsThemToClose(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	c, err := st.publicAt.Dial()
	must(t, err)
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func() reply {
		if _, err := io.WriteString(c, requestText("GET", "/x", "", browser)); err != nil {
			t.Fatal(err)
		}
		return readReply(t, r, "GET")
	}
	ask().expect(t, "before", kept)
	done := make(chan error)
	go func() { done <- st.Shutdown(t.Context()) }()
	for !st.drain.Begun() {
		runtime.Gosched()
	}
	send(t, st.adminAt, "GET", requestText("GET", "/readyz", "")).expect(t, "/readyz", 503, bodyOf("draining\n"))
	ask().expect(t, "while it drains", 302, closed)
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if _, err := st.publicAt.Dial(); err == nil {
		t.Error("the public listener is still open")
	}
	if err := st.Shutdown(t.Context()); !errors.Is(err, errShutDown) {
		t.Errorf("a second Shutdown: got %v", err)
	}
	late := fasthttputil.NewInmemoryListener()
	if err := st.ServePublic(late); err != nil {
		t.Errorf("ServePublic after Shutdown: got %v", err)
	}
	if _, err := late.Dial(); err == nil {
		t.Error("a listener that came after Shutdown is open")
	}
}

func TestAPanicIsAnsweredAndLoggedOnce(t *testing.T) {
	st := newSite(t, nil)
	var req fasthttp.Request
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, nil, nil)
	func() {
		defer st.panics.Recovered(ctx)
		panic("boom")
	}()
	if body := string(ctx.Response.Body()); ctx.Response.StatusCode() != 500 || !strings.Contains(body, `"code":"internal"`) || strings.Contains(body, "boom") {
		t.Errorf("got %d %s", ctx.Response.StatusCode(), body)
	}
	if log := st.log.String(); strings.Count(log, "boom") != 1 {
		t.Errorf("log: got %s", log)
	}
}

func TestAnInternalErrorIsLoggedNotShown(t *testing.T) {
	st := newSite(t, nil)
	ctx := requestFrom(tcpAddr("192.0.2.1"))
	exchange.Fail(ctx, st.Server.log, fmt.Errorf("reading: %w", errors.New("disk 7 is on fire")))
	if body := string(ctx.Response.Body()); ctx.Response.StatusCode() != 500 || strings.Contains(body, "fire") {
		t.Errorf("got %d %s", ctx.Response.StatusCode(), body)
	}
	if !strings.Contains(st.log.String(), "disk 7 is on fire") {
		t.Errorf("log: got %s", st.log)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	st := newSite(t, nil)
	for base, ok := range map[string]bool{
		"https://sho.rt": true, "https://sho.rt/": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true,
		"": false, "sho.rt": false, "ftp://sho.rt": false, "https://sho.rt/x": false, "https://sho.rt?x": false,
		"https://u@sho.rt": false, "https://": false, "https://a b": false,
	} {
		_, err := NewServer(Options{Engine: st.engine, Accounts: st.accounts, BaseURL: base})
		if (err == nil) != ok {
			t.Errorf("base URL %q: got %v, want accepted == %v", base, err, ok)
		}
	}
	for _, c := range []struct {
		policy, host string
		refuse       bool
	}{
		{"allow", "sho.rt", false}, {"refuse", "localhost", true}, {"auto", "sho.rt", true}, {"", "sho.rt", true},
		{"auto", "localhost", false}, {"auto", "go", false}, {"auto", "10.1.2.3", false}, {"auto", "[::1]", false},
		{"auto", "[2001:db8::1]", true}, {"auto", "8.8.8.8", true},
	} {
		if got, err := refusesPrivate(c.policy, engine.InOwnNetwork(c.host)); got != c.refuse || err != nil {
			t.Errorf("%s on %s: got %v, %v; want %v", c.policy, c.host, got, err, c.refuse)
		}
	}
	if _, err := refusesPrivate("maybe", false); err == nil {
		t.Error("policy maybe: got no error")
	}
}

func TestPrivateTargetsAreRefusedOnAPublicServer(t *testing.T) {
	st := newSite(t, func(o *Options) { o.BaseURL = "https://sho.rt" })
	for _, host := range []string{"127.0.0.1", "2130706433", "localhost", "[::ffff:10.0.0.1]"} {
		st.call("POST", "/shorten", `{"url":"http://`+host+`/"}`).expect(t, host, fieldsOf("url:private"))
	}
	st.call("POST", "/shorten", `{"url":"http://SHO.RT/x"}`).expect(t, "own origin", fieldsOf("url:own_origin"))
	if l := st.shorten(`{"url":"http://0xacab.org/"}`); l.ShortURL != "https://sho.rt/"+l.Code || len(l.Code) != 8 {
		t.Errorf("got %+v", l)
	}
}

func TestProfilesAreShownToThisMachineOnly(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.Metrics.Store = func() admin.Storage {
			return admin.Storage{Values: map[string]float64{"disk_bytes": 7, "compactions_total": 3}}
		}
	})
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x", browser)
	st.get("/x", "User-Agent: Twitterbot/1.0")
	st.get("/y")
	st.call("DELETE", "/links/y", "")
	st.call("BREW", "/nothing-"+strings.Repeat("x", 50), "")
	st.wantStats("x", 1, 1) // which folds
	for line, want := range map[string]string{
		`shunt_redirects_total{status="302"}`:                                    "2",
		`shunt_redirects_total{status="301"}`:                                    "0",
		`shunt_redirect_misses_total{reason="not_found"}`:                        "1",
		`shunt_hits_total{class="hit"}`:                                          "1",
		`shunt_hits_total{class="bot"}`:                                          "1",
		`shunt_links`:                                                            "1",
		`shunt_link_writes_total{op="create",result="ok"}`:                       "1",
		`shunt_link_writes_total{op="delete",result="refused"}`:                  "1",
		`shunt_http_requests_total{code="201",method="POST",route="/shorten"}`:   "1",
		`shunt_http_requests_total{code="404",method="other",route="none"}`:      "1",
		`shunt_request_duration_seconds_count{route="/shorten"}`:                 "1",
		`shunt_storage_disk_bytes`:                                               "7",
		`shunt_storage_compactions_total`:                                        "3",
		`shunt_flush_errors_total`:                                               "0",
		`shunt_hit_parts_lost_total{part="count"}`:                               "0",
		`shunt_journal_missing_files`:                                            "0",
		`shunt_journal_unprotected_records`:                                      "0",
		`shunt_journal_standby`:                                                  "0",
		`shunt_build_info{goversion="` + runtime.Version() + `",version="test"}`: "1",
	} {
		if got := st.metric(line); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/cmdline": 200, "/": 404, "/x": 404, "/metrics/": 404,
	} {
		send(t, st.adminAt, "GET", requestText("GET", path, "")).expect(t, path, want)
	}
	send(t, st.adminAt, "POST", requestText("POST", "/metrics", "")).expect(t, "POST /metrics", 405)
}

// connAt is a connection that arrived at a given local address.
type connAt struct {
	net.Conn
	local net.Addr
}

func (c connAt) LocalAddr() net.Addr  { return c.local }
func (c connAt) RemoteAddr() net.Addr { return tcpAddr("192.0.2.9") }

func TestProfilesAreServedWhereTheContractSaysSo(t *testing.T) {
	st := newSite(t, nil)
	for name, c := range map[string]struct {
		local string
		pprof bool
		want  bool
	}{
		"loopback":        {"127.0.0.1", false, true},
		"loopback, IPv6":  {"::1", false, true},
		"another address": {"192.0.2.1", false, false},
		"asked for":       {"192.0.2.1", true, true},
	} {
		st.Server.adminAddress.Profiles = c.pprof
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline"} {
			ctx := new(fasthttp.RequestCtx)
			ctx.Init2(connAt{local: tcpAddr(c.local)}, log.New(io.Discard, "", 0), false)
			ctx.Request.SetRequestURI(path)
			st.handleAdmin(ctx)
			want := fasthttp.StatusNotFound
			if c.want {
				want = fasthttp.StatusOK
			}
			if got := ctx.Response.StatusCode(); got != want {
				t.Errorf("%s, %s: got %d, want %d", name, path, got, want)
			}
		}
	}
}

func TestTheFirstUserOfANewStoreIsItsAdmin(t *testing.T) {
	st := newSite(t, nil)
	u, created, err := st.accounts.EnsureAdmin()
	if err != nil || created || u.Name != account.AdminName || u.ID != 1 {
		t.Errorf("got %+v, %v, %v", u, created, err)
	}
}

func TestALateRequestIsAnswered408(t *testing.T) {
	st := newSite(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	st.serveOn(ln, st.ServePublic)
	c, err := net.Dial("tcp", ln.Addr().String())
	must(t, err)
	defer c.Close()
	if _, err := io.WriteString(c, "GET /x HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	for st.public.Open() == 0 {
		runtime.Gosched()
	}
	for range 31 { // seconds: a request has 30
		st.public.Sweep()
	}
	readReply(t, bufio.NewReader(c), "GET").expect(t, "", 408, problemOf("timeout"), closed)
	check(t, st.Shutdown(context.Background()))
}

// Over a real socket, a server that closes with unread bytes resets the connection, and the answer
// may be lost.
func TestTheAnswerToATooLargeBodyArrives(t *testing.T) {
	st := newSite(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	st.serveOn(ln, st.ServePublic)
	for range 20 {
		c, err := net.Dial("tcp", ln.Addr().String())
		must(t, err)
		body := strings.Repeat(" ", 300<<10)
		if _, err := io.WriteString(c, requestText("POST", "/api/v1/shorten", body)); err != nil {
			t.Fatalf("sending: %v", err)
		}
		readReply(t, bufio.NewReader(c), "POST").expect(t, "", problemOf("body_too_large"))
		_ = c.Close()
	}
	check(t, st.Shutdown(context.Background()))
}
