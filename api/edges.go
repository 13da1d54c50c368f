package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/auth"
	"shunt/api/edges"
	"shunt/api/exchange"
	"shunt/api/lock"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/relay"
	"shunt/api/wire"
	"shunt/api/wire/http1"
	"shunt/engine"
)

// Edges is what a writer does for its edges; zero: it can have none. Any goroutine may call its functions.
type Edges struct {
	// Identity returns what a new edge begins with.
	Identity func() edges.Identity

	// Copy writes a copy of all links to w, for the edge of that name.
	Copy func(ctx context.Context, edge string, w io.Writer) error

	// Follow applies records of the outbox of the edge of that name, and returns entries of the log that it lacks. If
	// there is nothing to say, it waits until there is, or ctx ends. Errors are problems.
	Follow func(ctx context.Context, edge string, ask *edges.Ask, records [][]byte) (edges.Answer, [][]byte, error)

	// Met returns the names of the edges that have given hits, or asked for entries, and Forget frees such a name.
	Met    func() ([]string, error)
	Forget func(name string) error

	// Head returns the sequence of the last entry of the log.
	Head func() uint64

	// Caps is engine.Engine.RecordAsked.
	Caps func(asks []engine.CapAsk) ([]engine.CapAnswer, error)
}

// edgeCalls are the calls of edges, at their writer.
type edgeCalls struct {
	Edges
	engine     *engine.Engine
	accounts   *account.Accounts
	auth       *auth.Authenticator
	limiter    *auth.Limiter
	gatekeeper *public.Gatekeeper
	copies     *ops.Places
	proxies    *http1.Proxies
	copying    sync.Map // the names of edges that take a copy
	known      *edges.Known
	now        func() time.Time

	challenges http.Handler    // nil: none
	ending     <-chan struct{} // closed when the server shuts down
	log        *slog.Logger
}

// endpoints are the rows that edges have besides those of the API, which describes them nowhere: only edges call them.
func (c *edgeCalls) endpoints() []endpoint {
	if c.Follow == nil {
		return nil
	}
	return []endpoint{
		{"POST", edges.MeetPath, account.Edge, c.meet, 0},
		{"POST", edges.CopyPath, account.Edge, c.copy, 0},
		{"POST", edges.FollowPath, account.Edge, c.follow, edges.MaxAskBytes},
		{"POST", edges.CapsPath, account.Edge, c.caps, edges.MaxCapsBytes},
		{"POST", edges.FindPath, account.Edge, c.find, 0},
		{"POST", edges.UnlockPath, account.Edge, c.unlock, lock.MaxQuestionBytes},
		{"POST", edges.ChallengePath, account.Edge, c.challenge, 0},
	}
}

func (c *edgeCalls) meet(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	who, err := edges.ReadWho(ctx.PostBody())
	if err != nil {
		return problem.New(problem.BadRequest, "an edge says who it is in another way: %v", err)
	}
	who.Store = "" // its folder may be the wrong one, and then it does not come
	if err := c.claim(ctx, caller, who); err != nil {
		return err
	}
	id := c.Identity()
	id.Name = caller.Edge
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &id)
}

// claimAlone is claim for a call that says nothing else.
func (c *edgeCalls) claimAlone(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	who, err := edges.ReadWho(ctx.PostBody())
	if err != nil {
		return problem.New(problem.BadRequest, "an edge says who it is in another way: %v", err)
	}
	return c.claim(ctx, caller, who)
}

// claim refuses an edge while another one uses its token.
func (c *edgeCalls) claim(ctx *fasthttp.RequestCtx, caller account.Caller, who edges.Who) error {
	address := c.addressOf(ctx)
	rival := c.known.Claim(caller.Edge, address, who, c.now())
	if rival == nil {
		return nil
	}
	why := "each edge needs a token of its own ('shunt token add --edge NAME'); one that replaces the other may come 10 seconds after that has stopped"
	if rival.Twin {
		why = "both have a copy of one data folder; stop one of them, and begin it again with an empty folder and a token of its own"
	}
	if rival.Tell {
		c.log.Warn("two edges use one token, so one of them is refused: "+why, "edge", caller.Edge, "heard", rival.Address, "refused", address)
	}
	return problem.New(problem.Busy, "another edge, at %s, uses the token of %s: %s", rival.Address, caller.Edge, why)
}

