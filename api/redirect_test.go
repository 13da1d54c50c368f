package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/accesslog"
	"shunt/api/domain"
	"shunt/api/ops"
	"shunt/api/redirect"
	"shunt/api/visitor"
	"shunt/api/wire/http1"
	"shunt/engine"
	"shunt/engine/expect"
)

// breakdown returns a link's hits by the values of a dimension, in alphabetical order.
func (st *site) breakdown(code, dimension string) string {
	st.t.Helper()
	r := st.call("GET", "/stats/"+code+"?include="+dimension, "")
	var lists map[string]json.RawMessage
	var values []ops.ValueFigures
	err := json.Unmarshal([]byte(r.body), &lists)
	if err == nil {
		err = json.Unmarshal(lists[dimension], &values)
	}
	expect.OK(st.t, err, "%s of %s: got %d %s", dimension, code, r.status, r.body)
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v.Value, " ", v.Hits))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func TestOnlyHitsAreBrokenDown(t *testing.T) {
	table := readCountries(t, false, map[string]string{"1.0.0.0/24": "AU", "91.0.0.0/10": "DE"})
	st := newSite(t, func(o *Options) {
		o.TrustedProxies, o.Countries, o.CountryHeader = someProxies.Trusted, table, "CF-IPCountry"
	})
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	proxy, direct := st.from("10.0.0.1"), st.from("91.1.2.3")
	const iPhone = "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
		"Version/17.5 Mobile/15E148 Safari/604.1"
	send(t, proxy, "GET", requestText("GET", "/x", "", browser, "X-Forwarded-For: 1.0.0.1", "Referer: https://www.example.com/a"))
	send(t, proxy, "GET", requestText("GET", "/x", "", iPhone, "X-Forwarded-For: 91.1.2.3", "CF-IPCountry: FR", "Referer: HTTP://EXAMPLE.com"))
	send(t, proxy, "GET", requestText("GET", "/x", "", iPhone, "X-Forwarded-For: 91.1.2.3", "CF-IPCountry: XX", "Referer: nonsense"))
	send(t, direct, "GET", requestText("GET", "/x", "", "User-Agent: curl/8.8.0", "CF-IPCountry: FR"))
	send(t, direct, "HEAD", requestText("HEAD", "/x", "", browser, "Referer: https://head.example/"))
	send(t, direct, "GET", requestText("GET", "/x", "", browser, "Sec-Purpose: prefetch", "Referer: https://prefetch.example/"))
	send(t, direct, "GET", requestText("GET", "/x", "", "User-Agent: Twitterbot/1.0", "Referer: https://bot.example/"))
	for dimension, want := range map[string]string{
		"referrers": "direct 1, example.com 2, other 1",
		"countries": "AU 1, DE 1, FR 1, other 1",
		"devices":   "desktop 1, mobile 2, other 1",
		"browsers":  "Firefox 1, Safari 2, command line 1",
	} {
		expect.Equal(t, st.breakdown("x", dimension), want, dimension)
	}
	st.wantStats("x", 4, 3)
}

func TestLongAndBinaryHeadersAreRedirectedAndCounted(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	const long = 8 << 10
	hits := uint64(0)
	for _, lines := range [][]string{
		{browser, "Referer: https://" + strings.Repeat("a", long) + ".example/"},
		{browser, "Referer: https://news.example/" + strings.Repeat("p", long)},
		{"User-Agent: " + strings.Repeat("u", long)},
		{"User-Agent: \xff\xfe\x80" + strings.Repeat("\xc3\x28", 200), "Referer: \xff\xfe://\x80"},
		{browser, "Referer: not a URL"},
	} {
		hits++
		st.get("/x", lines...).expect(t, fmt.Sprintf("%.40q", lines), 302)
	}
	expect.Equal(t, st.breakdown("x", "referrers"), "direct 1, news.example 1, other 3")
	st.wantStats("x", hits, 3) // three User-Agents
	st.get("/x", browser, "Referer: https://"+strings.Repeat("a", 17<<10)).expect(t, "a header over 16 KiB", 431)
	st.wantStats("x", hits, 3)
}

