package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// fullLink has a value in every field that a patch may change.
const fullLink = `{"url":"http://a/","alias":"x","redirect_status":301,"expires_at":"2027-01-01T00:00:00Z","max_hits":5,` +
	`"title":"Ti","tags":["b","a"],"forward_query":true}`

// link reads a link.
func (st *site) link(code string) (o linkObject, etag string) {
	st.t.Helper()
	r := st.call("GET", "/links/"+code, "")
	err := json.Unmarshal([]byte(r.body), &o)
	expect.MustThat(st.t, err == nil && r.status == 200, "link %s: got %d %s (%v), want 200", code, r.status, r.body, err)
	return o, r.header.Get("ETag")
}

func TestAPatchChangesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	later := time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
	seven := uint64(7)
	for name, c := range map[string]struct {
		patch  string
		change func(o *linkObject)
	}{
		"url":                   {`{"url":"https://EXAMPLE.org/b"}`, func(o *linkObject) { o.URL = "https://example.org/b" }},
		"redirect status":       {`{"redirect_status":307}`, func(o *linkObject) { o.RedirectStatus = 307 }},
		"no redirect status":    {`{"redirect_status":null}`, func(o *linkObject) { o.RedirectStatus = 302 }},
		"expiry":                {`{"expires_at":"2029-01-01T01:00:00+01:00"}`, func(o *linkObject) { o.ExpiresAt = &later }},
		"no expiry":             {`{"expires_at":null}`, func(o *linkObject) { o.ExpiresAt = nil }},
		"cap":                   {`{"max_hits":7}`, func(o *linkObject) { o.MaxHits = &seven }},
		"no cap":                {`{"max_hits":null}`, func(o *linkObject) { o.MaxHits = nil }},
		"title":                 {`{"title":"another"}`, func(o *linkObject) { o.Title = "another" }},
		"no title":              {`{"title":null}`, func(o *linkObject) { o.Title = "" }},
		"an empty title":        {`{"title":""}`, func(o *linkObject) { o.Title = "" }},
		"tags, whole":           {`{"tags":["c"]}`, func(o *linkObject) { o.Tags = []string{"c"} }},
		"tags in another order": {`{"tags":["a","b"]}`, func(o *linkObject) { o.Tags = []string{"a", "b"} }},
		"no tags":               {`{"tags":null}`, func(o *linkObject) { o.Tags = []string{} }},
		"an empty list of tags": {`{"tags":[]}`, func(o *linkObject) { o.Tags = []string{} }},
		"query not forwarded":   {`{"forward_query":false}`, func(o *linkObject) { o.ForwardQuery, o.Query = false, "none" }},
		"no forward_query":      {`{"forward_query":null}`, func(o *linkObject) { o.ForwardQuery, o.Query = false, "none" }},
		"all at once": {
			`{"url":"http://b/","redirect_status":null,"expires_at":null,"max_hits":null,"title":null,"tags":null,"forward_query":null}`,
			func(o *linkObject) {
				o.URL, o.RedirectStatus, o.ExpiresAt, o.MaxHits, o.Title, o.Tags, o.ForwardQuery, o.Query = "http://b/", 302, nil, nil, "", []string{}, false, "none"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newSite(t, nil)
			st.shorten(fullLink)
			want, _ := st.link("x")
			st.now.Add(1000)
			want.UpdatedAt = want.UpdatedAt.Add(time.Second)
			c.change(&want)

			r := st.call("PATCH", "/links/x", c.patch)
			var answered linkObject
			if err := json.Unmarshal([]byte(r.body), &answered); err != nil || r.status != 200 || r.header.Get("ETag") != `"2"` {
				t.Fatalf("got %d %s, ETag %s (%v); want 200 and version 2", r.status, r.body, r.header.Get("ETag"), err)
			}
			read, etag := st.link("x")
			expect.That(t, reflect.DeepEqual(answered, want) && reflect.DeepEqual(read, want) && etag == `"2"`,
				"answered %+v\nread     %+v (%s)\nwant     %+v", answered, read, etag, want)
		})
	}
}

