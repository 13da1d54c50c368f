package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/engine/expect"
	"shunt/engine/texts"
)

const editX = "/_/link/x/edit"

// withX returns a site with a link x of the member that browses.
func withX(t *testing.T, fields string) (*site, *plainBrowser) {
	t.Helper()
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/","alias":"x",`+fields+`}`).need(t, "", 201)
	return st, st.browse("ann@example.com")
}

func TestAnEditChangesOnlyTheFieldsThatWereTouched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		touched []string
		want    func(o *linkObject)
	}{
		"the title":            {[]string{"title", "new"}, func(o *linkObject) { o.Title = "new" }},
		"no title":             {[]string{"title", ""}, func(o *linkObject) { o.Title = "" }},
		"other tags":           {[]string{"tags", `z, "y,y"`}, func(o *linkObject) { o.Tags = []string{"z", "y,y"} }},
		"no tags":              {[]string{"tags", ""}, func(o *linkObject) { o.Tags = []string{} }},
		"no expiry":            {[]string{"expires_at", ""}, func(o *linkObject) { o.ExpiresAt = nil }},
		"no limit":             {[]string{"max_hits", ""}, func(o *linkObject) { o.MaxHits = nil }},
		"another status":       {[]string{"redirect_status", "301"}, func(o *linkObject) { o.RedirectStatus = 301 }},
		"no query":             {[]string{"query", "none"}, func(o *linkObject) { o.ForwardQuery, o.Query = false, "none" }},
		"another query":        {[]string{"query", "keep"}, func(o *linkObject) { o.Query = "keep" }},
		"a start":              {[]string{"starts_at", "2026-01-02T03:00"}, func(o *linkObject) { at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC); o.StartsAt = &at }},
		"what comes after":     {[]string{"expired_url", "over.example"}, func(o *linkObject) { url := "https://over.example"; o.ExpiredURL = &url }},
		"the target":           {[]string{"url", "https://b.example/"}, func(o *linkObject) { o.URL = "https://b.example/" }},
		"a code is not edited": {[]string{"alias", "y", "title", "t"}, func(o *linkObject) { o.Title = "t" }},
	} {
		t.Run(name, func(t *testing.T) {
			st, b := withX(t, `"title":" spaced ","tags":["a,b","c\"d"],"expires_at":"2026-01-02T04:00:05.678Z","max_hits":7,"redirect_status":307,"forward_query":true`)
			st.now.Add((2 * time.Hour).Milliseconds()) // the expiry has passed
			want := st.object("x")
			form := b.open(editX).form(editX).with(c.touched...)
			b.follow(form).want("The link is saved.")
			got := st.object("x")
			c.want(&want)
			want.UpdatedAt = got.UpdatedAt
			if want.ExpiresAt == nil {
				want.State = got.State
			}
			if fmt.Sprint(deref(got)) != fmt.Sprint(deref(want)) {
				t.Errorf("got  %v\nwant %v", deref(got), deref(want))
			}
		})
	}
}

// deref returns a link object with what its pointers point to.
func deref(o linkObject) []any {
	expires, most := "never", uint64(0)
	if o.ExpiresAt != nil {
		expires = o.ExpiresAt.Format(time.RFC3339Nano)
	}
	if o.MaxHits != nil {
		most = *o.MaxHits
	}
	starts, after := fmt.Sprint(o.StartsAt), "nowhere"
	if o.ExpiredURL != nil {
		after = *o.ExpiredURL
	}
	o.ExpiresAt, o.MaxHits, o.Unique, o.StartsAt, o.ExpiredURL = nil, nil, nil, nil, nil
	return []any{o, expires, most, starts, after}
}

func TestAnEditThatChangesNothingSaysSo(t *testing.T) {
	st, b := withX(t, `"title":"t","expires_at":"2026-01-02T04:00:05.678Z"`)
	before := st.object("x")
	b.follow(b.open(editX).form(editX)).want("Nothing was changed.")
	after := st.object("x")
	expect.Equal(t, fmt.Sprint(deref(after)), fmt.Sprint(deref(before)), "got %+v, want %+v", after, before)
}

func TestErrorsOfAnEditStandAtTheirFields(t *testing.T) {
	st, b := withX(t, `"title":"t"`)
	for field, c := range map[string][2]string{
		"url": {"", "Must not be empty."}, "expires_at": {"2020-01-01T00:00", "Must be in the future."}, "max_hits": {"-1", "Must be a number from 1 to"},
		"title": {strings.Repeat("x", 600), "Must be at most 512 bytes."},
	} {
		page := b.submit(b.open(editX).form(editX).with(field, c[0]))
		got := page.at("link-" + field + "-error")
		expect.That(t, page.status == 422 && strings.HasPrefix(got, c[1]), "%s: got %d %q", field, page.status, got)
		b.follow(page.form(editX).with(field, map[string]string{"url": "https://a.example/", "title": "t"}[field]))
	}
	o := st.object("x")
	expect.That(t, o.Title == "t" && o.URL == "https://a.example/" && o.ExpiresAt == nil, "got %+v", o)
}

