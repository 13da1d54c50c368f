package account

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/api/internal/seams"
	"shunt/engine/expect"
)

// modelUser is what TestWaysInFollowAPlainModel expects of a user.
type modelUser struct {
	User
	password string
	codes    []modelCode          // the oldest first, with expired ones
	sessions map[string]time.Time // by cookie: the beginning
	token    string
}

type modelCode struct {
	text    string
	expires time.Time
}

func (u *modelUser) setPassword(password string) {
	u.password, u.HasPassword, u.codes = password, true, nil
	u.sessions = map[string]time.Time{}
}

// usable returns the codes that have not expired.
func (u *modelUser) usable(now time.Time) []modelCode {
	return slices.DeleteFunc(slices.Clone(u.codes), func(c modelCode) bool { return !now.Before(c.expires) })
}

// model makes random calls, and notes what they ought to have done.
type model struct {
	*folder
	users map[uint32]*modelUser
	gone  []string // codes that were used, or replaced, or of deleted users
	calls map[string]int
}

// TestWaysInFollowAPlainModel makes random calls about passwords, setup codes and sessions, and
// compares every way in with a plain map after each.
func TestWaysInFollowAPlainModel(t *testing.T) {
	strong := seams.Passwords
	seams.Passwords = seams.CheapPasswords
	defer func() { seams.Passwords = strong }()
	f := newFolder(t)
	f.add(t, "keeper@example.com", RoleAdmin) // so that all others can be deleted
	calls := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		m := &model{folder: f, users: map[uint32]*modelUser{}, calls: calls}
		for range 2 {
			m.addUser(r)
		}
		actions := map[string]func(*rapid.T){
			"":                      func(r *rapid.T) { m.compare(r); f.wantCounted(t) },
			"a new code":            func(r *rapid.T) { m.newSetupCode(r, m.draw(r)) },
			"another new code":      func(r *rapid.T) { m.newSetupCode(r, m.draw(r)) },
			"a use":                 func(r *rapid.T) { m.useSetupCode(r, m.draw(r)) },
			"an edit":               func(r *rapid.T) { m.edit(r, m.draw(r)) },
			"a change of password":  func(r *rapid.T) { m.change(r, m.draw(r)) },
			"a login":               func(r *rapid.T) { m.login(r, m.draw(r)) },
			"the end of all":        func(r *rapid.T) { m.endAll(r, m.draw(r)) },
			"a user who is deleted": func(r *rapid.T) { m.remove(r, m.draw(r)) },
			"time that passes":      func(*rapid.T) { f.now = f.now.Add(20 * time.Minute) },
		}
		r.Repeat(actions)
	})
	report, faults := checkTable(t, f)
	expect.That(t, len(faults) == 0, "got %+v and faults %+v", report, faults)
	t.Logf("calls: %v", calls)
}

func (m *model) addUser(r *rapid.T) {
	email := fmt.Sprintf("user%d@example.com", time.Now().UnixNano())
	u, err := m.AddUser(UserDraft{Email: email, Role: RoleMember})
	expect.OK(r, err)
	_, token, err := m.IssueToken(CallerOf(u), TokenDraft{Name: "n"})
	expect.OK(r, err)
	m.users[u.ID] = &modelUser{User: u, sessions: map[string]time.Time{}, token: token}
}

// usable reports whether a setup code can be used.
func (m *model) usable(r *rapid.T, code string) bool {
	_, err := m.LookUpSetupCode(code)
	if !errors.Is(err, ErrNoSetupCode) {
		expect.OK(r, err)
	}
	return err == nil
}

func (m *model) draw(r *rapid.T) *modelUser {
	return m.users[rapid.SampledFrom(slices.Sorted(maps.Keys(m.users))).Draw(r, "user")]
}

func (m *model) newSetupCode(r *rapid.T, u *modelUser) {
	m.calls["new code"]++
	m.now = m.now.Add(time.Millisecond) // so that one of them is the oldest
	text, expires, err := m.NewSetupCode(Caller{}, u.ID)
	expect.OK(r, err)
	u.codes = append(u.usable(m.now), modelCode{text, expires})
	if len(u.codes) > MaxSetupCodes {
		m.gone = append(m.gone, u.codes[0].text)
		u.codes = u.codes[1:]
	}
}

