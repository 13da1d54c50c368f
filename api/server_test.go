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
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/exchange"
	"shunt/engine"
	"shunt/engine/expect"
)

func TestShutdownLetsClientsFinishAndTellsThemToClose(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	c, err := st.publicAt.Dial()
	expect.OK(t, err)
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func() reply {
		expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", "/x", "", browser))))
		return readReply(t, r, "GET")
	}
	ask().expect(t, "before", kept)
	done := make(chan error)
	go func() { done <- st.Shutdown(t.Context()) }()
	for !st.drain.Begun() {
		time.Sleep(100 * time.Microsecond)
	}
	send(t, st.adminAt, "GET", requestText("GET", "/readyz", "")).expect(t, "/readyz", 503, bodyOf("draining\n"))
	ask().expect(t, "while it drains", 302, closed)
	expect.NoError(t, <-done, "Shutdown")
	expect.That(t, expect.Err(st.publicAt.Dial()) != nil, "the public listener is still open")
	expect.Error(t, st.Shutdown(t.Context()), errShutDown, "a second Shutdown")
	late := fasthttputil.NewInmemoryListener()
	expect.NoError(t, st.ServePublic(late), "ServePublic after Shutdown")
	expect.That(t, expect.Err(late.Dial()) != nil, "a listener that came after Shutdown is open")
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
	body := string(ctx.Response.Body())
	expect.That(t, ctx.Response.StatusCode() == 500 && !strings.Contains(body, "fire"), "got %d %s", ctx.Response.StatusCode(), body)
	expect.Contains(t, st.log.String(), "disk 7 is on fire", "log: got %s", st.log)
}

func TestOptionsAreChecked(t *testing.T) {
	st := newSite(t, nil)
	for base, ok := range map[string]bool{
		"https://sho.rt": true, "https://sho.rt/": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true,
		"": false, "sho.rt": false, "ftp://sho.rt": false, "https://sho.rt/x": false, "https://sho.rt?x": false,
		"https://u@sho.rt": false, "https://": false, "https://a b": false,
	} {
		_, err := NewServer(Options{Engine: st.engine, Accounts: st.accounts, Domains: st.domains, BaseURL: base})
		expect.That(t, (err == nil) == ok, "base URL %q: got %v, want accepted == %v", base, err, ok)
	}
	for _, c := range []struct {
		policy, host string
		refuse       bool
	}{
		{"allow", "sho.rt", false}, {"refuse", "localhost", true}, {"auto", "sho.rt", true}, {"", "sho.rt", true},
		{"auto", "localhost", false}, {"auto", "go", false}, {"auto", "10.1.2.3", false}, {"auto", "[::1]", false},
		{"auto", "[2001:db8::1]", true}, {"auto", "8.8.8.8", true},
	} {
		got, err := refusesPrivate(c.policy, engine.InOwnNetwork(c.host))
		expect.That(t, got == c.refuse && err == nil, "%s on %s: got %v, %v; want %v", c.policy, c.host, got, err, c.refuse)
	}
	expect.That(t, expect.Err(refusesPrivate("maybe", false)) != nil, "policy maybe: got no error")
}

func TestPrivateTargetsAreRefusedOnAPublicServer(t *testing.T) {
	st := newSite(t, func(o *Options) { o.BaseURL = "https://sho.rt" })
	for _, host := range []string{"127.0.0.1", "2130706433", "localhost", "[::ffff:10.0.0.1]"} {
		st.call("POST", "/shorten", `{"url":"http://`+host+`/"}`).expect(t, host, fieldsOf("url:private"))
	}
	st.call("POST", "/shorten", `{"url":"http://SHO.RT/x"}`).expect(t, "own origin", fieldsOf("url:own_origin"))
	l := st.shorten(`{"url":"http://0xacab.org/"}`)
	expect.That(t, l.ShortURL == "https://sho.rt/"+l.Code && len(l.Code) == 8, "got %+v", l)
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
		expect.Equal(t, st.metric(line), want, line)
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
			expect.Equal(t, ctx.Response.StatusCode(), want, "%s, %s", name, path)
		}
	}
}

func TestTheFirstUserOfANewStoreIsItsAdmin(t *testing.T) {
	st := newSite(t, nil)
	u, created, err := st.accounts.EnsureAdmin()
	expect.That(t, err == nil && !created && u.Name == account.AdminName && u.ID == 1, "got %+v, %v, %v", u, created, err)
}

func TestALateRequestIsAnswered408(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	st.serveOn(ln, st.ServePublic)
	c, err := net.Dial("tcp", ln.Addr().String())
	expect.OK(t, err)
	defer c.Close()
	expect.OK(t, expect.Err(io.WriteString(c, "GET /x HTTP/1.1\r\nHost: ")))
	for st.public.Open() == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	for range 31 { // seconds: a request has 30
		st.public.Sweep()
	}
	readReply(t, bufio.NewReader(c), "GET").expect(t, "", 408, problemOf("timeout"), closed)
	expect.NoError(t, st.Shutdown(context.Background()))
}

// Over a real socket, a server that closes with unread bytes resets the connection, and the answer
// may be lost.
func TestTheAnswerToATooLargeBodyArrives(t *testing.T) {
	st := newSite(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	st.serveOn(ln, st.ServePublic)
	for range 20 {
		c, err := net.Dial("tcp", ln.Addr().String())
		expect.OK(t, err)
		body := strings.Repeat(" ", 300<<10)
		expect.OK(t, expect.Err(io.WriteString(c, requestText("POST", "/api/v1/shorten", body))), "sending")
		readReply(t, bufio.NewReader(c), "POST").expect(t, "", problemOf("body_too_large"))
		_ = c.Close()
	}
	expect.NoError(t, st.Shutdown(context.Background()))
}
