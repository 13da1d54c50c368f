package api

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/lock"
	"shunt/api/redirect"
	"shunt/api/wiretest"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/tally"
	"shunt/storage"
)

// The tests of this file send any bytes, in any pieces, through every door, and compare everything
// that comes back and everything that is counted. A piece is sent once the server has read the one
// before it, so that the same input is the same reads each time.
//
// These differences are allowed:
//
//   - Date, which says when an answer was given.
//
// Nothing else may differ: neither a byte of an answer, nor whether the connection is open after
// it, nor a count, nor how much of the answers comes before the client says that it has finished.

// A doorway is a door with its site, which clients reach through a Unix socket. (Over TCP, a machine
// would soon have too many ports in TIME-WAIT.)
type doorway struct {
	door
	*site
	token, tokenID []byte // that may only read
	unlock         []byte // opens the link "locked"
	addr           unix.SockaddrUnix
}

// probe is a request after an input. Its answer shows whether the connection is still served.
const probe = "GET /probe HTTP/1.1\r\nHost: a\r\n\r\n"

// probeAnswer is the end of the answer to probe.
const probeAnswer = "Location: http://probe/\r\nCache-Control: private, no-store\r\n\r\n"

// tokenHere is where an input has the token of the site, which is as long.
var tokenHere = []byte("TOKEN" + strings.Repeat("-", 37))

// unlockHere is where an input has the cookie that opens the link "locked" of the site, which is as long.
var unlockHere = []byte(lock.Name + "=UNLOCK" + strings.Repeat("-", 26))

// doorLinks are the links of each site. No input can use up a cap of a million hits.
var doorLinks = []string{
	`{"alias":"keep","url":"http://keep/","redirect_status":307}`,
	`{"alias":"once","url":"http://once/?a#b","redirect_status":302,"forward_query":true}`,
	`{"alias":"for-ever","url":"http://for.ever/","redirect_status":301}`,
	`{"alias":"until","url":"http://until/","redirect_status":308,"expires_at":"2026-01-02T03:05:00Z"}`,
	`{"alias":"capped","url":"http://capped/","redirect_status":302,"max_hits":1000000}`,
	`{"alias":"off","url":"http://off/","disabled":true}`,
	`{"alias":"smuggled","url":"http://smuggled/","redirect_status":307}`,
	`{"alias":"probe","url":"http://probe/"}`,
	`{"alias":"a/b","url":"http://ab/?c","redirect_status":307,"forward_query":true}`,
	`{"alias":"v1.2","url":"http://v/1.2","redirect_status":301}`,
	`{"alias":"dot.","url":"http://dot.dot/"}`,
	`{"alias":"dot","url":"http://dot/"}`,
	`{"alias":"deep","url":"http://deep/x?y#z","redirect_status":307,"query":"keep","forward_path":true}`,
	`{"alias":"Keep","url":"http://b/keep","redirect_status":307,"domain":"b.example"}`,
	`{"alias":"once","url":"http://b/once","domain":"b.example","forward_path":true}`,
	`{"alias":"straße","url":"http://b/ß","domain":"b.example"}`,
	`{"alias":"locked","url":"http://locked/","redirect_status":307,"password":"open sesame","forward_path":true}`,
	`{"alias":"rules","url":"http://r/?a#b","redirect_status":301,"query":"override","rules":[` +
		`{"url":"http://r/de","conditions":[{"type":"language","match_value":"de"}]},` +
		`{"url":"http://r/fr?x=2","conditions":[{"type":"geolocation-country-code","match_value":"FR"}]},` +
		`{"url":"http://r/é","conditions":[{"type":"ip-address","match_value":"192.0.2.*"},{"type":"device","match_value":"linux"}]},` +
		`{"url":"http://r/q","conditions":[{"type":"query-param","match_key":"x","match_value":"A"}]}]}`,
	`{"alias":"split","url":"http://s/","redirect_status":308,"max_hits":1000000,"forward_path":true,"split":[` +
		`{"url":"http://s/a","weight":500},{"url":"http://s/b","weight":300},{"url":"http://s/ß","weight":200}]}`,
	`{"alias":"card","url":"http://card/?a","redirect_status":301,"query":"append","forward_path":true,"card":{"title":"<b>\"t\"","description":"ß","image":"http://i/ß?a&b"}}`,
}

// doorsKey is the visitor key of all sites, because a split follows from it.
var doorsKey = [16]byte{1, 2, 3}

