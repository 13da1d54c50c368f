package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestTagsAreFoundInAnyCaseAndKeptAsTheyAreWritten(t *testing.T) {
	st := newSite(t, nil)
	o := st.shorten(`{"url":"http://a/","alias":"x","tags":["News","b","news","B","NEWS"]}`)
	expect.Equal(t, fmt.Sprint(o.Tags), "[News b]", "got %q", o.Tags)
	st.shorten(`{"url":"http://a/","alias":"y","tags":["news"]}`)
	for query, want := range map[string]string{
		"/links?tag=nEWS": "y x", "/links?tag=B": "x", "/links?tag=new": "", "/links?owner=all&tag=NEWS": "y x",
	} {
		var codes []string
		for _, part := range strings.Split(st.call("GET", query, "").body, `{"code":"`)[1:] {
			code, _, _ := strings.Cut(part, `"`)
			codes = append(codes, code)
		}
		expect.Equal(t, strings.Join(codes, " "), want, query)
	}
	st.call("GET", "/stats?tag=NEWS&top=5", "").expect(t, "figures", 200, `"top":[]`)
	for tags, want := range map[string]string{`["NEWS"]`: "NEWS", `["c","C","d"]`: "c d"} {
		st.call("PATCH", "/links/y", `{"tags":`+tags+`}`)
		expect.Equal(t, strings.Join(st.object("y").Tags, " "), want, "PATCH %s", tags)
	}
	st.call("POST", "/shorten", `{"url":"http://a/","alias":"x","tags":["News","b","B"]}`).expect(t, "the same link again", 200)
	r := st.call("POST", "/import", `[{"code":"i","url":"http://a/","tags":["Old","OLD"]}]`)
	expect.Equal(t, strings.Join(st.object("i").Tags, " "), "Old", "imported: got %s", r.body)
}

func TestTagsAreListedPageByPage(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","tags":["b","News"]}`)
	st.shorten(`{"url":"http://a/","tags":["a/b +?#%","ärger","NEWS"]}`)
	want := `{"data":[{"name":"a/b +?#%","links":1},{"name":"b","links":1},{"name":"NEWS","links":2},{"name":"ärger","links":1}],"next_cursor":null}`
	expect.Equal(t, strings.TrimSpace(st.call("GET", "/tags", "").body), want)
	var names []string
	for path := "/tags?limit=1"; ; {
		r := st.call("GET", path, "")
		var page struct {
			Data []struct{ Name string }
			Next string `json:"next_cursor"`
		}
		expect.NoError(t, json.Unmarshal([]byte(r.body), &page))
		for _, tag := range page.Data {
			names = append(names, tag.Name)
		}
		if page.Next == "" {
			break
		}
		path = "/tags?limit=1&cursor=" + page.Next
	}
	expect.Equal(t, strings.Join(names, ", "), "a/b +?#%, b, NEWS, ärger", "page by page")
	expect.Contains(t, st.call("GET", "/tags?q=nE", "").body, `[{"name":"NEWS","links":2}]`, "with a prefix")
	for query, code := range map[string]string{
		"cursor=x": "cursor:invalid", "cursor=AUE": "cursor:invalid", "limit=0": "limit:range", "q=%ff": "q:characters", "owner=all": "owner:range",
		"x=1": "x:unknown", "cursor=" + strings.Repeat("A", 90): "cursor:too_long",
	} {
		st.call("GET", "/tags?"+query, "").expect(t, query, 422, fieldsOf(code))
	}
}

func TestATagIsRenamedAndDeletedWhateverLettersItHas(t *testing.T) {
	st := newSite(t, nil)
	for i, tag := range []string{"a/b", "a+b", "a b", "100%", "?#&", "..", ".", "Übung 日本", strings.Repeat("é", 32), "%2F"} {
		code := "c" + strconv.Itoa(i)
		st.shorten(`{"url":"http://a/","alias":"` + code + `","tags":[` + jsonText(tag) + `,"z"]}`)
		path := "/tags/" + strings.ReplaceAll(url.PathEscape(tag), ".", "%2E")
		r := st.call("PATCH", path, `{"name":`+jsonText(tag+"!")+`}`)
		if len(tag) == 64 {
			r.expect(t, fmt.Sprintf("%q, renamed to a longer one", tag), 422)
			r = st.call("DELETE", path, "")
			expect.That(t, r.status == 200 && strings.Join(st.object(code).Tags, " ") == "z", "%q: got %d %s", tag, r.status, r.body)
			continue
		}
		got := st.object(code).Tags
		expect.That(t, r.status == 200 && len(got) == 2 && got[0] == tag+"!", "%q: got %d %s, and the tags %q", tag, r.status, r.body, got)
	}
	r := st.call("DELETE", "/tags/Z", "")
	expect.That(t, r.status == 200 && strings.TrimSpace(r.body) == `{"name":"Z","links":10,"complete":true}`, "got %d %s", r.status, r.body)
}

