package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/edges"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/urlpath"
	"shunt/api/wire"
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
}

// EdgeOf is what a server that is an edge of a writer says of itself; zero: it is none.
type EdgeOf struct {
	Writer  string      // origin of the writer; empty: this is no edge
	Process string      // edges.ProcessField
	Revoked func() bool // the writer refuses this edge: nothing redirects
}

// edgeCalls are the calls of edges, at their writer.
type edgeCalls struct {
	Edges
	accounts *account.Accounts
	copies   *ops.Places
	ending   <-chan struct{} // closed when the server shuts down
	log      *slog.Logger
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
	}
}

func (c *edgeCalls) meet(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	id := c.Identity()
	id.Name = caller.Edge
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &id)
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
	if err := c.copies.Take(ops.KeyOf(caller)); err != nil {
		return err
	}
	c.log.Info("an edge takes a copy of the links", "edge", caller.Edge)
	ctx.SetConnectionClose() // so that a copy which ends early ends the connection
	ctx.Response.Header.SetContentType("application/octet-stream")
	copying, stop := c.within(copyTimeout)
	conn := ctx.Conn()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer c.copies.Leave(ops.KeyOf(caller))
		defer stop()
		defer func() {
			if v := recover(); v != nil {
				c.log.Error("panic in a copy for an edge", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			}
		}()
		if err := c.Copy(copying, caller.Edge, sentWriter{w, conn}); err != nil && copying.Err() == nil {
			c.log.Warn("an edge did not get its whole copy", "edge", caller.Edge, "error", err)
		}
	})
	return nil
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
	waiting, cancel := c.within(edges.Hold)
	defer cancel()
	began := time.Now()
	answer, entries, err := c.Follow(waiting, caller.Edge, &ask, records)
	if err != nil {
		return err
	}
	if time.Since(began) > edges.Hold/10 { // the token may have been revoked meanwhile
		if _, err := c.accounts.Recheck(caller); errors.Is(err, account.ErrUnauthorized) {
			return problem.New(problem.Unauthorized, "the token of the edge was revoked")
		} else if err != nil {
			return err
		}
	}
	ctx.Response.Header.SetContentType("application/octet-stream")
	ctx.SetBody(edges.AppendAnswer(nil, &answer, entries))
	return nil
}

// only returns what a server that is an edge answers instead of routes: it has redirects and public pages, and neither
// accounts nor figures.
func (e EdgeOf) only(routes fasthttp.RequestHandler, here map[string]bool) fasthttp.RequestHandler {
	if e.Writer == "" {
		return routes
	}
	return func(ctx *fasthttp.RequestCtx) {
		path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
		if text := string(withoutSlash(path)); !strings.HasPrefix(text, apiPrefix) || here[text] {
			routes(ctx)
			return
		}
		if ctx.IsPost() && strings.HasPrefix(string(path), apiRoot+edges.PathPrefix) {
			ctx.Response.Header.Set(edges.ProcessField, e.Process)
		}
		p, _ := problem.Of(e.problem())
		exchange.WriteProblem(ctx, p)
	}
}

// problem is that of a call of the API.
func (e EdgeOf) problem() error {
	return problem.New(problem.Stale, "this server is an edge: it redirects, and does nothing else; ask %s", e.Writer)
}
