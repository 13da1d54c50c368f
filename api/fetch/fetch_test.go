package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"shunt/engine"
	"shunt/engine/expect"
)

// here is the address of this machine that counts as public in tests; 127.0.0.1 does not.
var here = netip.MustParseAddr("127.0.0.2")

func onlyHere(a netip.Addr) bool { return a.Unmap() == here || engine.PublicAddr(a) }

// A names answers questions about names, as a DNS server: answer returns the address of the n-th answer for one, if the
// name is known.
type names struct {
	conn   net.PacketConn
	asked  atomic.Int64
	answer func(name string, n int64) (to netip.Addr, known bool)
}

func serveNames(t *testing.T, answer func(name string, n int64) (to netip.Addr, known bool)) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	expect.OK(t, err)
	s := &names{conn: conn, answer: answer}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	t.Cleanup(func() {
		expect.OK(t, conn.Close())
		<-done
	})
	return s
}

func (s *names) serve() {
	buf := make([]byte, 2048)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Authoritative, m.Answers, m.Additionals = true, true, nil, nil
		if q.Type == dnsmessage.TypeA {
			to, known := s.answer(q.Name.String(), s.asked.Add(1))
			if m.RCode = dnsmessage.RCodeNameError; known {
				m.RCode = dnsmessage.RCodeSuccess
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}, Body: &dnsmessage.AResource{A: to.As4()},
				}}
			}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

func (s *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// serveAt serves at an address of this machine, at a free port or at one that is given.
func serveAt(t *testing.T, address string, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	expect.OK(t, err)
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: handle}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// may lets any address of this test through that a link may have, as Calls do.
func may(address string) (string, error) { return engine.TargetPolicy{}.Parse(address) }

func page(t *testing.T, c *Client, address string) (Page, error) {
	t.Helper()
	return c.Page(t.Context(), address, 64, may)
}

func writePage(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

func TestATitleIsReadAsPeopleReadIt(t *testing.T) {
	latin := map[string]string{"/latin": "text/html; charset=iso-8859-1", "/meta": "text/html"}
	s := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		switch kind := latin[r.URL.Path]; {
		case kind != "":
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, "<meta charset=latin1><title>Gr\xfc\xdfe</title>")
		default:
			writePage(w, map[string]string{
				"/plain":    "<!doctype html><html><head><title>A &amp; B</title></head><body><title>no</title>",
				"/lines":    "<title>\n  One\t line \x00 \u202ehere\u0007 </title>",
				"/og":       `<meta property="og:title" content="From a card"><body>`,
				"/empty":    `<title></title><meta property="og:title" content="From a card">`,
				"/svg":      `<svg><title>picture</title></svg>`,
				"/none":     "<p>text",
				"/script":   "<script>'<title>no</title>'</script><title>yes</title>",
				"/long":     "<title>" + strings.Repeat("é", 100) + "</title>",
				"/markup":   "<title><b>bold</b><script>alert(1)</script></title>",
				"/unclosed": "<title>never ends",
			}[r.URL.Path])
		}
	})
	c := New(Options{Public: onlyHere})
	for path, want := range map[string]string{
		"/plain": "A & B", "/lines": "One line here", "/og": "From a card", "/empty": "From a card", "/none": "", "/script": "yes",
		"/long": strings.Repeat("é", 32), "/markup": "<b>bold</b><script>alert(1)</script>", "/unclosed": "never ends", "/latin": "Grüße", "/meta": "Grüße", "/svg": "picture",
	} {
		p, err := page(t, c, s.URL+path)
		expect.That(t, err == nil && p.Title == want, "%s: got %q, %v; want %q", path, p.Title, err, want)
	}
}

func TestNothingPrivateIsAsked(t *testing.T) {
	asked := atomic.Int64{}
	inside := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); writePage(w, "<title>secret</title>") })
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	var to atomic.Pointer[string]
	out := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, *to.Load(), http.StatusFound) })
	c := New(Options{Public: onlyHere, Patience: 2 * time.Second})
	for _, address := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:" + port + "/", "http://[::1]:" + port + "/", "http://[::ffff:127.0.0.1]:" + port + "/", "http://10.0.0.1/",
		"http://192.168.1.1/", "http://[fd00::1]/", "http://[fe80::1]/", "http://[64:ff9b::a00:1]/", "http://0.0.0.0:" + port + "/", "http://100.64.0.1/", "http://localhost:" + port + "/",
	} {
		_, err := page(t, c, address)
		expect.Error(t, err, errNoHost, "at once: "+address)
		to.Store(&address)
		_, err = page(t, c, out.URL)
		expect.Error(t, err, errNoHost, "after a redirect: "+address)
	}
	for _, address := range []string{"file:///etc/passwd", "gopher://a.example/", "ftp://a.example/", "http://a\\@127.0.0.1/", "javascript:alert(1)", "http://user:pw@a.example/"} {
		to.Store(&address)
		_, err := page(t, c, out.URL)
		expect.That(t, err != nil, "%s is asked", address)
	}
	expect.Equal(t, asked.Load(), 0, "requests to the server inside")
}

