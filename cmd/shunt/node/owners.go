package node

import (
	"errors"
	"fmt"
	"sync"

	"shunt/api/cluster"
	"shunt/storage/clusterlog"
)

// A node announces the id of its outbox, in etcd and in each answer, and hits are pulled from an outbox by
// position. So a node that answered with another node's id and empty records would make others skip that node's
// hits. Therefore records are accepted only from the owner of an outbox: the node that
// the peer's certificate names must have announced that outbox in etcd. An edge can write anything about itself
// there, so an edge is not believed if another node announced the same outbox before.

// owners remembers which node an outbox was first taken from.
type owners struct {
	mu      sync.Mutex
	by      map[[16]byte]string
	accused map[string]bool // names of nodes that were reported
}

// errClaims: a node says that the outbox of another one is its own.
var errClaims = errors.New("the outbox is another node's")

// errOutbox: a node has not announced this outbox in etcd; it may do so soon.
var errOutbox = errors.New("the node has not said in etcd that it has this outbox")

// check returns nil if peer has the outbox with that id. by has those of all nodes by their names.
func (o *owners) check(by map[string][16]byte, peer cluster.Peer, id [16]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	said, known := by[peer.Name]
	if known && said == id && id != ([16]byte{}) {
		if !peer.Edge || o.by[id] == peer.Name {
			o.noteLocked(by, id, peer.Name)
			return nil
		}
	}
	for name, other := range by {
		if other == id && name != peer.Name {
			return fmt.Errorf("%w: %s says that it has that of %s", errClaims, peer.Name, name)
		}
	}
	if !known || said != id || id == ([16]byte{}) {
		return fmt.Errorf("%w: %s", errOutbox, peer.Name)
	}
	o.noteLocked(by, id, peer.Name)
	return nil
}

func (o *owners) noteLocked(by map[string][16]byte, id [16]byte, name string) {
	if o.by == nil {
		o.by = make(map[[16]byte]string)
	}
	if o.by[id] = name; len(o.by) <= 2*clusterlog.MaxNodes {
		return
	}
	for id, name := range o.by {
		if by[name] != id {
			delete(o.by, id)
		}
	}
}

// accuse reports whether a node has not been reported yet.
func (o *owners) accuse(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.accused == nil || len(o.accused) > 2*clusterlog.MaxNodes {
		o.accused = make(map[string]bool)
	}
	first := !o.accused[name]
	o.accused[name] = true
	return first
}

// mayHave returns an error unless peer has the outbox with that id, as far as by says, and reports a claim for
// another node's.
func (n *Node) mayHave(by map[string][16]byte, peer cluster.Peer, id [16]byte) error {
	trusted := make(map[string][16]byte, len(by))
	for name, outbox := range by {
		if !n.gate.RefusesName(name) {
			trusted[name] = outbox
		}
	}
	err := n.owners.check(trusted, peer, id)
	if errors.Is(err, errClaims) && n.owners.accuse(peer.Name) {
		n.log.Error("a node claims the hits of another one; nothing is taken from it. Take its certificate out of service with 'shunt cluster refuse'; "+
			"or, if it is the same node under a new name, run 'shunt cluster forget' with the old one", "node", peer.Name, "edge", peer.Edge, "error", err)
	}
	return err
}
