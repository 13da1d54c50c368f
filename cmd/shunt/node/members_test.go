package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// TestANodeKnowsTheMembersOfItsCluster also while etcd does not answer, and learns of one that comes at once.
func TestANodeKnowsTheMembersOfItsCluster(t *testing.T) {
	var answer error
	asked, there := 0, []clusterlog.Member{{Node: clusterlog.Node{Name: "a"}}}
	m := members{asking: make(chan struct{}, 1), list: func(context.Context) ([]clusterlog.Member, error) {
		asked++
		return there, answer
	}}
	has := func(name string) bool {
		found, known := m.has(name)
		return found && known
	}
	expect.That(t, has("a") && asked == 1, "a member is unknown, or asked for %d times", asked)
	there = append(there, clusterlog.Member{Node: clusterlog.Node{Name: "b"}})
	expect.That(t, has("b") && asked == 2 && !has("c"), "a new member is unknown, or somebody else is one; asked %d times", asked)
	answer = errors.New("gone")
	m.forget()
	asked = 0
	expect.That(t, has("a") && has("b") && !has("c") && asked == 1, "while etcd is gone, members are unknown, or asked for %d times", asked)
}

// TestNoRequestWaitsForAnEtcdThatDoesNotAnswer while somebody else, without a deadline, asks it: requests of
// nodes that are known must be answered, so that they turn to another leader.
func TestNoRequestWaitsForAnEtcdThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, hangs := []clusterlog.Member{{Node: clusterlog.Node{Name: "a"}}}, false
		m := members{asking: make(chan struct{}, 1), list: func(ctx context.Context) ([]clusterlog.Member, error) {
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return there, nil
		}}
		found, _ := m.has("a")
		expect.MustThat(t, found, "a member is unknown")
		time.Sleep(2 * membersLive)
		hangs = true
		go func() { _, _ = m.outboxes(context.Background()) }()
		synctest.Wait()
		for range 3 {
			since := time.Now()
			found, _ := m.has("a")
			expect.That(t, found, "a member is unknown")
			took := time.Since(since)
			expect.That(t, took <= knownTimeout, "a request waited for %v", took)
		}
		time.Sleep(memberTimeout)
	})
}

// TestNobodyIsRefusedWhileItIsUnknownWhoIsThere has a node come after this one has asked for the others, and etcd say
// nothing since: whether it is there cannot be known. Only etcd can say that somebody is not one of the cluster.
func TestNobodyIsRefusedWhileItIsUnknownWhoIsThere(t *testing.T) {
	gone := errors.New("gone")
	answer, asked, there := error(nil), 0, []clusterlog.Member{{Node: clusterlog.Node{Name: "a"}}}
	n := nodeOf(Full)
	m := &n.members
	m.list = func(context.Context) ([]clusterlog.Member, error) {
		asked++
		return there, answer
	}
	want := func(name string, wantFound, wantKnown bool) {
		t.Helper()
		found, known := m.has(name)
		expect.That(t, found == wantFound && known == wantKnown, "%s: found %t, known %t, want %t, %t", name, found, known, wantFound, wantKnown)
	}
	answer = gone
	want("a", false, false) // nothing has ever been heard
	answer = nil
	want("a", true, true)
	want("edge", false, true)
	answer = gone
	want("edge", false, false)
	asked = 0
	want("edge", false, false)
	expect.Equal(t, asked, 0, "etcd, which has failed just now, was asked times")

	// Whoever follows the nodes hears of it: then it is known although etcd is gone again, and etcd may be asked.
	there = append(there, clusterlog.Member{Node: clusterlog.Node{Name: "edge"}})
	n.hear(t.Context(), new(clockWatch), there)
	want("edge", true, true)
	want("a", true, true)
	expect.Equal(t, asked, 1, "etcd was asked times")
	answer = nil
	n.hear(t.Context(), new(clockWatch), there[:1])
	want("edge", true, true) // etcd has the last word
	there = there[:1]
	m.forget()
	want("edge", false, true)
}
