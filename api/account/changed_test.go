package account

import (
	"slices"
	"testing"

	"shunt/engine/expect"
)

// shared is a folder whose rows another node of the cluster changes, too: Accounts of their own in the
// same store, which tell those of the folder nothing.
type shared struct {
	*folder
	another *Accounts
	ann     User
	token   Token  // of ann
	text    string // of the token
	cookie  string // of a session of ann
}

func newShared(t *testing.T) *shared {
	s := &shared{folder: newFolder(t)}
	s.admin(t)
	s.ann = s.add(t, "ann@example.com", RoleMember)
	s.token, s.text = s.issue(t, s.ann)
	s.cookie = s.begin(t, s.ann)
	s.another = New(s.store.Accounts(), s.Accounts.now)
	return s
}

func (s *shared) both() []credential { return []credential{ofToken(s.text), ofCookie(s.cookie)} }

// A changeElsewhere is one that another node makes.
type changeElsewhere struct {
	change func(s *shared) error
	ends   []credentialKind // what is refused from then on; what is not named lives on
}

var changesElsewhere = map[string]changeElsewhere{
	"a token, revoked": {
		func(s *shared) error { return s.another.RevokeToken(Caller{}, s.ann.ID, s.token.ID) },
		[]credentialKind{byToken},
	},
	"a session, ended": {
		func(s *shared) error { return s.another.EndSession(s.cookie) },
		[]credentialKind{bySession},
	},
	"a user, deleted": {
		func(s *shared) error { return s.another.RemoveUser(Caller{}, s.ann.ID, mayGo(nil)) },
		[]credentialKind{byToken, bySession},
	},
	"a user, renamed":  {change: editElsewhere(UserEdit{Email: ptr("new@example.com")})},
	"a user, promoted": {change: editElsewhere(UserEdit{Role: ptr(RoleAdmin)})},
}

func editElsewhere(e UserEdit) func(s *shared) error {
	return func(s *shared) error {
		_, err := s.another.EditUser(Caller{}, s.ann.ID, e)
		return err
	}
}

// wantRefused fails unless exactly the credentials that a change ends are refused.
func (s *shared) wantRefused(t *testing.T, c changeElsewhere, all ...credential) {
	t.Helper()
	for _, of := range all {
		want := error(nil)
		if slices.Contains(c.ends, of.kind) {
			want = ErrUnauthorized
		}
		expect.Error(t, expect.Err(s.Recheck(Caller{credential: of})), want, "credential of kind %d", of.kind)
	}
}

func TestAChangeOfAnotherNodeIsInForceForTheNextRequest(t *testing.T) {
	for name, c := range changesElsewhere {
		t.Run(name, func(t *testing.T) {
			s := newShared(t)
			s.agrees(t, "at first", s.both()...)
			expect.NoError(t, c.change(s))
			for _, of := range s.both() {
				k, _ := s.callers.find(of, s.now)
				expect.MustThat(t, k != nil && k.User == s.ann, "credential of kind %d: in memory is %+v: there is nothing to forget", of.kind, k)
			}
			s.Changed()
			s.wantRefused(t, c, s.both()...)
			s.agrees(t, "after the change", s.both()...)
		})
	}
}

// A reader that has read the table before another node's change, and is still under way when this node
// is told of it, must not bring back what it has read.
func TestASlowReaderDoesNotBringBackWhatAnotherNodeHasChanged(t *testing.T) {
	for name, c := range changesElsewhere {
		for _, kind := range []credentialKind{byToken, bySession} {
			t.Run(map[credentialKind]string{byToken: "by token, ", bySession: "by session, "}[kind]+name, func(t *testing.T) {
				s := newShared(t)
				of := s.both()[kind-byToken]
				table := s.counted()
				table.hold('u') // the last row that a reader reads
				read := make(chan struct{})
				go func() {
					defer close(read)
					_, _ = s.Recheck(Caller{credential: of}) // either answer is right: the change has come meanwhile
				}()
				<-table.arrived
				expect.NoError(t, c.change(s))
				s.Changed()
				close(table.release)
				<-read
				k, _ := s.callers.find(of, s.now)
				expect.That(t, k == nil, "in memory is what the reader had read before the change: %+v", k)
				s.wantRefused(t, c, of)
				s.agrees(t, "after the slow reader", of)
			})
		}
	}
}

// A caller that is read after a change is kept in memory again. Otherwise all later requests would read the table.
func TestACallerIsKnownAgainAfterAChangeOfAnotherNode(t *testing.T) {
	s := newShared(t)
	s.Changed()
	for _, of := range s.both() {
		_, err := s.Recheck(Caller{credential: of})
		expect.NoError(t, err)
		k, _ := s.callers.find(of, s.now)
		expect.That(t, k != nil, "a caller of kind %d is read from the table again", of.kind)
	}
}