func TestAnEditThatCrossedAnotherIsShownAndRepeated(t *testing.T) {
	st, b := withX(t, `"title":"old","tags":["a"],"max_hits":5`)
	mine := b.open(editX).form(editX).with("title", "mine", "expires_at", "2030-01-01T00:00", "disabled", "on")
	b.follow(b.open(editX).form(editX).with("title", "theirs", "tags", "b", "max_hits", "")).want("The link is saved.")
	page := b.submit(mine)
	page.want("This link was saved elsewhere while you edited it.", "Now: theirs", "Now: empty", "Now: no", "Changed by the other edit.")
	form := page.form(editX)
	got := fmt.Sprint(page.status, form.values["title"], form.values["tags"], form.values["max_hits"], form.values["expires_at"], form.values["disabled"])
	expect.Equal(t, strings.ReplaceAll(got, " ", ""), "412[mine][b][][2030-01-01T00:00][on]", "got %s", got)
	if o := st.object("x"); o.Title != "theirs" {
		t.Errorf("it was saved: %+v", o)
	}
	b.follow(form).want("The link is saved.")
	o := st.object("x")
	got, want := fmt.Sprint(o.Title, o.Tags, o.MaxHits, o.State, o.ExpiresAt.Year()), "mine[b]<nil>disabled2030"
	expect.Equal(t, strings.ReplaceAll(got, " ", ""), want, "sent again: got %s", got)
	b.submit(form.with("version", "nonsense")).expect(t, "a damaged version", 412)
	b.post("/_/account/language", formType, "language=de")
	mine = b.open(editX).form(editX).with("title", "mine again", "expires_at", "", "disabled", "", "max_hits", "3", "note", "n")
	b.follow(b.open(editX).form(editX).with("title", "no", "note", "empty")).want("Der Link ist gespeichert.")
	b.submit(mine).want("Jetzt: no", "Jetzt: ja", "Jetzt: leer", "Jetzt: empty", "Jetzt: 2030-01-01 00:00 UTC")
}

func TestADeletionIsConfirmedByNameAndVersion(t *testing.T) {
	st, b := withX(t, `"title":"t"`)
	st.get("/x", "User-Agent: a")
	page := b.open("/_/link/x/delete")
	page.want("Delete x?", "https://a.example/", "Hits 1", "For 90 days nobody else but an admin can take the code x.")
	form := page.form("/_/link/x/delete")
	b.follow(b.open(editX).form(editX).with("title", "other"))
	changed := b.submit(form)
	changed.want("The link was changed meanwhile. It is not deleted.")
	changed.expect(t, "", 412)
	last := changed.form("/_/link/x/delete")
	b.submit(last) // and once more, as by a double click
	b.follow(last).want("The link x is deleted.", "There is no link yet.")
	st.get("/x").expect(t, "the link", 404)
	b.submit(form).expect(t, "again", 404)
}

func TestALinkIsDisabledAndEnabled(t *testing.T) {
	st, b := withX(t, `"expires_at":"2026-01-02T04:00:00Z"`)
	const path = "/_/link/x/disabled"
	for _, want := range []string{"The link is disabled", "The link is enabled: it redirects again."} {
		b.follow(b.open("/_/link/x").form(path)).want(want)
	}
	st.now.Add(time.Hour.Milliseconds())
	b.follow(b.open("/_/link/x").form(path))
	b.follow(b.open("/_/link/x").form(path)).want("The link is enabled, but it does not redirect: it is expired.")
	b.post(path, formType, "disabled=perhaps").expect(t, "", 400)
}

func TestAnAdminEditsTheLinkOfSomebodyElse(t *testing.T) {
	st, _ := withX(t, `"title":"old"`)
	st.person("boss@example.com", account.RoleAdmin)
	boss := st.browse("boss@example.com")
	form := boss.open(editX+"?owner=all").form(editX).with("title", "new")
	st.as([]string{boss.cookie, ownPage}, "DELETE", "/session", "").need(t, "", 204)
	r := boss.submit(boss.submit(form).form("/_/sign-in").with("email", "boss@example.com", "password", goodPassword))
	boss.cookie, _, _ = strings.Cut("Cookie: "+r.header.Get("Set-Cookie"), ";")
	_, value, _ := strings.Cut(boss.cookie, "=")
	st.secret(value)
	saved := boss.follow(boss.open(r.header.Get("Location")).form(editX))
	if saved.want("The link is saved."); saved.path != "/_/link/x?owner=all" || st.object("x").Title != "new" {
		t.Errorf("got %s, %+v", saved.path, st.object("x"))
	}
	gone := boss.follow(boss.open("/_/link/x/delete?owner=all").form("/_/link/x/delete"))
	if gone.want("The link x is deleted."); gone.path != "/_/links?owner=all" {
		t.Errorf("got %s", gone.path)
	}
}

// TestEveryTextIsTypedAndShownOnPages needs no case for another text.
func TestEveryTextIsTypedAndShownOnPages(t *testing.T) {
	_, b := withX(t, `"title":""`)
	page := b.open(editX)
	form := page.form(editX)
	for _, text := range texts.All() {
		expect.That(t, page.element("link-"+text.Name) != nil, "%s has no input", text.Name)
		page.want(text.Label, text.Hint)
		form = form.with(text.Name, "the "+text.Name)
	}
	b.follow(form)
	page = b.open("/_/link/x")
	for _, text := range texts.All() {
		page.want("the " + text.Name)
		if text.Name != "title" { // which is the heading
			page.want(text.Label + " the " + text.Name)
		}
	}
}
