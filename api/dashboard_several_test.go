package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/folder"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

const undoSeveralPath = "/_/links/selected/undo"

// change does something with links of a list, and returns the page that says what became of them.
func (b *plainBrowser) change(list *shown, do string, codes []string, pairs ...string) *shown {
	b.st.t.Helper()
	return b.submit(b.chosen(list, do, codes...).form(changePath).with(pairs...))
}

// unedited returns a link object without what each edit changes.
func unedited(t *testing.T, object string) string {
	t.Helper()
	return strings.ReplaceAll(object, `"updated_at":`+field(t, object, "updated_at"), "")
}

// TestAChangeOfSeveralLinksIsUndone does each thing with links that differ, one of which is so already, and takes it
// back.
func TestAChangeOfSeveralLinksIsUndone(t *testing.T) {
	st := newSite(t, nil)
	boss := st.person("boss@example.com", account.RoleAdmin)
	token := st.issue(account.CallerOf(boss), account.AllScopes...)
	ann := st.person("ann@example.com", account.RoleMember)
	for _, name := range []string{"one", "two"} {
		_, err := st.folders.Add(account.CallerOf(boss), folder.Folder{Name: name, Owner: boss.ID})
		expect.OK(t, err)
	}
	for _, body := range []string{
		`{"url":"https://a.example/","alias":"l1","tags":["a","b"],"folder":1,"expires_at":"2037-01-01T00:00:00.5Z"}`,
		`{"url":"https://b.example/","alias":"l2","tags":["B","c"],"title":"T"}`,
		`{"url":"https://c.example/","alias":"l3","tags":["b"],"folder":2,"expires_at":"2036-01-01T00:00:00Z","disabled":true}`,
	} {
		st.callAs(token, "POST", "/shorten", body).need(t, body, 201)
	}
	all := []string{"l1", "l2", "l3"}
	b := st.browse("boss@example.com")
	for _, c := range []struct {
		do, field, value string
		changed          uint64
	}{
		{"disable", "", "", 2}, {"enable", "", "", 1}, {"delete", "", "", 3}, {"tag", "tags", "b, new", 3}, {"untag", "tags", "A, c", 2},
		{"expire", "expires_at", "2036-01-01T00:00", 2}, {"expire", "expires_at", "", 2}, {"folder", "into", "2", 2}, {"folder", "into", "", 2},
		{"move", "to", "ann@example.com", 3},
	} {
		what := c.do + " " + c.value
		var before, versions []string
		for _, code := range all {
			before = append(before, unedited(t, st.call("GET", "/links/"+code+"?owner=all", "").body))
			versions = append(versions, st.version(code))
		}
		done := b.change(b.open("/_/links"), c.do, all, c.field, c.value)
		done.want(fmt.Sprint(c.changed)+" link", "Undo")
		form := done.form(undoSeveralPath)
		back := form.values.Get("undo")
		expect.Equal(t, strings.Count(back, `["l`), int(c.changed), "%s: links that are taken back: %s", what, back)
		undone := b.submit(form)
		expect.MustEqual(t, undone.status, 200, what)
		undone.want(fmt.Sprint(c.changed)+" link", "as before.", "Back to the list")
		for i, code := range all {
			expect.Equal(t, unedited(t, st.call("GET", "/links/"+code+"?owner=all", "").body), before[i], "%s: %s", what, code)
			expect.Equal(t, st.version(code) == versions[i], !strings.Contains(back, code), "%s: %s has a new version", what, code)
		}
		again := b.submit(form)
		expect.Equal(t, again.header.Get("Location"), "/_/links", "%s: the same form again", what)
		b.open("/_/links").want("This was done already.")
	}
	expect.Equal(t, listedOn(b.open(fmt.Sprintf("/_/links?owner=%d", ann.ID))), "", "links of ann")
	none := b.change(b.open("/_/links"), "enable", []string{"l1"})
	none.want("0 links were changed. 1 link was so already.")
	expect.Equal(t, len(none.forms(undoSeveralPath)), 0, "forms that take nothing back")
}

