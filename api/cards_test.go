package api

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shunt/api/domain"
	"shunt/api/turnstile"
	"shunt/engine"
	"shunt/engine/expect"
)

// User-Agents of programs that show previews of links, and of others.
const (
	slackbot  = "User-Agent: Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
	iMessage  = "User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0"
	googlebot = "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

// linkOfCard has a hostile card.
const linkOfCard = `{"url":"http://a/?b","alias":"card","redirect_status":301,"query":"append","forward_path":true,` +
	`"card":{"title":"</title><script>alert(1)</script>","description":"\"><img src=x onerror='alert(2)'> & ß","image":"https://i.example/ß\"'<>.png?a&b"}}`

// cardIn returns the title and the properties in a page, as programs that show previews read it. Elements and
// attributes that no card has fail the test.
func cardIn(t *testing.T, page string) map[string]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	expect.OK(t, err)
	found := make(map[string]string)
	for n := range root.Descendants() {
		attribute := make(map[string]string)
		for _, a := range n.Attr {
			attribute[a.Key] = a.Val
		}
		text := ""
		if n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			text = n.FirstChild.Data
		}
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "title" || n.Data == "h1" || n.Data == "p":
			found[n.Data] = text
		case n.Data == "meta" && attribute["charset"] == "":
			found[attribute["property"]+attribute["name"]] = attribute["content"]
			expect.Equal(t, len(n.Attr), 2, "attributes of %v", n.Attr)
		default:
			expect.That(t, strings.Contains(" html head body meta ", " "+n.Data+" "), "the page has an element %s", n.Data)
		}
	}
	return found
}

func TestACardIsShownToProgramsThatShowPreviewsThroughEveryDoor(t *testing.T) {
	everyDoor(t, func(o *Options) { o.BaseURL = "https://sho.rt" }, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(linkOfCard)
		st.shorten(`{"url":"http://a/","alias":"plain","redirect_status":301}`)
		st.shorten(`{"url":"http://a/","alias":"bare","card":{"title":"T"}}`)
		for _, agent := range []string{slackbot, iMessage, aBot} {
			for _, lines := range [][]string{{agent}, {agent, prefetchLines[0]}} {
				for method, ends := range map[string]string{"GET": "</html>\n", "HEAD": "\r\n\r\n"} {
					got := answered(t, dial(), requestText(method, "/card", "", lines...))
					for _, line := range []string{"Cache-Control: private, no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "Content-Type: text/html; charset=utf-8"} {
						expect.Contains(t, got, "\r\n"+line+"\r\n", "%s by %s", method, agent)
					}
					expect.That(t, strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") && strings.HasSuffix(got, ends) && location(got) == "", "%s by %s: got\n%s", method, agent, got)
				}
			}
			_, page, _ := strings.Cut(answered(t, dial(), requestText("GET", "/card", "", agent)), "\r\n\r\n")
			const title, description = "</title><script>alert(1)</script>", `"><img src=x onerror='alert(2)'> & ß`
			expect.Equal(t, fmt.Sprint(cardIn(t, page)), fmt.Sprint(map[string]string{
				"title": title, "og:title": title, "h1": title, "description": description, "og:description": description, "p": description,
				"og:type": "website", "og:url": "https://sho.rt/card", "og:image": "https://i.example/%C3%9F%22'%3C%3E.png?a&b", "twitter:card": "summary_large_image",
			}), "the card")
			_, page, _ = strings.Cut(answered(t, dial(), requestText("GET", "/bare).", "", agent)), "\r\n\r\n")
			expect.Equal(t, fmt.Sprint(cardIn(t, page)), fmt.Sprint(map[string]string{
				"title": "T", "og:title": "T", "h1": "T", "og:type": "website", "og:url": "https://sho.rt/bare", "twitter:card": "summary",
			}), "a card with a title only")
			_, page, _ = strings.Cut(answered(t, dial(), requestText("GET", "/card/d\"/e?f=%22\"&g", "", agent)), "\r\n\r\n")
			expect.Equal(t, cardIn(t, page)["og:url"], "https://sho.rt/card/d%22/e?f=%22%22&g", "the address with what the link passes on")
		}
		for _, lines := range [][]string{{browser}, {googlebot}, nil, {"User-Agent: curl/8.8.0"}} {
			got := answered(t, dial(), requestText("GET", "/card?c", "", lines...))
			expect.That(t, location(got) == "http://a/?b&c" && strings.Contains(got, "\r\nCache-Control: private, no-store\r\n"), "%q: got\n%s", lines, got)
		}
		expect.Contains(t, answered(t, dial(), requestText("GET", "/plain", "", slackbot)), "\r\nLocation: http://a/\r\nCache-Control: private, max-age=90\r\n", "a link without a card")
		expect.Contains(t, answered(t, dial(), requestText("GET", "/card+", "", slackbot)), "Where this link leads", "a preview of our own")
	})
}

