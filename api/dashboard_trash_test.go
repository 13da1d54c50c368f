package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

const (
	trashPath   = "/_/links/trash"
	restorePath = trashPath + "/restore"
	purgePath   = trashPath + "/purge"
	undoPath    = "/_/link/x/undo"
)

// TestADeletionIsUndoneOnAPage undoes one by the notice, one in the trash, and deletes one for good.
func TestADeletionIsUndoneOnAPage(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleMember)
	b.open(trashPath).want("The trash is empty.")
	for _, code := range []string{"x", "y", "z"} {
		b.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2F"+code+"&alias="+code+"&title=T"+code+"&key=k"+code)
		st.get("/"+code, browser)
	}
	remove := func(code string) *shown {
		page := b.open("/_/link/" + code + "/delete")
		page.want("For 30 days the link is in the trash, and can be restored with its hits")
		return b.follow(page.form("/_/link/" + code + "/delete"))
	}
	deleted := remove("x")
	deleted.want("The link x is deleted. For 30 days it is in the trash.", "Undo")
	back := b.follow(deleted.form(restorePath))
	back.want("The link x is back, with its hits.", "Hits of all time 1")
	expect.Equal(t, back.path, "/_/link/x", "after Undo")
	again := b.submit(deleted.form(restorePath))
	expect.Equal(t, again.status, 303, "the same form again")

	remove("y")
	remove("z")
	b.open("/_/links").want("Trash")
	expect.Equal(t, b.open("/_/go?q=restore").link("Trash"), trashPath, "the trash by words")
	list := b.open(trashPath)
	list.want("Ty", "example.com/y", "Tz", "Restore", "This cannot be undone.", "until")
	var ofY, ofZ []*htmlForm
	for _, f := range list.forms(restorePath) {
		if f.values.Get("code") == "y" {
			ofY = append(ofY, f)
		}
	}
	for _, f := range list.forms(purgePath) {
		if f.values.Get("code") == "z" {
			ofZ = append(ofZ, f)
		}
	}
	b.follow(ofY[0]).want("The link y is back, with its hits.", "Open it", "Tz")
	b.follow(ofY[0]) // once more, as by a double click
	gone := b.follow(ofZ[0])
	gone.want("The link z is deleted for good.", "The trash is empty.")
	expect.Equal(t, gone.path, trashPath, "after a purge")
	st.get("/y", browser).expect(t, "y", 302)
	st.get("/z", browser).expect(t, "z", 404)

	remove("y")
	form := b.open(trashPath).forms(purgePath)[0]
	restore := b.open(trashPath).forms(restorePath)[0]
	b.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2Fnew&alias=y&key=k2")
	b.follow(restore).want("The link cannot be restored: a link that is not deleted has this code.")
	b.follow(form).want("That link is not in the trash any more.")
	st.get("/y", browser).expect(t, "the new y", 302)
	b.get("/_/links?state=deleted").expect(t, "the state in the list", 303, header("Location", trashPath))
	for range 2 { // each deletion is undone by a form of its own
		b.follow(remove("y").form(restorePath)).want("The link y is back")
	}
}

// TestAPurgeOfAPageSparesALinkThatWasRestored sends a form of a page that was shown before.
func TestAPurgeOfAPageSparesALinkThatWasRestored(t *testing.T) {
	st := newSite(t, nil)
	b := st.ownFigures()
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	st.call("DELETE", "/links/x", "").need(t, "", 204)
	form := b.open(trashPath).forms(purgePath)[0]
	st.call("POST", "/links/x/restore", "").need(t, "", 200)
	b.follow(form).want("That link is not in the trash any more.")
	st.get("/x", browser).expect(t, "the link", 302)
	for _, version := range []string{"", "0", "x", "-1", "99999999999999999999"} {
		b.follow(form.with("version", version)).want("That link is not in the trash any more.")
	}
	st.get("/x", browser).expect(t, "the link", 302)
}

