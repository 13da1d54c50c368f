package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// TestFiguresAreResetOnAPageWithoutScript also resets a link that was edited meanwhile.
func TestFiguresAreResetOnAPageWithoutScript(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	b.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2F&alias=x&key=k&max_hits=3")
	st.get("/x", browser)
	b.open("/_/link/x").want("Reset figures", "Hits of all time 1")
	page := b.open("/_/link/x/reset")
	page.want("Reset the figures of x?", "Hits 1 Visitors 1", "It can be followed 3 more times", "The overview keeps what was counted for all of your links.")
	form := page.form("/_/link/x/reset")
	st.call("PATCH", "/links/x?owner=2", `{"title":"t"}`)
	changed := b.submit(form)
	if changed.want("The link was changed meanwhile. Nothing is reset."); changed.status != 412 {
		t.Errorf("after an edit: got %d, want 412", changed.status)
	}
	last := changed.form("/_/link/x/reset")
	b.follow(last).want("The figures of the link are zero now.", "Hits of all time 0")
	st.get("/x", browser)
	if again := b.submit(last); again.status != 303 { // as by a double click
		t.Errorf("once more: got %d, want 303", again.status)
	}
	b.open("/_/link/x").want("Hits of all time 1")
}

// TestAnAdminGivesALinkAwayOnAPage names the user by address and by number.
func TestAnAdminGivesALinkAwayOnAPage(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin) // user 2
	ann := st.browseAs("ann@example.com", account.RoleMember)
	b.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2F&alias=x&key=k")
	page := b.open("/_/link/x/owner")
	page.want("Give x to another user", "Owner owner@example.com")
	refused := b.submit(page.form("/_/link/x/owner").with("to", "nobody@example.com"))
	expect.That(t, refused.status == 422 && refused.at("to-error") == "There is no such user.", "to nobody: got %d %q", refused.status, refused.at("to-error"))
	given := b.follow(refused.form("/_/link/x/owner").with("to", " ANN@example.com"))
	if given.want("The link now belongs to ann@example.com.", "Owner user 3"); given.path != "/_/link/x?owner=3" {
		t.Errorf("given away: got %s", given.path)
	}
	ann.open("/_/link/x").expect(t, "ann sees", 200)
	ann.get("/_/link/x/owner").expect(t, "ann, who is no admin, may give it away", 404)
	back := b.follow(b.open("/_/link/x/owner?owner=3").form("/_/link/x/owner").with("to", "2"))
	if back.want("The link now belongs to owner@example.com."); back.path != "/_/link/x" {
		t.Errorf("given back: got %s", back.path)
	}
}

// TestLinksOfADeletedUserAreGivenToAnotherOnAPage refuses somebody who does not exist first.
func TestLinksOfADeletedUserAreGivenToAnotherOnAPage(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin) // user 2
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"http://a/","alias":"x"}`)
	page := b.open("/_/users/3/delete")
	for to, want := range map[string]string{"9": "There is no such user.", "3": "Must be another user than the one who is deleted."} {
		p := b.submit(page.form("/_/users/3/delete").with("move_links_to", to))
		expect.That(t, p.status == 422 && p.at("move-error") == want, "to %s: got %d %q, want %q", to, p.status, p.at("move-error"), want)
	}
	b.follow(page.form("/_/users/3/delete").with("move_links_to", "owner@example.com")).
		want("The user ann@example.com is deleted.", "The links are those of owner@example.com now.")
	b.open("/_/links").want("127.0.0.1:8080/x")
}

// TestAnAdminChoosesTheOwnerOfAList names users in a list, and searches for them by address once they are too many.
func TestAnAdminChoosesTheOwnerOfAList(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin) // user 2
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"http://a/","alias":"of-ann"}`)
	options := func() (texts []string) {
		for n := range b.open("/_/links").element("owner").ChildNodes() {
			texts = append(texts, textOf(n))
		}
		return texts
	}
	expect.Slices(t, options(), []string{"you", "all users", "admin", "ann@example.com"})
	b.open("/_/links?owner=3").want("of-ann")
	expect.Contains(t, b.open("/_/links?owner=77").text(), "user 77", "the links of a user who is deleted")
	for i := range 100 {
		st.person(fmt.Sprintf("user-%02d@example.com", i), account.RoleMember)
	}
	for query, want := range map[string]string{
		"ANN@example.com": "of-ann", "ann": "of-ann", "3": "of-ann", "all": "of-ann",
		"user-1": "The owner: 10 users have this in their address: user-10@example.com, user-11@example.com, user-12@example.com, " +
			"user-13@example.com, user-14@example.com, ….",
		"nobody": "The owner: No other user has this address.",
	} {
		page := b.open("/_/links?owner=" + query)
		page.want(want)
		expect.Equal(t, strings.Contains(page.text(), "of-ann"), want == "of-ann", query)
	}
	expect.Contains(t, b.open("/_/links?owner=3").body, `name="owner" value="ann@example.com"`)
}
