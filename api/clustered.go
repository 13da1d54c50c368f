package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/cluster"
	"shunt/api/dashboard"
	foreign "shunt/api/doors"
	"shunt/api/exchange"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/relay"
	"shunt/api/urlpath"
	"shunt/api/wire"
	"shunt/engine"
)

// clustered forwards the requests that another node of the cluster must answer: all writes go to the
// leader. Reads of the API are answered here, from this node's copy, unless it is stale. Pages of
// the dashboard keep what they show once in memory, so all of them come from the node that leads. An edge
// answers no request of the API, because it lacks the data.
type clustered struct {
	state      cluster.State
	forwarder  *cluster.Forwarder
	here       map[string]bool         // paths of local commands that are about this node
	noPages    bool                    // this node has no dashboard
	fixed      func(path []byte) bool  // pages that are the same on every node
	doors      *foreign.Doors          // that are open
	routes     fasthttp.RequestHandler // of what the leader is sent from clients of other nodes
	local      fasthttp.RequestHandler // and from local commands there
	backup     func(node string, w io.Writer) error
	links      func(w io.Writer) error
	shared     func(ctx context.Context, links bool, w io.Writer) error
	knows      func(node string, proof []byte) bool
	copying    chan struct{}   // has a place for each copy of shared that is sent
	ending     <-chan struct{} // closed when the server shuts down
	outbox     func(node string, q cluster.OutboxQuery) (cluster.Outbox, error)
	giveCopy   func(ctx context.Context, c cluster.Copy) error
	noteCopy   func(ctx context.Context, c cluster.Copy) error
	engine     *engine.Engine
	gatekeeper *public.Gatekeeper
	caps       func(ctx context.Context, asks []engine.CapAsk) ([]engine.CapAnswer, error)
	uses       func([]account.Use) error
	log        *slog.Logger
}

// over returns routes for the requests of this node's own clients. local: they are local commands.
func (c *clustered) over(routes fasthttp.RequestHandler, local bool) fasthttp.RequestHandler {
	if c == nil {
		return routes
	}
	return func(ctx *fasthttp.RequestCtx) {
		here, err := c.isHere(ctx), error(nil)
		switch {
		case !here && c.streams(ctx):
			err = c.forwarder.ForwardStream(ctx, relay.Stream{Ending: c.ending, Renew: wire.Renew, Sent: wire.Sent, AwaitEnd: wire.AwaitEnd})
		case !here:
			here, err = c.forwarder.Forward(ctx, local, c.writes(ctx))
		case !local && c.state.Stale() && c.mayBeOld(ctx) && !c.state.Edge():
			err = problem.New(problem.Stale, "this node has had no connection to the log of its cluster for some time; redirects go on")
		}
		switch {
		case err != nil:
			p, _ := problem.Of(err)
			exchange.WriteProblem(ctx, p)
		case here:
			routes(ctx)
		}
	}
}

// streams reports whether an edge passes on the answer to a request as it comes: live figures have no end,
// and an export has all links.
func (c *clustered) streams(ctx *fasthttp.RequestCtx) bool {
	if !c.state.Edge() || !ctx.IsGet() {
		return false
	}
	path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
	path = withoutSlash(path)
	return dashboard.IsStream(path) || bytes.HasPrefix(path, []byte(apiPrefix)) &&
		(bytes.HasSuffix(path, []byte("/live")) || bytes.HasSuffix(path, []byte("/export")))
}

// isHere reports whether a request can be answered by this node even if it does not lead.
func (c *clustered) isHere(ctx *fasthttp.RequestCtx) bool {
	if c.state.Leads() || ctx.IsOptions() {
		return true
	}
	path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
	switch {
	case c.doors.At(path) != nil: // some of which create by GET
		return false
	case bytes.HasPrefix(path, []byte(apiPrefix)):
		if string(withoutSlash(path)) == apiRoot+"/target-check" { // which the node that leads has in memory
			return false
		}
		return (ctx.IsGet() || ctx.IsHead()) && !c.state.Edge() || c.here[string(withoutSlash(path))]
	case bytes.HasPrefix(path, []byte(dashboard.Root)):
		return c.noPages || c.fixed(path) || !c.state.Edge() && ctx.IsGet() && dashboard.IsStream(path)
	}
	return true
}

// writes reports whether a request may change something.
func (c *clustered) writes(ctx *fasthttp.RequestCtx) bool {
	path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
	return c.doors.MayWrite(ctx, path)
}