// redirectOf returns a function that calls the handler for one code, without a network: the cost of
// a redirect. lines are further header lines (name, value, name, value…).
func redirectOf(st *site, code, agent string, lines ...string) (ctx *fasthttp.RequestCtx, redirect func()) {
	var req fasthttp.Request
	req.Header.SetRequestURI("/" + code)
	req.Header.SetUserAgent(agent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	req.Header.Set("X-Forwarded-For", "192.0.2.77, 10.0.0.9")
	for i := 0; i < len(lines); i += 2 {
		req.Header.Set(lines[i], lines[i+1])
	}
	ctx = parsed(&req, tcpAddr("10.0.0.1"))
	return ctx, func() {
		ctx.Response.Reset()
		st.front.handle(ctx)
	}
}

// BenchmarkRedirect measures redirectOf. dims=on has a referrer and a country, from a file or a
// proxy; dims=off has neither. Device and browser come with the look-up of the bot, so both have
// them.
func BenchmarkRedirect(b *testing.B) {
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
	table := readCountries(b, true, map[string]string{"192.0.2.0/24": "DE", "91.0.0.0/10": "DE"})
	lines := []string{"Referer", "https://www.example.com/some/page?of=usual&length=yes", "CF-IPCountry", "DE"}
	for _, c := range []struct {
		name, agent   string
		countries     *visitor.Countries
		countryHeader string
		lines         []string
	}{
		{"agent=bot/dims=off", "Twitterbot/1.0", nil, "", nil},
		{"agent=browser/dims=off", firefox, nil, "", nil},
		{"agent=browser/dims=on/country=file", firefox, table, "", lines[:2]},
		{"agent=browser/dims=on/country=header", firefox, table, "CF-IPCountry", lines},
	} {
		b.Run(c.name, func(b *testing.B) {
			st := newSite(b, func(o *Options) {
				o.TrustedProxies, o.Now, o.Countries, o.CountryHeader = someProxies.Trusted, nil, c.countries, c.countryHeader
			})
			st.shorten(`{"url":"https://example.com/some/path/of/usual/length?with=query&and=more","alias":"x"}`)
			ctx, redirect := redirectOf(st, "x", c.agent, c.lines...)
			b.ReportAllocs()
			for b.Loop() {
				redirect()
			}
			if ctx.Response.StatusCode() != 302 {
				b.Fatalf("got %d", ctx.Response.StatusCode())
			}
		})
	}
}

// BenchmarkRedirectTargets measures answerPlain over 4,096 links whose targets are coded by a table of symbols, and
// over the same ones that are kept plain: what decoding costs a redirect.
func BenchmarkRedirectTargets(b *testing.B) {
	b.Run("targets=plain", func(b *testing.B) { benchmarkRedirectTargets(b, true) })
	b.Run("targets=coded", func(b *testing.B) { benchmarkRedirectTargets(b, false) })
}

func benchmarkRedirectTargets(b *testing.B, plain bool) {
	const links = 4096
	st := newSiteOn(b, func(o *engine.Options) { o.PlainTargets = plain }, func(o *Options) { o.Now = nil })
	st.shortenMany(links) // these train the table
	if !plain {
		time.Sleep(time.Second) // until it is trained
	}
	st.shortenMany(3 * links) // moves all shards to the table
	requests := make([]*http1.Plain, links)
	for i := range requests {
		requests[i] = plainOf(b, st, "192.0.2.77", requestText("GET", fmt.Sprintf("/l%07d", 2*links+i), "", "User-Agent: Twitterbot/1.0"))
	}
	runtime.GC() // unmaps what the shards have left
	time.Sleep(100 * time.Millisecond)
	if mapped := st.engine.Metrics().ArenaBytes; (mapped > 64<<14) != plain { // 64 shards with one chunk each
		b.Fatalf("arenas have %d bytes: targets are not as they should be", mapped)
	}
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		out = st.front.answerPlain(out[:0], requests[i%links])
	}
	expect.MustThat(b, bytes.HasPrefix(out, []byte("HTTP/1.1 302")), "got %.100q", out)
}

