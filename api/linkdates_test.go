package api

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// answered sends a request without a body as the last of a connection, and returns all bytes of the answer.
func answered(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	defer c.Close()
	go io.WriteString(c, strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
	answer, err := io.ReadAll(c)
	expect.NoError(t, err)
	return undated(answer)
}

// A link that has not started is like no link, to the byte: through every door, for a redirect, a preview and a QR
// code, whatever its status, and also to clients that prefer JSON.
func TestALinkThatHasNotStartedLooksLikeNoLinkThroughEveryDoor(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		for _, status := range []int{301, 302, 307, 308} {
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"soon-%d","redirect_status":%[1]d,"starts_at":"2026-01-02T03:05:00Z"}`, status))
		}
		for _, suffix := range []string{"", "+", ".svg", ".png", "?a=b", ")"} {
			for _, lines := range [][]string{{browser}, {browser, "Accept: application/json"}, {prefetchLines[0]}} {
				want := answered(t, dial(), requestText("GET", "/none-302"+suffix, "", lines...))
				expect.That(t, strings.HasPrefix(want, "HTTP/1.1 404 ") && strings.Contains(want, "\r\nCache-Control: no-store\r\n"), "no link: got\n%s", want)
				for _, status := range []int{301, 302, 307, 308} {
					got := answered(t, dial(), requestText("GET", fmt.Sprintf("/soon-%d%s", status, suffix), "", lines...))
					expect.Equal(t, got, want, "%d, %q, %q", status, suffix, lines)
				}
			}
		}
		expect.Equal(t, st.counted(), "4 links, 0 redirects")
		st.wantStats("soon-301", 0, 0)
		top, _, _ := st.redirects.Missed(10, everyDomain)
		for _, m := range top {
			expect.That(t, !strings.HasPrefix(m.Key.Code, "soon"), "%v is among the codes that have no link", m.Key)
		}
		expect.That(t, st.metric(`shunt_redirect_misses_total{reason="scheduled"}`) != "0", "requests before the start are not in the metrics")

		st.now.Add(55_000 - 1)
		expect.That(t, strings.HasPrefix(answered(t, dial(), requestText("GET", "/soon-301", "", browser)), "HTTP/1.1 404 "), "a millisecond before its start")
		st.now.Add(1)
		for _, status := range []int{301, 302, 307, 308} {
			path := fmt.Sprint("/soon-", status)
			got := answered(t, dial(), requestText("GET", path, "", browser))
			expect.That(t, strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", status)) && strings.Contains(got, "\r\nLocation: http://a/\r\n"), "at its start: got\n%s", got)
			st.get(path+"+", browser).expect(t, path+"+", 200, "http://a/")
			st.get(path+".svg", browser).expect(t, path+".svg", 200)
		}
		st.wantStats("soon-301", 1, 1)
	})
}

func TestTheOwnerSeesALinkThatHasNotStarted(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","starts_at":"2026-02-01"}`)
	st.call("GET", "/links/x", "").expect(t, "a date is the beginning of the day", 200, `"state":"scheduled"`, `"starts_at":"2026-02-01T00:00:00Z"`)
	for state, want := range map[string]int{"scheduled": 1, "active": 0} {
		page, _ := st.list(st.token, "state="+state)
		expect.Equal(t, len(page.Data), want, "links of state %s", state)
	}
	st.call("PATCH", "/links/x", `{"starts_at":null}`).expect(t, "no start", 200, `"state":"active"`, `"starts_at":null`)
	st.get("/x", browser).expect(t, "no start", 302)
}

