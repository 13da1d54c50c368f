package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// fullLink has a value in every field that a patch may change.
const fullLink = `{"url":"http://a/","alias":"x","redirect_status":301,"expires_at":"2027-01-01T00:00:00Z","max_hits":5,` +
	`"title":"Ti","tags":["b","a"],"forward_query":true}`

// link reads a link.
func (st *site) link(code string) (o linkObject, etag string) {
	st.t.Helper()
	r := st.call("GET", "/links/"+code, "")
	if err := json.Unmarshal([]byte(r.body), &o); err != nil || r.status != 200 {
		st.t.Fatalf("link %s: got %d %s (%v), want 200", code, r.status, r.body, err)
	}
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
		"query not forwarded":   {`{"forward_query":false}`, func(o *linkObject) { o.ForwardQuery = false }},
		"no forward_query":      {`{"forward_query":null}`, func(o *linkObject) { o.ForwardQuery = false }},
		"all at once": {
			`{"url":"http://b/","redirect_status":null,"expires_at":null,"max_hits":null,"title":null,"tags":null,"forward_query":null}`,
			func(o *linkObject) {
				o.URL, o.RedirectStatus, o.ExpiresAt, o.MaxHits, o.Title, o.Tags, o.ForwardQuery = "http://b/", 302, nil, nil, "", []string{}, false
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
			if !reflect.DeepEqual(answered, want) || !reflect.DeepEqual(read, want) || etag != `"2"` {
				t.Errorf("answered %+v\nread     %+v (%s)\nwant     %+v", answered, read, etag, want)
			}
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
		r := st.call("PATCH", "/links/"+c.code, c.patch)
		if r.status != 200 || r.body != before.body || r.header.Get("ETag") != `"1"` {
			t.Errorf("%s: got %d %s (%s), want %s as it was", c.patch, r.status, r.body, r.header.Get("ETag"), before.body)
		}
	}
	if r := st.call("PATCH", "/links/x", "{}", `If-Match: "2"`); r.status != 412 {
		t.Errorf("an empty patch of another version: got %d, want 412", r.status)
	}
}

func TestABadPatchChangesNothing(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	type bad struct {
		body   string
		status int
		code   string
		fields string
	}
	cases := map[string]bad{
		"a url of null":     {`{"url":null,"title":"t"}`, 422, "invalid", "url:required"},
		"a code":            {`{"code":"y"}`, 422, "invalid", "code:unknown"},
		"an alias":          {`{"alias":"y"}`, 422, "invalid", "alias:unknown"},
		"an alias of null":  {`{"alias":null}`, 422, "invalid", "alias:unknown"},
		"read-only fields":  {`{"code":2,"hits":1,"state":"expired","created_at":null}`, 422, "invalid", "code:unknown hits:unknown state:unknown created_at:unknown"},
		"unchanged twice":   {`{"title":"Ti","title":"t"}`, 422, "invalid", "title:duplicate"},
		"null and then not": {`{"title":null,"title":"t"}`, 422, "invalid", "title:duplicate"},
		"one field wrong":   {`{"title":"t","max_hits":0}`, 422, "invalid", "max_hits:range"},
		"no body":           {``, 400, "malformed_json", ""},
	}
	for name, c := range badBodies {
		if !strings.Contains(c.fields, "url:required") && !strings.Contains(c.fields, "alias") {
			cases["as in POST: "+name] = bad(c)
		}
	}
	if len(cases) < 40 {
		t.Fatalf("only %d cases", len(cases))
	}
	before := st.call("GET", "/links/x", "")
	st.now.Add(1000)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := c.body
			if name == "as in POST: expires now" {
				body = strings.Replace(body, "04:05Z", "04:06Z", 1)
			}
			r := st.call("PATCH", "/links/x", body, "Content-Type: application/json")
			if r.status != c.status || r.problem() != c.code || r.fields() != c.fields {
				t.Errorf("got %d %s, want %d %s %s", r.status, r.body, c.status, c.code, c.fields)
			}
			if after := st.call("GET", "/links/x", ""); after.body != before.body || after.header.Get("ETag") != `"1"` {
				t.Errorf("the link was %s, and is %s", before.body, after.body)
			}
		})
	}
	if r := st.call("PATCH", "/links/x", `{"alias":"y"}`); !strings.Contains(r.body, "make another link") {
		t.Errorf("an alias: got %s, want to be told what to do", r.body)
	}
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
		if r.status != c.status || c.status == 415 && r.header.Get("Accept-Patch") != "application/merge-patch+json, application/json" {
			t.Errorf("%s: got %d %v, want %d", c.line, r.status, r.header, c.status)
		}
	}
	post := requestText("POST", "/api/v1/shorten", `{"url":"http://a/"}`, "Content-Type: application/merge-patch+json", "Authorization: Bearer "+st.token)
	if r := send(t, st.publicAt, "POST", post); r.status != 415 {
		t.Errorf("a merge patch to POST /shorten: got %d, want 415", r.status)
	}
}

