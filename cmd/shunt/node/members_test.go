package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
	if !m.has("a") || asked != 1 {
		t.Errorf("a member is unknown, or asked for %d times", asked)
	}
	there = append(there, clusterlog.Member{Node: clusterlog.Node{Name: "b"}})
	if !m.has("b") || asked != 2 || m.has("c") {
		t.Errorf("a new member is unknown, or somebody else is one; asked %d times", asked)
	}
	answer = errors.New("gone")
	m.forget()
	asked = 0
	if !m.has("a") || !m.has("b") || m.has("c") || asked != 1 {
		t.Errorf("while etcd is gone, members are unknown, or asked for %d times", asked)
	}
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
		if !m.has("a") {
			t.Fatal("a member is unknown")
		}
		time.Sleep(2 * membersLive)
		hangs = true
		go func() { _, _ = m.outboxes(context.Background()) }()
		synctest.Wait()
		for range 3 {
			since := time.Now()
			if !m.has("a") {
				t.Error("a member is unknown")
			}
			if took := time.Since(since); took > knownTimeout {
				t.Errorf("a request waited for %v", took)
			}
		}
		time.Sleep(memberTimeout)
	})
}