// Limits of copies, each of which keeps a snapshot of the store.
const (
	copyTimeout = 6 * time.Hour
	maxCopies   = 16 // under way
)

// within returns a context that ends after a time, or when the server shuts down. cancel must be called.
func (c *edgeCalls) within(limit time.Duration) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithTimeout(context.Background(), limit)
	go func() {
		select {
		case <-c.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// copy answers with a copy of the links. It ends early, without the copy's own end, if it fails.
func (c *edgeCalls) copy(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := c.claimAlone(ctx, caller); err != nil {
		return err
	}
	if _, already := c.copying.LoadOrStore(caller.Edge, true); already {
		return problem.New(problem.Overloaded, "the edge %s takes a copy already", caller.Edge)
	}
	if err := c.copies.Take(ops.KeyOf(caller)); err != nil {
		c.copying.Delete(caller.Edge)
		return err
	}
	c.log.Info("an edge takes a copy of the links", "edge", caller.Edge)
	ctx.SetConnectionClose() // so that a copy which ends early ends the connection
	ctx.Response.Header.SetContentType("application/octet-stream")
	copying, stop := c.within(copyTimeout)
	conn := ctx.Conn()
	ended := c.known.Copies(caller.Edge, c.addressOf(ctx), c.now())
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer c.copying.Delete(caller.Edge)
		defer func() { ended(c.now()) }()
		defer c.copies.Leave(ops.KeyOf(caller))
		defer stop()
		defer func() {
			if v := recover(); v != nil {
				c.log.Error("panic in a copy for an edge", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			}
		}()
		out := &allowedWriter{w: sentWriter{w, conn}, allowed: func() error { return c.stillEdge(caller) }}
		if err := c.Copy(copying, caller.Edge, out); err != nil && copying.Err() == nil {
			c.log.Warn("an edge did not get its whole copy", "edge", caller.Edge, "error", err)
		}
	})
	return nil
}

// stillEdge returns a problem if the token of an edge is no longer valid.
func (c *edgeCalls) stillEdge(caller account.Caller) error {
	_, err := c.accounts.Recheck(caller)
	if errors.Is(err, account.ErrUnauthorized) {
		return problem.New(problem.Unauthorized, "the token of the edge was revoked")
	}
	return err
}

// recheckBytes is how much of a copy an edge gets until its token is checked again.
const recheckBytes = 64 << 10

// allowedWriter writes a copy, and ends it when the edge is no longer allowed to have it.
type allowedWriter struct {
	w         io.Writer
	allowed   func() error
	unchecked int // bytes since allowed was asked
}

// Write implements io.Writer.
func (a *allowedWriter) Write(p []byte) (int, error) {
	if a.unchecked += len(p); a.unchecked > recheckBytes {
		if err := a.allowed(); err != nil {
			return 0, err
		}
		a.unchecked = 0
	}
	return a.w.Write(p)
}

// sentWriter gives the connection more time for all that is written: a copy may take hours.
type sentWriter struct {
	w    io.Writer
	conn net.Conn
}

// Write implements io.Writer.
func (s sentWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	wire.Sent(s.conn, n)
	return n, err
}

// follow takes hits of an edge and gives it entries.
func (c *edgeCalls) follow(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	ask, records, err := edges.ReadAsk(ctx.PostBody())
	if err != nil {
		return problem.New(problem.BadRequest, "%s", err.Error())
	}
	if err := c.claim(ctx, caller, ask.Who); err != nil {
		return err
	}
	waiting, cancel := c.within(edges.Hold)
	defer cancel()
	began := time.Now()
	answered := c.known.Asks(caller.Edge, c.addressOf(ctx), &ask, c.Head(), c.now())
	answer, entries, err := c.Follow(waiting, caller.Edge, &ask, records)
	if err != nil {
		answered(nil, c.now())
		c.known.Release(caller.Edge, ask.Who)
		return err
	}
	answered(&answer, c.now())
	if time.Since(began) > edges.Hold/10 { // the token may have been revoked meanwhile
		if err := c.stillEdge(caller); err != nil {
			return err
		}
	}
	if len(records) == 0 && len(entries) == 0 {
		ctx.SetUserValue(heldKey{}, true)
	}
	ctx.Response.Header.SetContentType("application/octet-stream")
	ctx.SetBody(edges.AppendAnswer(nil, &answer, entries))
	return nil
}

// addressOf returns the address of an edge, or of what its connections come through.
func (c *edgeCalls) addressOf(ctx *fasthttp.RequestCtx) string {
	return c.proxies.ClientAddr(ctx, http1.PeerAddr(ctx)).String()
}

// heldKey marks a call of an edge that was held, and brought nothing: one a second, which is no line in the access log.
type heldKey struct{}

func isHeld(ctx *fasthttp.RequestCtx) bool { return ctx.UserValue(heldKey{}) != nil }

// caps answers an edge that asks about redirects of links with a cap.
func (c *edgeCalls) caps(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	var asks []engine.CapAsk
	if err := json.Unmarshal(ctx.PostBody(), &asks); err != nil {
		return problem.New(problem.BadRequest, "not a list of questions about caps: %v", err)
	}
	visits := 0
	for i := range asks {
		if visits += len(asks[i].Visits); asks[i].Hits != uint64(len(asks[i].Visits)) {
			return problem.New(problem.BadRequest, "a question about the cap of a link must say whose its hits are")
		}
	}
	if len(asks) > engine.MaxCapAsks || visits > edges.MaxCapVisits {
		return problem.New(problem.BadRequest, "an edge asks for at most %d links and %d redirects at a time", engine.MaxCapAsks, edges.MaxCapVisits)
	}
	answers, err := c.Caps(asks)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, answers)
}