// TestANameThatLeadsElsewhereTheNextTimeIsRefusedAtTheDial has a name whose address is public when it is asked for the
// first time, and of this machine from then on.
func TestANameThatLeadsElsewhereTheNextTimeIsRefusedAtTheDial(t *testing.T) {
	inside := atomic.Int64{}
	out := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	_, port, _ := net.SplitHostPort(out.Listener.Addr().String())
	serveAt(t, "127.0.0.1:"+port, func(http.ResponseWriter, *http.Request) { inside.Add(1) })
	dns := serveNames(t, func(_ string, n int64) (netip.Addr, bool) {
		if n == 1 {
			return here, true
		}
		return netip.MustParseAddr("127.0.0.1"), true
	})
	_, err := page(t, New(Options{Public: onlyHere, Resolver: dns.resolver()}), "http://rebinds.test.:"+port+"/")
	expect.Error(t, err, errNoHost)
	expect.That(t, dns.asked.Load() >= 2 && inside.Load() == 0, "%d lookups, %d requests inside", dns.asked.Load(), inside.Load())
}

// TestNobodyIsToldWhichNamesANetworkHas asks for a name that leads to a private address, one that leads to this machine
// and one that nobody has: at once, after a redirect, and in a check.
func TestNobodyIsToldWhichNamesANetworkHas(t *testing.T) {
	leads := map[string]netip.Addr{"intranet.test.": netip.MustParseAddr("10.1.2.3"), "local.test.": netip.MustParseAddr("127.0.0.1"), "out.test.": here}
	dns := serveNames(t, func(name string, _ int64) (netip.Addr, bool) { to, known := leads[name]; return to, known })
	c := New(Options{Public: onlyHere, Resolver: dns.resolver(), Patience: 4 * time.Second})
	var to atomic.Pointer[string]
	out := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, *to.Load(), http.StatusFound) })
	_, port, _ := net.SplitHostPort(out.Listener.Addr().String())
	for _, name := range []string{"intranet.test.", "local.test.", "nobody.test."} {
		address := "http://" + name + "/"
		_, err := page(t, c, address)
		expect.Error(t, err, errNoHost, "at once: "+name)
		expect.Equal(t, explain(err).Error(), explain(errNoHost).Error(), name)
		expect.Error(t, c.answers(t.Context(), address, may), errNoHost, "in a check: "+name)
		to.Store(&address)
		_, err = page(t, c, "http://out.test.:"+port+"/")
		expect.Error(t, err, errNoHost, "after a redirect: "+name)
	}
}

// TestAServerThatSendsWithoutEndIsLeft has servers that send 10 GB, in a head, a page and an icon, or nothing at all.
func TestAServerThatSendsWithoutEndIsLeft(t *testing.T) {
	sent := atomic.Int64{}
	flood := func(w http.ResponseWriter, piece string) {
		for range 10 << 30 / len(piece) {
			n, err := io.WriteString(w, piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}
	piece := strings.Repeat("<p>text</p>", 1000)
	s := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			writePage(w, "<title>Much")
			flood(w, piece)
		case "/untitled":
			writePage(w, "")
			flood(w, piece)
		case "/named":
			writePage(w, `<title>Named</title><link rel="icon" href="/icon"><body>`)
		case "/icon", "/favicon.ico":
			flood(w, "\x89PNG\r\n\x1a\n"+piece)
		case "/silent":
			<-r.Context().Done()
		case "/stops":
			writePage(w, "<title>Half")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/drips":
			writePage(w, "")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "<!-- -->")
				w.(http.Flusher).Flush()
			}
		}
	})
	c := New(Options{Public: onlyHere, Patience: 30 * time.Second})
	p, err := page(t, c, s.URL+"/page")
	expect.That(t, err == nil && strings.HasPrefix(p.Title, "Much"), "got %q, %v", p.Title, err)
	p, err = page(t, c, s.URL+"/untitled")
	expect.That(t, err == nil && p.Title == "" && p.Icon == nil, "got %q, %v", p.Title, err)
	p, err = page(t, c, s.URL+"/named")
	expect.That(t, err == nil && p.Title == "Named" && p.Icon == nil, "got %q, %v", p.Title, err)
	expect.That(t, sent.Load() < 64<<20, "%d bytes were sent", sent.Load())
	short := New(Options{Public: onlyHere, Patience: 50 * time.Millisecond})
	for _, path := range []string{"/silent", "/drips"} {
		_, err := page(t, short, s.URL+path)
		expect.That(t, err != nil || path == "/drips", "%s: no error", path)
	}
	_, err = page(t, short, s.URL+"/silent")
	expect.Error(t, err, errSilent)
}

