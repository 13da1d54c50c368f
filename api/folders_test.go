package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/engine/expect"
)

// A sharing is a site with a folder of ann, of which red may read and ed may edit the links, and sam is no member. The
// folder has the link x of ann; y of ann is in none.
type sharing struct {
	*site
	users  map[string]account.User
	tokens map[string]string
	folder uint32
}

func newSharing(t *testing.T) *sharing {
	st := &sharing{site: newSite(t, nil), users: make(map[string]account.User), tokens: make(map[string]string)}
	for _, name := range []string{"ann", "red", "ed", "sam"} {
		st.users[name] = st.person(name+"@example.com", account.RoleMember)
		st.tokens[name] = st.issue(account.CallerOf(st.users[name]), everyMemberScope...)
	}
	r := st.as1("ann", "POST", "/folders", `{"name":"Spring","members":[{"email":"RED@example.com","may":"read"},{"email":"ed@example.com","may":"edit"}]}`)
	r.need(t, "a folder", 201)
	var made struct {
		ID uint32
	}
	expect.OK(t, json.Unmarshal([]byte(r.body), &made))
	st.folder = made.ID
	st.as1("ann", "POST", "/shorten", fmt.Sprintf(`{"url":"https://x.example/","alias":"x","folder":%d,"title":"shared"}`, st.folder)).need(t, "x", 201)
	st.as1("ann", "POST", "/shorten", `{"url":"https://y.example/","alias":"y"}`).need(t, "y", 201)
	return st
}

// as1 sends a request of somebody.
func (st *sharing) as1(who, method, path, body string) reply {
	st.t.Helper()
	return st.callAs(st.tokens[who], method, path, body)
}

// TestAFolderSharesItsLinks asks for the link as everybody, by each call that names one.
func TestAFolderSharesItsLinks(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		red, ed            int // what they get; sam gets 404 like one who asks for a code that nobody has
	}{
		{"GET", "/links/x", "", 200, 200}, {"GET", "/stats/x", "", 200, 200}, {"GET", "/stats/x?interval=day&include=referrers", "", 200, 200},
		{"PATCH", "/links/x", `{"title":"t"}`, 404, 200}, {"PATCH", "/links/x", `{"disabled":true}`, 404, 200}, {"DELETE", "/links/x", "", 404, 204},
		{"POST", "/links/x/reset", "", 404, 404}, {"DELETE", "/links/x?purge=true", "", 404, 404}, {"POST", "/links/x/restore", "", 404, 404},
	} {
		st := newSharing(t)
		for _, who := range []string{"sam", "red", "ed"} {
			want := map[string]int{"sam": 404, "red": c.red, "ed": c.ed}[who]
			r := st.as1(who, c.method, c.path, c.body)
			r.expect(t, fmt.Sprintf("%s %s %s as %s", c.method, c.path, c.body, who), want)
			if want == 404 {
				none := st.as1(who, c.method, strings.Replace(c.path, "/x", "/none", 1), c.body)
				expect.Equal(t, r.whole(), none.whole(), "%s %s as %s: a foreign link and a missing one differ", c.method, c.path, who)
			}
			st.as1(who, c.method, strings.Replace(c.path, "/x", "/y", 1), c.body).expect(t, "a link in no folder", 404)
		}
		if c.method != "DELETE" {
			st.as1("ann", "PATCH", "/links/x", `{"note":"mine"}`).expect(t, "the owner", 200)
		}
	}
}

