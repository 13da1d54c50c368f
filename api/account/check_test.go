package account

import (
	"encoding/binary"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func checkTable(t *testing.T, f *folder) (CheckReport, []engine.Fault) {
	t.Helper()
	faults := new(engine.Faults)
	report, err := Check(f.store.Accounts(), faults)
	expect.OK(t, err)
	first, _ := faults.Found()
	return report, first
}

func TestEachFaultOfATableOfAccountsIsFound(t *testing.T) {
	hash := strings.Repeat("h", 32)
	two, stranger := binary.BigEndian.AppendUint32(nil, 2), userRecord{User: User{ID: 9, Name: "x@example.org", Role: RoleMember}}
	for name, c := range map[string]struct {
		key, value []byte // no value: the row is deleted
		want       string
	}{
		"nothing":                       {},
		"a row of no form":              {[]byte{'z'}, []byte{1}, "no known form"},
		"a user not in JSON":            {userKey(2), []byte("{"), "unknown format"},
		"a user of another number":      {userKey(2), encodeUser(userRecord{User: User{ID: 1, Name: "b@example.org", Role: RoleMember}}), "it is of user 1"},
		"a user of no role":             {userKey(2), encodeUser(userRecord{User: User{ID: 2, Name: "b@example.org", Role: "king"}}), `role "king"`},
		"an admin who is limited":       {userKey(2), encodeUser(userRecord{User: User{ID: 2, Name: "b@example.org", Role: RoleAdmin, Domains: OnlyIn(1)}}), "limited to the domains [1]"},
		"a limit without its version":   {userKey(2), []byte(`{"v":1,"id":2,"name":"b@example.org","role":"member","created_ms":0,"domains":[1]}`), "unknown format"},
		"a token limited to nothing":    {tokenKey([]byte(hash)), []byte(`{"v":2,"id":"t","hash":"","user":1,"name":"","scopes":null,"created_ms":0,"domains":[]}`), "unknown format"},
		"a user written otherwise":      {userKey(2), []byte(`{"v":1, "id":2}`), "not written as this program"},
		"a user whose name is missing":  {nameKey("B@example.org"), nil, "does not lead to it"},
		"a name of nobody":              {nameKey("c@example.org"), two, "who has another name"},
		"a name that is cut off":        {nameKey("c@example.org"), two[:3], "3 bytes instead of 4"},
		"a missing user":                {userKey(2), nil, "who has another name"},
		"a user after the last":         {userKey(9), encodeUser(stranger), "although there is a user 9"},
		"a token without an index row":  {tokenKey([]byte(hash)), encodeToken(Token{ID: "t", UserID: 1}, []byte(hash)), "not among the tokens of user 1"},
		"a token of another hash":       {tokenKey([]byte(hash)), encodeToken(Token{ID: "t", UserID: 1}, []byte("other")), "of another hash"},
		"an index row without a token":  {tokenIndexKey(1, "t"), []byte(hash), "no token of its hash"},
		"an index row that is cut off":  {tokenIndexKey(1, "t"), []byte(hash)[:5], "5 bytes instead of 32"},
		"a session not in JSON":         {sessionKey([]byte(hash)), []byte("{"), "unknown format"},
		"a session of another hash":     {sessionKey([]byte(hash)), encodeSession(session{UserID: 1}, []byte("other")), "of another hash"},
		"a session without an index":    {sessionKey([]byte(hash)), encodeSession(session{UserID: 1}, []byte(hash)), "not among the sessions of user 1"},
		"an index without a session":    {sessionIndexKey(1, []byte(hash)), []byte{}, "no session of its hash"},
		"a code not in JSON":            {setupCodeKey([]byte(hash)), []byte("{"), "unknown format"},
		"a code written otherwise":      {setupCodeKey([]byte(hash)), []byte(`{"v":1, "user":1}`), "not written as this program"},
		"a code of another hash":        {setupCodeKey([]byte(hash)), encodeSetupCode(setupCode{UserID: 1}, []byte("other")), "of another hash"},
		"a code without an index":       {setupCodeKey([]byte(hash)), encodeSetupCode(setupCode{UserID: 1}, []byte(hash)), "not among the setup codes of user 1"},
		"an index without a code":       {setupCodeIndexKey(1, []byte(hash)), []byte{}, "no setup code of its hash"},
		"a use not in JSON":             {useKey([]byte(hash)), []byte("{"), "unknown format"},
		"campaigns of a stranger":       {campaignsKey(8), encodeCampaigns(8, []Campaign{{Name: "x", Source: "x"}}), "there is no user 8"},
		"campaigns of another user":     {campaignsKey(2), encodeCampaigns(1, []Campaign{{Name: "x", Source: "x"}}), "it is of user 1"},
		"a row without campaigns":       {campaignsKey(2), encodeCampaigns(2, nil), "it has 0 campaigns"},
		"filters of a stranger":         {filtersKey(8), encodeFilters(8, []Filter{{Name: "x", Query: "q=x"}}), "there is no user 8"},
		"filters of another user":       {filtersKey(2), encodeFilters(1, []Filter{{Name: "x", Query: "q=x"}}), "it is of user 1"},
		"a row without filters":         {filtersKey(2), encodeFilters(2, nil), "it has 0 filters"},
		"campaigns not in JSON":         {campaignsKey(2), []byte("{"), "unknown format"},
		"no last user number":           {lastUserKey, nil, "although there is a user 2"},
		"a last user number of 3 bytes": {lastUserKey, two[:3], "3 bytes instead of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			_, _, err := f.IssueToken(f.admin(t), TokenDraft{Name: "n"})
			expect.OK(t, err)
			expect.OK(t, expect.Err(f.AddUser(UserDraft{Email: "b@example.org", Role: RoleMember})))
			var sets [][2][]byte
			var deletes [][]byte
			if c.value != nil {
				sets = append(sets, [2][]byte{c.key, c.value})
			} else if c.key != nil {
				deletes = append(deletes, c.key)
			}
			expect.OK(t, f.writeRows(sets, deletes))
			report, faults := checkTable(t, f)
			if c.want == "" {
				expect.That(t, len(faults) == 0 && report == (CheckReport{Users: 2, Tokens: 1}), "got %+v and faults %+v", report, faults)
				return
			}
			found := ""
			for _, fault := range faults {
				found += fault.Where + ": " + fault.What + "\n"
			}
			expect.Contains(t, found, c.want)
		})
	}
}
