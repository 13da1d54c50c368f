package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/relay"
	"shunt/engine"
)

// State is what this node knows of its cluster. Any goroutine may call its methods.
type State interface {
	// Leads reports whether this node leads.
	Leads() bool
	// Leader returns the name of the node that leads and host:port of its cluster listener. address is
	// "" if none is known to lead, or this node does.
	Leader() (name, address string)
	// Applied returns the sequence of the last entry of the log that this node has applied.
	Applied() uint64
	// AwaitApplied waits until Applied is at least sequence, or ctx ends.
	AwaitApplied(ctx context.Context, sequence uint64) error
	// Edge reports whether this node is an edge.
	Edge() bool
	// Fulls returns the full nodes as far as this node, an edge, knows them: first those that are live.
	Fulls() []Place
	// Member reports whether the cluster has a node of that name. known is false if that cannot be found out at
	// present: the node may have joined since this one last listed the nodes.
	Member(name string) (member, known bool)
	// Gate refuses the certificates that are out of service.
	Gate() *Gate
	// Stale reports whether this node has been without the log for too long to answer API requests.
	Stale() bool
}

// A Place is where a node is reached.
type Place struct{ Name, Address string }

// Header fields between nodes. A client cannot send them, because the public listeners do not read them.
//
// The first three are always there, once each. A missing one must have no meaning, because fasthttp leaves
// out fields that the client of a request has named as trailers.
const (
	clientField   = relay.ClientField
	plainField    = relay.PlainField
	localField    = "Shunt-Local"    // 1: a local command, by the user that Shunt-User names; or 0
	sequenceField = "Shunt-Sequence" // of an answer: the client's node waits for it; of a request of an edge: the reverse
	refusedField  = relay.RefusedField
)

const (
	// forwardPatience bounds how long a write waits for a leader to be known, as it would wait for a
	// commit.
	forwardPatience = engine.CommitTimeout
	forwardPause    = 50 * time.Millisecond

	// answerTimeout bounds one request to the leader: a large import takes seconds.
	answerTimeout = 30 * time.Second

	maxForwardConns  = 512
	maxForwardAnswer = 64 << 20
)

// maxForwardPlaces bounds how many clients are kept, because a node may come back at another address.
const maxForwardPlaces = 512

// A Forwarder sends requests to the node that leads, or from an edge also to other full nodes.
type Forwarder struct {
	state State
	tls   *tls.Config

	mu struct {
		sync.Mutex
		clients map[Place]*peer
	}
}

// NewForwarder returns a Forwarder that names this node by the certificate in config.
func NewForwarder(state State, config *tls.Config) *Forwarder {
	return &Forwarder{state: state, tls: config}
}

// client returns the client of a node, whose certificate must have its name.
func (f *Forwarder) client(p Place) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.mu.clients[p]
	if c == nil {
		if f.mu.clients == nil || len(f.mu.clients) >= maxForwardPlaces {
			f.mu.clients = make(map[Place]*peer) // the others close their connections when these are idle
		}
		config := FromFull(f.tls, p.Name)
		c = newPeer()
		c.HostClient = &fasthttp.HostClient{
			Addr: p.Address, IsTLS: true, TLSConfig: config, MaxConns: maxForwardConns, MaxResponseBodySize: maxForwardAnswer,
			NoDefaultUserAgentHeader: true, DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true,
			MaxIdemponentCallAttempts: 1, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout,
			Dial: func(address string) (net.Conn, error) { return c.conns.dial(address, f.state.Gate(), config) },
		}
		f.mu.clients[p] = c
	}
	return c
}

// Forward answers ctx with the leader's answer, or that of another full node. local says that the request came from a
// local command; writes that it may change something, which its method alone does not say. here is true if this node
// leads by now, and must answer itself. Errors are problems.
func (f *Forwarder) Forward(ctx *fasthttp.RequestCtx, local, writes bool) (here bool, err error) {
	req := fasthttp.AcquireRequest()
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	f.prepare(req, ctx, local)
	for deadline := time.Now().Add(forwardPatience); ; time.Sleep(forwardPause) {
		if f.state.Leads() {
			return true, nil
		}
		stale := writes && f.state.Stale() // it would not know what it answers
		for _, p := range f.places() {
			if stale {
				break
			}
			done, err := f.try(p, req, resp, writes)
			if err != nil {
				return false, err
			}
			if done {
				return false, f.answer(ctx, resp, writes)
			}
		}
		switch {
		case !time.Now().After(deadline):
		case stale:
			return false, problem.New(problem.Stale, "this node has had no connection to the log of its cluster for some time; nothing was changed, and redirects go on")
		default:
			return false, f.unreached()
		}
	}
}

// unreached is the problem if no node takes a request.
func (f *Forwarder) unreached() error {
	if f.state.Edge() {
		return problem.New(problem.Stale, "this edge reaches no full node of its cluster; nothing was changed, and redirects go on")
	}
	return problem.New(problem.Stale, "no node of the cluster leads at present; nothing was changed")
}