// TestUndoLeavesWhatWasChangedMeanwhile has links of a change that somebody edits, deletes for good, restores, or whose
// code is another's by then.
func TestUndoLeavesWhatWasChangedMeanwhile(t *testing.T) {
	st := newSite(t, nil)
	st.person("boss@example.com", account.RoleAdmin)
	ann := st.issue(account.CallerOf(st.person("ann@example.com", account.RoleMember)), everyMemberScope...)
	ben := st.issue(account.CallerOf(st.person("ben@example.com", account.RoleMember)), everyMemberScope...)
	for code, of := range map[string]string{"a1": ann, "a2": ann, "a3": ann, "b1": ben, "b2": ben} {
		st.callAs(of, "POST", "/shorten", `{"url":"https://a.example/","alias":"`+code+`"}`).need(t, code, 201)
	}
	b := st.browse("boss@example.com")
	list := b.open("/_/links?owner=all")
	disabled := b.change(list, "disable", []string{"a1", "a2", "a3", "b1", "b2"})
	disabled.want("5 links were changed.")
	st.callAs(ann, "PATCH", "/links/a2", `{"title":"by ann"}`).need(t, "", 200)
	st.callAs(ann, "DELETE", "/links/a3", "").need(t, "", 204)
	st.callAs(ben, "PATCH", "/links/b2", `{"disabled":false}`).need(t, "", 200)
	b.submit(disabled.form(undoSeveralPath)).want("2 links are as before. 2 links were changed meanwhile. 1 link is gone.")
	for code, want := range map[string]string{"a1": "active", "a2": "disabled", "b1": "active", "b2": "active"} {
		expect.Equal(t, string(st.object(code).State), want, code)
	}
	expect.Contains(t, st.call("GET", "/links/a2?owner=all", "").body, `"title":"by ann"`)

	st.callAs(ann, "POST", "/shorten", `{"url":"https://a.example/","alias":"a4"}`).need(t, "", 201)
	deleted := b.change(b.open("/_/links?owner=all"), "delete", []string{"a1", "a2", "a4", "b1", "b2"})
	deleted.want("5 links were deleted.")
	st.callAs(ann, "POST", "/shorten", `{"url":"https://new.example/","alias":"a1"}`).need(t, "the code of a1", 201)
	st.callAs(ann, "POST", "/links/a2/restore", "").need(t, "", 200)
	st.callAs(ann, "DELETE", "/links/a2", "").need(t, "deleted once more", 204)
	st.callAs(ben, "DELETE", "/links/b2?purge=true", "").need(t, "", 204)
	undone := b.submit(deleted.form(undoSeveralPath))
	undone.want("2 links are as before. 1 link was changed meanwhile. 1 link is gone. 1 link was refused.", "a1: A link that is not deleted has this code.")
	for code, want := range map[string]int{"a1": 200, "a2": 404, "a4": 200, "b1": 200, "b2": 404} {
		expect.Equal(t, st.call("GET", "/links/"+code+"?owner=all", "").status, want, code)
	}
	expect.Contains(t, st.call("GET", "/links/a1?owner=all", "").body, "https://new.example/")
}

// TestUndoIsOfferedOnlyOfAllThatWasChanged has changes that cannot be taken back wholly: of too many links, of too many
// bytes, of an expiry that has passed, and by a member of a folder who could not do it.
func TestUndoIsOfferedOnlyOfAllThatWasChanged(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	ann := st.issue(account.CallerOf(st.person("many@example.com", account.RoleMember)), everyMemberScope...)
	st.linksOf(ann, ops.MaxFormers+1)
	b := st.browse("many@example.com")
	offered := func(done *shown) bool { return len(done.forms(undoSeveralPath)) > 0 }
	done := b.change(b.open("/_/links"), "disable", nil)
	done.want("501 links were changed.")
	expect.That(t, !offered(done), "%d links are taken back", ops.MaxFormers+1)
	b.change(b.open("/_/links"), "enable", []string{"l0"}).want("1 link was changed.")
	done = b.change(b.open("/_/links?state=disabled"), "enable", nil)
	done.want("500 links were changed.", "Undo")
	b.submit(done.form(undoSeveralPath)).want("500 links are as before.")
	b.open("/_/links?state=disabled").want("500 links")

	long := strings.ReplaceAll(manyTags(engine.MaxTags), "t", strings.Repeat("é", 20))
	b.change(b.open("/_/links?q=l1"), "tag", nil, "tags", "short").want("links were changed.", "Undo")
	for _, code := range []string{"l1", "l2", "l3", "l4"} {
		st.callAs(ann, "PATCH", "/links/"+code, `{"tags":["`+strings.ReplaceAll(long, ", ", `","`)+`"]}`).need(t, "", 200)
	}
	done = b.change(b.open("/_/links"), "untag", []string{"l1", "l2"}, "tags", strings.Repeat("é", 20)+"1")
	done.want("2 links were changed.", "Undo")
	b.submit(done.form(undoSeveralPath)).want("2 links are as before.")
	for i := range 40 {
		st.callAs(ann, "PATCH", fmt.Sprint("/links/l", i), `{"tags":["`+strings.ReplaceAll(long, ", ", `","`)+`"]}`).need(t, "", 200)
	}
	done = b.change(b.open("/_/links?tag="+url.QueryEscape(strings.Repeat("é", 20)+"1")), "untag", nil, "tags", strings.Repeat("é", 20)+"1")
	done.want("40 links were changed.")
	expect.That(t, !offered(done), "a form of 40 links with long tags")

	st.callAs(ann, "PATCH", "/links/l5", `{"expires_at":"2026-01-02T03:05:00Z"}`).need(t, "", 200)
	st.passTime(120_000)
	done = b.change(b.open("/_/links"), "expire", []string{"l5", "l6"}, "expires_at", "2037-01-01T00:00")
	done.want("2 links were changed.")
	expect.That(t, !offered(done), "an expiry that has passed")
}