// openDoors serves a site through each door.
func openDoors(t testing.TB) (all []*doorway) {
	spare := runtime.GOMAXPROCS(runtime.NumCPU() + 6)
	t.Cleanup(func() { runtime.GOMAXPROCS(spare) })
	for _, d := range doors {
		if d.secure || d.handed || d.loops == 1 {
			continue // the same over a Unix socket as another
		}
		tune := func(o *engine.Options) { o.RingRecords, o.FlushInterval = 1<<16, time.Minute }
		st := loaded(t, unloadedSiteOn(t, storage.Options{VisitorKey: &doorsKey}, tune, d.options(func(o *Options) {
			o.TrustedProxies, o.CountryHeader, o.HostHeader, o.AllowHTTP = someProxies.Trusted, "CF-IPCountry", "X-Forwarded-Host", true
		})))
		st.addDomain(domain.Domain{Host: "b.example", Settings: domain.Settings{Folds: true, UnicodeCodes: true}})
		for _, link := range doorLinks {
			st.shorten(link)
		}
		admin, _, err := st.accounts.EnsureAdmin()
		expect.NoError(t, err)
		token, text, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "t", Scopes: []account.Scope{account.LinksRead, account.StatsRead}})
		expect.NoError(t, err)
		expect.MustEqual(t, len(text), len(tokenHere), "a token bytes")
		name := fmt.Sprintf("@shunt-test-%d-%s", os.Getpid(), d.name) // not a file
		ln, err := net.Listen("unix", name)
		expect.OK(t, err)
		st.serveOn(ln, st.ServePublic)
		t.Cleanup(st.shutDown)
		unlock := st.unlocked(t, "locked")
		expect.MustEqual(t, len(unlock), len(unlockHere), "a cookie of bytes")
		all = append(all, &doorway{d, st, []byte(text), []byte(token.ID), unlock, unix.SockaddrUnix{Name: name}})
	}
	return all
}

// figures are what a site has counted.
type figures struct {
	front   redirect.Counts
	classes [4]uint64 // hits, heads, bots and prefetches of all links
	keep    engine.Stats
}

func (w *doorway) figures(t testing.TB) (f figures) {
	f.front = w.redirects.Counts()
	var err error
	f.keep, err = w.engine.Stats(context.Background(), keyOf("keep")) // folds
	expect.NoError(t, err)
	f.classes = w.engine.Metrics().Redirects
	return f
}

// since returns what was counted after before.
func (f figures) since(before figures) figures {
	for i := range f.front.Redirects {
		f.front.Redirects[i] -= before.front.Redirects[i]
	}
	for i := range f.front.Misses {
		f.front.Misses[i] -= before.front.Misses[i]
	}
	for i := range f.classes {
		f.classes[i] -= before.classes[i]
	}
	f.keep.Hits -= before.keep.Hits
	f.keep.Unique -= before.keep.Unique
	f.keep.Bots -= before.keep.Bots
	f.keep.Heads -= before.keep.Heads
	f.keep.Prefetches -= before.keep.Prefetches
	return f
}

// maxPieces bounds the pieces of an input, see mayAnswer.
const maxPieces = 10

// An input is what a client sends.
type input struct {
	raw    []byte
	pieces []byte // the length of each piece but the last: up to 128 bytes, or a multiple of 128
	probes bool   // a probe follows
	late   bool   // the client reads only when the server takes nothing more, until it has sent all
}

// parts returns in as it is sent, for the site of w.
func (in *input) parts(w *doorway) (parts [][]byte) {
	rest := bytes.ReplaceAll(bytes.ReplaceAll(in.raw, tokenHere, w.token), unlockHere, w.unlock)
	for _, size := range in.pieces {
		n := int(size) + 1
		if n > 128 {
			n = (n - 128) * 128
		}
		n = min(n, len(rest))
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	parts = append(parts, rest)
	if in.probes {
		parts = append(parts, []byte(probe))
	}
	return slices.DeleteFunc(parts, func(part []byte) bool { return len(part) == 0 })
}

// joined returns parts with those in one piece that have a bit in which between them.
func joined(parts [][]byte, which int) (pieces [][]byte) {
	for i, part := range parts {
		if i > 0 && which>>(i-1)&1 == 1 {
			last := len(pieces) - 1
			pieces[last] = slices.Concat(pieces[last], part)
		} else {
			pieces = append(pieces, part)
		}
	}
	return pieces
}

// An outcome is what came of an input.
type outcome struct {
	answers string // without dates
	bytes   int    // of the answers, with dates
	counted figures
}

// try sends pieces through w on a new connection. It waits for the first prompt bytes of the answers
// before it says that nothing follows; then the server must close the connection.
func (w *doorway) try(t testing.TB, pieces [][]byte, late bool, prompt int) outcome {
	before := w.figures(t)
	c := w.dial(t)
	defer c.close()
	c.late = late
	for _, piece := range pieces {
		c.send(piece)
	}
	c.late = false
	c.await(func() bool { return c.ended || len(c.got) >= prompt }, "answer at once")
	_ = unix.Shutdown(c.fd, unix.SHUT_WR)
	c.await(func() bool { return c.ended }, "close the connection")
	answers := bytes.ReplaceAll(c.got, w.tokenID, []byte("ID")) // it is random
	return outcome{undated(answers), len(c.got), w.figures(t).since(before)}
}

// A doorClient is a connection to a doorway.
type doorClient struct {
	t      testing.TB
	door   string
	fd     int
	got    []byte
	ended  bool // nothing more will come
	broken bool // the server takes nothing more
	late   bool
}

func (w *doorway) dial(t testing.TB) *doorClient {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	expect.OK(t, err)
	expect.OK(t, unix.Connect(fd, &w.addr))
	return &doorClient{t: t, door: w.name, fd: fd}
}

func (c *doorClient) close() { _ = unix.Close(c.fd) }

// send sends b and waits until the server has read it.
func (c *doorClient) send(b []byte) {
	c.await(func() bool {
		if len(b) > 0 && !c.broken {
			n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_NOSIGNAL)
			c.broken = err != nil && err != unix.EAGAIN && err != unix.EINTR
			b = b[max(0, n):]
		}
		return len(b) == 0 || c.broken
	}, "read")
	c.await(func() bool {
		unread, err := unix.IoctlGetInt(c.fd, unix.SIOCOUTQ)
		return unread == 0 || err != nil || c.broken || c.ended
	}, "read all")
}

