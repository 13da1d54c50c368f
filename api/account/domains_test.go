package account

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestDomainsAreASet compares them with plain maps.
func TestDomainsAreASet(t *testing.T) {
	numbers := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 8), func(n int) engine.Domain { return engine.Domain(n * 300) }), 0, 8)
	rapid.Check(t, func(r *rapid.T) {
		x, y := numbers.Draw(r, "x"), numbers.Draw(r, "y")
		a, b := OnlyIn(x...), OnlyIn(y...)
		both := slices.DeleteFunc(slices.Clone(x), func(n engine.Domain) bool { return !slices.Contains(y, n) })
		expect.That(r, a.And(b) == OnlyIn(both...) && a.And(b) == b.And(a), "%v and %v: got %v", x, y, a.And(b).Numbers())
		expect.That(r, a.And(Domains{}) == a && Domains{}.And(a) == a, "%v and all: got %v", x, a.And(Domains{}).Numbers())
		expect.That(r, a.In(b) == (len(a.Numbers()) == len(a.And(b).Numbers())) && a.In(Domains{}) && !(Domains{}).In(a), "%v in %v: got %v", x, y, a.In(b))
		for n := engine.Domain(0); n < 2500; n += 100 {
			expect.That(r, a.Has(n) == slices.Contains(x, n) && (Domains{}).Has(n), "%v has %d: got %v", x, n, a.Has(n))
		}
		again, ok := AuditedDomains(a.audited())
		expect.That(r, ok && slices.Equal(again, a.Numbers()) && a.Limited(), "%v as an entry has it: got %v", x, again)
	})
	expect.That(t, !(Domains{}).Limited() && OnlyIn() != Domains{} && !OnlyIn().Has(0), "no domain is all domains")
}

func (f *folder) limited(t *testing.T, name string, numbers ...engine.Domain) User {
	t.Helper()
	u, err := f.AddUser(UserDraft{Email: name, Role: RoleMember, Domains: OnlyIn(numbers...)})
	expect.OK(t, err)
	return u
}

func TestATokenIsOfDomainsOfItsMaker(t *testing.T) {
	f := newFolder(t)
	admin, ann := f.admin(t), CallerOf(f.limited(t, "ann@example.com", 0, 1, 2))
	issue := func(maker Caller, d TokenDraft) (Token, Caller) {
		t.Helper()
		d.Name = "n"
		token, text, err := f.IssueToken(maker, d)
		expect.OK(t, err)
		c, err := f.Authenticate(text)
		expect.OK(t, err)
		return token, c
	}
	token, asAnn := issue(ann, TokenDraft{})
	expect.That(t, !token.Domains.Limited() && asAnn.Domains == OnlyIn(0, 1, 2), "without a limit of its own: got %+v, %+v", token, asAnn)
	token, asTwo := issue(asAnn, TokenDraft{Domains: OnlyIn(1, 2)})
	expect.That(t, token.Domains == OnlyIn(1, 2) && asTwo.Domains == OnlyIn(1, 2), "with one: got %+v, %+v", token, asTwo)
	child, asChild := issue(asTwo, TokenDraft{})
	expect.That(t, child.Domains == OnlyIn(1, 2) && asChild.Domains == OnlyIn(1, 2), "the child of a limited token: got %+v, %+v", child, asChild)
	_, asOne := issue(admin, TokenDraft{Domains: OnlyIn(1)})
	expect.That(t, asOne.Domains == OnlyIn(1) && !asOne.Has(Admin), "a limited one of an admin: got %+v", asOne)
	for name, c := range map[string]struct {
		maker Caller
		draft TokenDraft
		want  string
	}{
		"of other domains":          {ann, TokenDraft{Domains: OnlyIn(1, 3)}, "exceeds"},
		"of others, by a token":     {asTwo, TokenDraft{Domains: OnlyIn(0)}, "exceeds"},
		"of nothing":                {ann, TokenDraft{Domains: OnlyIn()}, "required"},
		"of too many":               {admin, TokenDraft{Domains: OnlyIn(many(MaxDomains + 1)...)}, "too_many"},
		"with admin":                {admin, TokenDraft{Domains: OnlyIn(1), Scopes: []Scope{LinksRead, Admin}}, "conflict"},
		"of an edge":                {admin, TokenDraft{Domains: OnlyIn(1), Scopes: []Scope{Edge}}, "conflict"},
		"admin, by a limited token": {asOne, TokenDraft{Scopes: []Scope{Admin}}, "exceeds"},
	} {
		var invalid engine.InvalidError
		c.draft.Name = "n"
		_, _, err := f.IssueToken(c.maker, c.draft)
		expect.That(t, errors.As(err, &invalid) && len(invalid) == 1 && invalid[0].Code == c.want, "%s: got %v, want %s", name, err, c.want)
	}
	issue(admin, TokenDraft{Domains: OnlyIn(many(MaxDomains)...)})
}

func many(n int) (numbers []engine.Domain) {
	for i := range n {
		numbers = append(numbers, engine.Domain(i))
	}
	return numbers
}

