package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

// TestAMemberLeavesAFolder names each user as everybody: red is 3, ed 4, sam 5.
func TestAMemberLeavesAFolder(t *testing.T) {
	for _, c := range []struct {
		who   string
		codes map[string]string // by the user that is named; empty: 204
	}{
		{"red", map[string]string{"3": "", "4": "forbidden", "2": "forbidden", "5": "forbidden", "99": "forbidden", "x": "forbidden", "03": "forbidden"}},
		{"ed", map[string]string{"4": "", "3": "forbidden"}},
		{"sam", map[string]string{"5": "not_found", "3": "not_found", "2": "not_found", "99": "not_found", "x": "not_found"}},
		{"ann", map[string]string{"3": "", "4": "", "2": "not_found", "5": "not_found", "0": "not_found", "99": "not_found", "x": "not_found", "04": "not_found", "4294967299": "not_found"}},
		{"admin", map[string]string{"3": "", "1": "not_found", "2": "not_found"}},
	} {
		for user, code := range c.codes {
			st := newSharing(t)
			st.tokens["admin"] = st.token
			before := fmt.Sprint(st.folders.Numbered(st.folder).Members)
			r := st.as1(c.who, "DELETE", fmt.Sprintf("/folders/%d/members/%s", st.folder, user), "")
			after := fmt.Sprint(st.folders.Numbered(st.folder).Members)
			what := c.who + " takes out " + user
			if code == "" {
				r.expect(t, what, 204)
				expect.Equal(t, after, map[string]string{"3": "[{4 edit}]", "4": "[{3 read}]"}[user], what)
				expect.Equal(t, st.folders.Numbered(st.folder).Version, uint64(2), what)
				continue
			}
			r.expect(t, what, problemOf(code))
			expect.Equal(t, after, before, what)
			if c.who == "sam" {
				expect.Equal(t, r.whole(), st.as1("sam", "DELETE", "/folders/99/members/"+user, "").whole(), "a foreign folder and a missing one differ")
			}
		}
	}
}

// TestWhoHasLeftSeesNothingMore leaves, and looks at what is left: links of one's own, the members who stay, the log.
func TestWhoHasLeftSeesNothingMore(t *testing.T) {
	st := newSharing(t)
	me := fmt.Sprintf("/folders/%d/members/4", st.folder)
	st.as1("ed", "POST", "/shorten", fmt.Sprintf(`{"url":"https://e.example/","alias":"of-ed","folder":%d}`, st.folder)).need(t, "a link of ed", 201)
	st.as1("ed", "DELETE", me, "").need(t, "ed leaves", 204)
	st.as1("ed", "DELETE", me, "").expect(t, "again", problemOf("not_found"))
	for _, path := range []string{"/links/x", "/stats/x", fmt.Sprintf("/folders/%d", st.folder), fmt.Sprintf("/links?folder=%d", st.folder)} {
		st.as1("ed", "GET", path, "").expect(t, path, problemOf("not_found"))
	}
	expect.Contains(t, st.as1("ed", "GET", "/links/of-ed", "").body, fmt.Sprintf(`"folder":%d`, st.folder))
	expect.Equal(t, strings.Join(codesIn(t, st.as1("red", "GET", fmt.Sprintf("/links?folder=%d", st.folder), "")), " "), "/of-ed /x", "the list of a member who stays")

	var log struct {
		Data []struct {
			Action  string
			Actor   struct{ ID uint32 }
			Changes []struct {
				Field, Before, After string
			}
		}
	}
	r := st.call("GET", "/audit?limit=1", "")
	expect.OK(t, json.Unmarshal([]byte(r.body), &log), "%s", r.body)
	expect.Equal(t, log.Data[0].Action, "folder.edited", "%s", r.body)
	expect.Contains(t, r.body, `"members"`, `"3 read, 4 edit"`, `"3 read"`, "ed@example.com")
}

// TestViewersAndLimitedTokensDoNotLeave has members who change nothing, or see a part of the links only.
func TestViewersAndLimitedTokensDoNotLeave(t *testing.T) {
	st := newSharing(t)
	viewer := st.person("viewer@example.com", account.RoleViewer)
	st.addDomain(domain.Domain{Host: "b.test"})
	path := fmt.Sprintf("/folders/%d", st.folder)
	st.call("PATCH", path, fmt.Sprintf(`{"members":[{"user":3,"may":"read"},{"user":4,"may":"edit"},{"user":%d,"may":"edit"}]}`, viewer.ID)).need(t, "a viewer is a member", 200)
	me := fmt.Sprintf("%s/members/%d", path, viewer.ID)
	st.callAs(st.issue(account.CallerOf(viewer)), "DELETE", me, "").expect(t, "a token of a viewer", problemOf("forbidden"))
	st.as([]string{st.logIn("viewer@example.com"), ownPage}, "DELETE", me, "").expect(t, "a session of a viewer", problemOf("forbidden"))

	made := st.as1("ed", "POST", "/tokens", `{"name":"limited","scopes":["links:read","links:write"],"domains":["b.test"]}`)
	made.need(t, "a token of one domain", 201)
	var issued struct{ Token string }
	expect.OK(t, json.Unmarshal([]byte(made.body), &issued))
	st.callAs(st.secret(issued.Token), "DELETE", path+"/members/4", "").expect(t, "a token that may use some domains", problemOf("forbidden"))
	st.callAs(st.issue(account.CallerOf(st.users["ed"]), account.LinksRead), "DELETE", path+"/members/4", "").expect(t, "a token that only reads", problemOf("forbidden"))
	expect.Equal(t, len(st.folders.Numbered(st.folder).Members), 3)

	st.limitTo(st.users["ed"].ID, "b.test") // then there is nothing that the token sees a part of
	st.as1("ed", "DELETE", path+"/members/4", "").expect(t, "a user who may use some domains", 204)
	st.as1("ann", "DELETE", me, "").expect(t, "the owner takes out a viewer", 204)
	expect.Equal(t, fmt.Sprint(st.folders.Numbered(st.folder).Members), "[{3 read}]")
}

// TestAllMembersLeaveAtOnce has each of them leave by itself.
func TestAllMembersLeaveAtOnce(t *testing.T) {
	st := newSharing(t)
	var leaving sync.WaitGroup
	for who, user := range map[string]int{"red": 3, "ed": 4} {
		leaving.Go(func() {
			st.as1(who, "DELETE", fmt.Sprintf("/folders/%d/members/%d", st.folder, user), "").expect(t, who, 204)
		})
	}
	leaving.Wait()
	f := st.folders.Numbered(st.folder)
	expect.That(t, len(f.Members) == 0 && f.Version == 3, "got %+v", f)
}
