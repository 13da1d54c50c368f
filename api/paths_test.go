package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"shunt/api/client"
	"shunt/engine"
	"shunt/engine/expect"
)

// pathCodes are codes of the links of newPathSite, whose targets end in the code.
var pathCodes = []string{"abc", "a", "a/b", "a/b/c.d-e_f", "v1.2", "dot", "dot.", ".a", strings.Repeat("x/", 31) + "yz"}

func (st *site) shortenPaths() {
	st.t.Helper()
	for _, code := range pathCodes {
		o := st.shorten(fmt.Sprintf(`{"url":"http://a.example/%s","alias":%q,"forward_query":true}`, code, code))
		expect.Equal(st.t, o.ShortURL, "http://127.0.0.1:8080/"+code)
	}
}

// typedPaths are paths that people send, with what follows http://a.example/ in the location; empty: a 404.
var typedPaths = map[string]string{
	"/a": "a", "/a/": "a", "/a/b": "a/b", "/a/b/": "a/b", "/a/b?x=1": "a/b?x=1", "/a/b/c.d-e_f": "a/b/c.d-e_f", "/" + strings.Repeat("x/", 31) + "yz": strings.Repeat("x/", 31) + "yz",
	"/v1.2": "v1.2", "/v1.2.": "v1.2", "/v1%2E2": "v1.2", "/v1.2).": "v1.2", "/v1.2/": "v1.2", "/.a": ".a",
	"/%61bc": "abc", "/a%62%63/": "abc", "/%61/%62": "a/b", "/a/%62%2E": "a/b", "http://any.example/%61/b": "a/b",
	"/abc).": "abc", "/abc%29": "abc", "/abc%20": "abc", "/abc&x=1": "abc?x=1", "/a/b).": "a/b", "/a/b%20/": "a/b", "/a/b&x=1?y=2": "a/b?x=1&y=2", "/a/b\u200b": "a/b", "/a/b%E2%81%A0": "a/b",
	"/dot": "dot", "/dot.": "dot.", "/dot%2e": "dot.", "/dot./": "dot.", "/dot.)": "dot", "/dot..": "dot", "/a.": "a", "/a./": "a",
	"/a%2Fb": "", "/a%2fb": "", "/a//b": "", "//a/b": "", "/a/b//": "", "/./a": "", "/a/../a": "", "/a/%2e%2e/a": "", "/a/./b": "", "/b/a": "", "/a/b/c": "", "/A/b": "", "/.b": "", "/...": "", "/abc%25": "",
	"/api/v1": "", "/%61pi/v1/links": "", "/%5F/": "", "/%5F/links": "", "/%5f": "", "/_": "", "/api": "", "/rest": "", "/rest/v3/short-urls": "", "/.well-known/security.txt": "", "/.well-known": "",
	"/yourls-api.php": "", "/robots%2Etxt": "", "/robots.txt.": "", "/abc.PNG": "", "/abc.gif": "", "/" + strings.Repeat("x/", 32) + "y": "",
}

// Each path is answered alike through every door, on a connection that stays open.
func TestPathsThatPeopleTypeAreRedirectedByEveryDoor(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shortenPaths()
		c := dial()
		defer c.Close()
		r, hits := bufio.NewReader(c), uint64(0)
		for path, want := range typedPaths {
			expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", path, "", browser))))
			answer := readReply(t, r, "GET")
			if want == "" {
				answer.expect(t, path, 404, kept)
				continue
			}
			hits++
			answer.expect(t, path, 302, header("Location", "http://a.example/"+want), kept)
		}
		total := uint64(0)
		for _, code := range pathCodes {
			figures, err := st.engine.Stats(t.Context(), keyOf(code))
			expect.NoError(t, err, code)
			total += figures.Hits
		}
		expect.Equal(t, total, hits, "hits")
	})
}

