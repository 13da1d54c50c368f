package account

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/api/internal/seams"
	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
)

var errFails = errors.New("this write fails")

// halting is a table whose next write can halt on its way, or fail.
type halting struct {
	table.Table
	halt    halt
	reached chan struct{} // closed when the write has come to its halt
	release chan struct{} // lets it go on
}

// A halt is what becomes of the next write.
type halt string

const (
	none    halt = "none"
	begun   halt = "begun"   // halts before anything is written
	durable halt = "durable" // halts when everything is written, before that is said
	failing halt = "failing" // halts, and then fails
)

func (h *halting) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	at := h.halt
	h.halt = none
	wait := func() {
		close(h.reached)
		<-h.release
	}
	switch at {
	case none:
		h.Table.Write(sets, deletes, entry, done)
	case begun:
		go func() { wait(); h.Table.Write(sets, deletes, entry, done) }()
	case durable:
		h.Table.Write(sets, deletes, entry, func(err error) { wait(); done(err) })
	case failing:
		go func() { wait(); done(errFails) }()
	}
}

// callersModel makes random calls, some of which halt or fail, and asks for callers meanwhile.
type callersModel struct {
	*folder
	table       *halting
	users       []uint32     // deleted ones, too
	tokens      []Token      // revoked ones, too
	cookies     []string     // of ended sessions, too
	codes       []string     // used ones, too
	credentials []credential // of everything above, and of what failed
	calls       map[string]int
}

// TestCallersFromMemoryAreThoseOfTheTable makes random calls, and after each, and while one halts
// on its way to the table, compares what memory says of every credential with the table.
func TestCallersFromMemoryAreThoseOfTheTable(t *testing.T) {
	strong := seams.Passwords
	seams.Passwords = seams.CheapPasswords
	defer func() { seams.Passwords = strong }()
	f := newFolder(t)
	f.add(t, "keeper@example.com", RoleAdmin) // so that all others can be deleted
	calls := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		m := &callersModel{folder: f, table: &halting{Table: f.store.Accounts(), halt: none}, calls: calls}
		f.over(m.table)
		for range 2 {
			expect.OK(r, m.addUser())
		}
		actions := map[string]func(*rapid.T){
			"":                 func(r *rapid.T) { m.agrees(r, "between calls", m.credentials...) },
			"some are asked":   func(r *rapid.T) { m.agrees(r, "some", m.some(r)...) },
			"time that passes": func(r *rapid.T) { f.now = f.now.Add(rapid.SampledFrom(durations).Draw(r, "time")) },
		}
		for name, call := range m.all() {
			actions[name] = func(r *rapid.T) { m.make(r, name, call) }
		}
		r.Repeat(actions)
	})
	report, faults := checkTable(t, f)
	expect.That(t, len(faults) == 0, "got %+v and faults %+v", report, faults)
	t.Logf("calls: %v", calls)
}

var durations = []time.Duration{time.Millisecond, 20 * time.Minute, time.Hour, 3 * 24 * time.Hour, sessionIdle, -2 * time.Hour}

func (m *callersModel) some(r *rapid.T) []credential {
	return slices.DeleteFunc(slices.Clone(m.credentials), func(credential) bool { return rapid.Bool().Draw(r, "asked") })
}

// make makes a call, which halts or fails if it writes, and compares meanwhile.
func (m *callersModel) make(r *rapid.T, name string, call func(pick func(n int) int) error) {
	at := rapid.SampledFrom([]halt{none, none, begun, durable, failing}).Draw(r, "halt")
	drawn := rapid.SliceOfN(rapid.IntRange(0, 1<<16), 4, 4).Draw(r, "which") // here, because rapid draws in its own goroutine only
	pick := func(n int) int {
		which := drawn[0] % n
		drawn = drawn[1:]
		return which
	}
	m.table.halt, m.table.reached, m.table.release = at, make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- call(pick) }()
	m.calls[fmt.Sprintf("%s, %s", name, at)]++
	var err error
	select {
	case <-m.table.reached:
		m.agrees(r, name+", "+string(at), m.credentials...)
		close(m.table.release)
		err = <-ended
	case err = <-ended: // nothing was to be written, or the write was not to halt
		m.table.halt = none
	}
	if err != nil && !errors.Is(err, errFails) && !errors.Is(err, engine.ErrOutcomeUnknown) { // the machine was slow
		r.Fatalf("%s: got %v", name, err)
	}
	m.agrees(r, name+", ended", m.credentials...)
}

