package api

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A head that does not come to its end is refused through every door with the same bytes, and counted
// in the same way.
func TestALateHeadIsRefusedAlikeThroughEveryDoor(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"it stops in a line":    "GET /x HTTP/1.1\r\nHost: ",
		"it stops after a line": "HEAD /x HTTP/1.1\r\nHost: sho.rt\r\n",
		"it is not plain":       "POST /api/links HTTP/1.1\r\nHost: sho.rt\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			want, counted := "", ""
			everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
				c := dial()
				expect.OK(t, expect.Err(io.WriteString(c, head)))
				answered := make(chan string)
				go func() {
					answer, err := io.ReadAll(c)
					if err != nil {
						answer = []byte(err.Error())
					}
					answered <- undated(answer)
				}()
				got := ""
				for second := 0; got == ""; second++ {
					patience := 5 * time.Millisecond // so that the bytes come before the seconds pass
					if second > 10 {
						patience = 200 * time.Millisecond // so that the answer comes before the connection is cut
					}
					select {
					case got = <-answered:
					case <-time.After(patience):
						st.public.Sweep()
					}
					expect.MustThat(t, second <= 40, "not answered")
				}
				_, metrics, _ := strings.Cut(st.metricsText(), `shunt_http_requests_total{code="408"`)
				metrics, _, _ = strings.Cut(metrics, "\n")
				if want == "" {
					want, counted = got, metrics
				}
				expect.That(t, got == want && metrics == counted && strings.HasPrefix(got, "HTTP/1.1 408 "),
					"got\n%s%s\nwant\n%s%s", got, metrics, want, counted)
			})
		})
	}
}

// A server that has not read its links yet cannot say whether a cap is used up. It says so through
// every door, and redirects as soon as it has read them.
func TestALoadingServerAnswersAlikeThroughEveryDoor(t *testing.T) {
	want := ""
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := unloadedSite(t, d.options(nil))
			st.plantAll()
			click, prefetch := requestText("GET", "/capped", ""), requestText("GET", "/capped", "", prefetchLines[0])
			answer := func(c net.Conn, ask string) string {
				expect.OK(t, expect.Err(io.WriteString(c, ask+strings.Replace(ask, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))))
				all, err := io.ReadAll(c)
				expect.NoError(t, err)
				return undated(all)
			}
			open := d.open(t, st)
			got := answer(open(), click)
			if want == "" {
				want = got
			}
			expect.That(t, got == want && strings.Count(got, "HTTP/1.1 503 ") == 2 && strings.Contains(got, "\r\nRetry-After: "),
				"got\n%s\nwant\n%s", got, want)
			expect.Equal(t, answer(open(), prefetch), got, "a prefetch")
			loaded(t, st)
			got = answer(open(), prefetch)
			expect.That(t, strings.Count(got, "HTTP/1.1 503 ") == 2 && !strings.Contains(got, "Retry-After"), "a prefetch, once it is loaded: got\n%s", got)
			got = answer(open(), click)
			expect.Equal(t, strings.Count(got, "HTTP/1.1 302 "), 2, "once it is loaded: got\n%s", got)
		})
	}
}