// TestAnAdminSeesTheTrashOfAll also pages through it.
func TestAnAdminSeesTheTrashOfAll(t *testing.T) {
	st := newSite(t, nil)
	b := st.ownFigures()
	ann := st.member("ann@example.com") // 2 or later
	for i := range 30 {
		code := fmt.Sprint("x", i)
		st.callAs(ann, "POST", "/shorten", `{"url":"https://a.example/","alias":"`+code+`"}`).need(t, "", 201)
		st.passTime(1000)
		st.callAs(ann, "DELETE", "/links/"+code, "").need(t, "", 204)
	}
	mine := b.open(trashPath)
	mine.want("The trash is empty.")
	all := b.open(mine.link("All users"))
	all.want("ann@example.com", "/x29", "/x5")
	older := b.open(all.link("Older"))
	older.want("/x4", "/x0", "Newest")
	b.follow(older.forms(restorePath)[0]).want("The link x4 is back, with its hits.", "ann@example.com")
	expect.Equal(t, st.callAs(ann, "GET", "/links/x4", "").status, 200, "ann reads x4")
	b.get(trashPath+"?cursor=x").expect(t, "a cursor that is none", 422)
	b.get(trashPath+"?domain=none.test").expect(t, "a domain that is none", 422)
	member := st.browseAs("bob@example.com", account.RoleMember)
	member.get(trashPath+"?owner=all").expect(t, "a member", 403)
}

// TestAnEditAndADisablingAreUndone also undoes an undo, and after another edit nothing.
func TestAnEditAndADisablingAreUndone(t *testing.T) {
	st := newSite(t, nil)
	b := st.ownFigures()
	st.shorten(`{"url":"https://a.example/","alias":"x","title":"old","tags":["a","b"],"max_hits":7,"expires_at":"2037-01-01T00:00:00Z","card":{"title":"C","description":"D"}}`)
	was := st.call("GET", "/links/x", "").body
	edit := b.open("/_/link/x/edit").form("/_/link/x/edit")
	saved := b.follow(edit.with("title", "new", "url", "https://b.example/", "tags", "c", "max_hits", "", "expires_at", "", "card_title", "", "card_description", ""))
	saved.want("The link is saved.", "Undo")
	undo := saved.form(undoPath)
	undone := b.follow(undo)
	undone.want("The link has the former values again.", "Undo")
	now := st.call("GET", "/links/x", "").body
	for _, name := range []string{"url", "title", "tags", "max_hits", "expires_at", "card"} {
		expect.Equal(t, field(t, now, name), field(t, was, name), name)
	}
	b.follow(undo).want("Nothing was undone, because the link was changed again meanwhile.")
	b.follow(undone.form(undoPath)).want("The link has the former values again.")
	expect.Equal(t, field(t, st.call("GET", "/links/x", "").body, "title"), `"new"`, "after undoing the undo")

	disabled := b.follow(b.open("/_/link/x").form("/_/link/x/disabled"))
	disabled.want("The link is disabled: it does not redirect any more.", "Undo")
	st.get("/x", browser).expect(t, "disabled", 410)
	b.follow(disabled.form(undoPath)).want("The link has the former values again.")
	st.get("/x", browser).expect(t, "enabled again", 302)
	disabled = b.follow(b.open("/_/link/x").form("/_/link/x/disabled"))
	st.call("PATCH", "/links/x", `{"title":"other"}`).need(t, "", 200)
	b.follow(disabled.form(undoPath)).want("Nothing was undone, because the link was changed again meanwhile.")
	st.get("/x", browser).expect(t, "still disabled", 410)

	unchanged := b.follow(b.open("/_/link/x/edit").form("/_/link/x/edit"))
	unchanged.want("Nothing was changed.")
	expect.Equal(t, len(unchanged.forms(undoPath)), 0, "forms that undo nothing")
}

// TestWhatCannotBeUndoneSaysWhy has an expiry that is over by now, and a password.
func TestWhatCannotBeUndoneSaysWhy(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","expires_at":"2037-01-01T00:00:00Z"}`)
	st.now.Store(2_114_380_800_000) // 2037-01-01
	b := st.ownFigures()
	saved := b.follow(b.open("/_/link/x/edit").form("/_/link/x/edit").with("expires_at", ""))
	b.follow(saved.form(undoPath)).want("Nothing was undone: Expires: must be in the future.")
	b.post("/_/account/language", formType, "language=de")
	b.open("/_/account")
	b.follow(saved.form(undoPath)).want("Nichts wurde rückgängig gemacht: Ablauf: muss in der Zukunft liegen.")
	b.post("/_/account/language", formType, "language=en")
	b.open("/_/account")
	locked := b.follow(b.open("/_/link/x/edit").form("/_/link/x/edit").with("password", st.secret("a password of x")))
	locked.want("The link is saved.")
	expect.Equal(t, len(locked.forms(undoPath)), 0, "forms that would have to know a password")
}

