package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// TestAFolderHasAVersion changes a folder and takes it away, with the version that it has and with others.
func TestAFolderHasAVersion(t *testing.T) {
	st := newSharing(t)
	path := fmt.Sprintf("/folders/%d", st.folder)
	want := func(r reply, what string, version int) {
		t.Helper()
		r.expect(t, what, header("ETag", fmt.Sprintf("%q", fmt.Sprint(version))))
		expect.Contains(t, r.body, fmt.Sprintf(`"version":%d`, version))
	}
	want(st.as1("ann", "POST", "/folders", `{"name":"another"}`), "a new one", 1)
	for _, who := range []string{"ann", "ed", "red"} {
		want(st.as1(who, "GET", path, ""), "read by "+who, 1)
	}
	want(st.as1("ann", "PATCH", path, `{"name":"Summer"}`), "a change", 2)
	want(st.as1("ann", "PATCH", path, `{"name":" Summer "}`), "no change", 2)
	st.as1("ed", "PATCH", "/links/x", `{"title":"t"}`).need(t, "a change of a link", 200)
	want(st.as1("ann", "GET", path, ""), "after that", 2)
	expect.Contains(t, st.as1("red", "GET", "/folders", "").body, `"version":2`)

	for _, tag := range []string{`"1"`, `"3"`, `2`, `W/"2"`, `"02"`, `"x"`, `""`, `"1", "3"`, `"18446744073709551615"`} {
		for _, body := range []string{`{"name":"Autumn"}`, `{}`, `{"members":[]}`} {
			r := st.callAs(st.tokens["ann"], "PATCH", path, body, "If-Match: "+tag)
			r.expect(t, "If-Match: "+tag, 412, problemOf("precondition_failed"))
			expect.Contains(t, r.body, `"title":"The folder has another version"`)
		}
		st.callAs(st.tokens["ann"], "DELETE", path, "", "If-Match: "+tag).expect(t, "DELETE with If-Match: "+tag, 412, problemOf("precondition_failed"))
	}
	want(st.as1("ann", "GET", path, ""), "after what was refused", 2)
	expect.Contains(t, st.as1("ann", "GET", path, "").body, `"name":"Summer"`, "red@example.com", "ed@example.com")
	for i, tag := range []string{`"2"`, `*`, `"1", "4"`, `"9" ,"5"`} {
		want(st.callAs(st.tokens["ann"], "PATCH", path, fmt.Sprintf(`{"name":"n%d"}`, i), "If-Match: "+tag), "If-Match: "+tag, 3+i)
	}

	// Whoever may not change the folder gets the same answer with its version and with another.
	for who, code := range map[string]string{"sam": "not_found", "red": "forbidden", "ed": "forbidden"} {
		for _, tag := range []string{`"6"`, `"1"`} {
			st.callAs(st.tokens[who], "PATCH", path, `{"name":"n"}`, "If-Match: "+tag).expect(t, who, problemOf(code))
			st.callAs(st.tokens[who], "DELETE", path, "", "If-Match: "+tag).expect(t, who, problemOf(code))
		}
	}
	st.callAs(st.tokens["ann"], "PATCH", "/folders/99", `{"name":"n"}`, `If-Match: "1"`).expect(t, "a missing folder", problemOf("not_found"))
	st.callAs(st.tokens["ann"], "DELETE", path, "", `If-Match: "6"`).expect(t, "with a link", problemOf("folder_in_use"))
	st.as1("ann", "PATCH", "/links/x", `{"folder":null}`).need(t, "its link is taken out", 200)
	st.callAs(st.tokens["ann"], "DELETE", path, "", `If-Match: "6"`).expect(t, "an empty one", 204)
}

// TestNoChangeOfMembersIsLost has several admins add one member each at once, as programs do it: they read the folder,
// and change the version that they have read, until that succeeds.
func TestNoChangeOfMembersIsLost(t *testing.T) {
	st := newSharing(t)
	path := fmt.Sprintf("/folders/%d", st.folder)
	const adders = 8
	type read struct {
		Version uint64
		Members []struct {
			User uint32 `json:"user"`
			May  string `json:"may"`
		}
	}
	var working sync.WaitGroup
	for i := range adders {
		who := st.person(fmt.Sprintf("new%d@example.com", i), account.RoleMember)
		working.Go(func() {
			for {
				var now read
				if err := json.Unmarshal([]byte(st.as1("ann", "GET", path, "").body), &now); err != nil {
					t.Error(err)
					return
				}
				var members []string
				for _, m := range now.Members {
					members = append(members, fmt.Sprintf(`{"user":%d,"may":%q}`, m.User, m.May))
				}
				members = append(members, fmt.Sprintf(`{"email":%q,"may":"read"}`, who.Name))
				r := st.callAs(st.tokens["ann"], "PATCH", path, `{"members":[`+strings.Join(members, ",")+`]}`, fmt.Sprintf(`If-Match: "%d"`, now.Version))
				if r.status == 412 {
					continue
				}
				r.expect(t, "a member more", 200)
				return
			}
		})
	}
	working.Wait()
	var now read
	r := st.as1("ann", "GET", path, "")
	expect.OK(t, json.Unmarshal([]byte(r.body), &now))
	expect.Equal(t, len(now.Members), 2+adders, "members: %s", r.body)
	expect.Equal(t, now.Version, uint64(1+adders), "the version: one for each change that was made")
}