func TestARenameOntoATagMakesThemOneAndIsAudited(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","tags":["old","keep","New"]}`)
	st.shorten(`{"url":"http://a/","alias":"y","tags":["OLD"]}`)
	st.shorten(`{"url":"http://a/","alias":"z","tags":["new"]}`)
	r := st.call("PATCH", "/tags/Old", `{"name":"new"}`, "X-Request-Id: rename-1")
	expect.That(t, r.status == 200 && strings.TrimSpace(r.body) == `{"name":"new","links":2,"complete":true}`, "got %d %s", r.status, r.body)
	for code, want := range map[string]string{"x": "[new keep]", "y": "[new]", "z": "[new]"} {
		expect.Equal(t, fmt.Sprint(st.object(code).Tags), want, code)
	}
	entries := st.call("GET", "/audit?limit=2", "").body
	expect.That(t, strings.Count(entries, `"action":"link.edited"`) == 2 && strings.Contains(entries, `"before":{"tags":["OLD"]}`) &&
		strings.Contains(entries, `"after":{"tags":["new"]}`), "the audit log has %s", entries)
	for body, code := range map[string]string{
		`{}`: "name:required", `{"name":""}`: "name:required", `{"name":null}`: "name:required", `{"name":1}`: "name:type", `{"name":"a\u0000"}`: "name:characters",
		`{"name":"` + strings.Repeat("x", 65) + `"}`: "name:too_long", `{"name":"a","links":1}`: "links:unknown",
	} {
		st.call("PATCH", "/tags/new", body).expect(t, body, 422, fieldsOf(code))
	}
	for _, path := range []string{"/tags/none", "/tags/%ff", "/tags/%zz", "/tags/a%00", "/tags/" + strings.Repeat("x", 65)} {
		for method, body := range map[string]string{"PATCH": `{"name":"a"}`, "DELETE": ""} {
			st.call(method, path, body).expect(t, fmt.Sprintf("%s %s", method, path), 404)
		}
	}
	r = st.call("DELETE", "/tags/new?owner=all", "")
	expect.That(t, r.status == 422 && fmt.Sprint(st.object("z").Tags) == "[new]", "of all owners: got %d %s", r.status, r.body)
}

func TestTagsAreRenamedAndDeletedOnPages(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	b.open("/_/tags").want("No link has a tag")
	for _, tags := range []string{"News, x/y &", "news, b"} {
		b.follow(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "tags", tags))
	}
	list := b.open("/_/links")
	expect.Contains(t, list.body, `href="/_/tags"`, "the list of links does not lead to the tags")
	b.open("/_/tags").want("news 2", "x/y & 1", "b 1")
	b.open("/_/tags?q=NE").want("news 2")
	form := b.open("/_/tags/rename?tag=X%2Fy+%26").form("/_/tags/rename")
	expect.Equal(t, form.values.Get("name"), "x/y &", "the form shows")
	page := b.submit(form.with("name", strings.Repeat("x", 65)))
	expect.That(t, page.status == 422 && page.at("name-error") == "Must be at most 64 bytes.", "a long name: got %d %q", page.status, page.at("name-error"))
	renamed := form.with("name", " News ")
	b.follow(renamed).want("The tag “x/y &” is renamed to “News” on 1 link.")
	b.follow(renamed) // sent twice, it is done once, and no error
	b.open("/_/tags").want("news 2", "b 1")
	b.follow(b.open("/_/tags/delete?tag=NEWS").form("/_/tags/delete")).want("The tag “news” is taken off 2 links.")
	b.open("/_/tags").want("b 1")
	b.get("/_/tags/rename?tag=none").expect(t, "a tag that is not there", 404)
	ben := st.browseAs("ben@example.com", account.RoleMember)
	ben.open("/_/tags").want("No link has a tag")
	ben.get("/_/tags/delete?tag=b").expect(t, "another user's tag", 404)
}