func TestMembersListTheLinksOfAFolder(t *testing.T) {
	st := newSharing(t)
	in := fmt.Sprintf("folder=%d", st.folder)
	st.as1("ed", "POST", "/shorten", fmt.Sprintf(`{"url":"https://e.example/","alias":"of-ed","folder":%d}`, st.folder)).expect(t, "ed adds a link", 201)
	for _, who := range []string{"ann", "ed", "red"} {
		for query, want := range map[string]string{in: "/of-ed /x", in + "&q=shared": "/x", in + "&sort=hits&limit=1000": "/of-ed /x", in + "&state=disabled": "", in + "&never_hit=true&total=true": "/of-ed /x"} {
			r := st.as1(who, "GET", "/links?"+query, "")
			r.expect(t, query+" as "+who, 200)
			expect.Equal(t, strings.Join(codesIn(t, r), " "), want, "%s as %s", query, who)
		}
	}
	one := st.as1("red", "GET", "/links?"+in+"&limit=1", "")
	var page struct {
		NextCursor string `json:"next_cursor"`
	}
	expect.OK(t, json.Unmarshal([]byte(one.body), &page))
	expect.Equal(t, strings.Join(codesIn(t, one), " "), "/of-ed", "the first page")
	expect.Equal(t, strings.Join(codesIn(t, st.as1("red", "GET", "/links?"+in+"&limit=1&cursor="+page.NextCursor, "")), " "), "/x", "the second page")
	st.as1("ed", "GET", "/links?limit=1&cursor="+page.NextCursor, "").expect(t, "its cursor for another list", problemOf("invalid"))
	st.as1("sam", "GET", "/links?"+in, "").expect(t, "a stranger", problemOf("not_found"))
	st.as1("red", "GET", "/links?folder=99", "").expect(t, "a folder that is not there", problemOf("not_found"))
	st.call("GET", "/links?"+in, "").expect(t, "an admin", 200)
	for query, field := range map[string]string{in + "&tag=t": "tag", "folder=0": "folder", "folder=x": "folder", "folder=-1": "folder", "folder=4294967296": "folder", in + "&" + in: "folder"} {
		r := st.as1("red", "GET", "/links?"+query, "")
		r.expect(t, query, problemOf("invalid"))
		expect.Contains(t, r.body, `"field":"`+field+`"`)
	}
	r := st.call("GET", "/links?"+in+"&owner=2", "")
	r.expect(t, "the links of one owner in a folder", problemOf("invalid"))
}

// TestAMembershipEndsAtOnce takes users out of the folder in each way.
func TestAMembershipEndsAtOnce(t *testing.T) {
	for name, end := range map[string]func(st *sharing){
		"another list of members": func(st *sharing) {
			st.as1("ann", "PATCH", fmt.Sprintf("/folders/%d", st.folder), `{"members":[]}`).need(t, "", 200)
		},
		"the link leaves the folder": func(st *sharing) { st.as1("ann", "PATCH", "/links/x", `{"folder":null}`).need(t, "", 200) },
	} {
		st := newSharing(t)
		st.as1("red", "GET", "/links/x", "").need(t, "before", 200)
		end(st)
		for _, who := range []string{"red", "ed"} {
			st.as1(who, "GET", "/links/x", "").expect(t, name+": a read by "+who, problemOf("not_found"))
			st.as1(who, "PATCH", "/links/x", `{"title":"t"}`).expect(t, name+": an edit by "+who, problemOf("not_found"))
		}
	}
	st := newSharing(t)
	st.as1("ann", "PATCH", fmt.Sprintf("/folders/%d", st.folder), `{"members":[{"user":4,"may":"read"}]}`).need(t, "less", 200)
	st.as1("ed", "GET", "/links/x", "").expect(t, "who may still read", 200)
	st.as1("ed", "PATCH", "/links/x", `{"title":"t"}`).expect(t, "who may only read now", problemOf("not_found"))
	st.as1("ed", "POST", "/shorten", fmt.Sprintf(`{"url":"https://e.example/","folder":%d}`, st.folder)).expect(t, "who may add nothing now", problemOf("invalid"))
}

// TestADeletedUserIsInNoFolder deletes a member, and then the owner, whose links and folders another user gets.
func TestADeletedUserIsInNoFolder(t *testing.T) {
	st := newSharing(t)
	st.call("DELETE", "/users/3", "").need(t, "a member", 204)
	expect.Equal(t, st.folders.Right(st.folder, 3), folder.None, "the right of a deleted user")
	r := st.as1("ann", "GET", fmt.Sprintf("/folders/%d", st.folder), "")
	expect.That(t, !strings.Contains(r.body, "red@") && strings.Contains(r.body, "ed@example.com"), "got %s", r.body)
	st.call("DELETE", "/users/2?move_links_to=5", "").need(t, "the owner", 204)
	r = st.as1("sam", "GET", fmt.Sprintf("/folders/%d", st.folder), "")
	r.expect(t, "the heir", 200)
	expect.Contains(t, r.body, `"owner":5`, `"may":"manage"`)
	st.as1("ed", "GET", "/links/x", "").expect(t, "a member who is left", 200)
}

