package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"shunt/api/redirect"
	"shunt/engine"
	"shunt/engine/expect"
)

// refusedPrefetch is the whole answer to a prefetch, without its date.
const refusedPrefetch = "HTTP/1.1 503 Service Unavailable\r\nDate: then\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"

// prefetchLines are what browsers and apps say of a request that nobody looks at yet.
var prefetchLines = []string{
	"Sec-Purpose: prefetch", "Sec-Purpose: prefetch;prerender", "Sec-Purpose: prefetch;anonymous-client-ip", "sec-purpose: Prerender",
	"Purpose: prefetch", "Purpose: preview", "X-Purpose: preview", "X-Moz: prefetch",
}

// A browser that has followed a redirect ahead does not ask again on a click, so a prefetch is refused
// where a redirect would follow. The click after it is redirected and counts.
func TestAPrefetchIsRefusedAndTheClickCountsThroughEveryDoor(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		for _, status := range redirect.Statuses {
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"s%d","redirect_status":%[1]d,"forward_query":true}`, status))
		}
		st.shorten(`{"url":"http://a/","alias":"once","max_hits":1}`)
		c := dial()
		r := bufio.NewReader(c)
		ask := func(method, path, body string, lines ...string) string {
			expect.OK(t, expect.Err(io.WriteString(c, requestText(method, path, body, lines...))))
			return headOf(t, r, method)
		}
		prefetches, clicks := uint64(0), uint64(0)
		for _, status := range redirect.Statuses {
			path := fmt.Sprintf("/s%d?q", status)
			for _, line := range prefetchLines {
				prefetches++
				expect.Equal(t, ask("GET", path, "", browser, line, "Accept: application/json, text/html"), refusedPrefetch, "GET %s, %s", path, line)
			}
			if status >= 307 {
				prefetches++
				expect.Equal(t, ask("POST", path, "dropped", browser, prefetchLines[0]), refusedPrefetch, "POST %s", path)
			}
			clicks++
			got := ask("GET", path, "", browser)
			expect.That(t, strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", status)) && strings.Contains(got, "\r\nLocation: http://a/?q\r\n"), "the click: got\n%s", got)
			expect.Contains(t, ask("HEAD", path, "", browser, prefetchLines[0]), "\r\nLocation: http://a/?q\r\n", "HEAD")
		}
		for range 3 {
			prefetches++
			expect.Equal(t, ask("GET", "/once", "", browser, prefetchLines[0]), refusedPrefetch, "a link for one visitor")
		}
		clicks++
		got := ask("GET", "/once", "", browser)
		expect.That(t, strings.HasPrefix(got, "HTTP/1.1 302 "), "the visitor for whom the cap is: got\n%s", got)
		for _, lines := range [][]string{{browser}, {browser, prefetchLines[0]}} {
			got := ask("GET", "/once", "", lines...)
			expect.That(t, strings.HasPrefix(got, "HTTP/1.1 410 "), "the second visitor, %q: got\n%s", lines, got)
		}
		st.wantStats("once", 1, 1) // folds
		heads := uint64(len(redirect.Statuses))
		if got, want := st.engine.Metrics().Redirects, [...]uint64{clicks, 0, prefetches, heads}; got != want {
			t.Errorf("by class: got %v, want %v (hit, bot, prefetch, head)", got, want)
		}
		var redirects uint64
		for _, n := range st.redirects.Counts().Redirects {
			redirects += n
		}
		expect.Equal(t, redirects, clicks+heads, "redirects")
	})
}

// headOf returns the head of the next answer, without its date; its body is read and dropped.
func headOf(t *testing.T, r *bufio.Reader, method string) string {
	t.Helper()
	var head strings.Builder
	length := 0
	for {
		line, err := r.ReadString('\n')
		expect.OK(t, err, "after %q", head.String())
		head.WriteString(line)
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil && line == "\r\n" {
			break
		}
	}
	if method != "HEAD" {
		expect.OK(t, expect.Err(r.Discard(length)))
	}
	return undated([]byte(head.String()))
}

func TestAPrefetchWithoutARedirectGetsWhatEverybodyGets(t *testing.T) {
	st := newSite(t, func(o *Options) {
		blocking(t, o, "http://b/?evil\n")
	})
	st.shorten(`{"url":"http://a/","alias":"off","disabled":true}`)
	st.shorten(`{"url":"http://a/","alias":"long","forward_query":true}`)
	st.shorten(`{"url":"http://b/","alias":"bad","forward_query":true}`)
	for request, status := range map[string]int{
		"GET /off": 410, "GET /nope": 404, "DELETE /long": 405, "GET /long?" + strings.Repeat("x", engine.MaxTargetBytes): 414, "GET /bad?evil": 403,
		"GET /long+": 200, "GET /long.svg": 200, "GET /robots.txt": 200, "GET /": 200,
	} {
		method, path, _ := strings.Cut(request, " ")
		want := send(t, st.publicAt, method, requestText(method, path, "", browser))
		send(t, st.publicAt, method, requestText(method, path, "", browser, prefetchLines[0])).expect(t, fmt.Sprintf("%.40s", request), status, bodyOf(want.body))
	}
	st.wantStats("off", 0, 0) // folds
	expect.Equal(t, st.engine.Metrics().Redirects, [4]uint64{}, "by class")
}

// The 503 of a prefetch is what the server means to say, so nothing counts it as a failure or a miss.
func TestAPrefetchIsNoErrorInMetrics(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	before := st.metricsText()
	for range 5 {
		st.get("/x", browser, prefetchLines[0]).need(t, "", 503)
	}
	st.wantStats("x", 0, 0) // folds
	after := st.metricsText()
	for _, name := range []string{"shunt_redirects_total", "shunt_redirect_misses_total", "shunt_http_requests_total", "shunt_shed_total"} {
		got, want := linesOf(after, name), linesOf(before, name)
		expect.That(t, got == want && strings.Contains(after, "# TYPE "+name+" "), "%s: got\n%s\nwant\n%s", name, got, want)
	}
	expect.Contains(t, after, "shunt_hits_total{class=\"prefetch\"} 5\n", "got\n%s", linesOf(after, "shunt_hits_total"))
}

// linesOf returns the values of a metric that are not of the requests for metrics themselves.
func linesOf(metrics, name string) string {
	var b strings.Builder
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, name+"{") && !strings.HasSuffix(line, " 0\n") && !strings.Contains(line, `code="2`) {
			b.WriteString(line)
		}
	}
	return b.String()
}