// shortenMany makes the links l0000000 up to before n, unless they exist.
func (st *site) shortenMany(n int) {
	st.t.Helper()
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"url":"https://shop.example.com/catalogue/%d/item-%x?campaign=spring&id=%d","alias":"l%07d"}`, i%89, i*7919, i, i))
	}
	for some := range slices.Chunk(items, 512) {
		got, _, r := st.bulk("application/json", "["+strings.Join(some, ",")+"]")
		expect.MustContains(st.t, got, " 0: ", "%d %.300s", r.status, r.body)
	}
}

func TestRawHeadersWithTwoPrefetchLinesAreReadWithoutAllocation(t *testing.T) {
	ctx := requestFrom(tcpAddr("192.0.2.1"), "Purpose", "foo", "Cookie", "a=b; c=d", "Purpose", "prefetch")
	var got bool
	allocations := testing.AllocsPerRun(100, func() { got = redirect.IsPrefetch(ctx.Request.Header.RawHeaders()) })
	if !got || allocations != 0 {
		t.Errorf("got %v and %v allocations, want true and 0", got, allocations)
	}
}

// BenchmarkAccessLog is what a line costs a plain redirect. Nothing writes the lines, so the buffers
// are emptied by a Run that runs beside.
func BenchmarkAccessLog(b *testing.B) {
	const firefox = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
	logs := map[string]*accesslog.Options{
		"log=off": nil, "log=json": {}, "log=combined": {Combined: true}, "log=json/clients": {Clients: true}, "log=json/sample=100": {Sample: 100},
	}
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		b.Run(name, func(b *testing.B) {
			o := logs[name]
			st := newSite(b, func(so *Options) {
				so.Now = nil
				if o != nil {
					o.Path = os.DevNull
					so.Access, _ = accesslog.Open(*o)
				}
			})
			if o != nil {
				st.run(st.front.access.Run)
			}
			st.shorten(`{"url":"https://example.com/some/path/of/usual/length","alias":"x"}`)
			r := plainOf(b, st, "192.0.2.77", requestText("GET", "/x", "", firefox))
			out := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				out = st.front.answerPlain(out[:0], r)
			}
		})
	}
}

// BenchmarkPlainAnswer measures answerPlain, without reading the request: a redirect of the browser
// of BenchmarkRedirect, and a miss as a page, compressed and not, and as JSON.
func BenchmarkPlainAnswer(b *testing.B) {
	const firefox = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
	for _, c := range []struct {
		name, path string
		status     string
		lines      []string
	}{
		{"answer=redirect/agent=bot", "/x", "302", []string{"User-Agent: Twitterbot/1.0"}},
		{"answer=redirect/agent=browser", "/x", "302", []string{firefox}},
		{"answer=redirect/agent=browser/referrer=on", "/x", "302", []string{firefox, "Referer: https://www.example.com/some/page?of=usual&length=yes"}},
		{"answer=404/as=page", "/unknown", "404", []string{firefox, "Accept: text/html,application/xhtml+xml"}},
		{"answer=404/as=gzip", "/unknown", "404", []string{firefox, "Accept: text/html,application/xhtml+xml", "Accept-Encoding: gzip"}},
		{"answer=404/as=JSON", "/unknown", "404", []string{firefox, "Accept: application/json"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			st := newSite(b, func(o *Options) { o.TrustedProxies, o.Now = someProxies.Trusted, nil })
			st.shorten(`{"url":"https://example.com/some/path/of/usual/length?with=query&and=more","alias":"x"}`)
			lines := append(c.lines, "X-Forwarded-For: 192.0.2.77, 10.0.0.9")
			r := plainOf(b, st, "10.0.0.1", requestText("GET", c.path, "", lines...))
			out := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				out = st.front.answerPlain(out[:0], r)
			}
			if got := string(out[9:12]); got != c.status {
				b.Fatalf("got %s", got)
			}
		})
	}
}

// BenchmarkPlainAnswerOfADomain measures a redirect with one domain and with a hundred, on the default one and on
// another.
func BenchmarkPlainAnswerOfADomain(b *testing.B) {
	const browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
	for _, c := range []struct {
		domains int
		host    string
	}{{1, "sho.rt"}, {100, "sho.rt"}, {100, "d42.example"}} {
		b.Run(fmt.Sprintf("domains=%d/host=%s", c.domains, c.host), func(b *testing.B) {
			st := newSite(b, func(o *Options) { o.Now = nil })
			for i := 1; i < c.domains; i++ {
				host := fmt.Sprintf("d%d.example", i)
				st.addDomain(domain.Domain{Host: host})
				st.shorten(`{"url":"https://example.com/some/path/of/usual/length?with=query&and=more","alias":"abcdefgh","domain":"` + host + `"}`)
			}
			st.shorten(`{"url":"https://example.com/some/path/of/usual/length?with=query&and=more","alias":"abcdefgh"}`)
			r := plainOf(b, st, "10.0.0.1", strings.Replace(requestText("GET", "/abcdefgh", "", browser), "Host: any.example", "Host: "+c.host, 1))
			out := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				out = st.front.answerPlain(out[:0], r)
			}
			expect.Equal(b, string(out[9:12]), "302")
		})
	}
}