func TestOnlyItsOwnerAndAdminsManageAFolder(t *testing.T) {
	st := newSharing(t)
	path := fmt.Sprintf("/folders/%d", st.folder)
	for who, may := range map[string]string{"ann": "manage", "ed": "edit", "red": "read"} {
		r := st.as1(who, "GET", path, "")
		r.expect(t, who, 200)
		expect.Contains(t, r.body, `"may":"`+may+`"`)
		expect.Equal(t, strings.Contains(r.body, "members"), may == "manage", "%s is told who is a member: %s", who, r.body)
		expect.Contains(t, st.as1(who, "GET", "/folders", "").body, `"name":"Spring"`)
	}
	expect.Equal(t, strings.TrimSpace(st.as1("sam", "GET", "/folders", "").body), `{"data":[]}`, "the folders of a stranger")
	for _, who := range []string{"red", "ed"} {
		st.as1(who, "PATCH", path, `{"name":"n"}`).expect(t, who, problemOf("forbidden"))
		st.as1(who, "DELETE", path, "").expect(t, who, problemOf("forbidden"))
	}
	for _, who := range []string{"sam"} {
		st.as1(who, "PATCH", path, `{"name":"n"}`).expect(t, who, problemOf("not_found"))
		st.as1(who, "DELETE", path, "").expect(t, who, problemOf("not_found"))
	}
	r := st.as1("ann", "DELETE", path, "")
	r.expect(t, "with a link", problemOf("folder_in_use"))
	expect.Contains(t, r.body, "1 link is in the folder")
	st.as1("ann", "PATCH", path, `{"owner":5}`).expect(t, "an owner who gives it away", problemOf("invalid"))
	st.call("PATCH", path, `{"owner":5}`).expect(t, "an admin who gives it away", 200)
	st.as1("ann", "GET", path, "").expect(t, "the former owner", problemOf("not_found"))
	st.as1("ann", "GET", "/links/x", "").expect(t, "the owner of the link", 200)
	st.as1("ann", "PATCH", "/links/x", `{"folder":null}`).expect(t, "takes the link out", 200)
	st.as1("sam", "DELETE", path, "").expect(t, "an empty folder", 204)
	expect.Contains(t, st.call("GET", "/audit?limit=3", "").body, `"action":"folder.deleted"`, `"action":"folder.edited"`, `"name":"Spring"`)
}

// TestALinkGoesOnlyIntoAFolderOfItsEditor sends folders that the caller may not edit: each looks like a missing one.
func TestALinkGoesOnlyIntoAFolderOfItsEditor(t *testing.T) {
	st := newSharing(t)
	for _, who := range []string{"sam", "red"} {
		for _, number := range []string{fmt.Sprint(st.folder), "99"} {
			create := st.as1(who, "POST", "/shorten", `{"url":"https://s.example/","folder":`+number+`}`)
			create.expect(t, who+" creates in "+number, problemOf("invalid"))
			expect.Contains(t, create.body, `{"field":"folder","code":"unknown","message":"is not the number of a folder into which you may put links"}`)
			bulk := st.as1(who, "POST", "/shorten/bulk", `[{"url":"https://s.example/","folder":`+number+`}]`)
			expect.Contains(t, bulk.body, `"failed":1`, `"field":"folder","code":"unknown"`)
		}
		st.as1(who, "POST", "/shorten", `{"url":"https://s.example/","alias":"of-`+who+`"}`).need(t, "", 201)
		edit := st.as1(who, "PATCH", "/links/of-"+who, fmt.Sprintf(`{"folder":%d}`, st.folder))
		edit.expect(t, who+" moves", problemOf("invalid"))
		expect.Equal(t, edit.whole(), st.as1(who, "PATCH", "/links/of-"+who, `{"folder":99}`).whole(), "a foreign folder and a missing one differ")
	}
	st.as1("ed", "POST", "/shorten", fmt.Sprintf(`{"url":"https://e.example/","alias":"of-ed","folder":%d}`, st.folder)).expect(t, "who may edit", 201)
	// The owner of a link sends it as it was read, although the owner may not edit its folder.
	st.call("PATCH", fmt.Sprintf("/folders/%d", st.folder), `{"owner":5,"members":[]}`).need(t, "", 200)
	r := st.as1("ann", "GET", "/links/x", "")
	st.as1("ann", "PATCH", "/links/x", r.body).expect(t, "as it was read", 200)
	// A member sends the link of somebody else as it was read.
	st.call("PATCH", fmt.Sprintf("/folders/%d", st.folder), `{"members":[{"email":"ed@example.com","may":"edit"}]}`).need(t, "", 200)
	r = st.as1("ed", "GET", "/links/x", "")
	st.as1("ed", "PATCH", "/links/x", r.body).expect(t, "as a member has read it", 200)
	st.as1("ed", "PATCH", "/links/x", `{"owner":4}`).expect(t, "a member who wants it", 200)
	expect.Contains(t, st.as1("ann", "GET", "/links/x", "").body, `"owner":2`)
	st.as1("ed", "PATCH", "/links/x", `{"owner":5}`).expect(t, "a member who gives it away", problemOf("forbidden"))
}