// mayBeOld reports whether the answer to a request may be wrong if this node has been without the log for long:
// it depends on what other nodes have written, or on who may see it.
func (c *clustered) mayBeOld(ctx *fasthttp.RequestCtx) bool {
	path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
	return c.doors.At(path) != nil || bytes.HasPrefix(path, []byte(apiPrefix)) || bytes.HasPrefix(path, []byte(dashboard.Root)) && !c.fixed(path)
}

// receive answers another node.
func (c *clustered) receive(ctx *fasthttp.RequestCtx) {
	peer, err := cluster.PeerOf(ctx)
	if err == nil {
		err = c.inService(ctx)
	}
	if err == nil {
		if path := ctx.Path(); bytes.HasPrefix(path, []byte(cluster.PeerPrefix)) {
			err = c.answerPeer(ctx, peer, string(path))
		} else {
			err = c.answerFor(ctx, peer)
		}
	}
	if err != nil {
		exchange.NameRequest(ctx)
		exchange.Fail(ctx, c.log, err)
	}
}

// inService refuses a request whose certificate is refused, on a connection that is about to be closed for that.
func (c *clustered) inService(ctx *fasthttp.RequestCtx) error {
	if err := c.state.Gate().Check(ctx.TLSConnectionState().PeerCertificates[0]); err != nil {
		return problem.New(problem.Forbidden, "%s", err.Error())
	}
	return nil
}

// answerFor answers a request that another node has forwarded.
func (c *clustered) answerFor(ctx *fasthttp.RequestCtx, peer cluster.Peer) error {
	if err := peer.In(ctx, c.state); err != nil {
		return err
	}
	local, err := cluster.Receive(ctx, c.state, peer)
	if err == nil && local {
		err = peer.Full()
	}
	if err != nil {
		return err
	}
	exchange.NameRequest(ctx)
	switch {
	case local:
		c.local(ctx)
	case peer.Edge: // this node may not lead
		c.over(c.routes, false)(ctx)
	default:
		c.routes(ctx)
	}
	cluster.Sign(ctx, c.state)
	return nil
}

// answerPeer answers the own request of another node.
func (c *clustered) answerPeer(ctx *fasthttp.RequestCtx, peer cluster.Peer, path string) error {
	if path == cluster.CapsPath && ctx.IsPost() { // edges redirect, too
		return c.lead(ctx, peer, c.grantCaps)
	}
	if path == cluster.FindPath && ctx.IsPost() {
		return c.lead(ctx, peer, func(ctx *fasthttp.RequestCtx) error { return answerFind(ctx, c.engine, c.state.Applied) })
	}
	if path == cluster.UnlockPath && ctx.IsPost() {
		return c.lead(ctx, peer, func(ctx *fasthttp.RequestCtx) error { return answerUnlock(ctx, c.gatekeeper) })
	}
	if (path == cluster.LinksPath || path == cluster.BackupPath || path == cluster.SharedPath) && c.state.Edge() {
		return problem.New(problem.Forbidden, "this node is an edge: ask a full node for a copy")
	}
	if path == cluster.LinksPath && ctx.IsGet() {
		return c.sendCopy(ctx, cluster.Copy{Node: peer.Name, Edge: true}, c.links)
	}
	if path == cluster.SharedPath && ctx.IsGet() {
		return c.sendShared(ctx, peer)
	}
	if err := peer.Full(); err != nil {
		return err
	}
	switch {
	case path == cluster.BackupPath && ctx.IsGet():
		return c.sendBackup(ctx, peer)
	case path == cluster.CopiesPath && ctx.IsPost():
		return c.lead(ctx, peer, c.takeCopy)
	case path == cluster.OutboxPath && ctx.IsGet():
		return c.answerOutbox(ctx, peer)
	case path == cluster.UsesPath && ctx.IsPost():
		return c.lead(ctx, peer, c.takeUses)
	}
	return problem.New(problem.NotFound, "nodes have no such path")
}

// lead answers what only the node that leads may answer.
func (c *clustered) lead(ctx *fasthttp.RequestCtx, peer cluster.Peer, answer func(*fasthttp.RequestCtx) error) error {
	if err := peer.In(ctx, c.state); err != nil {
		return err
	}
	if !c.state.Leads() {
		return problem.New(problem.Stale, "this node does not lead the cluster; nothing was changed")
	}
	return answer(ctx)
}

// grantCaps answers a node that asks about links with a cap.
func (c *clustered) grantCaps(ctx *fasthttp.RequestCtx) error {
	asks, err := cluster.ReadCapAsks(ctx.PostBody())
	if err != nil {
		return err
	}
	answers, err := c.caps(ctx, asks)
	if err != nil {
		return err
	}
	body, err := json.Marshal(answers)
	ctx.SetBody(body)
	return err
}