func TestACardCountsNothingOfItsLink(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(linkOfCard)
		st.shorten(`{"url":"http://a/","alias":"once","max_hits":1,"card":{"title":"T"}}`)
		for i := range 5 {
			for _, path := range []string{"/card", "/once"} {
				got := answered(t, dial(), requestText([]string{"GET", "HEAD"}[i%2], path, "", slackbot))
				expect.That(t, strings.HasPrefix(got, "HTTP/1.1 200 "), "%s: got\n%s", path, got)
			}
		}
		expect.Equal(t, answered(t, dial(), requestText("GET", "/once", "", browser))[:13], "HTTP/1.1 302 ", "the only hit")
		expect.Equal(t, answered(t, dial(), requestText("GET", "/once", "", slackbot))[:13], "HTTP/1.1 410 ", "once it is used up")
		st.wantStats("card", 0, 0)
		st.wantStats("once", 1, 1)
		expect.Equal(t, fmt.Sprint(st.engine.Metrics().Redirects), "[1 0 0 0]", "hits, bots, prefetches and heads")
		expect.Equal(t, st.metric(`shunt_redirect_misses_total{reason="card"}`), "10", "cards")
		expect.Equal(t, st.metric(`shunt_redirect_misses_total{reason="exhausted"}`), "1", "used up")
	})
}

// A state of the link comes before its card; a location that is too long does not.
func TestTheStateOfALinkComesBeforeItsCard(t *testing.T) {
	everyDoor(t, func(o *Options) { blocking(t, o, "bad.example\n") }, func(t *testing.T, st *site, dial func() net.Conn) {
		expect.OK(t, expect.Err(st.targets.Blocked.Replace(nil))) // until the links are made
		for alias, fields := range map[string]string{
			"blocked": `"url":"http://bad.example/"`, "off": `"url":"http://a/","disabled":true`, "soon": `"url":"http://a/","starts_at":"2027-01-01"`,
			"over": `"url":"http://a/","expires_at":"2026-01-02T03:05:00Z"`, "on": `"url":"http://a/","expires_at":"2026-01-02T03:05:00Z","expired_url":"http://over/"`,
			"locked": `"url":"http://a/","password":"correct horse"`,
			"rule":   `"url":"http://a/","rules":[{"url":"http://bad.example/","conditions":[{"type":"query-param","match_key":"x","match_value":"1"}]}]`,
			"split":  `"url":"http://bad.example/","split":[{"url":"http://b/","weight":1},{"url":"http://c/","weight":1}]`,
		} {
			st.shorten(`{"alias":"` + alias + `","card":{"title":"T","image":"http://bad.example/i.png"},` + fields + `}`)
		}
		st.shorten(linkOfCard)
		expect.OK(t, expect.Err(st.targets.Blocked.Replace([]byte("bad.example\n"))))
		st.now.Add(60_000)
		for path, want := range map[string]string{
			"/blocked": "403", "/off": "410", "/soon": "404", "/over": "410", "/on": "302 http://over/", "/rule?x=1": "403", "/rule": "200", "/split": "403", "/nope": "404", "/locked": "401",
			"/card?" + strings.Repeat("x", 8170): "200",
		} {
			got := answered(t, dial(), requestText("GET", path, "", slackbot))
			expect.Equal(t, strings.TrimSpace(got[len("HTTP/1.1 "):len("HTTP/1.1 302")]+" "+location(got)), want, "%.20s", path)
			expect.That(t, !strings.Contains(got, "bad.example"), "%.20s: an image that is blocked now is shown: got\n%s", path, got)
		}
		expect.Contains(t, answered(t, dial(), requestText("POST", "/card", "", slackbot)), "HTTP/1.1 405 ", "a POST")
		st.shorten(`{"url":"http://a/","alias":"sent-on","redirect_status":307,"card":{"title":"T"}}`)
		expect.Contains(t, answered(t, dial(), requestText("POST", "/sent-on", "", slackbot)), "HTTP/1.1 307 ", "a POST that is redirected")
		expect.Contains(t, answered(t, dial(), requestText("GET", "/sent-on", "", slackbot)), "HTTP/1.1 200 ", "a GET of it")
	})
}

