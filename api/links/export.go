package links

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/sheet"
	"shunt/api/wire"
)

func wantsCSV(ctx *fasthttp.RequestCtx) bool {
	return page.PrefersCSV(ctx.Request.Header.PeekAll(fasthttp.HeaderAccept))
}

// ExportLinks is GET /export: link objects, one a line, or CSV, newest first. An export is complete if, and
// only if, its last chunk arrives, as in any chunked answer. If it cannot go on, its last line is a
// problem instead of a link (its type begins with urn:shunt:problem:; CSV has none), and the connection
// ends without the last chunk.
func (l *Calls) ExportLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseExport(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	if err := l.startExport(ctx, caller, q, wantsCSV(ctx), ""); err != nil {
		return err
	}
	h := &ctx.Response.Header
	h.SetContentType("application/x-ndjson")
	if wantsCSV(ctx) {
		h.SetContentType("text/csv; charset=utf-8; header=present")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	return nil
}

// StreamTable makes the links of a list the body of the answer, as a table for spreadsheets, in the order of the list.
// Otherwise it is as ExportLinks.
func (l *Calls) StreamTable(ctx *fasthttp.RequestCtx, caller account.Caller, q ops.ListQuery) error {
	return l.startExport(ctx, caller, q, true, sheet.ByteOrderMark)
}

// startExport makes the links the body of the answer, after what the file begins with. It reads the first page itself,
// so that an error there becomes an ordinary answer.
func (l *Calls) startExport(ctx *fasthttp.RequestCtx, caller account.Caller, q ops.ListQuery, csv bool, begin string) error {
	if !ctx.Request.Header.IsHTTP11() {
		return problem.New(problem.BadRequest, "an export needs HTTP/1.1: without chunks a client cannot tell its end from an error")
	}
	if ctx.IsHead() {
		return nil
	}
	export, err := l.Ops.Export(caller, q)
	if err != nil {
		return err
	}
	x := &exportStream{export: export, csv: csv, ending: l.Ending, log: exchange.LoggerOf(ctx, l.Log), conn: ctx.Conn()}
	x.page.WriteString(begin)
	if err := x.readPage(); err != nil {
		return errors.Join(err, x.Close())
	}
	ctx.SetBodyStream(x, -1)
	return nil
}

// An exportStream is the body of an export. fasthttp reads it on the connection's goroutine, sends
// the bytes of each Read before it reads again, and closes the stream at its end or when the client
// has gone. Sent bytes earn time as in any large answer: a client that reads less than 16 KiB a
// second is reset, so it cannot hold the snapshot for ever.
type exportStream struct {
	export *ops.Export
	ending <-chan struct{} // closed when the server shuts down
	log    *slog.Logger
	conn   net.Conn

	page bytes.Buffer    // lines to send
	csv  bool            // they are CSV
	rows *ops.LinkWriter // of CSV
	end  error           // returned once page is sent: io.EOF or errStreamBroken; nil: there are more pages
}

// Read implements io.Reader. It recovers its own panics, because nothing above it does.
func (x *exportStream) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			x.log.Error("panic in an export", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			n, err = 0, errStreamBroken
		}
	}()
	for x.page.Len() == 0 {
		if x.end != nil {
			return 0, x.end
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
func (x *exportStream) Close() error { return x.export.Close() }

var errExportShutdown = problem.New(problem.Overloaded, "the server is shutting down; export again")

func (x *exportStream) nextPage() error {
	select {
	case <-x.ending:
		return errExportShutdown
	default:
		return x.readPage()
	}
}

func (x *exportStream) readPage() error {
	if x.csv {
		return x.readRows()
	}
	x.page.Reset() // all was read, so the page takes the memory of the one before
	lines := x.page.AvailableBuffer()
	more, err := x.export.Page(func(l *ops.Link) { lines = append(l.AppendJSON(lines), '\n') })
	if err != nil {
		return err
	}
	x.page.Write(lines)
	if !more {
		x.end = io.EOF
	}
	return nil
}

// readRows is readPage for CSV.
func (x *exportStream) readRows() error {
	if x.rows == nil {
		x.rows = ops.NewLinkWriter(&x.page)
	}
	more, err := x.export.Page(x.rows.Add)
	if err != nil {
		return err
	}
	if !more {
		x.end = io.EOF
	}
	return x.rows.End()
}

// fail ends the export with the problem of err.
func (x *exportStream) fail(err error) {
	r, known := problem.Of(err)
	if !known {
		x.log.Error("an export failed", slog.Any("cause", err))
	}
	if x.page.Reset(); !x.csv {
		x.page.Write(exchange.EncodeJSON(r.Body()))
	}
	x.end = errStreamBroken
}
