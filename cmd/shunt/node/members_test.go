package node

import (
	"context"
	"errors"
	"testing"

	"shunt/storage/clusterlog"
)

// TestANodeKnowsTheMembersOfItsCluster also while etcd does not answer, and learns of one that comes at once.
func TestANodeKnowsTheMembersOfItsCluster(t *testing.T) {
	var answer error
	asked, there := 0, []clusterlog.Member{{Node: clusterlog.Node{Name: "a"}}}
	m := members{list: func(context.Context) ([]clusterlog.Member, error) {
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