// TestAMemberUndoesWhatAMemberMay has somebody who may edit the links of a folder change and delete those of others.
func TestAMemberUndoesWhatAMemberMay(t *testing.T) {
	st := newSharing(t)
	st.as1("ed", "POST", "/shorten", `{"url":"https://e.example/","alias":"of-ed","folder":1}`).need(t, "", 201)
	ed := st.browse("ed@example.com")
	list := func() *shown { return ed.open("/_/links?folder=1") }
	done := ed.change(list(), "tag", []string{"x", "of-ed", "y"}, "tags", "new")
	done.want("2 links were changed. 1 link is gone.")
	undone := ed.submit(done.form(undoSeveralPath))
	undone.want("2 links are as before.")
	expect.Equal(t, undone.link("Back to the list"), "/_/links?folder=1")
	expect.Contains(t, st.as1("ann", "GET", "/links/x", "").body, `"tags":[]`)

	done = ed.change(list(), "tag", []string{"x"}, "tags", "new")
	st.as1("ann", "PATCH", "/folders/1", `{"members":[]}`).need(t, "", 200)
	ed.submit(done.form(undoSeveralPath)).want("0 links are as before. 1 link is gone.")
	expect.Contains(t, st.as1("ann", "GET", "/links/x", "").body, `"tags":["new"]`)
	st.call("PATCH", "/folders/1", `{"members":[{"user":4,"may":"edit"}]}`).need(t, "", 200)

	for _, do := range []string{"folder", "delete"} {
		done = ed.change(list(), do, []string{"x", "of-ed"}, "into", "")
		done.want("2 links were")
		expect.Equal(t, len(done.forms(undoSeveralPath)), 0, "%s: forms that a member could not send with success", do)
		for _, who := range []string{"ann", "ed"} {
			code := map[string]string{"ann": "x", "ed": "of-ed"}[who]
			if do == "delete" {
				st.as1(who, "POST", "/links/"+code+"/restore", "").need(t, code, 200)
			}
			st.as1("ann", "PATCH", "/links/x", `{"folder":1}`).need(t, code, 200)
		}
	}
	alone := ed.change(ed.open("/_/links"), "delete", []string{"of-ed"})
	ed.submit(alone.form(undoSeveralPath)).want("1 link is as before.")
}

// TestHostileUndosOfSeveralLinksChangeNothing sends what no page of ours sends.
func TestHostileUndosOfSeveralLinksChangeNothing(t *testing.T) {
	st := newSite(t, nil)
	b := st.ownFigures()
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	ann := st.browseAs("ann@example.com", account.RoleMember)
	before := st.call("GET", "/links/x", "").body
	send := func(b *plainBrowser, undo string, pairs ...string) *shown {
		return b.submit((&htmlForm{undoSeveralPath, url.Values{"undo": {undo}}}).with(pairs...))
	}
	for _, undo := range []string{
		"", "[", "[]", "{}", "7", "null", `["x"]`, `[["x"]]`, `[["x",1,{},{}]]`, `[[1,1]]`, `[["x","1"]]`, `[["x",0]]`, `[["x",-1]]`, `[["x",1.5]]`, `[["x",99999999999999999999]]`, `[["x",1],7]`,
		strings.Repeat("[", 20_000), "[" + strings.Repeat(`["c",1],`, ops.MaxFormers) + `["c",1]]`,
	} {
		send(b, undo).expect(t, fmt.Sprintf("%.40q", undo), 400)
	}
	for undo, said := range map[string]string{
		`["x",1,{"url":"javascript:alert(1)"}]`: "was refused.", `["x",1,{"password":"a password of x"}]`: "was refused.",
		`["x",1,{"password":"a password of x","expires_at":"2020-01-01T00:00:00Z"}]`: "was refused.", `["x",1,{"code":"y"}]`: "was refused.",
		`["x",1,[]]`: "was refused.", `["x",1,null]`: "was refused.", `["x",1,{"owner":99}]`: "was refused.", `["x",1,{"title":"t","title":"t"}]`: "was refused.", `["x",1]`: "was refused.",
		`["x",2,{"title":"t"}]`: "was changed meanwhile.", `["x",18446744073709551615,{"title":"t"}]`: "was changed meanwhile.",
		`["x,none.test",1]`: "is gone.", `["a//b",1]`: "is gone.", `["",1]`: "is gone.", `["none",1]`: "is gone.", `["none",1,{"title":"t"}]`: "is gone.",
	} {
		page := send(b, "["+undo+"]")
		expect.That(t, page.status == 200 && strings.Contains(page.text(), "0 links are as before. 1 link "+said), "%s: got %d %s", undo, page.status, page.text())
	}
	again := send(b, `[["x",1]]`)
	again.want("0 links are as before. 1 link was refused.") // not that it was done already
	const foreign = `[["x",1,{"title":"t"}]]`
	send(ann, foreign).want("0 links are as before. 1 link is gone.")
	send(ann, foreign, "of", "all").expect(t, "a member asks for the links of all", 403)
	expect.Equal(t, st.call("GET", "/links/x", "").body, before, "the link")
}