func TestFoldersRefuseWhatTheyCannotKeep(t *testing.T) {
	st := newSharing(t)
	for body, want := range map[string]string{
		`{}`: "name required", `{"name":""}`: "name required", `{"name":7}`: "name type", `{"name":null}`: "name required", `{"name":"a\u0000b"}`: "name characters", `{"name":"a\u202eb"}`: "name characters",
		`{"name":"` + strings.Repeat("x", 101) + `"}`: "name too_long", `{"name":"spring"}`: "name taken", `{"name":"n","more":1}`: "more unknown", `{"name":"n","name":"m"}`: "name duplicate",
		`{"name":"n","owner":3}`: "owner unknown", `{"name":"n","members":{}}`: "members type", `{"name":"n","members":[7]}`: "members[0] type", `{"name":"n","members":[{}]}`: "members[0].user required",
		`{"name":"n","members":[{"user":3}]}`: "members[0].may required", `{"name":"n","members":[{"user":3,"may":"manage"}]}`: "members[0].may range",
		`{"name":"n","members":[{"user":3,"may":"read"}]}`:  "members[0] unknown", // whose address ann would learn
		`{"name":"n","members":[{"user":99,"may":"read"}]}`: "members[0] unknown", `{"name":"n","members":[{"user":0,"may":"read"}]}`: "members[0].user unknown", `{"name":"n","members":[{"user":-1,"may":"read"}]}`: "members[0].user unknown",
		`{"name":"n","members":[{"email":"nobody@example.com","may":"read"}]}`: "members[0] unknown", `{"name":"n","members":[{"email":"red@example.com","user":4,"may":"read"}]}`: "members[0] unknown",
		`{"name":"n","members":[{"email":"RED@example.com","may":"read"},{"email":"red@example.com","may":"edit"}]}`:                                "members duplicate",
		`{"name":"n","members":[` + strings.Repeat(`{"email":"red@example.com","may":"read"},`, 100) + `{"email":"red@example.com","may":"read"}]}`: "members too_many",
	} {
		r := st.as1("ann", "POST", "/folders", body)
		r.expect(t, body, problemOf("invalid"))
		field, code, _ := strings.Cut(want, " ")
		expect.Contains(t, r.body, `"field":"`+field+`","code":"`+code+`"`)
	}
	for _, id := range []string{"0", "-1", "x", "01", "4294967296", "99", "%00", strings.Repeat("1", 300), url.PathEscape("1/2")} {
		for _, method := range []string{"GET", "DELETE"} {
			st.as1("ann", method, "/folders/"+id, "").expect(t, method+" "+id, problemOf("not_found"))
		}
	}
	st.as1("ann", "GET", "/folders?owner=2", "").expect(t, "of one owner", problemOf("invalid"))
	st.as1("ann", "GET", "/folders?limit=2", "").expect(t, "a page", problemOf("invalid"))
	expect.Equal(t, len(st.folders.All()), 1, "folders")
}

