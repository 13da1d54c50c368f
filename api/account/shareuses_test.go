package account

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"shunt/engine"
)

func TestUsesAreReadAsTheyWereWritten(t *testing.T) {
	uses := []Use{{sha256.Sum256([]byte("a")), time.UnixMilli(1767225600123)}, {sha256.Sum256([]byte("b")), time.UnixMilli(-1)}}
	text := AppendUses([]byte("x"), uses)[1:]
	got, err := ReadUses(text)
	if err != nil || !slices.Equal(got, uses) {
		t.Errorf("got %v, %v, want %v", got, err, uses)
	}
	for name, wrong := range map[string][]byte{
		"half of one": text[:50], "one and a byte": text[:41], "too many": bytes.Repeat(text[:40], usesPerWrite+1),
	} {
		if _, err := ReadUses(wrong); !errors.Is(err, errUses) {
			t.Errorf("%s: got %v, want %v", name, err, errUses)
		}
	}
}

// followerTable is the table of a node that does not lead.
type followerTable struct{ Table }

func (followerTable) Write(_ [][2][]byte, _ [][]byte, _ *engine.AuditEntry, done func(error)) {
	done(engine.ErrNotLeader)
}

// TestTheLeaderLearnsOfUsesAtOtherNodes and writes them, later ones only, and nothing of a message that is lost.
func TestTheLeaderLearnsOfUsesAtOtherNodes(t *testing.T) {
	leader := newFolder(t)
	u := leader.admin(t).User
	_, text := leader.issue(t, u)
	_, unused := leader.issue(t, u)
	follower := New(followerTable{leader.store.Accounts()}, func() time.Time { return leader.now })
	lost := errors.New("lost")
	follower.ShareUses(func([]Use) error { return lost })
	used := leader.now.Add(time.Second)
	leader.now = used
	if _, err := follower.Authenticate(text); err != nil {
		t.Fatal(err)
	}
	if err := follower.WriteUses(); !errors.Is(err, lost) {
		t.Fatalf("got %v, want %v", err, lost)
	}
	lastUses := func() (all []time.Time) {
		list, err := leader.ListTokens(u.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range list {
			if !token.LastUsedAt.IsZero() {
				all = append(all, token.LastUsedAt)
			}
		}
		return all
	}
	if got := lastUses(); len(got) != 0 {
		t.Errorf("a message was lost, and the leader knows of the uses %v", got)
	}
	sent := 0
	follower.ShareUses(func(uses []Use) error { sent += len(uses); return leader.TakeUses(uses) })
	for range 2 {
		if err := follower.WriteUses(); err != nil {
			t.Fatal(err)
		}
	}
	if sent != 1 {
		t.Errorf("%d uses were sent, want one", sent)
	}
	for _, late := range []time.Time{used, used.Add(-time.Hour)} {
		if err := leader.TakeUses([]Use{{ofToken(text).hash, late}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := lastUses(); len(got) != 1 || !got[0].Equal(used) {
		t.Errorf("the leader knows of %v, want %v", got, used)
	}
	if err := leader.WriteUses(); err != nil {
		t.Fatal(err)
	}
	if got, err := follower.lastUse(ofToken(text).hash); err != nil || !got.Equal(used) {
		t.Errorf("once it is written, the follower knows of %v, %v", got, err)
	}
	if err := leader.TakeUses([]Use{{ofToken(unused).hash, leader.now.Add(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := leader.lastUse(ofToken(unused).hash); !got.Equal(leader.now) {
		t.Errorf("a use in the future is at %v, want %v", got, leader.now)
	}
}
