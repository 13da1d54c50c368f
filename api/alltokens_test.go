package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// tokensIn returns the names of the tokens of an answer, and its cursor.
func tokensIn(t *testing.T, r reply) (names []string, next string) {
	t.Helper()
	var list struct {
		Data []struct {
			Owner uint32
			Name  string
		}
		NextCursor *string `json:"next_cursor"`
	}
	expect.OK(t, json.Unmarshal([]byte(r.body), &list), r.body)
	for _, one := range list.Data {
		names = append(names, fmt.Sprintf("%d %s", one.Owner, one.Name))
	}
	if list.NextCursor != nil {
		next = *list.NextCursor
	}
	return names, next
}

func TestAnAdminListsAndRevokesTheTokensOfAll(t *testing.T) {
	st := newSite(t, nil)
	var want []string
	texts := map[string]string{}
	for _, name := range []string{"ann", "ben", "cid"} {
		u := st.person(name+"@example.com", account.RoleMember)
		for i := range 3 {
			one := fmt.Sprintf("%s%d", name, i)
			_, text, err := st.accounts.IssueToken(account.CallerOf(u), account.TokenDraft{Name: one})
			expect.OK(t, err)
			texts[one] = st.secret(text)
			want = append(want, fmt.Sprintf("%d %s", u.ID, one))
		}
	}
	own, _ := tokensIn(t, st.call("GET", "/tokens", ""))
	want = append(want, own...)
	slices.Sort(want)
	for _, limit := range []int{1, 4, 1000} {
		var got []string
		for cursor, page := "", 0; page == 0 || cursor != ""; page++ {
			r := st.call("GET", fmt.Sprintf("/tokens?owner=all&limit=%d&cursor=%s", limit, cursor), "")
			r.expect(t, "a page", 200)
			var names []string
			names, cursor = tokensIn(t, r)
			expect.That(t, len(names) <= limit, "%d tokens in a page of %d", len(names), limit)
			got = append(got, names...)
		}
		slices.Sort(got)
		expect.Equal(t, strings.Join(got, ", "), strings.Join(want, ", "), "by %d", limit)
	}
	one, next := tokensIn(t, st.call("GET", "/tokens?owner=3", ""))
	slices.Sort(one) // they were made within one tick of the clock
	expect.Equal(t, strings.Join(one, ", ")+next, "3 ben0, 3 ben1, 3 ben2", "of one user")
	r := st.call("GET", "/tokens?owner=all&begins_with="+texts["cid1"][:10], "")
	found, _ := tokensIn(t, r)
	expect.That(t, slices.Contains(found, "4 cid1") && strings.Contains(r.body, `"begins_with":"`+texts["cid1"][:10]+`"`), "by its first characters: got %s", r.body)
	expect.That(t, !strings.Contains(r.body, texts["cid1"][:11]), "more of a token is shown")

	st.callAs(texts["cid1"], "GET", "/me", "").expect(t, "before", 200)
	id := st.tokenNamed("cid1")
	st.call("DELETE", "/tokens/"+id+"?owner=3", "").expect(t, "as that of another user", problemOf("not_found"))
	st.call("DELETE", "/tokens/"+id, "").expect(t, "as one's own", problemOf("not_found"))
	st.callAs(texts["ann0"], "DELETE", "/tokens/"+id+"?owner=all", "").expect(t, "as a member", problemOf("forbidden"))
	st.call("DELETE", "/tokens/"+id+"?owner=all", "").expect(t, "revoked", 204)
	st.callAs(texts["cid1"], "GET", "/me", "").expect(t, "after", problemOf("unauthorized"))
	st.call("DELETE", "/tokens/"+id+"?owner=all", "").expect(t, "again", problemOf("not_found"))
	expect.Contains(t, st.call("GET", "/audit?limit=1", "").body, `"action":"token.revoked"`, `"user":4`, id, `"email":"admin"`)
}

// tokenNamed returns the id of the token with a name.
func (st *site) tokenNamed(name string) string {
	st.t.Helper()
	all, _, _, err := st.accounts.AllTokens(account.TokenPlace{}, "", 1000)
	expect.OK(st.t, err)
	i := slices.IndexFunc(all, func(t account.Token) bool { return t.Name == name })
	expect.MustThat(st.t, i >= 0, "there is no token %s", name)
	return all[i].ID
}

func TestAListOfTokensRefusesWhatIsNotOfIt(t *testing.T) {
	st := newSite(t, nil)
	for query, want := range map[string]string{
		"owner=x": "owner", "owner=0": "owner", "owner=": "owner", "owner=all&owner=all": "owner", "owner=all&limit=0": "limit", "owner=all&limit=1001": "limit", "limit=5": "owner",
		"owner=1&cursor=1-a": "owner", "owner=all&cursor=x": "cursor", "owner=all&cursor=1": "cursor", "owner=all&cursor=-a": "cursor", "owner=all&cursor=99999999999-a": "cursor",
		"owner=all&begins_with=" + strings.Repeat("a", 11): "begins_with", "owner=all&begins_with=%00": "begins_with", "owner=all&begins_with=%ff": "begins_with",
		"domain=127.0.0.1": "domain", "owner=all&q=x": "q", "owner=all&cursor=" + strings.Repeat("1", 65): "cursor",
	} {
		r := st.call("GET", "/tokens?"+query, "")
		r.expect(t, query, problemOf("invalid"))
		expect.Contains(t, r.body, `"field":"`+want+`"`)
	}
	st.call("DELETE", "/tokens/x?limit=1", "").expect(t, "a parameter of lists", problemOf("invalid"))
	for _, id := range []string{"x", "%00", "%ff", strings.Repeat("a", 300), "..", "a%2Fb"} {
		st.call("DELETE", "/tokens/"+id+"?owner=all", "").expect(t, id, problemOf("not_found"))
	}
}

func TestAnAdminRevokesALeakedTokenOnPages(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	_, text, err := st.accounts.IssueToken(account.CallerOf(ann), account.TokenDraft{Name: "<leaked>"})
	expect.OK(t, err)
	st.secret(text)
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	page := b.open("/_/all-tokens?begins_with=" + url.QueryEscape(text[:10]))
	page.want("<leaked>", "ann@example.com", text[:10]+"…")
	expect.That(t, !strings.Contains(page.body, text[:11]), "the page has more of the token")
	path := "/_/all-tokens/" + st.tokenNamed("<leaked>") + "/revoke"
	b.open(path).want("ann@example.com", "<leaked>")
	b.post(path, formType, "").expect(t, "revoked", 303, header("Location", "/_/all-tokens"))
	st.callAs(text, "GET", "/me", "").expect(t, "after", problemOf("unauthorized"))
	b.get(path).expect(t, "again", 404)
	b.open("/_/all-tokens?begins_with=nothing").want("No token begins like this.")
	b.open("/_/all-tokens?owner=2").want("Those of user 2", "There is no token.")
	b.get("/_/all-tokens?owner=x").expect(t, "nobody", 422)
	b.get("/_/all-tokens?cursor=x").expect(t, "no cursor", 422)
}
