package client_test

import (
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

func TestInvalidClientOptionsAreRefused(t *testing.T) {
	header := func(name, value string) *client.Options { return &client.Options{Header: http.Header{name: {value}}} }
	for name, c := range map[string]struct {
		baseURL, token string
		options        *client.Options
		want           string
	}{
		"no address":                   {"", "", nil, "base URL"},
		"an address without a scheme":  {"sho.rt", "", nil, "base URL"},
		"an address of another scheme": {"ftp://sho.rt", "", nil, "base URL"},
		"an address with a path":       {"https://sho.rt/api", "", nil, "origin"},
		"an address with a query":      {"https://sho.rt?x", "", nil, "origin"},
		"an address with a password":   {"https://u:hidden@sho.rt", "", nil, "origin"},
		"an address that is none":      {"https://sho.rt:port", "", nil, "base URL"},
		"a token with a line's end":    {"https://sho.rt", "shunt_hidden\r\nX: y", nil, "token"},
		"a token with a space":         {"https://sho.rt", "Bearer hidden", nil, "token"},
		"a token in the header":        {"https://sho.rt", "", header("authorization", "Bearer hidden"), "Authorization"},
		"a key in the header":          {"https://sho.rt", "", header("Idempotency-Key", "hidden"), "Idempotency-Key"},
		"a header with a line's end":   {"https://sho.rt", "", header("X", "hidden\r\nY: z"), `"X"`},
		"a User-Agent with a line":     {"https://sho.rt", "", &client.Options{UserAgent: "hidden\n"}, "User-Agent"},
		"a negative timeout":           {"https://sho.rt", "", &client.Options{Timeout: -1}, "Timeout"},
		"a negative number":            {"https://sho.rt", "", &client.Options{Retry: client.Retry{Attempts: -1}}, "Retry"},
	} {
		_, err := client.New(c.baseURL, c.token, c.options)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "hidden"),
			"%s: got %v, want an error with %q that tells no secret", name, err, c.want)
	}
}

func TestEachRequestSaysWhoAsksAndWhat(t *testing.T) {
	s := &script{answers: []answer{says(200, someLink)}}
	c, err := client.New("https://sho.rt/", "shunt_secret", &client.Options{
		Transport: s, UserAgent: "me/1", Header: http.Header{"x-team": {"blue"}},
	})
	expect.OK(t, err)
	expect.OK(t, expect.Err(c.Update(t.Context(), "a/b?", client.Edit{Title: client.Set("t")}, client.Owner(7), client.IfVersion(3))))
	got := s.seen[0]
	expect.That(t, got.Method == "PATCH" && got.URL.String() == "https://sho.rt/api/v1/links/a%2Fb%3F?owner=7" && got.body == `{"title":"t"}`,
		"got %s %s %s", got.Method, got.URL, got.body)
	for name, want := range map[string]string{
		"Authorization": "Bearer shunt_secret", "User-Agent": "me/1", "X-Team": "blue", "If-Match": `"3"`, "Content-Type": "application/json",
		"Idempotency-Key": "",
	} {
		expect.Equal(t, got.Header.Get(name), want, name)
	}
}

func TestAnOptionThatDoesNotApplySendsNothing(t *testing.T) {
	c, script := scripted(t, client.Retry{}, says(200, someLink))
	ctx := t.Context()
	for name, err := range map[string]error{
		"a version of a read":       second(c.Link(ctx, "a", client.IfVersion(1))),
		"a key of an edit":          second(c.Update(ctx, "a", client.Edit{}, client.IdempotencyKey("k"))),
		"an owner of a creation":    second(c.Shorten(ctx, client.Draft{}, client.Owner(1))),
		"links kept of a link":      c.Delete(ctx, "a", client.KeepLinks()),
		"the version of a list":     c.Delete(ctx, "a", client.IfVersion(client.Link{}.Version)),
		"a key that is too long":    second(c.Shorten(ctx, client.Draft{}, client.IdempotencyKey(strings.Repeat("k", 256)))),
		"a key of more than a word": second(c.ShortenBulk(ctx, nil, client.IdempotencyKey("a b"))),
	} {
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), "client: "), "%s: got %v, want an error of the client's", name, err)
	}
	expect.That(t, len(script.seen) == 0, "%d requests were sent", len(script.seen))
}

func TestAQueryIsWhatWasAskedAndNoMore(t *testing.T) {
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for want, call := range map[string]func(*client.Client) error{
		"/stats/a": func(c *client.Client) error { return second(c.Stats(t.Context(), "a", client.StatsQuery{})) },
		"/stats/a?from=2026-01-02T02%3A04%3A05Z&include=bots%2Cerror&interval=day&owner=all&to=2026-01-02T03%3A04%3A05Z": func(c *client.Client) error {
			q := client.StatsQuery{From: moment, To: moment.Add(time.Hour), Interval: client.Daily, Include: []client.Include{client.IncludeBots, client.IncludeError}}
			return second(c.Stats(t.Context(), "a", q, client.AnyOwner()))
		},
		"/stats?tag=x+y&top=3": func(c *client.Client) error {
			return second(c.OwnerStats(t.Context(), client.OwnerStatsQuery{Tag: "x y", Top: 3}))
		},
		"/misses":                     func(c *client.Client) error { return second(c.Misses(t.Context(), 0)) },
		"/misses?domain=b.test&top=9": func(c *client.Client) error { return second(c.Misses(t.Context(), 9, client.InDomain("b.test"))) },
		"/links?include=unique&limit=7&q=%C3%BC&state=disabled&tag=t": func(c *client.Client) error {
			return firstOf(c.Links(t.Context(), client.LinksQuery{Q: "ü", Tag: "t", State: client.StateDisabled, Unique: true, PageSize: 7}))
		},
		"/links?created_from=2026-01-02T02%3A04%3A05Z&created_to=2026-01-02T03%3A04%3A05Z&never_hit=true&order=asc&sort=hits": func(c *client.Client) error {
			return firstOf(c.Links(t.Context(), client.LinksQuery{Sort: "hits", Ascending: true, NeverHit: true, CreatedFrom: moment, CreatedTo: moment.Add(time.Hour)}))
		},
		"/audit": func(c *client.Client) error { return firstOf(c.Audit(t.Context(), client.AuditQuery{})) },
		"/audit?actor=ann%40example.com&code=a&from=2026-01-02T02%3A04%3A05Z&limit=9&to=2026-01-02T03%3A04%3A05Z": func(c *client.Client) error {
			return firstOf(c.Audit(t.Context(), client.AuditQuery{Actor: "ann@example.com", Code: "a", From: moment, To: moment.Add(time.Hour), PageSize: 9}))
		},
		"/x?a=b&owner=2": func(c *client.Client) error { return c.Do(t.Context(), "GET", "/x?a=b", nil, nil, client.Owner(2)) },
	} {
		c, script := scripted(t, client.Retry{}, says(200, `{}`))
		expect.NoError(t, call(c), want)
		expect.Equal(t, strings.TrimPrefix(script.seen[0].URL.String(), "https://sho.rt/api/v1"), want)
	}
}

// firstOf returns the error of the first row of a list.
func firstOf[T any](rows iter.Seq2[T, error]) error {
	for _, err := range rows {
		return err
	}
	return nil
}