// all are the calls that write. pick draws one of n.
func (m *callersModel) all() map[string]func(pick func(n int) int) error {
	return map[string]func(pick func(n int) int) error{
		"a new user":     func(func(int) int) error { return m.addUser() },
		"a token":        m.issueToken,
		"a revocation":   m.revoke,
		"a session":      m.beginOne,
		"a log-out":      m.logOut,
		"the end of all": func(pick func(int) int) error { return m.EndSessions(Caller{}, m.users[pick(len(m.users))]) },
		"a setup code":   m.newCodeOf,
		"its use":        m.useCode,
		"a name": func(pick func(int) int) error {
			return m.edit(pick, UserEdit{Email: ptr(fmt.Sprintf("user%d@example.com", time.Now().UnixNano()))})
		},
		"a role": func(pick func(int) int) error {
			return m.edit(pick, UserEdit{Role: ptr(Roles[pick(len(Roles))]), Domains: &Domains{}})
		},
		"a limit": func(pick func(int) int) error {
			return m.edit(pick, UserEdit{Role: ptr(RoleMember), Domains: ptr([]Domains{OnlyIn(0), OnlyIn(1, 2), {}}[pick(3)])})
		},
		"a password": func(pick func(int) int) error { return m.edit(pick, UserEdit{Password: ptr(rightPassword)}) },
		"a deletion": func(pick func(int) int) error {
			return gone(m.RemoveUser(Caller{}, m.users[pick(len(m.users))], mayGo(nil)))
		},
		"last uses": func(func(int) int) error { return m.WriteUses() },
	}
}

func ptr[T any](v T) *T { return &v }

// gone returns err unless it says that the object of a call is gone.
func gone(err error) error {
	for _, expected := range []error{ErrNoUser, ErrNoToken, ErrNoSetupCode, ErrUnauthorized} {
		if errors.Is(err, expected) {
			return nil
		}
	}
	return err
}

func (m *callersModel) addUser() error {
	u, err := m.AddUser(UserDraft{Email: fmt.Sprintf("user%d@example.com", time.Now().UnixNano()), Role: RoleMember})
	if err == nil {
		m.users = append(m.users, u.ID)
	}
	return err
}

func (m *callersModel) issueToken(pick func(int) int) error {
	u, err := m.readUser(m.users[pick(len(m.users))])
	if err != nil {
		return gone(err)
	}
	d := TokenDraft{Name: "n", Scopes: CallerOf(u.User).TokenScopes()[pick(2):]}
	if pick(3) == 0 {
		d.ExpiresAt = m.now.Add(30 * time.Minute)
	}
	if may := u.Domains.Numbers(); len(may) > 0 && pick(2) == 0 {
		d.Domains = OnlyIn(may[0])
	}
	token, text, err := m.IssueToken(CallerOf(u.User), d)
	if err == nil {
		m.tokens, m.credentials = append(m.tokens, token), append(m.credentials, ofToken(text))
	}
	return gone(err)
}

func (m *callersModel) revoke(pick func(int) int) error {
	if len(m.tokens) == 0 {
		return nil
	}
	token := m.tokens[pick(len(m.tokens))]
	return gone(m.RevokeToken(Caller{}, token.UserID, token.ID))
}

func (m *callersModel) beginOne(pick func(int) int) error {
	u, err := m.readUser(m.users[pick(len(m.users))])
	if err != nil {
		return gone(err)
	}
	_, cookie, err := m.beginSession(u, u.password)
	if err == nil {
		m.cookies, m.credentials = append(m.cookies, cookie), append(m.credentials, ofCookie(cookie))
	}
	return err
}

func (m *callersModel) logOut(pick func(int) int) error {
	if len(m.cookies) == 0 {
		return nil
	}
	return m.EndSession(m.cookies[pick(len(m.cookies))])
}

func (m *callersModel) newCodeOf(pick func(int) int) error {
	code, _, err := m.NewSetupCode(Caller{}, m.users[pick(len(m.users))])
	if err == nil {
		m.codes = append(m.codes, code)
	}
	return gone(err)
}