func TestAPatchThatChangesNothingKeepsTheVersion(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	st.shorten(`{"url":"http://a/","alias":"plain"}`)
	st.now.Add(1000)
	for _, c := range []struct{ code, patch string }{
		{"x", `{}`},
		{"x", `{"title":"Ti","tags":["b","a"],"max_hits":5,"url":"http://A/","forward_query":true,"expires_at":"2027-01-01T00:00:00.0001Z"}`},
		{"plain", `{"redirect_status":null,"expires_at":null,"max_hits":null,"title":null,"tags":null,"forward_query":null}`},
		{"plain", `{"redirect_status":302,"tags":[]}`},
	} {
		before := st.call("GET", "/links/"+c.code, "")
		st.call("PATCH", "/links/"+c.code, c.patch).expect(t, c.patch, 200, bodyOf(before.body), header("ETag", `"1"`))
	}
	st.call("PATCH", "/links/x", "{}", `If-Match: "2"`).expect(t, "an empty patch of another version", 412)
}

func TestAPatchOfAnAliasIsToldWhatToDo(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	st.call("PATCH", "/links/x", `{"alias":"y"}`).expect(t, "an alias", "make another link")
}

func TestAPatchNeedsAPatchMediaType(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	for i, c := range []struct {
		line   string
		status int
	}{
		{"Content-Type: application/merge-patch+json", 200},
		{"Content-Type: Application/Merge-Patch+JSON; charset=UTF-8", 200},
		{"Content-Type: application/json", 200},
		{"Content-Type: application/json-patch+json", 415},
		{"Content-Type: application/merge-patch+json; charset=latin1", 415},
		{"X-No: content type", 415},
	} {
		body := fmt.Sprintf(`{"title":"%d"}`, i)
		r := send(t, st.publicAt, "PATCH", requestText("PATCH", "/api/v1/links/x", body, c.line, "Authorization: Bearer "+st.token))
		expect.That(t, r.status == c.status && (c.status != 415 || r.header.Get("Accept-Patch") == "application/merge-patch+json, application/json"),
			"%s: got %d %v, want %d", c.line, r.status, r.header, c.status)
	}
	post := requestText("POST", "/api/v1/shorten", `{"url":"http://a/"}`, "Content-Type: application/merge-patch+json", "Authorization: Bearer "+st.token)
	send(t, st.publicAt, "POST", post).expect(t, "a merge patch to POST /shorten", 415)
}

