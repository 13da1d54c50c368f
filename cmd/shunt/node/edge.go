package node

import (
	"errors"

	"shunt/api/cluster"
	"shunt/storage/clusterlog"
)

// Edge implements cluster.State.
func (n *Node) Edge() bool { return n.settings.Role == Edge }

// CheckRole compares the role of this node with its certificate: other nodes give an edge no accounts and
// no figures by what its certificate says, not by what it says of itself.
func (n *Node) CheckRole() error {
	switch edge := cluster.IsEdge(n.identity.certificate().Leaf); {
	case edge && !n.Edge():
		return errors.New("--cluster-cert: the certificate is that of an edge (its organizational unit is edge), so this node cannot be a full one: start with --role edge")
	case !edge && n.Edge():
		return errors.New("--cluster-cert: the certificate is that of a full node, and must not be in the machine of an edge: " +
			"make one with the organizational unit edge (OU=edge)")
	}
	return nil
}

// checkFolder compares the role of this node with its data folder.
func (n *Node) checkFolder() error {
	_, member := n.store.Cluster()
	switch edge := n.store.Edge(); {
	case edge && !n.Edge():
		return errors.New("--role full: this data folder is that of an edge, without accounts and figures: start with --role edge, or begin with a copy of a full node's data in another folder (shunt join)")
	case !edge && n.Edge() && member:
		return errors.New("--role edge: this data folder is that of a full node, with accounts and figures: start with --role full, or begin with a copy for an edge in another folder (shunt join)")
	case !edge && n.Edge():
		return errors.New("--role edge: this data folder belongs to no cluster: start from a copy for an edge in another folder (shunt join)")
	}
	return nil
}

// noteFulls notes where the full nodes are, of all members.
func (n *Node) noteFulls(members []clusterlog.Member) {
	var live, others []cluster.Place
	for _, m := range members {
		if m.Role != clusterlog.Full {
			continue
		}
		address, err := addressOf(m.Advertise)
		switch {
		case err != nil:
			n.log.Error("a node cannot be reached at what it advertises", "node", m.Name, "error", err)
		case m.Live:
			live = append(live, cluster.Place{Name: m.Name, Address: address})
		default:
			others = append(others, cluster.Place{Name: m.Name, Address: address})
		}
	}
	all := append(live, others...)
	n.fulls.Store(&all)
}

// Fulls implements cluster.State.
func (n *Node) Fulls() []cluster.Place {
	if all := n.fulls.Load(); all != nil {
		return *all
	}
	return nil
}

// errEdgeLeaves is the error of Leave for an edge.
var errEdgeLeaves = errors.New("the data folder is that of an edge, which has links but no accounts; to keep the links alone, export them at a full node")
