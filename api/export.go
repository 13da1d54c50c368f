package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/wire"
	"shunt/engine"
)

// Limits of exports. Each keeps a snapshot of the store open, which keeps what was deleted since, and a page of links in
// memory: some 100 KB, 2 MB if their targets are as long as can be.
const (
	maxExports       = 16
	maxExportsCaller = 2
	exportPage       = 256
)

// exportLinks is GET /export: link objects, one a line, newest first. The links are those of the moment at which the export
// began; hits, visitors and state those of the moment at which the line was written. It is whole if, and only if, the answer
// ends as chunked answers do, with the last chunk. If it cannot go on, its last line is a problem instead of a link
// (its type begins with urn:shunt:problem:), and the connection ends without the last chunk.
func (s *Server) exportLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, guard, err := s.readListQuery(ctx, caller, exportParameters)
	if err != nil {
		return err
	}
	if !ctx.Request.Header.IsHTTP11() {
		return problem.New(problem.BadRequest, "without chunks the end of an export cannot be told from an error: it needs HTTP/1.1")
	}
	if !ctx.IsHead() {
		if err := s.startExport(ctx, caller, q, guard); err != nil {
			return err
		}
	}
	h := &ctx.Response.Header
	h.SetContentType("application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	return nil
}

// startExport makes the links the body of the answer. The first page is read before, so that what fails at once is an
// answer of its own.
func (s *Server) startExport(ctx *fasthttp.RequestCtx, caller account.Caller, q engine.LinkQuery, guard engine.Guard) error {
	key := keyOf(caller)
	if err := s.exports.take(key); err != nil {
		return err
	}
	list, err := s.engine.OpenList(context.Background())
	if err != nil {
		s.exports.Leave(key)
		return err
	}
	q.Limit = exportPage
	x := &exportStream{
		server: s, query: q, list: list, recheck: s.auth.recheck(caller, guard, account.LinksRead), conn: ctx.Conn(),
		release: func() { s.exports.Leave(key) }, inTurn: func(fn func() error) error { return s.cores.Do(key, fn) },
	}
	if err := x.readPage(); err != nil {
		return errors.Join(err, x.Close())
	}
	ctx.SetBodyStream(x, -1)
	return nil
}

// An exportStream is the body of an export. fasthttp reads it on the connection's goroutine, sends what a Read returns
// before it reads again, and closes it when the client has gone, too. What is sent earns time like any large answer: a
// client that takes less than minRate is reset, and so cannot hold the snapshot for ever.
type exportStream struct {
	server  *Server
	query   engine.LinkQuery // of the next page
	list    *engine.LinkList
	recheck func() error // whether the caller may still see the links
	conn    net.Conn
	release func()
	inTurn  func(func() error) error // with other costly work

	page   bytes.Buffer // lines that are to be sent
	ending error        // once page is sent: io.EOF or errStreamBroken; nil: there are more pages
}

// Read implements io.Reader. It runs where nobody recovers a panic but itself.
func (x *exportStream) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			x.server.log.Error("panic in an export", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			n, err = 0, errStreamBroken
		}
	}()
	for x.page.Len() == 0 {
		if x.ending != nil {
			return 0, x.ending
		}
		if err := x.nextPage(); err != nil {
			x.fail(err)
		}
	}
	n, _ = x.page.Read(p)
	wire.Sent(x.conn, n)
	return n, nil
}

// Close ends the export, whether or not it was read to its end.
func (x *exportStream) Close() error {
	defer x.release()
	return x.list.Close()
}

var errExportShutdown = problem.New(problem.Overloaded, "the server is shutting down; export again")

func (x *exportStream) nextPage() error {
	select {
	case <-x.server.live.ending:
		return errExportShutdown
	default:
	}
	if err := x.recheck(); err != nil {
		return err
	}
	return x.readPage()
}

// readPage reads and writes a page in turn.
func (x *exportStream) readPage() error { return x.inTurn(x.fillPage) }

func (x *exportStream) fillPage() error {
	page, err := x.list.Page(context.Background(), x.query)
	if err != nil {
		return err
	}
	lines := x.page.AvailableBuffer()
	for i := range page.Links {
		l := x.server.listed(&x.query, &page.Links[i])
		lines = append(l.AppendJSON(lines), '\n')
	}
	x.page.Write(lines)
	if x.query.Below = page.Next; page.Next == 0 {
		x.ending = io.EOF
	}
	return nil
}

// fail ends the export with the problem that err stands for.
func (x *exportStream) fail(err error) {
	r, known := problem.Of(err)
	if !known {
		x.server.log.Error("an export failed", slog.Any("cause", err))
	}
	x.page.Reset()
	x.page.Write(encodeJSON(r.Body()))
	x.ending = errStreamBroken
}