func TestAPatchRevivesOrRetitlesAnExpiredLink(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	st.now.Store(time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	if r := st.get("/x"); r.status != 410 {
		t.Fatalf("got %d, want 410", r.status)
	}
	if r := st.call("PATCH", "/links/x", `{"title":"over"}`); r.status != 200 || !strings.Contains(r.body, `"state":"expired"`) || !strings.Contains(r.body, `"over"`) {
		t.Errorf("retitled: got %d %s", r.status, r.body)
	}
	if r := st.call("PATCH", "/links/x", `{"expires_at":"2027-01-01T00:00:00Z"}`); r.status != 200 || !strings.Contains(r.body, `"state":"expired"`) {
		t.Errorf("the expiry that it has had: got %d %s, want 200", r.status, r.body)
	}
	if r := st.call("PATCH", "/links/x", `{"expires_at":"2027-01-01T00:00:01Z"}`); r.fields() != "expires_at:past" {
		t.Errorf("another expiry in the past: got %d %s, want 422", r.status, r.body)
	}
	if r := st.call("PATCH", "/links/x", `{"expires_at":"2029-01-01T00:00:00Z"}`); r.status != 200 || !strings.Contains(r.body, `"state":"active"`) {
		t.Errorf("revived: got %d %s", r.status, r.body)
	}
	if r := st.get("/x"); r.status != 301 {
		t.Errorf("after that: got %d, want 301", r.status)
	}
}

func TestAPatchIsVisibleAtOnceAndKeepsTheHits(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for range 3 {
		st.get("/x", "User-Agent: Mozilla/5.0")
	}
	r := st.call("PATCH", "/links/x", `{"url":"http://b/","redirect_status":308,"max_hits":4}`)
	if r.status != 200 || !strings.Contains(r.body, `"hits":3,"unique":1}`) {
		t.Errorf("got %d %s, want 3 hits of 1 visitor", r.status, r.body)
	}
	for i, want := range []string{"308 http://b/", "410 "} {
		if r := st.get("/x"); fmt.Sprint(r.status, " ", r.header.Get("Location")) != want {
			t.Errorf("redirect %d: got %d %s, want %s", i, r.status, r.header.Get("Location"), want)
		}
	}
	if r := st.call("PATCH", "/links/x", `{"max_hits":null}`); !strings.Contains(r.body, `"state":"active"`) || !strings.Contains(r.body, `"hits":4`) {
		t.Errorf("without the cap: got %s", r.body)
	}
	if got := st.metric(`shunt_link_writes_total{op="update",result="ok"}`); got != "2" {
		t.Errorf("link_writes_total: got %s, want 2", got)
	}
}

func TestAPatchHonoursIfMatch(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	before := st.call("GET", "/links/x", "")
	for _, tag := range []string{`"2"`, `W/"1"`, `1`, `"01"`, `"x"`, `"2", "3"`, ``, `"1`, `W/*`} {
		if r := st.call("PATCH", "/links/x", `{"title":"t"}`, "If-Match: "+tag); r.status != 412 || r.problem() != "precondition_failed" {
			t.Errorf("If-Match: %s: got %d %s, want 412", tag, r.status, r.body)
		}
	}
	if after := st.call("GET", "/links/x", ""); after.body != before.body {
		t.Errorf("the link was %s, and is %s", before.body, after.body)
	}
	for i, tag := range []string{`"1"`, `"7", "2"`, `*`} {
		if r := st.call("PATCH", "/links/x", fmt.Sprintf(`{"title":"%d"}`, i), "If-Match: "+tag); r.status != 200 {
			t.Errorf("If-Match: %s: got %d %s, want 200", tag, r.status, r.body)
		}
	}
	if r := st.call("PATCH", "/links/none", `{"title":"t"}`, "If-Match: *"); r.status != 404 {
		t.Errorf("a missing link: got %d, want 404", r.status)
	}
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
		if answers[won].status != 200 || answers[1-won].status != 412 || o.Title != fmt.Sprintf("%d of %d", won, version) ||
			etag != fmt.Sprintf(`"%d"`, version+1) {
			t.Fatalf("version %d: got %d and %d, and then %q at %s", version, answers[0].status, answers[1].status, o.Title, etag)
		}
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
		if r := st.call("PATCH", "/links/x", body); r.status != 200 || r.header.Get("ETag") != etag {
			t.Errorf("as it was read: got %d %s with version %s, want 200 and %s", r.status, r.body, r.header.Get("ETag"), etag)
		}
		for _, body := range []string{
			`{"title":"Ti","expires_at":"2026-01-03T23:59:59.000Z"}`, `{"url":"https://evil.example/a?b"}`, `{"created_at":"2026-01-02t03:04:05z"}`,
		} {
			if r := st.call("PATCH", "/links/x", body); r.status != 200 || r.header.Get("ETag") != etag {
				t.Errorf("%s: got %d %s", body, r.status, r.body)
			}
		}
	}
	for body, want := range map[string]string{
		`{"expires_at":"2026-01-03T23:59:58Z"}`: "expires_at:past", `{"hits":3}`: "hits:unknown", `{"updated_at":"2026-01-02T03:04:06Z"}`: "updated_at:unknown",
		`{"short_url":"https://other.example/x"}`: "short_url:unknown", `{"title":"Ti","owner":77}`: "owner:unknown",
	} {
		if r := st.call("PATCH", "/links/x", body); r.status != 422 || r.fields() != want {
			t.Errorf("%s: got %d %s, want %s", body, r.status, r.body, want)
		}
	}
}
