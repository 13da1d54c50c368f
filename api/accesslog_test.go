package api

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/api/accesslog"
	"shunt/engine/expect"
)

// accessLogOf opens an access log for a site, and returns what gives its lines, after all of them
// were written.
func accessLogOf(t *testing.T, o accesslog.Options) (change func(*Options), lines func(st *site) []string) {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "access")
	log, err := accesslog.Open(o)
	expect.OK(t, err)
	return func(so *Options) { so.Access = log }, func(st *site) []string {
		st.shutDown()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = log.Run(ctx) // writes what is left
		text, err := os.ReadFile(o.Path)
		expect.OK(t, err)
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

func TestEveryDoorWritesTheSameAccessLog(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			change, lines := accessLogOf(t, accesslog.Options{Clients: true})
			st := newSite(t, d.options(change))
			st.shorten(`{"url":"http://a.example/","alias":"known"}`)
			dial := d.open(t, st)
			want := map[string]int{}
			for path, status := range map[string]int{"/known?secret": 302, "/known.&secret": 302, "/known/#secret": 302, "/unknown": 404, "/api/v1/me": 401, "/robots.txt": 200} {
				raw := requestText("GET", path, "", "User-Agent: an agent", "Connection: close")
				exchangeOn(t, dial(), raw)
				if end := strings.IndexAny(path, "?&#"); end >= 0 {
					path = path[:end]
				}
				want[fmt.Sprint(path, " ", status, " an agent false")]++
			}
			exchangeOn(t, dial(), requestText("GET", "/known", "", "User-Agent: an agent", prefetchLines[0], "Connection: close"))
			want["/known 503 an agent true"]++
			got := map[string]int{}
			for _, line := range lines(st) {
				var e struct {
					Path     string
					Status   int
					Agent    string `json:"user_agent"`
					Prefetch bool
				}
				expect.OK(t, json.Unmarshal([]byte(line), &e), "%q", line)
				got[fmt.Sprint(e.Path, " ", e.Status, " ", e.Agent, " ", e.Prefetch)]++
			}
			for line, n := range want {
				expect.Equal(t, got[line], n, "%s lines, of %v", line, got)
			}
		})
	}
}

func TestALineOfTheAccessLogHasTheIDOfItsRequest(t *testing.T) {
	change, lines := accessLogOf(t, accesslog.Options{})
	st := newSite(t, change)
	st.get("/_/sign-in", "X-Request-Id: the-id")
	st.get("/unread", "Content-Length: 1", "Content-Length: 2")
	text := strings.Join(lines(st), "\n")
	expect.That(t, strings.Contains(text, `"path":"/_/sign-in","status":200`) && strings.Contains(text, `"request_id":"the-id"`) &&
		strings.Contains(text, `"method":"-","path":"-","status":400`), "got\n%s", text)
}
