package cluster

import (
	"bytes"
	"context"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/engine"
)

// An edge has links only, so it forwards each request of the API and of the dashboard to the leader, or, if
// it cannot reach the leader, to any other full node. Such a node first applies what the edge has applied, and
// then answers reads itself; so clients of the edge read their own writes. It forwards all else to the leader,
// and names the edge. Edges run on more machines, in more places, than full nodes, so their certificates are
// easier to steal. Therefore the leader refuses some requests from edges, whatever their token: changes of
// accounts (relay.MayChangeAccounts), and local commands, which have no token.

// edgeField names the edge for which a full node forwards a request to the leader. It is believed only from
// full nodes.
const edgeField = "Shunt-Edge"

// reads reports whether a request changes nothing.
func reads(ctx *fasthttp.RequestCtx) bool { return ctx.IsGet() || ctx.IsHead() }

// places returns the nodes to which a request may be forwarded, the best first.
func (f *Forwarder) places() []Place {
	name, address := f.state.Leader()
	var all []Place
	if address != "" {
		all = append(all, Place{name, address})
	}
	if !f.state.Edge() {
		return all
	}
	for _, p := range f.state.Fulls() {
		if p.Name != name {
			all = append(all, p)
		}
	}
	return all
}

// receiveFromEdge is Receive for a node that does not lead, of a request that came directly from an edge.
func receiveFromEdge(ctx *fasthttp.RequestCtx, state State) error {
	if state.Edge() || state.Stale() {
		return refuse(ctx, notLeading)
	}
	after, err := strconv.ParseUint(string(ctx.Request.Header.Peek(sequenceField)), 10, 64)
	if err != nil || !reads(ctx) {
		return nil
	}
	waiting, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
	defer cancel()
	if state.AwaitApplied(waiting, after) != nil {
		return refuse(ctx, notLeading)
	}
	return nil
}

// sentOn returns the name of the edge for which a full node sends ctx on.
func sentOn(ctx *fasthttp.RequestCtx, peer Peer) string {
	if peer.Edge {
		return peer.Name
	}
	return string(bytes.Clone(ctx.Request.Header.Peek(edgeField)))
}