func TestALinkStartsBeforeItExpires(t *testing.T) {
	st := newSite(t, nil)
	const order = "starts_at:reversed"
	for body, want := range map[string]string{
		`"starts_at":"2026-02-01","expires_at":"2026-01-31"`:                     order,
		`"starts_at":"2026-02-01T00:00:00Z","expires_at":"2026-02-01T00:00:00Z"`: order,
		`"starts_at":"2026-02-01","expires_at":"2026-02-01"`:                     "",
	} {
		r := st.call("POST", "/shorten", `{"url":"http://a/",`+body+`}`)
		expect.Equal(t, r.fields(), want, "%s: got %d", body, r.status)
	}
	st.shorten(`{"url":"http://a/","alias":"x","starts_at":"2026-02-01","expires_at":"2026-03-01"}`)
	for _, patch := range []string{`{"expires_at":"2026-01-31"}`, `{"starts_at":"2026-03-02"}`} {
		r := st.call("PATCH", "/links/x", patch)
		expect.That(t, r.status == 422 && r.fields() == order, "%s: got %d %s", patch, r.status, r.body)
	}
	st.call("PATCH", "/links/x", `{"starts_at":"2026-03-02","expires_at":"2026-03-03"}`).expect(t, "both", 200)
	item := itemOf(st.call("POST", "/import", `[{"code":"y","url":"http://a/","starts_at":"2026-02-01","expires_at":"2026-01-31"}]`))
	expect.Equal(t, item.fields(), order, "import")
}

func TestALinkInTheStoreThatHasNotStartedLooksLikeNoLinkWhileLinksAreLoaded(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := unloadedSite(t, d.options(nil))
			start := time.UnixMilli(st.now.Load() + 10_000)
			for _, code := range []string{"soon", "soon-too"} {
				st.plant(code, func(r *engine.Record) { r.SetStart(start) })
			}
			st.plant("soon-capped", func(r *engine.Record) {
				r.SetStart(start)
				r.Hot.MaxHits, r.Hot.Flags = 3, engine.FlagCapped
			})
			st.run(st.engine.Run)
			open := d.open(t, st)
			for _, suffix := range []string{"", "+", ".svg"} {
				want := answered(t, open(), requestText("GET", "/none"+suffix, "", browser))
				for _, code := range []string{"soon", "soon-too", "soon-capped"} {
					expect.Equal(t, answered(t, open(), requestText("GET", "/"+code+suffix, "", browser)), want, "%s%s", code, suffix)
				}
			}
			expect.NoError(t, st.engine.Load(t.Context(), nil))
			expect.That(t, strings.HasPrefix(answered(t, open(), requestText("GET", "/soon", "", browser)), "HTTP/1.1 404 "), "once they are loaded")
		})
	}
}

// Unknown codes are limited. Whoever tries codes must not see by the limit which ones have a link.
func TestALinkThatHasNotStartedCountsTowardsTheLimitOfUnknownCodes(t *testing.T) {
	st := limitedSite(t, nil)
	for i, path := range []string{"/none", "/soon", "/soon+"} {
		st.callAs(st.token, "POST", "/shorten", `{"url":"http://a/","alias":"soon","starts_at":"2027-01-01"}`)
		a := asker{t, st.from(fmt.Sprint("192.0.2.", i+1)), nil}
		for n := range 5 {
			want := 404
			if n >= 3 {
				want = 429
			}
			a.ask("GET", path, "").expect(t, fmt.Sprint(path, ", request ", n+1), want)
		}
	}
}