// TestAMemberWhoIsLimitedToDomainsSeesTheirLinks has links of two domains in a folder.
func TestAMemberWhoIsLimitedToDomainsSeesTheirLinks(t *testing.T) {
	st := newSharing(t)
	st.addDomain(domain.Domain{Host: "b.test"})
	st.as1("ann", "POST", "/shorten", `{"url":"https://w.example/","alias":"w","folder":1,"domain":"b.test"}`).need(t, "w", 201)
	codes := func() string {
		var page listAnswer
		r := st.as1("ed", "GET", "/links?folder=1", "")
		expect.OK(t, json.Unmarshal([]byte(r.body), &page), "%s", r.body)
		var all []string
		for _, l := range page.Data {
			all = append(all, l.Code)
		}
		return strings.Join(all, " ")
	}
	expect.Equal(t, codes(), "w x")
	st.limitTo(st.users["ed"].ID, "b.test")
	expect.Equal(t, codes(), "w", "limited to b.test")
	st.as1("ed", "PATCH", "/links/w", `{"title":"t"}`).need(t, "a link of the domain", 200)
	for _, path := range []string{"/links/x", "/stats/x"} {
		expect.Equal(t, st.as1("ed", "GET", path, "").status, 404, path)
	}
	expect.Equal(t, st.as1("ed", "PATCH", "/links/x?domain=127.0.0.1", `{"title":"t"}`).status, 403)
	expect.Equal(t, st.as1("ed", "GET", "/links?folder=1&domain=127.0.0.1", "").status, 403)
}

// TestAnEditorSharesNothingFurther has a member who may edit try to keep the link, and to pass it on.
func TestAnEditorSharesNothingFurther(t *testing.T) {
	st := newSharing(t)
	st.as1("ed", "POST", "/folders", `{"name":"mine","members":[{"email":"sam@example.com","may":"edit"}]}`).need(t, "a folder of ed", 201)
	for name, r := range map[string]reply{
		"one link":       st.as1("ed", "PATCH", "/links/x", fmt.Sprintf(`{"folder":%d}`, st.folder+1)),
		"one, and title": st.as1("ed", "PATCH", "/links/x", fmt.Sprintf(`{"title":"t","folder":%d}`, st.folder+1)),
	} {
		r.expect(t, name, problemOf("invalid"))
		expect.Contains(t, r.body, `"field":"folder"`)
	}
	st.as1("sam", "GET", "/links/x", "").expect(t, "a member of the other folder", problemOf("not_found"))
	st.as1("ed", "PATCH", "/links/x", fmt.Sprintf(`{"folder":%d,"title":"as it is"}`, st.folder)).expect(t, "the folder that it is in", 200)
	st.as1("ed", "PATCH", "/links/x", `{"folder":null}`).expect(t, "out of the folder", 200)
	st.as1("ed", "GET", "/links/x", "").expect(t, "then it is the owner's alone", problemOf("not_found"))
	st.as1("ann", "PATCH", "/links/x", fmt.Sprintf(`{"folder":%d}`, st.folder)).expect(t, "the owner puts it back", 200)
	in := fmt.Sprintf("/folders/%d", st.folder)
	st.as1("ann", "PATCH", in, `{"members":[{"user":5,"may":"read"}]}`).expect(t, "a number, whose address ann would learn", problemOf("invalid"))
	st.as1("ann", "PATCH", in, `{"members":[{"user":4,"may":"read"}]}`).expect(t, "that of a member", 200)
	st.call("PATCH", in, `{"members":[{"user":5,"may":"read"}]}`).expect(t, "an admin names anybody", 200)
	st.as1("ann", "GET", fmt.Sprintf("/links?state=deleted&folder=%d", st.folder), "").expect(t, "the trash of a folder", problemOf("invalid"))
	st.addDomain(domain.Domain{Host: "b.test"})
	made := st.as1("ann", "POST", "/tokens", `{"name":"limited","scopes":["links:read","links:write"],"domains":["b.test"]}`)
	made.need(t, "a token of one domain", 201)
	var issued struct{ Token string }
	expect.OK(t, json.Unmarshal([]byte(made.body), &issued))
	limited := st.secret(issued.Token)
	st.callAs(limited, "PATCH", in, `{"members":[]}`).expect(t, "a token that may use some domains", problemOf("forbidden"))
	st.callAs(limited, "DELETE", in, "").expect(t, "its deletion", problemOf("forbidden"))
}
