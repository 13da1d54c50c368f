package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/ops"
	"shunt/engine/expect"
)

func TestMembersDoNotSeePagesOfAdmins(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	for _, path := range []string{"/_/users", "/_/users/1", "/_/users/1/delete", "/_/misses", "/_/audit", "/_/system", "/_/domains", "/_/domains/b.test", "/_/domains/b.test/delete"} {
		b.get(path).expect(t, path, 404)
	}
	for _, path := range []string{"/_/users", "/_/users/1", "/_/users/1/setup-link", "/_/users/1/delete", "/_/transfer", "/_/domains", "/_/domains/b.test", "/_/domains/b.test/delete"} {
		b.post(path, formType, "email=x%40example.com&role=admin&links=keep").expect(t, "POST "+path, 404)
	}
	users, err := st.accounts.ListUsers()
	expect.That(t, err == nil && len(users) == 2, "got %d users (%v), want 2", len(users), err)
}

func TestAnInvitationShowsASetupLinkOnce(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	p := b.fill(b.open("/_/users"), "/_/users", "email", "Ben@Example.com", "role", "member")
	link := p.at("setup-link")
	prefix := "http://127.0.0.1:8080/_/setup?code="
	code, found := strings.CutPrefix(link, prefix)
	expect.MustThat(t, found && p.at("main") != "", "got the link %q: %s", link, p.text())
	st.secret(code)
	p.want("The user ben@example.com is added.", "works once, for one hour", "this user cannot sign in yet")
	u, err := st.accounts.LookUpSetupCode(code)
	expect.That(t, err == nil && u.Name == "ben@example.com" && u.Role == account.RoleMember, "the link is of %+v (%v)", u, err)
	expect.That(t, !strings.Contains(b.open("/_/users/3").body, code), "a reload shows the link again")
	b.open("/_/users").want("ben@example.com 3 member not set", "3 users")
	p = b.fill(b.open("/_/users/2"), "/_/users/2/setup-link")
	other := st.secret(p.at("setup-link"))
	expect.That(t, strings.HasPrefix(other, prefix) && other != link, "another link: got %q", other)
}

// A browser shows the answer to the last of two equal requests.
func TestAnInvitationSentTwiceShowsItsLink(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	form := b.open("/_/users").form("/_/users").with("email", "ben@example.com", "role", "member")
	b.submit(form)
	p := b.follow(form)
	expect.That(t, st.secret(p.at("setup-link")) != "" && p.path == "/_/users/3", "%s shows no setup link: %s", p.path, p.text())
}

func TestASetupLinkIsShownOnlyWithItsUser(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	form := b.open("/_/users/2").form("/_/users/2/setup-link")
	r := b.post("/_/users/2/setup-link", formType, form.values.Encode())
	expect.MustThat(t, r.status == 303, "%v", r)
	for _, path := range []string{"/_/users/1", "/_/tokens"} {
		b.open(path).expect(t, path+" shows the link of another page", without("setup?code="))
	}
	expect.That(t, st.secret(b.open("/_/users/2").at("setup-link")) != "", "the page of the user does not show the link")
}

func TestABadInvitationChangesNothing(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	for _, c := range []struct{ email, role, at, want string }{
		{"OWNER@example.com", "member", "email-error", "A user with this address exists already."},
		{`<script>"@x`, "admin", "email-error", "Must have at most 64 letters, digits and .!#$%&'*+/=?^_`{|}~- before the @."},
		{"x@example.com", "king", "role-error", "Must be admin, member or viewer."},
	} {
		p := b.fill(b.open("/_/users"), "/_/users", "email", c.email, "role", c.role)
		expect.That(t, p.status == 422 && p.at(c.at) == c.want && p.form("/_/users").values.Get("email") == c.email, "%+v: got %d %q", c, p.status, p.at(c.at))
	}
	users, err := st.accounts.ListUsers()
	expect.That(t, err == nil && len(users) == 2, "got %d users (%v), want 2", len(users), err)
}

func TestAnAdminChangesAddressAndRole(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.person("ben@example.com", account.RoleMember)
	p := b.fill(b.open("/_/users/3"), "/_/users/3", "email", "o'hara+b&c@example.com", "role", "admin")
	p.want("The changes are saved.", "o'hara+b&c@example.com")
	u, err := st.accounts.UserByName("o'hara+b&c@example.com")
	expect.That(t, err == nil && u.ID == 3 && u.Role == account.RoleAdmin, "got %+v (%v)", u, err)
	if p := b.fill(p, "/_/users/3", "email", "owner@example.com"); p.status != 422 || p.at("email-error") != "A user with this address exists already." {
		t.Errorf("a taken address: got %d %s", p.status, p.text())
	}
	if p := b.fill(b.open("/_/users/1"), "/_/users/1"); p.status != 200 { // the first admin has no address
		t.Errorf("a user without an address: got %d %s", p.status, p.text())
	}
	for _, path := range []string{"/_/users/9", "/_/users/0", "/_/users/03", "/_/users/x", "/_/users/4294967297"} {
		b.get(path).expect(t, path, 404)
	}
}