// find answers an edge that asks about codes that it does not know.
func (c *edgeCalls) find(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return answerFind(ctx, c.engine, c.Head)
}

// unlock answers an edge whose visitor has typed the password of a link.
func (c *edgeCalls) unlock(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return answerUnlock(ctx, c.gatekeeper)
}

// received returns routes for the requests of this server's own clients, and for those that its edges pass on.
func (c *edgeCalls) received(routes fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if !passedOn(ctx) {
			routes(ctx)
			return
		}
		client, err := c.receive(ctx)
		if err != nil {
			ctx.Response.Header.Set(relay.RefusedField, "1")
			exchange.Fail(ctx, c.log, err)
			return
		}
		relay.Note(ctx, client)
		defer relay.Forget(ctx) // a proxy may send the requests of others on this connection
		routes(ctx)
	}
}

// passedOn reports whether somebody says that an edge passes a request on.
func passedOn(ctx *fasthttp.RequestCtx) bool {
	return len(ctx.Request.Header.PeekAll(edges.TokenField)) > 0
}

// receive makes a request that an edge passes on look like its client's own, and returns the client. It believes the
// edge only with a token of its scope, and counts a refused token for the peer, as any other.
func (c *edgeCalls) receive(ctx *fasthttp.RequestCtx) (client relay.Client, err error) {
	if c.Follow == nil {
		return client, problem.New(problem.Stale, "this server has no edges")
	}
	h := &ctx.Request.Header
	token, err := relay.Field(h, edges.TokenField)
	if err != nil {
		return client, err
	}
	if client.Edge, err = c.auth.Edge(ctx, token); err != nil {
		if limited := c.limiter.MayCall(ctx, account.Caller{}, false); limited != nil {
			err = limited
		}
		return client, err
	}
	said, err := relay.Field(h, relay.ClientField)
	if err == nil {
		client.Address, err = relay.ParseClient(said)
	}
	var plain bool
	if err == nil {
		plain, err = relay.YesNo(h, relay.PlainField)
	}
	host, hostErr := relay.Field(h, edges.HostField)
	if err = cmp.Or(err, hostErr); err != nil {
		return client, err
	}
	if client.Address.Network() != "tcp" { // a socket has no limits
		return client, problem.New(problem.BadRequest, "an edge passes on what has come over the network")
	}
	client.HTTPS = !plain
	for _, field := range []string{edges.TokenField, edges.HostField, relay.ClientField, relay.PlainField} {
		h.Del(field)
	}
	auth.DropForwarding(h, c.auth.HTTPS.Proxies)
	h.SetHost(host)
	return client, nil
}