// What a link that is over answers, through every door: its expired_url if it has one that is not blocked.
func TestALinkThatIsOverSendsItsVisitorsElsewhereThroughEveryDoor(t *testing.T) {
	everyDoor(t, func(o *Options) { blocking(t, o, "bad.example\n") }, func(t *testing.T, st *site, dial func() net.Conn) {
		expect.OK(t, expect.Err(st.targets.Blocked.Replace(nil))) // until the links are made
		const over, soon = `"expired_url":"https://over.example/é?a=b#c"`, `"expires_at":"2026-01-02T03:05:00Z"`
		for alias, fields := range map[string]string{
			"expired":          `"url":"http://a/","redirect_status":301,"forward_query":true,` + soon + "," + over,
			"sent-on":          `"url":"http://a/","redirect_status":307,` + soon + "," + over,
			"used-up":          `"url":"http://a/","redirect_status":308,"forward_query":true,"max_hits":1,` + over,
			"blocked":          `"url":"http://bad.example/",` + soon + "," + over,
			"disabled":         `"url":"http://a/",` + soon + "," + over,
			"blocked-after":    `"url":"http://a/",` + soon + `,"expired_url":"https://bad.example/"`,
			"used-up-blocked":  `"url":"http://a/","max_hits":1,"expired_url":"https://bad.example/"`,
			"expired-and-soon": `"url":"http://a/","max_hits":1,` + over,
		} {
			st.shorten(`{"alias":"` + alias + `",` + fields + `}`)
		}
		ask := func(method, path string, lines ...string) string {
			return answered(t, dial(), requestText(method, path, "", append(lines, browser)...))
		}
		for _, alias := range []string{"used-up", "used-up-blocked", "expired-and-soon", "expired"} {
			got := ask("GET", "/"+alias)
			expect.That(t, strings.Contains(got, "\r\nLocation: http://a/\r\n"), "%s, before its end: got\n%s", alias, got)
		}
		st.call("PATCH", "/links/disabled", `{"disabled":true}`).need(t, "", 200)
		st.call("PATCH", "/links/expired-and-soon", `{"starts_at":"2027-01-01"}`).need(t, "", 200)
		st.now.Add(60_000)
		expect.OK(t, expect.Err(st.targets.Blocked.Replace([]byte("bad.example\n"))))

		const elsewhere = "HTTP/1.1 302 Found\r\n"
		for path, want := range map[string]string{
			"/expired": elsewhere, "/expired?x=y": elsewhere, "/expired).": elsewhere, "/sent-on": elsewhere, "/used-up": elsewhere,
			"/used-up?" + strings.Repeat("x", 8<<10): elsewhere, "/expired-and-soon": elsewhere,
			"/blocked": "HTTP/1.1 403 ", "/disabled": "HTTP/1.1 410 ", "/blocked-after": "HTTP/1.1 410 ", "/used-up-blocked": "HTTP/1.1 410 ",
			"/expired+": "HTTP/1.1 410 ", "/used-up.svg": "HTTP/1.1 410 ",
		} {
			for _, lines := range [][]string{nil, {prefetchLines[0]}} {
				got := ask("GET", path, lines...)
				sent := strings.Contains(got, "\r\nLocation: https://over.example/%C3%A9?a=b#c\r\n") && strings.Contains(got, "\r\nCache-Control: private, no-store\r\n")
				expect.That(t, strings.HasPrefix(got, want) && sent == (want == elsewhere) && (want == elsewhere) == strings.HasSuffix(got, "\r\n\r\n"),
					"GET %.40s %q: got\n%s, want %s", path, lines, got, want)
				head := ask("HEAD", path, lines...)
				expect.That(t, strings.HasPrefix(head, want), "HEAD %.40s: got\n%s", path, head)
			}
		}
		expect.That(t, strings.HasPrefix(ask("POST", "/expired"), "HTTP/1.1 405 "), "a POST to a link with 301")
		expect.That(t, strings.HasPrefix(ask("POST", "/sent-on"), elsewhere), "a POST to a link with 307")
		for alias, hits := range map[string]uint64{"expired": 1, "sent-on": 0, "used-up": 1, "expired-and-soon": 1} {
			st.wantStats(alias, hits, hits)
		}
		expect.Equal(t, st.counted(), "8 links, 4 redirects")
		st.wantState("expired", "expired")
		st.wantState("used-up", "exhausted")
		st.wantState("expired-and-soon", "exhausted")
		expect.That(t, st.metric(`shunt_redirect_misses_total{reason="fallback"}`) != "0", "they are not in the metrics")
	})
}

// The last hits of a cap are fought for: each visitor gets the target or the expired_url, and no page.
func TestTheLastHitsOfACapAndTheFirstFallbacksRace(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		const limit, visitors = 20, 40
		st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"x","max_hits":%d,"expired_url":"http://over/"}`, limit))
		answers := make(chan string)
		for range visitors {
			c := dial()
			go func() { answers <- answered(t, c, requestText("GET", "/x", "", browser)) }()
		}
		targets, fallbacks := 0, 0
		for range visitors {
			got := <-answers
			targets += strings.Count(got, "\r\nLocation: http://a/\r\n")
			fallbacks += strings.Count(got, "\r\nLocation: http://over/\r\n")
		}
		expect.That(t, targets == limit && fallbacks == visitors-limit, "%d of %d got the target, %d the expired_url", targets, visitors, fallbacks)
		st.wantStats("x", limit, 1)
	})
}