func TestRedirectsAreFollowedFiveTimes(t *testing.T) {
	s := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		if n == 0 {
			expect.That(t, r.Header.Get("Cookie") == "" && r.Header.Get("Referer") == "" && strings.Contains(r.UserAgent(), "bot"), "got %v", r.Header)
			writePage(w, "<title>End</title>")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, fmt.Sprintf("../%d", n-1), []int{301, 302, 303, 307, 308}[n%5])
	})
	c := New(Options{Public: onlyHere})
	p, err := page(t, c, s.URL+"/5")
	expect.That(t, err == nil && p.Title == "End" && p.Address == s.URL+"/0", "got %+v, %v", p, err)
	_, err = page(t, c, s.URL+"/6")
	expect.Error(t, err, errHops)
}

func TestAnIconIsDrawnAnew(t *testing.T) {
	red := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		red.SetNRGBA(i%64, i/64, color.NRGBA{200, 0, 0, 255})
	}
	var asPNG, asGIF bytes.Buffer
	expect.OK(t, png.Encode(&asPNG, red))
	expect.OK(t, gif.Encode(&asGIF, red, nil))
	var large bytes.Buffer
	expect.OK(t, png.Encode(&large, image.NewGray(image.Rect(0, 0, 1025, 1025))))
	bomb := bytes.Clone(asPNG.Bytes())
	copy(bomb[16:], "\x00\x01\x00\x00\x00\x01\x00\x00")
	files := map[string][]byte{"png": asPNG.Bytes(), "gif": asGIF.Bytes(), "large": large.Bytes(), "bomb": bomb, "svg": []byte("<svg/>"), "half": asPNG.Bytes()[:80], "none": nil}
	s := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if file, ok := files[strings.TrimPrefix(name, "icon-")]; ok && strings.HasPrefix(name, "icon-") {
			_, _ = w.Write(file)
			return
		}
		if name == "favicon.ico" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		writePage(w, `<link rel="Shortcut ICON" href="icon-`+name+`"><title>t</title>`)
	})
	c := New(Options{Public: onlyHere})
	for name := range files {
		p, err := page(t, c, s.URL+"/"+name)
		expect.OK(t, err)
		if name != "png" && name != "gif" {
			expect.That(t, p.Icon == nil, "%s: an icon", name)
			continue
		}
		icon, err := png.Decode(bytes.NewReader(p.Icon))
		expect.OK(t, err)
		r, g, _, a := icon.At(16, 16).RGBA()
		expect.That(t, icon.Bounds().Dx() == 32 && icon.Bounds().Dy() == 32 && r>>8 > 190 && g == 0 && a == 0xffff, "%s: got %v, %d %d %d", name, icon.Bounds(), r, g, a)
	}
}

func TestWhatIsNoPageIsSaid(t *testing.T) {
	s := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/pdf":
			w.Header().Set("Content-Type", "application/pdf")
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/empty":
			w.Header().Set("Content-Type", "text/html")
		}
	})
	c := New(Options{Public: onlyHere})
	for address, want := range map[string]string{
		s.URL + "/pdf": "is not a page", s.URL + "/gone": "answers with status 410", "http://127.0.0.2:1/": "cannot be reached",
	} {
		_, err := page(t, c, address)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v", address, err)
	}
	dns := serveNames(t, func(string, int64) (netip.Addr, bool) { return here, true })
	expect.OK(t, dns.conn.SetDeadline(time.Unix(1, 0))) // it answers nobody
	_, err := page(t, New(Options{Public: onlyHere, Resolver: dns.resolver(), Patience: 100 * time.Millisecond}), "http://a.test./")
	expect.That(t, errors.Is(err, errSilent) || errors.Is(err, errNoHost), "got %v", err)
}

// FuzzReadHead has any bytes as a page.
func FuzzReadHead(f *testing.F) {
	for _, text := range []string{"<title>a</title>", "<link rel=icon href=x>", "<meta property='og:title' content='\x00'>", "<title", "\xff\xfe<\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := readHead(strings.NewReader(text))
		expect.That(t, !strings.ContainsAny(h.title, "\n\r\x00\x1b") && len(h.icons) <= maxIconLinks, "got %+v", h)
		got := cut(h.title, 64)
		expect.That(t, len(got) <= 64 && strings.ToValidUTF8(got, "") == got, "got %q", got)
	})
}
