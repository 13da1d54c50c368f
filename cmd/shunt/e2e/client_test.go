package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"shunt/engine/expect"
)

func TestACommandRetriesPassingFailuresAndReportsOthers(t *testing.T) {
	t.Parallel()
	const link, figures = `{"code":"a","short_url":"https://sho.rt/a"}`, `{"hits":0,"unique":0}`
	add, stats := []string{"add", "https://example.org"}, []string{"stats", "a"}
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	refuse := func(status int, code, retryAfter string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"code":%q,"detail":"D"}`, code)
		}
	}
	for name, c := range map[string]struct {
		args           []string
		first          func(http.ResponseWriter)
		answer, stdout string
		stderr         string
		code, requests int
	}{
		"a lost answer to add": {add, cut, link, "^https://sho.rt/a\n$", "", exitDone, 2},
		"an unknown outcome":   {add, refuse(503, "outcome_unknown", ""), link, "^https://sho.rt/a\n$", "", exitDone, 2},
		"an overloaded server": {stats, refuse(503, "overloaded", ""), figures, "^hits", "", exitDone, 2},
		"a rate limit":         {stats, refuse(429, "rate_limited", ""), figures, "^hits", "", exitDone, 2},
		"a long Retry-After":   {add, refuse(503, "read_only", "10"), link, "", `^shunt: add: D \(503 read_only\)\n$`, exitFailed, 1},
		"an unknown token":     {stats, refuse(401, "unauthorized", ""), figures, "", `^shunt: stats a: D \(401 unauthorized\)\n$`, exitFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			var keys [2]atomic.Value
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := requests.Add(1)
				keys[min(n, 2)-1].Store(r.Header.Get("Idempotency-Key"))
				if n == 1 {
					c.first(w)
					return
				}
				fmt.Fprint(w, c.answer)
			}))
			defer elsewhere.Close()
			r := shunt(t, "", []string{"SHUNT_TOKEN=t"}, append(c.args, "--server", elsewhere.URL)...)
			r.want(t, c.code, c.stdout, c.stderr)
			expect.Equal(t, int(requests.Load()), c.requests, "requests")
			if key := keys[0].Load(); (key == "") != (c.args[0] == "stats") || c.requests == 2 && keys[1].Load() != key {
				t.Errorf("got keys %v and %v, want one key for an add, and the same when it is repeated", key, keys[1].Load())
			}
		})
	}
}