// useSetupCode uses a code of u, usable or not.
func (m *model) useSetupCode(r *rapid.T, u *modelUser) {
	texts := slices.Clone(m.gone)
	for _, c := range u.codes {
		texts = append(texts, c.text, c.text, c.text)
	}
	if len(texts) == 0 {
		return
	}
	text := rapid.SampledFrom(texts).Draw(r, "code")
	right := slices.ContainsFunc(u.usable(m.now), func(c modelCode) bool { return c.text == text })
	m.calls[fmt.Sprintf("use, right: %v", right)]++
	password := fmt.Sprint("password ", len(m.gone), text)
	_, cookie, err := m.UseSetupCode(nobody, text, "", password)
	expect.MustThat(r, right == (err == nil) && (right || errors.Is(err, ErrNoSetupCode)), "the use of a code that is right %v: got %v", right, err)
	if right {
		for _, c := range u.codes {
			m.gone = append(m.gone, c.text)
		}
		u.setPassword(password)
		u.sessions[cookie] = m.now
	}
}

func (m *model) edit(r *rapid.T, u *modelUser) {
	m.calls["edit"]++
	password := fmt.Sprint("edited ", m.now)
	_, err := m.EditUser(Caller{}, u.ID, UserEdit{Password: &password})
	expect.OK(r, err)
	u.setPassword(password)
}

// change changes the password in one of u's sessions.
func (m *model) change(r *rapid.T, u *modelUser) {
	if len(u.sessions) == 0 {
		return
	}
	m.calls["change"]++
	cookie := rapid.SampledFrom(slices.Sorted(maps.Keys(u.sessions))).Draw(r, "session")
	c, err := m.AuthenticateSession(cookie)
	expect.OK(r, err)
	password := fmt.Sprint("changed ", m.now, rapid.Uint8().Draw(r, "password"))
	expect.OK(r, m.ChangePassword(c, nobody, u.password, password))
	begin := u.sessions[cookie]
	u.setPassword(password)
	u.sessions[cookie] = begin
}

func (m *model) login(r *rapid.T, u *modelUser) {
	if u.password == "" || len(u.sessions) == MaxSessions {
		return
	}
	m.calls["login"]++
	_, cookie, err := m.LogIn(nobody, u.Name, u.password)
	expect.OK(r, err)
	u.sessions[cookie] = m.now
}

func (m *model) endAll(r *rapid.T, u *modelUser) {
	m.calls["end all"]++
	expect.OK(r, m.EndSessions(Caller{}, u.ID))
	u.sessions = map[string]time.Time{}
}

func (m *model) remove(r *rapid.T, u *modelUser) {
	m.calls["remove"]++
	expect.OK(r, m.RemoveUser(Caller{}, u.ID, mayGo(nil)))
	for _, c := range u.codes {
		m.gone = append(m.gone, c.text)
	}
	delete(m.users, u.ID)
	m.addUser(r)
}

func (m *model) compare(r *rapid.T) {
	for _, u := range m.users {
		for _, c := range u.codes {
			expect.MustEqual(r, m.usable(r, c.text), m.now.Before(c.expires), "a code of user %d", u.ID)
		}
		for cookie := range u.sessions {
			c, err := m.AuthenticateSession(cookie)
			expect.MustThat(r, err == nil && c.User == u.User, "a session of %+v: got %+v, %v", u.User, c, err)
		}
		list, err := m.ListSessions(u.ID)
		expect.MustThat(r, err == nil && len(list) == len(u.sessions), "got the sessions %+v, %v, want %d", list, err, len(u.sessions))
		c, err := m.Authenticate(u.token)
		expect.MustThat(r, err == nil && c.User == u.User, "the token of %+v: got %+v, %v", u.User, c, err)
	}
	for _, text := range m.gone {
		expect.MustThat(r, !m.usable(r, text), "a code that was used up, or whose user is gone, can be used")
	}
}