func TestTheLastAdminStays(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	expect.NoError(t, st.calls.RemoveUser(account.Caller{}, 1, ops.LinksOfRemoved{Keep: true}))
	p := b.fill(b.open("/_/users/2"), "/_/users/2", "role", "member")
	want := "This is the last admin; make somebody else an admin first."
	expect.That(t, p.status == 422 && p.at("role-error") == want, "demoted: got %d %q, want %q", p.status, p.at("role-error"), want)
	p = b.fill(b.open("/_/users/2/delete"), "/_/users/2/delete")
	p.want("This is the last admin; make somebody else an admin first.", "This is you.")
	p.expect(t, "deleted", 422)
	b.open("/_/users")
}

func TestAnAdminCanLeave(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	other := st.browseAs("second@example.com", account.RoleAdmin)
	b.fill(b.open("/_/users/2"), "/_/users/2", "role", "member").want("You are a member now.")
	b.get("/_/users").expect(t, "the users after that", 404)
	p := other.fill(other.open("/_/users/3/delete"), "/_/users/3/delete")
	p.want("Sign in")
	other.get("/_/users").expect(t, "a deleted admin", 303)
}

func TestDeletingAUserSpellsOutTheLinks(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	ann := st.member("ann@example.com")
	for i := range 3 {
		st.callAs(ann, "POST", "/shorten", fmt.Sprintf(`{"url":"http://a/","alias":"x%d"}`, i))
	}
	p := b.open("/_/users/3/delete")
	p.want("Delete ann@example.com?", "Keep 3 links of this user", "under the user number 3, which nobody else ever gets")
	p = b.fill(p, "/_/users/3/delete")
	want := "This user has links. Say who gets them, choose to keep them, or delete them first."
	expect.That(t, p.status == 422 && p.at("links-error") == want, "without a word about the links: got %d %q", p.status, p.at("links-error"))
	b.submit(p.form("/_/users/3/delete").with("links", "keep")) // and once more, as by a double click
	b.fill(p, "/_/users/3/delete", "links", "keep").want("The user ann@example.com is deleted.", "The links of user 3 go on redirecting. Show the links of user 3", "2 users")
	st.get("/x1").expect(t, "a link", 302)
	st.callAs(ann, "GET", "/me", "").expect(t, "the token", 401)
	b.get("/_/users/3").expect(t, "the page", 404)
}

func TestLinksAreCountedUpToALimit(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	for range 3 {
		st.shorten(`{"url":"http://a/"}`)
	}
	admin, err := st.accounts.OldestAdmin()
	expect.NoError(t, err)
	for limit, want := range map[uint64]string{2: "2 true", 3: "3 false", 4: "3 false"} {
		n, more, err := st.calls.CountLinks(account.CallerOf(admin), admin.ID, limit)
		got := fmt.Sprint(n, more)
		expect.That(t, got == want && err == nil, "limit %d: got %s (%v), want %s", limit, got, err, want)
	}
	_, _, err = st.calls.CountLinks(account.CallerOf(ann), admin.ID, 4)
	expect.That(t, err != nil, "a member counts the links of others")
}

func TestManyUsersAreShownByPages(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	for i := range 120 {
		_, err := st.accounts.AddUser(account.UserDraft{Email: fmt.Sprintf("user%d@example.com", i), Role: account.RoleMember})
		expect.NoError(t, err)
	}
	count := func(p *shown) int { return strings.Count(p.body, `data-label="Number"`) }
	p := b.open("/_/users")
	expect.That(t, count(p) == 100 && strings.Contains(p.body, `href="/_/users?from=100"`), "the first page has %d rows", count(p))
	p = b.open("/_/users?from=100")
	expect.That(t, count(p) == 22 && strings.Contains(p.body, `href="/_/users">Before`), "the second page has %d rows", count(p))
	expect.Equal(t, count(b.open("/_/users?q=USER11")), 11, "a search finds")
	b.open("/_/users?q=%22%3E%3Cscript%3E").want("No user has an address like this.")
}

