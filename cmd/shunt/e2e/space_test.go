package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// TestWithoutSpaceLinksAreRefusedAndRedirectsGoOn requires more free space than any disk has.
func TestWithoutSpaceLinksAreRefusedAndRedirectsGoOn(t *testing.T) {
	t.Parallel()
	e := &e2e{t: t}
	dir := t.TempDir()
	e.server = startServer(t, dir)
	e.token = e.server.token()
	e.wantAnswer(http.MethodPost, "/shorten", `{"url":"https://example.org/","alias":"kept"}`, http.StatusCreated, `"code":"kept"`)
	e.server.terminate()

	e.server = startServer(t, dir, "--min-free-space", "1000000TiB")
	e.wantAnswer(http.MethodPost, "/shorten", `{"url":"https://example.org/"}`, http.StatusServiceUnavailable, `"code":"read_only"`)
	e.wantAnswer(http.MethodDelete, "/links/kept", "", http.StatusServiceUnavailable, `"code":"read_only"`)
	status, _ := fetch(t, e.server.public+"/kept")
	expect.Equal(t, status, http.StatusFound, "redirect")
	e.wantAnswer(http.MethodGet, "/stats/kept", "", http.StatusOK, `{"hits":1,"unique":1}`)
	if status, got := fetch(t, e.server.admin+"/readyz"); status != http.StatusOK || !strings.HasPrefix(got, "ready, read_only") {
		t.Errorf("readyz: got %d %q", status, got)
	}
	_, got := fetch(t, e.server.admin+"/metrics")
	expect.Contains(t, got, "\nshunt_read_only 1\n", "the metric does not report it")
	r := shunt(t, "", nil, "token", "add", "--name", "more", "--data", dir)
	expect.That(t, r.code == exitFailed && strings.Contains(r.stderr, "nothing can be written"), "token add: got %d %s", r.code, r.stderr)
	e.server.terminate()

	e.server = startServer(t, dir)
	e.wantAnswer(http.MethodGet, "/stats/kept", "", http.StatusOK, `{"hits":1,"unique":1}`)
	e.wantAnswer(http.MethodDelete, "/links/kept", "", http.StatusNoContent, "")
	e.server.terminate()
}

// wantAnswer sends an API request and checks the status and a part of the answer.
func (r *e2e) wantAnswer(method, path, body string, status int, part string) {
	r.t.Helper()
	r.each(1, func(c *fasthttp.HostClient, _ int) {
		response := r.api(c, method, path, []byte(body))
		if got := string(response.Body()); response.StatusCode() != status || !strings.Contains(got, part) {
			r.t.Errorf("%s %s: got %d %s, want %d with %s", method, path, response.StatusCode(), got, status, part)
		}
		expect.That(r.t, status != http.StatusServiceUnavailable || len(response.Header.Peek("Retry-After")) != 0,
			"%s %s: no Retry-After", method, path)
	})
}
