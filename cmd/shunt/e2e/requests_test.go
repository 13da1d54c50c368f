package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/cmd/shunt/porttest"
	"shunt/engine/expect"
)

// A reply is an answer whose whole body was read.
type reply struct {
	*http.Response
	text string
}

// try sends a request with header fields (name, value, …) and follows no redirect.
func try(by http.RoundTripper, method, url, body string, fields ...string) (reply, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	answer, err := by.RoundTrip(request)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return reply{answer, string(text)}, err
}

// do is try for a request that must be answered.
func do(t testing.TB, method, url, body string, fields ...string) reply {
	t.Helper()
	r, err := try(http.DefaultTransport, method, url, body, fields...)
	expect.OK(t, err)
	return r
}

// onNewConnections sends each request on a connection of its own.
var onNewConnections = &http.Transport{DisableKeepAlives: true}

// withToken are the header fields of a call of the API.
func withToken(token string, more ...string) []string {
	return append([]string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}, more...)
}

// ask sends a GET with a token and returns the body.
func ask(t testing.TB, url, token string) string {
	t.Helper()
	return do(t, "GET", url, "", "Authorization", "Bearer "+token).text
}

// fetch sends a GET with header fields and returns status and body.
func fetch(t testing.TB, url string, fields ...string) (status int, body string) {
	t.Helper()
	r := do(t, "GET", url, "", fields...)
	return r.StatusCode, r.text
}

// follow requests a short address once.
func follow(t testing.TB, short, want string) {
	t.Helper()
	r := do(t, "GET", short, "")
	got := r.Header.Get("Location")
	expect.That(t, r.StatusCode == http.StatusFound && got == want, "%s: got %d to %q, want 302 to %q", short, r.StatusCode, got, want)
}

// send sends a request through a proxy with HTTPS that names the client, and returns the status; 0: no
// answer.
func send(url, token, body, client string) int {
	fields := withToken(token)
	if client != "" {
		fields = append(fields, "X-Forwarded-For", client, "X-Forwarded-Proto", "https")
	}
	r, err := try(http.DefaultTransport, "POST", url, body, fields...)
	if err != nil {
		return 0
	}
	return r.StatusCode
}

// loggedIn logs in over HTTP and returns the status.
func loggedIn(t testing.TB, p *process, email, password string) int {
	t.Helper()
	return do(t, "POST", p.public+"/api/v1/session", credentials(email, password), "Content-Type", "application/json").StatusCode
}

func credentials(email, password string) string {
	body, _ := json.Marshal(map[string]string{"email": email, "password": password})
	return string(body)
}

// create makes a link by the API.
func (p *process) create(token, alias, target string, status int) {
	p.t.Helper()
	body, _ := json.Marshal(map[string]any{"url": target, "alias": alias, "redirect_status": status})
	r := do(p.t, "POST", p.public+"/api/v1/shorten", string(body), withToken(token)...)
	expect.MustEqual(p.t, r.StatusCode, http.StatusCreated, "%s %s", alias, r.text)
}

// figure returns the value of a metric, "" if it is missing.
func (p *process) figure(name string) string { return metricIn(ask(p.t, p.admin+"/metrics", ""), name) }

// metricIn returns the value of a metric in the text of all.
func metricIn(metrics, name string) string {
	_, value, _ := strings.Cut(metrics, "\n"+name+" ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// await waits until something is so, and returns how long that took.
func await(t testing.TB, what string, limit time.Duration, isSo func() bool, more ...fmt.Stringer) time.Duration {
	t.Helper()
	begun := time.Now()
	for !isSo() {
		expect.MustThat(t, time.Since(begun) <= limit, "after %v still not: %s\n%v", limit, what, more)
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(begun)
}

// awaitLog waits until p has logged a text.
func (p *process) awaitLog(text string) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%q is logged", text), time.Minute, func() bool { return strings.Contains(p.stderr(), text) }, p)
}

// String returns the end of what the process has logged.
func (p *process) String() string { return p.lastWords() }

// freeAddress returns an address with a port that nobody else gets.
func freeAddress(t testing.TB) string {
	t.Helper()
	return porttest.Hold(t, "127.0.0.1")
}