// prepare makes req the request of ctx as it goes to the leader.
func (f *Forwarder) prepare(req *fasthttp.Request, ctx *fasthttp.RequestCtx, local bool) {
	relay.Prepare(req, ctx, clientField, plainField, sequenceField, refusedField, localField, edgeField)
	h := &req.Header
	h.Set(clientField, relay.ClientText(ctx.RemoteAddr()))
	h.Set(plainField, relay.Digit(!relay.OverTLS(ctx)))
	h.Set(localField, relay.Digit(local))
	if f.state.Edge() {
		h.Set(sequenceField, strconv.FormatUint(f.state.Applied(), 10))
	} else if edge := relay.Edge(ctx); edge != "" {
		h.Set(edgeField, edge)
	}
	req.URI().SetScheme("https")
}

// try sends req once. done is false if the node certainly did nothing with it, or if it writes nothing.
func (f *Forwarder) try(p Place, req *fasthttp.Request, resp *fasthttp.Response, writes bool) (done bool, err error) {
	client := f.client(p)
	stop := f.watch(p, func() { f.forget(p, client) })
	err = client.DoTimeout(req, resp, answerTimeout)
	stop()
	var dialing *net.OpError
	var unknown *tls.CertificateVerificationError
	switch {
	case err == nil:
		return len(resp.Header.Peek(refusedField)) == 0, nil
	case errors.As(err, &dialing) && dialing.Op == "dial", errors.Is(err, fasthttp.ErrDialTimeout), errors.Is(err, fasthttp.ErrNoFreeConns),
		errors.Is(err, errEdge), errors.Is(err, errOtherName), errors.As(err, &unknown):
		return false, nil
	case !writes:
		return false, nil
	}
	return false, problem.New(problem.OutcomeUnknown, "the node that leads the cluster did not answer; the write may have happened")
}

// answer copies the leader's answer, after this node has applied what the leader had written. If this node cannot
// follow the log, it does not know what was written, and the next read here would deny it: so it is a problem then that
// the outcome is unknown. A read, or a request that was refused, has written nothing.
func (f *Forwarder) answer(ctx *fasthttp.RequestCtx, resp *fasthttp.Response, writes bool) error {
	if sequence, err := strconv.ParseUint(string(resp.Header.Peek(sequenceField)), 10, 64); err == nil {
		waiting, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
		err := f.state.AwaitApplied(waiting, sequence)
		cancel()
		if err != nil && writes && resp.StatusCode() < fasthttp.StatusBadRequest {
			return problem.New(problem.OutcomeUnknown, "this node does not hear from the log of its cluster, and does not know what the node that leads has written; "+
				"the write may have happened")
		}
	}
	resp.Header.Del(sequenceField)
	_ = resp.Header.SetTrailer("")
	closes := ctx.Response.ConnectionClose()
	resp.CopyTo(&ctx.Response)
	ctx.Response.Header.Del(fasthttp.HeaderConnection)
	if closes {
		ctx.SetConnectionClose()
	}
	return nil
}

// refuse answers that this node did nothing with a request, for the reason why, and that the sender may ask
// another node.
func refuse(ctx *fasthttp.RequestCtx, why string) error {
	ctx.Response.Header.Set(refusedField, "1")
	return problem.New(problem.Stale, "%s; nothing was changed", why)
}

const notLeading = "this node does not lead the cluster"

// Receive makes a request that another node, peer, sent on look like the client's own. local reports
// whether a local command of that node sent it. It refuses the request if this node does not lead, unless
// it comes from an edge.
func Receive(ctx *fasthttp.RequestCtx, state State, peer Peer) (local bool, err error) {
	if !state.Leads() {
		if !peer.Edge {
			return false, refuse(ctx, notLeading)
		}
		if err := receiveFromEdge(ctx, state); err != nil {
			return false, err
		}
	}
	h := &ctx.Request.Header
	client, plain, local, err := readFields(h)
	if err != nil {
		return false, err
	}
	relay.Note(ctx, relay.Client{Address: client, HTTPS: !plain, Edge: sentOn(ctx, peer)})
	for _, field := range []string{clientField, plainField, localField, edgeField, sequenceField} {
		h.Del(field)
	}
	return local, nil
}

// readFields reads what another node says of its client. Each field must be there exactly once.
func readFields(h *fasthttp.RequestHeader) (client net.Addr, plain, local bool, err error) {
	said, err := relay.Field(h, clientField)
	if err == nil {
		client, err = relay.ParseClient(said)
	}
	if err == nil {
		plain, err = relay.YesNo(h, plainField)
	}
	if err == nil {
		local, err = relay.YesNo(h, localField)
	}
	return client, plain, local, err
}

// Sign puts into an answer the sequence that the client's node must have applied before it passes the answer
// on.
func Sign(ctx *fasthttp.RequestCtx, state State) {
	ctx.Response.Header.Set(sequenceField, strconv.FormatUint(state.Applied(), 10))
}