// What a code with slashes and dots might be while links are loaded is read from the store, the exact code first.
func TestTypedPathsAreNever404BeforeTheirLinksAreLoaded(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := unloadedSite(t, d.options(nil))
			for _, code := range []string{"a/b", "v1.2", "dot", "dot.", "qr"} {
				st.plant(code, nil)
			}
			st.plant("c/d", func(r *engine.Record) { r.Hot.MaxHits, r.Hot.Flags = 3, engine.FlagCapped })
			c := d.open(t, st)()
			defer c.Close()
			r := bufio.NewReader(c)
			for _, asked := range []struct {
				path, want string
				status     int
			}{
				{"/v1.2.", "v1.2", 302}, {"/dot.", "dot.", 302}, {"/dot..", "dot", 302}, {"/a/%62).", "a/b", 302}, {"/c/d", "", 503}, {"/c/d.", "", 503}, {"/c/d%20", "", 503},
				{"/v1.2", "v1.2", 302}, {"/none.", "", 404}, {"/a/c.", "", 404}, {"/qr.png.", "", 200}, {"/qr.svg", "", 200}, {"/c/d.svg", "", 503}, {"/c/d.svg.", "", 503},
			} {
				expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", asked.path, "", browser))))
				answer := readReply(t, r, "GET")
				answer.expect(t, asked.path, asked.status)
				expect.That(t, asked.status != 302 || answer.header.Get("Location") == "https://example.com/"+asked.want, "%s: got %+v", asked.path, answer)
				expect.That(t, asked.status != 503 || answer.header.Get("Retry-After") != "", "%s: got %+v", asked.path, answer)
			}
		})
	}
}

func TestPagesOfPathCodesAreServed(t *testing.T) {
	st := newSite(t, nil)
	st.shortenPaths()
	for path, want := range map[string]string{
		"/a/b+": "text/html; charset=utf-8", "/a/b.png": "image/png", "/a/b.svg": "image/svg+xml", "/a/%62.svg": "image/svg+xml", "/v1.2.svg": "image/svg+xml", "/v1.2+": "text/html; charset=utf-8",
		"/abc.png": "image/png", "/abc.png.": "image/png", "/a/b.svg)": "image/svg+xml", "/dot..svg": "image/svg+xml",
	} {
		st.get(path).expect(t, path, 200, header("Content-Type", want))
	}
	for _, path := range []string{"/a/c.svg", "/a/c+", "/_/x.svg", "/%5F/x.png", "/api/x.png", "/api/x+", "/rest/v3.svg", "/a//b.png", "/a%2Fb.png", "/.svg", "/a/.svg", "/robots.txt.svg", "/robots.txt+"} {
		st.get(path).expect(t, path, 404)
	}
	preview := st.get("/a/b+").body
	expect.That(t, strings.Contains(preview, "http://a.example/a/b"), "got %s", preview)
}

// A code goes into a path of the API as one part, in which its slashes are %2F.
func TestCallsNameACodeOfSeveralSegmentsInOnePart(t *testing.T) {
	st := newSite(t, nil)
	r := st.call("POST", "/shorten", `{"url":"http://a/","alias":"a/b.c"}`)
	r.expect(t, "create", 201, header("Location", "/api/v1/links/a%2Fb.c"))
	for _, path := range []string{"/links/a%2Fb.c", "/links/a%2fb.c", "/links/a%2Fb.c/", "/links/%61%2Fb%2Ec"} {
		r := st.call("GET", path, "")
		expect.That(t, r.status == 200 && strings.Contains(r.body, `"code":"a/b.c"`), "%s: got %d %s", path, r.status, r.body)
	}
	for _, path := range []string{
		"/links/a/b.c", "/links/a%252Fb.c", "/links/a%2F%2Fb.c", "/links/a%2F..%2Fa%2Fb.c", "/links/%2Fa%2Fb.c", "/links/a%2Fb.c%2F", "/links/a%2", "/links/a%zz", "/stats/a/b.c", "/links/..%2Flinks",
		"/links/api%2Fv1",
	} {
		st.call("GET", path, "").expect(t, path, 404, problemOf("not_found"))
	}
	st.get("/a/b.c", browser).expect(t, "a hit", 302)
	st.call("GET", "/stats/a%2Fb.c", "").expect(t, "stats", 200, bodyOf("{\"hits\":1,\"unique\":1}\n"))
	st.call("PATCH", "/links/a%2Fb.c", `{"title":"T"}`).expect(t, "edit", 200)
	st.call("POST", "/links/a%2Fb.c/reset", "").expect(t, "reset", 200)
	expect.Equal(t, len(st.audited("?code=a%2Fb.c").Data), 3, "entries of the link")
	st.call("DELETE", "/links/a%2Fb.c", "").expect(t, "delete", 204)
	st.get("/a/b.c", browser).expect(t, "deleted", 404)
	st.call("GET", "/links", "").expect(t, "the API is still there", 200)
}