func (m *callersModel) useCode(pick func(int) int) error {
	if len(m.codes) == 0 {
		return nil
	}
	_, cookie, err := m.UseSetupCode(nobody, m.codes[pick(len(m.codes))], "", rightPassword)
	if err == nil {
		m.cookies, m.credentials = append(m.cookies, cookie), append(m.credentials, ofCookie(cookie))
	}
	return gone(err)
}

func (m *callersModel) edit(pick func(int) int, e UserEdit) error {
	_, err := m.EditUser(Caller{}, m.users[pick(len(m.users))], e)
	return gone(err)
}

// stages says how far the life of a raced credential is. Its writer moves it on before and after
// each write, so a reader that finds the same stage before and after its question knows what the
// answer must be.
type stage int32

const (
	unborn   stage = iota // being made
	living                // the call that made it has returned
	ending                // being ended
	finished              // the call that ended it has returned
)

type raced struct {
	of   credential
	name string // of the user when the credential began
	at   atomic.Int32
}

// TestRacingWritersAndReadersSeeEachWriteAtOnce lets readers ask for callers while writers make and
// end them and rename users. What had returned before a question began must show in its answer.
func TestRacingWritersAndReadersSeeEachWriteAtOnce(t *testing.T) {
	const writers, rounds, readers = 4, 30, 4
	f := newFolder(t)
	f.admin(t)
	var latest [writers]atomic.Pointer[raced]
	var writing, reading sync.WaitGroup
	var stop atomic.Bool
	for w := range writers {
		u := f.add(t, fmt.Sprintf("user%d@example.com", w), RoleMember)
		writing.Go(func() { raceWriter(t, f, u, rounds, &latest[w]) })
	}
	var asked, right atomic.Int64
	for seed := range readers {
		reading.Go(func() {
			random := rand.New(rand.NewPCG(uint64(seed), 16))
			for !stop.Load() {
				if one := latest[random.IntN(writers)].Load(); one != nil {
					asked.Add(1)
					if askRaced(t, f.Accounts, one) {
						right.Add(1)
					}
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	reading.Wait()
	t.Logf("%d questions, %d of living callers", asked.Load(), right.Load())
}

// raceWriter makes and ends credentials of u, by revocation, log-out or a new name.
func raceWriter(t *testing.T, f *folder, u User, rounds int, latest *atomic.Pointer[raced]) {
	name := u.Name
	for n := range rounds {
		one := &raced{name: name}
		var end func() error
		switch n % 3 {
		case 0, 1:
			token, text, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n"})
			expect.NoError(t, err)
			one.of, end = ofToken(text), func() error { return f.RevokeToken(Caller{}, u.ID, token.ID) }
			if n%3 == 1 { // it lives on under another name, and ends as far as this name goes
				name = fmt.Sprintf("%d-%s", n, u.Name)
				end = func() error { return f.rename(u.ID, name) }
			}
		case 2:
			checked, err := f.readUser(u.ID)
			expect.NoError(t, err)
			_, cookie, err := f.beginSession(checked, "")
			expect.NoError(t, err)
			one.of, end = ofCookie(cookie), func() error { return f.EndSession(cookie) }
		}
		one.at.Store(int32(living))
		latest.Store(one)
		for range n % 4 { // readers have it in memory, or not
			_, _ = f.Recheck(Caller{credential: one.of})
		}
		one.at.Store(int32(ending))
		expect.NoError(t, end())
		one.at.Store(int32(finished))
		expect.NoError(t, gone(f.WriteUses()))
	}
}

// askRaced asks for a caller and reports whether it lives. It fails if the answer is of another
// time.
func askRaced(t *testing.T, a *Accounts, one *raced) (lives bool) {
	before := stage(one.at.Load())
	c, err := a.Recheck(Caller{credential: one.of})
	after := stage(one.at.Load())
	expect.That(t, err == nil || errors.Is(err, ErrUnauthorized), "%v", err)
	lives = err == nil && c.User.Name == one.name
	expect.That(t, before != finished || !lives, "a caller that had ended is still there")
	expect.That(t, after != living || lives, "a living caller is not found: got %+v, %v", c, err)
	return lives
}