// TestHostileUndosChangeNothing sends what no page of ours sends.
func TestHostileUndosChangeNothing(t *testing.T) {
	st := newSite(t, nil)
	b := st.ownFigures()
	ann := st.browseAs("ann@example.com", account.RoleMember)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	before := st.call("GET", "/links/x", "").body
	for patch, status := range map[string]int{
		"": 400, "{": 400, "[]": 303, `{"title":1}`: 303, `{"none":1}`: 303, `{"url":"javascript:alert(1)"}`: 303, `{"hits":7}`: 303, `{"title":"a","title":"b"}`: 303, "\x00": 400, `{"title":"` + strings.Repeat("x", 600) + `"}`: 303,
		strings.Repeat("[", 10_000): 400,
	} {
		r := b.post(undoPath, formType, url.Values{"patch": {patch}, "version": {"1"}}.Encode())
		expect.Equal(t, r.status, status, "%.40q", patch)
	}
	for _, version := range []string{"x", "-1", "0", "1e3", "99999999999999999999"} {
		b.post(undoPath, formType, url.Values{"patch": {`{"title":"T"}`}, "version": {version}}.Encode()).expect(t, version, 303)
	}
	ann.post(undoPath, formType, url.Values{"patch": {`{"title":"T"}`}}.Encode()).expect(t, "a foreign link", 404)
	ann.post(undoPath, formType, url.Values{"patch": {`{"owner":2}`}, "owner": {"all"}}.Encode()).expect(t, "a foreign link as an admin", 403)
	for _, path := range []string{restorePath, purgePath} {
		for _, code := range []string{"", "a//b", "x\x00", strings.Repeat("a", 99), "x"} {
			r := b.post(path, formType, url.Values{"code": {code}}.Encode())
			expect.That(t, r.status == 404 || r.status == 303, "%s of %q: got %d", path, code, r.status)
		}
	}
	expect.Equal(t, st.call("GET", "/links/x", "").body, before, "the link")
}

// TestAFormerValueIsRestoredInTheHistory restores what an edit has changed, and nothing of an earlier link of the code.
func TestAFormerValueIsRestoredInTheHistory(t *testing.T) {
	st := newSite(t, nil)
	b := st.ownFigures()
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	st.call("PATCH", "/links/x", `{"title":"of another link"}`).need(t, "", 200)
	st.call("DELETE", "/links/x?purge=true", "").need(t, "", 204)
	st.passTime(1000)
	st.shorten(`{"url":"https://b.example/","alias":"x","title":"first","tags":["a, b","c"],"rules":[{"url":"https://r.example/","conditions":[{"type":"device","match_value":"ios"}]}]}`)
	st.passTime(1000)
	st.call("PATCH", "/links/x", `{"title":"second","tags":[],"expires_at":"2037-01-01T00:00:00Z","password":"`+st.secret("a password of x")+`","rules":null,"card":{"title":"C"}}`).need(t, "", 200)
	b.open("/_/audit").want("second")
	expect.Equal(t, len(b.open("/_/audit").forms(undoPath)), 0, "forms in the log of everything")
	page := b.open("/_/audit?code=x")
	var offered []string
	for _, f := range page.forms(undoPath) {
		offered = append(offered, f.values.Get("field"))
		b.follow(f).want("The link has the former values again.", "Undo")
	}
	slices.Sort(offered)
	expect.Slices(t, offered, []string{"card", "expires_at", "rules", "tags", "title"}, "values that are offered")
	r := st.call("GET", "/links/x", "")
	for name, want := range map[string]string{"title": `"first"`, "tags": `["a, b","c"]`, "expires_at": "null", "card": ""} {
		expect.Equal(t, field(t, r.body, name), want, name)
	}
	expect.Contains(t, r.body, `"rules":[{"url":"https://r.example/"`)
	form := page.forms(undoPath)[0]
	b.follow(form).want("Nothing was changed: the link is so already.")
	entry := form.values.Get("entry")
	for name, pairs := range map[string][]string{
		"no entry": {"entry", "1"}, "no number": {"entry", "x"}, "the last number": {"entry", "18446744073709551615"}, "the next entry": {"entry", entry[:len(entry)-1] + "9"},
		"a field that did not change": {"field", "note"}, "a field that nobody can set": {"field", "hits"}, "the owner": {"field", "owner"}, "no field": {"field", ""},
	} {
		b.submit(form.with(pairs...)).expect(t, name, 404)
	}
	st.shorten(`{"url":"https://b.example/","alias":"y"}`)
	b.post("/_/link/y/undo", formType, form.values.Encode()).expect(t, "an entry of another link", 404)
	ann := st.browseAs("ann@example.com", account.RoleMember)
	ann.follow(ann.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "anns"))
	ann.post("/_/link/anns/undo", formType, form.with("owner-", "").values.Encode()).expect(t, "a member", 404)
}