// sendCopy answers with a copy of the data, which send writes, if the node may have it.
func (c *clustered) sendCopy(ctx *fasthttp.RequestCtx, of cluster.Copy, send func(w io.Writer) error) error {
	if err := c.giveCopy(ctx, of); err != nil {
		return notAdmitted(of.Node, err)
	}
	c.log.Info("another node takes a copy of the data", "node", of.Node, "edge", of.Edge, "was_away", of.Back)
	ctx.SetConnectionClose()
	ctx.Response.Header.SetContentType("application/octet-stream")
	conn := ctx.Conn()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		if err := send(sentWriter{w, conn}); err != nil { // the copy lacks its end, so nobody takes it for a whole one
			c.log.Error("a copy of the data for another node failed", "node", of.Node, "error", err)
		}
	})
	return nil
}

// maxSharedCopies is how many nodes that have older data may take a copy at the same time. Others try again later.
const maxSharedCopies = 2

// sendShared answers a node that has the data as of some time ago, and that the log was trimmed past.
func (c *clustered) sendShared(ctx *fasthttp.RequestCtx, peer cluster.Peer) error {
	return c.sendBack(ctx, peer, func(w io.Writer) error { return c.shared(context.Background(), peer.Edge, w) })
}

// sendBackup answers a full node that is new, or that has the data as of some time ago, but lacks hits since then.
func (c *clustered) sendBackup(ctx *fasthttp.RequestCtx, peer cluster.Peer) error {
	send := func(w io.Writer) error { return c.backup(peer.Name, w) }
	if len(ctx.Request.Header.Peek(cluster.ProofHeader)) > 0 {
		return c.sendBack(ctx, peer, send)
	}
	return c.sendCopy(ctx, cluster.Copy{Node: peer.Name}, send)
}

// sendBack answers a node of the cluster that proves that it has the data as of some time ago.
func (c *clustered) sendBack(ctx *fasthttp.RequestCtx, peer cluster.Peer, send func(w io.Writer) error) error {
	if err := peer.In(ctx, c.state); err != nil {
		return err
	}
	if !c.knows(peer.Name, ctx.Request.Header.Peek(cluster.ProofHeader)) {
		return problem.New(problem.Forbidden, "node %s has not proved that it has the data of this cluster", peer.Name)
	}
	select {
	case c.copying <- struct{}{}:
	default:
		return problem.New(problem.Stale, "%d other nodes take a copy here at present", maxSharedCopies)
	}
	err := c.sendCopy(ctx, cluster.Copy{Node: peer.Name, Edge: peer.Edge, Back: true}, func(w io.Writer) error {
		defer func() { <-c.copying }()
		return send(w)
	})
	if err != nil {
		<-c.copying
	}
	return err
}

// notAdmitted is the problem of a node that gets no copy because of err.
func notAdmitted(name string, err error) error {
	if errors.Is(err, cluster.ErrNotAdmitted) {
		return problem.New(problem.Forbidden, "node %s is not admitted: run 'shunt cluster admit %s' at a full node of the cluster, and then 'shunt join' again within ten minutes", name, name)
	}
	return err
}

// takeCopy notes that another full node is about to give a copy.
func (c *clustered) takeCopy(ctx *fasthttp.RequestCtx) error {
	of, err := cluster.ReadCopy(ctx.PostBody())
	if err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return notAdmitted(of.Node, c.noteCopy(ctx, of))
}

// takeUses notes when tokens were last used at another full node.
func (c *clustered) takeUses(ctx *fasthttp.RequestCtx) error {
	uses, err := account.ReadUses(ctx.PostBody())
	if err != nil {
		return problem.New(problem.BadRequest, "%s", err.Error())
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return c.uses(uses)
}

// answerOutbox gives a full node the hits that this node has counted and that one has not.
func (c *clustered) answerOutbox(ctx *fasthttp.RequestCtx, peer cluster.Peer) error {
	if err := peer.In(ctx, c.state); err != nil {
		return err
	}
	q, err := cluster.ParseOutboxQuery(ctx.QueryArgs())
	if err != nil {
		return err
	}
	part, err := c.outbox(peer.Name, q)
	if errors.Is(err, cluster.ErrLost) {
		return problem.New(problem.Gone, "%s", err.Error())
	}
	if err != nil {
		return err
	}
	ctx.Response.Header.SetContentType("application/octet-stream")
	ctx.SetBody(part.AppendTo(nil))
	return nil
}