func TestAPatchRevivesOrRetitlesAnExpiredLink(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	st.now.Store(time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	st.get("/x").need(t, "", 410)
	st.call("PATCH", "/links/x", `{"title":"over"}`).expect(t, "retitled", 200, `"state":"expired"`, `"over"`)
	st.call("PATCH", "/links/x", `{"expires_at":"2027-01-01T00:00:00Z"}`).expect(t, "the expiry that it has had", 200, `"state":"expired"`)
	st.call("PATCH", "/links/x", `{"expires_at":"2027-01-01T00:00:01Z"}`).expect(t, "another expiry in the past", fieldsOf("expires_at:past"))
	st.call("PATCH", "/links/x", `{"expires_at":"2029-01-01T00:00:00Z"}`).expect(t, "revived", 200, `"state":"active"`)
	st.get("/x").expect(t, "after that", 301)
}

func TestAPatchIsVisibleAtOnceAndKeepsTheHits(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for range 3 {
		st.get("/x", "User-Agent: Mozilla/5.0")
	}
	st.call("PATCH", "/links/x", `{"url":"http://b/","redirect_status":308,"max_hits":4}`).expect(t, "", 200, `"hits":3,"unique":1}`)
	for i, want := range []string{"308 http://b/", "410 "} {
		r := st.get("/x")
		expect.Equal(t, fmt.Sprint(r.status, " ", r.header.Get("Location")), want, "redirect %d: got %d %s", i, r.status, r.header.Get("Location"))
	}
	st.call("PATCH", "/links/x", `{"max_hits":null}`).expect(t, "without the cap", `"state":"active"`, `"hits":4`)
	expect.Equal(t, st.metric(`shunt_link_writes_total{op="update",result="ok"}`), "2", "link_writes_total")
}

func TestAPatchHonoursIfMatch(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	before := st.call("GET", "/links/x", "")
	for _, tag := range []string{`"2"`, `W/"1"`, `1`, `"01"`, `"x"`, `"2", "3"`, ``, `"1`, `W/*`} {
		st.call("PATCH", "/links/x", `{"title":"t"}`, "If-Match: "+tag).expect(t, "If-Match: "+tag, 412, problemOf("precondition_failed"))
	}
	st.call("GET", "/links/x", "").expect(t, "the link as it was", bodyOf(before.body))
	for i, tag := range []string{`"1"`, `"7", "2"`, `*`} {
		st.call("PATCH", "/links/x", fmt.Sprintf(`{"title":"%d"}`, i), "If-Match: "+tag).expect(t, "If-Match: "+tag, 200)
	}
	st.call("PATCH", "/links/none", `{"title":"t"}`, "If-Match: *").expect(t, "a missing link", 404)
}

func TestOfTwoPatchesOfOneVersionOneWins(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for version := 1; version <= 20; version++ {
		var answers [2]reply
		var racing sync.WaitGroup
		for i := range answers {
			racing.Go(func() {
				answers[i] = st.call("PATCH", "/links/x", fmt.Sprintf(`{"title":"%d of %d"}`, i, version), fmt.Sprintf(`If-Match: "%d"`, version))
			})
		}
		racing.Wait()
		won := 0
		if answers[1].status == 200 {
			won = 1
		}
		o, etag := st.link("x")
		expect.MustThat(t, answers[won].status == 200 && answers[1-won].status == 412 && o.Title == fmt.Sprintf("%d of %d", won, version) &&
			etag == fmt.Sprintf(`"%d"`, version+1),
			"version %d: got %d and %d, and then %q at %s", version, answers[0].status, answers[1].status, o.Title, etag)
	}
}

// A value that a link has already is not checked again, even if its expiry has passed or its target is blocked now.
func TestAPatchOfTheLinkAsItWasReadSucceeds(t *testing.T) {
	var blocks *blockList
	st := newSite(t, func(o *Options) {
		blocks = blocking(t, o, "")
	})
	st.shorten(`{"url":"https://evil.example/a?b","alias":"x","expires_at":"2026-01-03","max_hits":5,"title":"Ti","tags":["b","a"]}`)
	st.get("/x")
	read := st.call("GET", "/links/x", "").body
	st.get("/x")
	for _, change := range []func(){
		func() {},
		func() { blocks.write(t, "evil.example\n") },
		func() { st.now.Add(48 * 3600 * 1000) },
	} {
		change()
		_, etag := st.link("x")
		body := regexp.MustCompile(`"state":"\w+",`).ReplaceAllString(read, "")
		st.call("PATCH", "/links/x", body).expect(t, "as it was read", 200, header("ETag", etag))
		for _, body := range []string{
			`{"title":"Ti","expires_at":"2026-01-03T23:59:59.000Z"}`, `{"url":"https://evil.example/a?b"}`, `{"created_at":"2026-01-02t03:04:05z"}`,
		} {
			st.call("PATCH", "/links/x", body).expect(t, body, 200, header("ETag", etag))
		}
	}
	for body, want := range map[string]string{
		`{"expires_at":"2026-01-03T23:59:58Z"}`: "expires_at:past", `{"hits":3}`: "hits:unknown", `{"updated_at":"2026-01-02T03:04:06Z"}`: "updated_at:unknown",
		`{"short_url":"https://other.example/x"}`: "short_url:unknown", `{"title":"Ti","owner":77}`: "owner:unknown",
	} {
		st.call("PATCH", "/links/x", body).expect(t, body, 422, fieldsOf(want))
	}
}
