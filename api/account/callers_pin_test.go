package account

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/internal/seams"
	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
)

// Callers from memory are right only if they are told of every write. So one place writes to the table, which says
// so (writeLock.writeThen), and the store's table is an argument of this package's functions and nothing else.
func TestEveryWriteOfAccountsGoesThroughOnePlace(t *testing.T) {
	writes, uses := 0, 0
	handed := regexp.MustCompile(`\baccount\.\w+\([^)]*\.Accounts\(\)`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if filepath.Dir(name) == filepath.Join(root, "api", "account") {
			writes += bytes.Count(text, []byte(".Write("))
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte(".Accounts()")) && !bytes.Contains(line, []byte("//")) {
				if uses++; !handed.Match(line) {
					t.Errorf("%s: the table of accounts is used elsewhere than in package account: %s", name, line)
				}
			}
		}
		return err
	})
	expect.That(t, err == nil && writes == 1 && uses != 0, "%d calls write, want 1; found %d uses of the store's table, %v", writes, uses, err)
}

// asking is a table that makes a test compare, whenever a write changes what is known.
type asking struct {
	table.Table
	compare func(when string)
	writes  int
}

func (a *asking) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	a.writes++
	a.compare("before the write")
	a.Table.Write(sets, deletes, entry, func(err error) {
		a.compare("written, but not answered")
		done(err)
	})
}

// written is a site for TestEveryWriteIsInForceForTheNextRequest: users with tokens and sessions.
type written struct {
	*folder
	table      *asking
	admin, ann User
	own, other string // cookies of ann
	token      Token  // of ann
	short      Token  // of ann, expired after a minute
	known      []credential
	code, boss string // a setup code of ann, and a token of the admin
}

func newWritten(t *testing.T) *written {
	w := &written{folder: newFolder(t)}
	w.admin = w.folder.admin(t).User
	w.add(t, "second@example.com", RoleAdmin)
	w.ann = w.withPassword(t, "ann@example.com")
	w.table = &asking{Table: w.store.Accounts(), compare: func(string) {}}
	w.over(w.table)
	var texts [3]string
	w.token, texts[0] = w.issue(t, w.ann)
	_, w.boss = w.issue(t, w.admin)
	var err error
	if w.short, texts[1], err = w.IssueToken(CallerOf(w.ann), TokenDraft{Name: "n", ExpiresAt: w.now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	_, texts[2] = w.issue(t, w.ann)
	w.own, w.other, w.code = w.begin(t, w.ann), w.begin(t, w.ann), w.newCode(t, w.ann)
	w.known = []credential{ofToken(w.boss), ofCookie(w.begin(t, w.admin)), ofCookie(w.own), ofCookie(w.other)}
	for _, text := range texts {
		w.known = append(w.known, ofToken(text))
	}
	return w
}

func TestEveryWriteIsInForceForTheNextRequest(t *testing.T) {
	strong := seams.Passwords
	seams.Passwords = seams.CheapPasswords
	defer func() { seams.Passwords = strong }()
	email, member, password := "new@example.com", RoleMember, "another password"
	edit := func(e UserEdit) func(w *written) error {
		return func(w *written) error { _, err := w.EditUser(Caller{}, w.admin.ID, e); return err }
	}
	for name, write := range map[string]func(w *written) error{
		"a new user": func(w *written) error { return adding(w.folder, email)() },
		"a new token, for expired ones": func(w *written) error {
			w.now = w.now.Add(2 * time.Minute)
			_, _, err := w.IssueToken(CallerOf(w.ann), TokenDraft{Name: "n"})
			return err
		},
		"a revocation":        func(w *written) error { return w.RevokeToken(Caller{}, w.ann.ID, w.token.ID) },
		"a login":             func(w *written) error { _, _, err := w.LogIn(nobody, w.ann.Name, rightPassword); return err },
		"a login, a new hash": outdatedLogin,
		"a login, one too many": func(w *written) error {
			for range MaxSessions {
				if _, _, err := w.LogIn(nobody, w.ann.Name, rightPassword); err != nil {
					return err
				}
			}
			return nil
		},
		"a log-out":            func(w *written) error { return w.EndSession(w.own) },
		"the end of a session": func(w *written) error { return w.EndSessionByID(Caller{}, w.ann.ID, sessionID(ofCookie(w.other).hash)) },
		"the end of all":       func(w *written) error { return w.EndSessions(Caller{}, w.ann.ID) },
		"a setup code":         func(w *written) error { _, _, err := w.NewSetupCode(Caller{}, w.ann.ID); return err },
		"a use of it":          func(w *written) error { _, _, err := w.UseSetupCode(nobody, w.code, "", password); return err },
		"a new address":        edit(UserEdit{Email: &email}),
		"a demotion":           edit(UserEdit{Role: &member}),
		"a password":           edit(UserEdit{Password: &password}),
		"a password of one's own": func(w *written) error {
			c, err := w.AuthenticateSession(w.own)
			if err != nil {
				return err
			}
			return w.ChangePassword(c, nobody, rightPassword, password)
		},
		"a deletion": func(w *written) error { return w.RemoveUser(Caller{}, w.ann.ID, mayGo(nil)) },
		"last uses":  func(w *written) error { return w.WriteUses() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWritten(t)
			w.agrees(t, "at first", w.known...)
			w.wantKnown(t, len(w.known))
			w.table.compare = func(when string) { w.agrees(t, when, w.known...) }
			w.table.writes = 0
			expect.OK(t, write(w))
			expect.That(t, w.table.writes != 0, "nothing was written")
			w.agrees(t, "after the write", w.known...)
			w.agrees(t, "again", w.known...)
			live := slices.DeleteFunc(slices.Clone(w.known), func(of credential) bool { _, err := w.inTable(of); return err != nil })
			w.wantKnown(t, len(live))
		})
	}
}

// wantKnown fails unless want of the known credentials are in memory.
func (w *written) wantKnown(t *testing.T, want int) {
	t.Helper()
	n := 0
	for _, of := range w.known {
		if k, _ := w.callers.find(of, w.now); k != nil {
			n++
		}
	}
	expect.Equal(t, n, want, "callers are in memory")
}

// outdatedLogin logs ann in when her hash has parameters that are not today's.
func outdatedLogin(w *written) error {
	seams.Passwords.Iterations++
	defer func() { seams.Passwords.Iterations-- }()
	_, _, err := w.LogIn(nobody, w.ann.Name, rightPassword)
	if u, _ := w.readUser(w.ann.ID); err == nil && !strings.Contains(u.password, fmt.Sprint("t=", seams.Passwords.Iterations)) {
		err = fmt.Errorf("the hash is still %s", u.password)
	}
	return err
}