func TestAnEditOfDomainsIsInForceAtOnce(t *testing.T) {
	f := newFolder(t)
	ann := f.add(t, "ann@example.com", RoleMember)
	_, free, err := f.IssueToken(CallerOf(ann), TokenDraft{Name: "n"})
	expect.OK(t, err)
	_, limited, err := f.IssueToken(CallerOf(ann), TokenDraft{Name: "n", Domains: OnlyIn(1, 2)})
	expect.OK(t, err)
	record, err := f.readUser(ann.ID)
	expect.OK(t, err)
	_, cookie, err := f.beginSession(record, "")
	expect.OK(t, err)
	has := func(name string, ofFree, ofLimited Domains) {
		t.Helper()
		for range 2 { // from the table, and from memory
			for text, want := range map[string]Domains{free: ofFree, limited: ofLimited} {
				c, err := f.Authenticate(text)
				expect.That(t, err == nil && c.Domains == want, "%s, by token: got %v, %v, want %v", name, c.Domains.Numbers(), err, want.Numbers())
				c.Domains = Domains{}
				c, err = f.Recheck(c)
				expect.That(t, err == nil && c.Domains == want, "%s, checked again: got %v, %v", name, c.Domains.Numbers(), err)
			}
			c, err := f.AuthenticateSession(cookie)
			expect.That(t, err == nil && c.Domains == ofFree, "%s, in a session: got %v, %v", name, c.Domains.Numbers(), err)
		}
		local, err := f.Recheck(Caller{User: ann})
		expect.That(t, err == nil && local.Domains == ofFree, "%s, locally: got %v, %v", name, local.Domains.Numbers(), err)
	}
	edit := func(d Domains) {
		t.Helper()
		expect.OK(t, expect.Err(f.EditUser(Caller{}, ann.ID, UserEdit{Domains: &d})))
	}
	has("without a limit", Domains{}, OnlyIn(1, 2))
	edit(OnlyIn(2, 3))
	has("limited", OnlyIn(2, 3), OnlyIn(2))
	edit(OnlyIn(0))
	has("limited to others", OnlyIn(0), OnlyIn())
	f.reopen(t)
	has("after a restart", OnlyIn(0), OnlyIn())
	edit(Domains{})
	has("without a limit again", Domains{}, OnlyIn(1, 2))
}

func TestNoAdminIsLimited(t *testing.T) {
	f := newFolder(t)
	boss, ann := f.add(t, "boss@example.com", RoleAdmin), f.limited(t, "ann@example.com", 1)
	f.add(t, "keeper@example.com", RoleAdmin)
	wants := func(name, code string, err error) {
		t.Helper()
		problem, ok := err.(engine.FieldError)
		if invalid, many := err.(engine.InvalidError); many {
			problem, ok = invalid[0], true
		}
		expect.That(t, ok && problem.Field == "domains" && problem.Code == code, "%s: got %v", name, err)
	}
	wants("a limited admin", "conflict", expect.Err(f.AddUser(UserDraft{Email: "x@example.com", Role: RoleAdmin, Domains: OnlyIn(1)})))
	wants("a limit for an admin", "conflict", expect.Err(f.EditUser(Caller{}, boss.ID, UserEdit{Domains: ptr(OnlyIn(1))})))
	wants("a limited user who becomes an admin", "conflict", expect.Err(f.EditUser(Caller{}, ann.ID, UserEdit{Role: ptr(RoleAdmin)})))
	wants("a limit to nothing", "required", expect.Err(f.EditUser(Caller{}, ann.ID, UserEdit{Domains: ptr(OnlyIn())})))
	wants("a new user of nothing", "required", expect.Err(f.AddUser(UserDraft{Email: "x@example.com", Role: RoleMember, Domains: OnlyIn()})))
	u, err := f.EditUser(Caller{}, boss.ID, UserEdit{Role: ptr(RoleMember), Domains: ptr(OnlyIn(1))})
	expect.That(t, err == nil && u.Role == RoleMember && u.Domains == OnlyIn(1), "a demotion with a limit: got %+v, %v", u, err)
	u, err = f.EditUser(Caller{}, ann.ID, UserEdit{Role: ptr(RoleAdmin), Domains: &Domains{}})
	expect.That(t, err == nil && u.Role == RoleAdmin && !u.Domains.Limited(), "a promotion that lifts the limit: got %+v, %v", u, err)
	c := CallerOf(User{ID: 1, Role: RoleAdmin, Domains: OnlyIn(1)})
	expect.That(t, !c.Has(Admin) && c.Has(LinksRead), "a row of a limited admin gives the scopes %v", c.Scopes)
}

func TestALimitedCallerSeesNoTokenThatMayUseOtherDomains(t *testing.T) {
	f := newFolder(t)
	ann := f.add(t, "ann@example.com", RoleMember)
	issue := func(name string, d Domains) (Token, Caller) {
		t.Helper()
		f.now = f.now.Add(1e9) // lists are in the order of their times
		token, text, err := f.IssueToken(CallerOf(ann), TokenDraft{Name: name, Domains: d})
		expect.OK(t, err)
		c, err := f.Authenticate(text)
		expect.OK(t, err)
		return token, c
	}
	free, _ := issue("free", Domains{})
	both, _ := issue("both", OnlyIn(1, 2))
	one, asOne := issue("one", OnlyIn(1))
	sees := func(c Caller, want ...string) {
		t.Helper()
		tokens, err := f.TokensOf(c)
		expect.OK(t, err)
		var got []string
		for _, token := range tokens {
			got = append(got, token.Name)
			expect.That(t, token.Domains.In(c.Domains), "%s is shown with the domains %v", token.Name, token.Domains.Numbers())
		}
		expect.Slices(t, got, want, "tokens")
	}
	sees(CallerOf(ann), "free", "both", "one")
	sees(asOne, "one")
	expect.Error(t, f.RevokeToken(asOne, ann.ID, free.ID), ErrNoToken, "one without a limit")
	expect.Error(t, f.RevokeToken(asOne, ann.ID, both.ID), ErrNoToken, "one of more domains")
	ann, err := f.EditUser(Caller{}, ann.ID, UserEdit{Domains: ptr(OnlyIn(1))})
	expect.OK(t, err)
	sees(CallerOf(ann), "free", "both", "one")
	expect.OK(t, f.RevokeToken(asOne, ann.ID, one.ID))
}