func TestACardIsThatOfItsDomainAndOfTheLinkAsItIsNow(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{Folds: true}})
	st.shorten(`{"url":"http://a/","alias":"x","card":{"title":"default"}}`)
	st.call("POST", "/shorten", `{"url":"http://b/","alias":"X","domain":"b.test","card":{"title":"b"}}`).need(t, "", 201)
	dial := doors[0].open(t, st)
	show := func(host, path string) map[string]string {
		t.Helper()
		r := sendOn(t, dial, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"+slackbot+"\r\n\r\n")
		if r.status != 200 {
			return map[string]string{"status": fmt.Sprint(r.status)}
		}
		return cardIn(t, r.body)
	}
	expect.Equal(t, show("other.test", "/x")["og:title"], "default")
	got := show("b.test", "/x")
	expect.That(t, got["og:title"] == "b" && strings.HasSuffix(got["og:url"], "://b.test:8080/X"), "got %v", got)
	patch := func(fields, want string) {
		t.Helper()
		r := st.call("PATCH", "/links/x", fields)
		expect.Equal(t, field(t, r.body, "card"), want, "%s: %d %s", fields, r.status, r.body)
	}
	patch(`{"card":{"description":"d"}}`, `{"title":"default","description":"d","image":null}`)
	patch(`{"card":{"title":"t","image":"i.example/x"}}`, `{"title":"t","description":"d","image":"https://i.example/x"}`)
	patch(`{"card":{"image":null},"title":"other"}`, `{"title":"t","description":"d","image":null}`)
	patch(`{"card":{}}`, `{"title":"t","description":"d","image":null}`)
	expect.Equal(t, show("other.test", "/x")["og:description"], "d")
	expect.Equal(t, st.call("PATCH", "/links/x", `{"card":{"title":null}}`).fields(), "card.title:required", "a card without a title")
	patch(`{"card":{"title":null,"description":null}}`, "")
	expect.Equal(t, show("other.test", "/x")["status"], "302", "without its card")
	expect.Equal(t, st.call("PATCH", "/links/x", `{"card":{"description":"d"}}`).fields(), "card.title:required", "a description alone")
	patch(`{"card":{"title":"t"}}`, `{"title":"t","description":null,"image":null}`)
	st.call("DELETE", "/links/x", "").need(t, "", 204)
	expect.Equal(t, show("other.test", "/x")["status"], "404", "a deleted link")
}

// While links are loaded, a card comes from the store as its link does.
func TestACardIsShownWhileLinksAreLoaded(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := unloadedSite(t, d.options(nil))
			st.plant("card", func(r *engine.Record) { r.SetCard(engine.Card{Title: "T"}) })
			st.plant("capped", func(r *engine.Record) {
				r.Hot.MaxHits, r.Hot.Flags = 5, engine.FlagCapped
				r.SetCard(engine.Card{Title: "T"})
			})
			open := d.open(t, st)
			expect.Contains(t, answered(t, open(), requestText("GET", "/card", "", slackbot)), `<meta property="og:title" content="T">`)
			expect.Contains(t, answered(t, open(), requestText("GET", "/capped", "", slackbot)), "HTTP/1.1 503 ", "a link of which nobody knows whether it is used up")
			loaded(t, st)
			expect.Contains(t, answered(t, open(), requestText("GET", "/capped", "", slackbot)), "HTTP/1.1 200 ", "once it is known")
		})
	}
}

func TestACardIsNotReadWithoutAPlace(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(linkOfCard)
	whole := st.others.Previews.Places
	st.others.Previews.Places = turnstile.New(turnstile.Limits{Places: 1})
	expect.NoError(t, st.others.Previews.Places.Enter(turnstile.Key{}))
	st.get("/card", slackbot).expect(t, "a program", 503, problemOf("overloaded"), some("Retry-After"))
	expect.Equal(t, st.get("/card", browser).status, 301, "everybody else")
	st.others.Previews.Places = whole
	expect.Equal(t, st.get("/card", slackbot).status, 200, "with a place")
}

func TestACardIsFilledInShownAndTakenOffOnPages(t *testing.T) {
	st, b := withAnn(t, nil)
	page := b.open("/_/links")
	expect.Contains(t, page.body, "Card for previews in chats")
	const title, image = `</p><script>alert(1)</script>`, "https://i.example/\"'<>.png"
	made := b.follow(page.form("/_/links").with("url", "https://a.example/", "alias", "x", "card.title", title, "card.image", image))
	made.want("The link is ready.")
	shown := b.open("/_/link/x")
	shown.want("Card", title, image)
	wantHarmless(shown)
	card := func() string { return field(t, st.call("GET", "/links/x?owner=all", "").body, "card") }
	expect.Equal(t, card(), `{"title":"</p><script>alert(1)</script>","description":null,"image":"https://i.example/\"'<>.png"}`)
	edit := b.open(editX).form(editX)
	expect.Equal(t, edit.values.Get("card.title"), title)
	b.follow(edit.with("card.title", "T", "card.description", "D")).want("The link is saved.")
	expect.Equal(t, card(), `{"title":"T","description":"D","image":"https://i.example/\"'<>.png"}`)
	refused := b.submit(b.open(editX).form(editX).with("card.title", "", "card.image", "http://127.0.0.1:8080/i.png"))
	expect.That(t, refused.status == 422 && refused.at("link-card.image-error") != "", "got %d %s", refused.status, refused.text())
	wantHarmless(refused)
	refused = b.submit(b.open(editX).form(editX).with("card.title", ""))
	expect.Equal(t, refused.at("link-card.title-error"), "Must be given.")
	b.follow(b.open(editX).form(editX).with("card.title", "", "card.description", "", "card.image", "")).want("The link is saved.")
	expect.Equal(t, card(), "")
}
