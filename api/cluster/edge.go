package cluster

import (
	"bytes"
	"context"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/engine"
)

// An edge has links only, so it sends each request of the API and of the dashboard on: to the node that
// leads, or, if it does not reach that, to any other full node. Such a node answers reads itself, after it
// has applied what the edge has, so clients of the edge read their own writes; all else it sends on to the
// leader, and says so. The certificate of an edge is in more machines, in more places, than that of a full
// node. So the leader refuses what an edge may not do, whoever's token the request has: change accounts
// (FromEdge), or be a local command, which has no token.

// edgeField names the edge in a request that a full node sends on to the leader for it. It counts only
// from full nodes.
const edgeField = "Shunt-Edge"

// edgeKey is of the name of the edge that sent a request on.
type edgeKey struct{}

// FromEdge returns the name of the edge through which a request came; "": through none.
func FromEdge(ctx *fasthttp.RequestCtx) string {
	name, _ := ctx.UserValue(edgeKey{}).(string)
	return name
}

// MayChangeAccounts refuses a request that came through an edge.
func MayChangeAccounts(ctx *fasthttp.RequestCtx) error {
	if name := FromEdge(ctx); name != "" {
		return problem.New(problem.Forbidden, "users, passwords and tokens cannot be changed through the edge %s; ask a full node", name)
	}
	return nil
}

// reads reports whether a request changes nothing.
func reads(ctx *fasthttp.RequestCtx) bool { return ctx.IsGet() || ctx.IsHead() }

// places returns where a request may be sent on to, the best first.
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