// The rule of case holds for the whole code; imports are exempt from it.
func TestPathCodesThatDifferByCaseConflict(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"docs/v1.x"}`)
	st.call("POST", "/shorten", `{"url":"http://a/","alias":"Docs/V1.x"}`).expect(t, "another case", 409, problemOf("alias_taken"))
	st.shorten(`{"url":"http://a/","alias":"docs/v1_x"}`)
	st.shorten(`{"url":"http://a/","alias":"docs-v1.x"}`)
	r := st.call("POST", "/import", `[{"code":"DOCS/v1.x","url":"http://b/"},{"code":"api/x","url":"http://b/"}]`)
	expect.That(t, strings.HasPrefix(r.body, `{"created":1,"existing":0,"failed":1,`), "import: got %s", r.body)
	st.get("/DOCS/v1.x", browser).expect(t, "the imported one", 302, header("Location", "http://b/"))
	st.get("/api/x", browser).expect(t, "the reserved code", 404, problemOf("not_found"))
}

func TestTheGoClientNamesCodesOfSeveralSegments(t *testing.T) {
	st := newSite(t, nil)
	c, _ := st.goClient(st.token, nil)
	for _, code := range []string{"a/b", "v1.2/x_y-z", "a/live", "a/reset", ".."} {
		if code == ".." {
			_, err := c.Link(t.Context(), code)
			expect.Error(t, err, client.ErrNotFound)
			continue
		}
		made, err := c.Shorten(t.Context(), client.Draft{URL: "http://a/", Alias: code})
		expect.NoError(t, err)
		expect.Equal(t, made.Code, code)
		edited, err := c.Update(t.Context(), code, client.Edit{Title: client.Set("T")})
		expect.NoError(t, err, code)
		expect.Equal(t, edited.Title, "T")
		_, err = c.Stats(t.Context(), code, client.StatsQuery{})
		expect.NoError(t, err, code)
		_, err = c.ResetFigures(t.Context(), code)
		expect.NoError(t, err, code)
		expect.NoError(t, c.Delete(t.Context(), code), code)
	}
}

// TestNoAliasTakesAPathOfTheServer asks for aliases that are reserved or malformed, and for the API after that.
func TestNoAliasTakesAPathOfTheServer(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	before := st.call("GET", "/export?owner=all", "").body
	for alias, code := range map[string]string{
		"api/x": "reserved", "api": "reserved", "_/x": "reserved", "_": "reserved", "rest/v3": "reserved", ".well-known/x": "reserved", "robots.txt": "reserved", "yourls-api.php": "reserved",
		"a//b": "format", "/a": "format", "a/": "format", "a/../b": "format", "./a": "format", "..": "format",
	} {
		for _, host := range []string{"127.0.0.1", "b.test"} {
			body := fmt.Sprintf(`{"url":"https://u.example/","alias":%q,"domain":%q}`, alias, host)
			st.call("POST", "/shorten", body).expect(t, alias+" in "+host, 422, fieldsOf("alias:"+code))
			item := itemOf(st.call("POST", "/import", "["+strings.Replace(body, "alias", "code", 1)+"]"))
			expect.Equal(t, item.fields(), "code:"+code, "%s in %s, imported", alias, host)
		}
	}
	expect.Equal(t, st.call("GET", "/export?owner=all", "").body, before, "the links")
	st.call("GET", "/links", "").expect(t, "the API", 200, `"code":"x"`)
	st.get("/robots.txt").expect(t, "robots.txt", 200)
}