func TestAnAdminIsLedToALinkOfSomebodyElse(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"theirs"}`)
	admin, member := st.browseAs("other@example.com", account.RoleAdmin), st.browseAs("ann@example.com", account.RoleMember)
	const offer = "Look among the links of all users"
	for _, page := range []string{"", "/edit", "/delete"} {
		admin.get("/_/link/theirs"+page).expect(t, page, 404, `href="/_/link/theirs`+page+`?owner=all"`)
		member.get("/_/link/theirs"+page).expect(t, "a member, "+page, 404, without(offer))
	}
	admin.get("/_/link/none").expect(t, "no such link", 404, without(offer))
}

// TestPagesLimitUsersAndTokensToDomains invites a member of one domain, changes the limit, and makes a token.
func TestPagesLimitUsersAndTokensToDomains(t *testing.T) {
	st := newSite(t, nil)
	admin := st.browseAs("boss@example.com", account.RoleAdmin)
	expect.That(t, !strings.Contains(admin.open("/_/users").body, `name="limit"`), "with one domain, a form asks for a limit")
	st.addDomain(domain.Domain{Host: "a.test"})
	st.addDomain(domain.Domain{Host: "b.test", Aliases: []string{"www.b.test"}})
	page := admin.fill(admin.open("/_/users"), "/_/users", "email", "ann@example.com", "role", "member", "limit", "some", "domains", "none.test")
	expect.Contains(t, page.text(), "host of a domain that you may use")
	admin.fill(page, "/_/users", "domains", "www.b.test")
	expect.Contains(t, admin.open("/_/users").text(), "only b.test")
	u, err := st.accounts.UserByName("ann@example.com")
	expect.OK(t, err)
	path := fmt.Sprintf("/_/users/%d", u.ID)
	limitNow := func() []string {
		t.Helper()
		u, err := st.accounts.UserByName("ann@example.com")
		expect.OK(t, err)
		return st.calls.HostsOf(u.Domains)
	}
	expect.Slices(t, limitNow(), []string{"b.test"}, "the invited one")
	page = admin.fill(admin.open(path), path, "role", "admin")
	expect.Contains(t, page.text(), "An admin cannot be limited")
	admin.fill(admin.open(path), path, "domains", "b.test, a.test")
	expect.Slices(t, limitNow(), []string{"a.test", "b.test"}, "changed")

	page = admin.fill(admin.open("/_/tokens"), "/_/tokens", "name", "of a", "limit", "some", "domains", "a.test")
	expect.Contains(t, page.text(), "only a.test")
	page = admin.fill(admin.open("/_/tokens"), "/_/tokens", "name", "n", "limit", "all", "domains", "a.test")
	expect.Contains(t, page.text(), "Choose “Only these”, or leave this empty")
	page = admin.fill(admin.open("/_/tokens"), "/_/tokens", "name", "n", "limit", "some", "domains", "")
	expect.Contains(t, page.text(), "Name a domain, or choose all")

	for _, host := range []string{"a.test", "b.test"} {
		st.call("DELETE", "/domains/"+host, "").need(t, host, 204)
	}
	expect.Contains(t, admin.open("/_/users").text(), "no domain: those of the limit were removed")
	admin.fill(admin.open(path), path, "email", "ann@example.org")
	u, err = st.accounts.UserByName("ann@example.org")
	expect.That(t, err == nil && u.Domains.Limited(), "an edit of the address lifts a limit to removed domains: got %+v, %v", u, err)
	admin.fill(admin.open(path), path, "limit", "all")
	u, err = st.accounts.UserByName("ann@example.org")
	expect.That(t, err == nil && !u.Domains.Limited(), "lifted: got %+v, %v", u, err)
}

// TestFormsOfALimitedMemberHaveTheirDomains makes a link in the form of a member of two domains, and of one.
func TestFormsOfALimitedMemberHaveTheirDomains(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	joe := st.person("joe@example.com", account.RoleMember)
	st.limitTo(joe.ID, "b.test", "127.0.0.1")
	b := st.browse("joe@example.com")
	expect.Contains(t, b.open("/_/account").text(), "member, only 127.0.0.1:8080, b.test")
	page := b.open("/_/links/new")
	expect.Contains(t, page.body, `<option value="127.0.0.1:8080">`)
	expect.That(t, strings.Contains(page.body, `<option value="b.test">`) && !strings.Contains(page.body, "a.test"), "a form has other domains: %s", page.body)
	b.follow(page.form("/_/links/new").with("url", "https://example.com/", "alias", "of-0"))
	b.follow(b.open("/_/links/new").form("/_/links/new").with("url", "https://example.com/", "alias", "of-b", "domain", "b.test"))
	page = b.submit(b.open("/_/links/new").form("/_/links/new").with("url", "https://example.com/", "domain", "a.test"))
	expect.Equal(t, page.status, 403, "another domain")
	expect.Slices(t, codesIn(t, st.call("GET", fmt.Sprintf("/links?owner=%d", joe.ID), "")), []string{"/of-0", "b.test/of-b"}, "links")
	st.limitTo(joe.ID, "b.test")
	page = b.open("/_/links/new")
	expect.That(t, !strings.Contains(page.body, `name="domain"`), "a member of one domain is asked for it")
	b.follow(page.form("/_/links/new").with("url", "https://example.com/", "alias", "other"))
	expect.Slices(t, codesIn(t, st.call("GET", fmt.Sprintf("/links?owner=%d", joe.ID), "")), []string{"/of-0", "b.test/of-b", "b.test/other"}, "links")
}