// await waits until the server has done something, and takes what it sends meanwhile.
func (c *doorClient) await(done func() bool, what string) {
	begun := time.Now()
	for spins := 0; ; spins++ {
		if !c.late || spins%64 == 63 {
			c.receive()
		}
		if done() {
			return
		}
		if runtime.Gosched(); spins > 50 {
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, &unix.Timespec{Nsec: 50_000}, nil)
			expect.MustThat(c.t, spins%256 != 0 || time.Since(begun) <= 3*patienceOfTests, "%s: the server does not %s; got %q", c.door, what, c.got)
		}
	}
}

// receive takes what has come.
func (c *doorClient) receive() {
	var b [16 << 10]byte
	for once := false; !c.ended && !once; once = c.late {
		n, err := unix.Read(c.fd, b[:])
		if err == unix.EAGAIN || err == unix.EINTR {
			return
		}
		c.ended = n <= 0
		c.got = append(c.got, b[:max(0, n)]...)
	}
}

// atOnce returns how many bytes of the answers must come before the client says that nothing
// follows: all, if the last one is that to a probe. (Otherwise the end may be part of a request, and
// fasthttp keeps answers back until it has read the next request, if it has the beginning of it.)
func (o *outcome) atOnce() int {
	if strings.HasSuffix(o.answers, probeAnswer) {
		return o.bytes
	}
	return 0
}

// compareDoors sends in through every door.
func compareDoors(t *testing.T, all []*doorway, in *input) {
	t.Helper()
	if bytes.Contains(in.raw, []byte("/live")) {
		t.Skip("an answer without end")
	}
	model := all[0]
	parts := in.parts(model)
	want := model.try(t, parts, in.late, 0)
	for _, w := range all[1:] {
		got := w.try(t, in.parts(w), in.late, want.atOnce())
		if got != want && !model.mayAnswer(t, parts, got) {
			t.Fatalf("%s and %s differ:\n%s\n%+v\n%+v\non %q", model.name, w.name,
				difference(want.answers, got.answers), want.counted, got.counted, parts)
		}
	}
}

// mayAnswer reports whether got may be the outcome through w of parts, some of them in one piece.
// That may happen: the server may get, with the end of a piece, the next one, because the kernel
// reports a piece as read before the call that reads it has ended. What the text of a refusal says
// depends on that, because the gate may read, and refuse, requests that come after one that fasthttp
// refuses.
func (w *doorway) mayAnswer(t testing.TB, parts [][]byte, got outcome) bool {
	got.counted.keep.Unique = 0 // those who come a second time are not counted again
	for which := range 1 << (len(parts) - 1) {
		may := w.try(t, joined(parts, which), false, 0)
		if may.counted.keep.Unique = 0; may == got {
			return true
		}
	}
	return false
}

// Answers wait, and their order is kept, while the client does not read.
func TestDoorsWaitAlikeForAClientThatReadsLate(t *testing.T) {
	t.Parallel()
	all := openDoors(t)
	var raw bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&raw, "GET /nope HTTP/1.1\r\nHost: a\r\n\r\nGET /once?%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
		if i%100 == 99 {
			raw.WriteString("POST /keep HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde")
		}
	}
	for _, pieces := range [][]byte{nil, {255, 255}, {100, 255, 7}} {
		compareDoors(t, all, &input{raw.Bytes(), pieces, true, true})
	}
}

