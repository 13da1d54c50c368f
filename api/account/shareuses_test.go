package account

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
)

func TestUsesAreReadAsTheyWereWritten(t *testing.T) {
	uses := []Use{{sha256.Sum256([]byte("a")), time.UnixMilli(1767225600123)}, {sha256.Sum256([]byte("b")), time.UnixMilli(-1)}}
	text := AppendUses([]byte("x"), uses)[1:]
	got, err := ReadUses(text)
	expect.That(t, err == nil && slices.Equal(got, uses), "got %v, %v, want %v", got, err, uses)
	for name, wrong := range map[string][]byte{
		"half of one": text[:50], "one and a byte": text[:41], "too many": bytes.Repeat(text[:40], usesPerWrite+1),
	} {
		expect.Error(t, expect.Err(ReadUses(wrong)), errUses, name)
	}
}

// followerTable is the table of a node that does not lead.
type followerTable struct{ table.Table }

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
	expect.OK(t, expect.Err(follower.Authenticate(text)))
	expect.MustError(t, follower.WriteUses(), lost)
	lastUses := func() (all []time.Time) {
		list, err := leader.ListTokens(u.ID)
		expect.OK(t, err)
		for _, token := range list {
			if !token.LastUsedAt.IsZero() {
				all = append(all, token.LastUsedAt)
			}
		}
		return all
	}
	got := lastUses()
	expect.Equal(t, len(got), 0, "a message was lost, and the leader knows of the uses %v", got)
	sent := 0
	follower.ShareUses(func(uses []Use) error { sent += len(uses); return leader.TakeUses(uses) })
	for range 2 {
		expect.OK(t, follower.WriteUses())
	}
	expect.Equal(t, sent, 1, "uses were sent")
	for _, late := range []time.Time{used, used.Add(-time.Hour)} {
		expect.OK(t, leader.TakeUses([]Use{{ofToken(text).hash, late}}))
	}
	got = lastUses()
	expect.That(t, len(got) == 1 && got[0].Equal(used), "the leader knows of %v, want %v", got, used)
	expect.OK(t, leader.WriteUses())
	if got, err := follower.lastUse(ofToken(text).hash); err != nil || !got.Equal(used) {
		t.Errorf("once it is written, the follower knows of %v, %v", got, err)
	}
	expect.OK(t, leader.TakeUses([]Use{{ofToken(unused).hash, leader.now.Add(time.Hour)}}))
	if got, _ := leader.lastUse(ofToken(unused).hash); !got.Equal(leader.now) {
		t.Errorf("a use in the future is at %v, want %v", got, leader.now)
	}
}