// Referrers, countries, devices and browsers are the same, too. Requests come in threes, of which the
// second has the fields of the first: a door does not read those again.
func TestDoorsBreakHitsDownAlike(t *testing.T) {
	all := openDoors(t)
	for _, field := range slices.Concat(recipeHarmless, recipeFields) {
		for _, second := range recipeHarmless[:12] {
			fields := fmt.Sprintf(" HTTP/1.1\r\nHost: a\r\n%s\r\n%s\r\n", field, second)
			raw := "GET /keep" + fields + "\r\nGET /keep/?a" + fields + "\r\nGET /keep" + fields + "Referer: https://third.example/\r\n\r\n"
			compareDoors(t, all, &input{raw: []byte(raw)})
		}
	}
	var want string
	for _, w := range all {
		r, err := w.engine.LinkReport(t.Context(), keyOf("keep"), engine.Query{AllTime: true, Parts: tally.Visitors | tally.Breakdowns})
		expect.NoError(t, err)
		if got := fmt.Sprint(r.Stats, r.Dimensions); w == all[0] {
			want = got
		} else if got != want {
			t.Errorf("%s: got %s, want %s", w.name, got, want)
		}
	}
	expect.Contains(t, want, "example.com")
}

// absoluteForms returns requests whose target has an authority, with a Host of the same domain, of another one,
// with none, or with a text that is no host: the authority decides (RFC 9112, 3.2.2).
func absoluteForms() (all []string) {
	for _, authority := range []string{"b.example", "B.Example.:80", "a", "b.example:x", "u@b.example", ""} {
		for _, path := range []string{"/keep", "/once?x=1", "/stra%C3%9Fe", "/KEEP+", "/nope", "/api/v1/me", "", "?x"} {
			for _, host := range []string{"Host: b.example", "Host: a", "Host:", "X: y"} {
				for _, start := range []string{"GET http", "HEAD HTTP", "POST https"} {
					all = append(all, start+"://"+authority+path+" HTTP/1.1\r\n"+host+"\r\n"+browser+"\r\n\r\n")
				}
			}
		}
	}
	return all
}

func TestDoorsReadTheAbsoluteFormAlike(t *testing.T) {
	all := openDoors(t)
	for _, raw := range absoluteForms() {
		compareDoors(t, all, &input{raw: []byte(raw), probes: true})
		compareDoors(t, all, &input{raw: []byte(strings.Replace(raw, "HTTP/1.1", "HTTP/1.0", 1))})
	}
	for _, w := range all { // the domain of the authority has counted, not that of Host
		of, err := w.engine.Stats(t.Context(), engine.Key{Domain: 1, Code: "Keep"})
		expect.That(t, err == nil && of.Hits > 0, "%s: hits of the registered host: %+v, %v", w.name, of, err)
		got := w.try(t, [][]byte{[]byte("GET http://b.example/keep HTTP/1.1\r\nHost: a\r\n\r\nGET http://a/keep HTTP/1.1\r\nHost: b.example\r\n\r\n")}, false, 0)
		first, second, _ := strings.Cut(got.answers, "\r\n\r\n")
		expect.Contains(t, first, "Location: http://b/keep\r\n", w.name)
		expect.Contains(t, second, "Location: http://keep/\r\n", w.name)
	}
}

// FuzzDoorsAnyBytes compares the doors with any bytes.
func FuzzDoorsAnyBytes(f *testing.F) {
	for i, row := range append(wiretest.Accepted(), wiretest.Refused()...) {
		if len(row.Raw) < 2000 && i%7 == 0 {
			f.Add([]byte(row.Raw+wiretest.Smuggled), []byte{byte(i)}, i%2 == 0, i%3 == 0)
		}
	}
	for i, raw := range absoluteForms() {
		if i%41 == 0 {
			f.Add([]byte(raw+wiretest.Smuggled), []byte{byte(i)}, i%2 == 0, i%3 == 0)
		}
	}
	all := openDoors(f)
	f.Fuzz(func(t *testing.T, raw, pieces []byte, probes, late bool) {
		raw = raw[:min(len(raw), 64<<10)]
		compareDoors(t, all, &input{raw, pieces[:min(len(pieces), maxPieces)], probes, late})
	})
}

// FuzzDoorsRequests compares the doors with what recipes draw.
func FuzzDoorsRequests(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		seed := make([]byte, 100)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	all := openDoors(f)
	f.Fuzz(func(t *testing.T, choices []byte) {
		compareDoors(t, all, (*recipe)(&choices).input())
	})
}
