package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/api/wire"
	"shunt/engine"
)

// Operations are the tasks of the process besides serving: a backup and a check of its data. Only
// the socket of local commands offers them. Each ends soon after its ctx does; it may call say from
// any goroutine, any number of times. The result is sent as JSON, and so is the text of the error:
// a user that can open the socket owns the data, so the text gives nothing away.
type Operations struct {
	Backup func(ctx context.Context, dir string, say func(progress string)) (result any, err error)
	Check  func(ctx context.Context, say func(progress string)) (result any, err error)
}

// progressInterval is the time between two lines of an operation's answer. A line shows the client
// that the server is alive, and the server that the client is.
const progressInterval = time.Second

// maxDirBytes is the limit of the path of a folder: PATH_MAX of Linux.
const maxDirBytes = 4096

// operator answers the calls for operations, one at a time.
type operator struct {
	operations Operations
	engine     *engine.Engine
	ending     <-chan struct{} // closed when the server shuts down
	log        *slog.Logger
	running    sync.Mutex // held by the operation under way
}

// endpoints are the rows that the socket of local commands has besides those of the API.
func (o *operator) endpoints() []endpoint {
	var all []endpoint
	if o.operations.Backup != nil {
		all = append(all, endpoint{"POST", "/backup", account.Admin, o.backup, 0})
	}
	if o.operations.Check != nil {
		all = append(all, endpoint{"POST", "/check", account.Admin, o.check, 0})
	}
	return all
}

type backupRequest struct{ dir string }

var backupFields = jsonbody.NewFields(map[string]jsonbody.Reader[backupRequest]{
	"dir": func(r *backupRequest, value json.RawMessage) (err error) {
		r.dir, err = jsonbody.String(value)
		if err == nil && (!filepath.IsAbs(r.dir) || len(r.dir) > maxDirBytes || bytes.IndexByte([]byte(r.dir), 0) >= 0) {
			err = jsonbody.FieldError("", "invalid", "must be an absolute path")
		}
		return err
	},
})

// backup is POST /backup {"dir": path}.
func (o *operator) backup(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	var r backupRequest
	_, invalid, err := readBody(ctx, &r, backupFields)
	switch {
	case err != nil:
		return err
	case len(invalid) > 0:
		return invalid
	case r.dir == "":
		return jsonbody.FieldError("dir", "required", "is missing")
	}
	return o.operate(ctx, func(ctx context.Context, say func(string)) (any, error) {
		return o.operations.Backup(ctx, r.dir, say)
	})
}

// check is POST /check.
func (o *operator) check(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return o.operate(ctx, o.operations.Check)
}

// operate makes the progress of an operation the body of the answer: lines of JSON, {"progress":
// text} each second, at the end {"result": …} or {"error": text}. One operation runs at a time.
func (o *operator) operate(ctx *fasthttp.RequestCtx, do func(context.Context, func(string)) (any, error)) error {
	if !o.engine.Ready() {
		return engine.ErrLoading
	}
	if !o.running.TryLock() {
		return problem.New(problem.Busy, "a backup or a check is already running; try again when it has finished")
	}
	ctx.SetConnectionClose()
	ctx.Response.Header.SetContentType("application/x-ndjson")
	ctx.SetBodyStream(&operation{
		do: do, ending: o.ending, conn: ctx.Conn(), release: o.running.Unlock, log: o.log,
	}, -1)
	return nil
}

// An operation is the body of an answer that reports its progress. fasthttp reads it on the
// connection's goroutine. When the client has gone, a line cannot be sent: then fasthttp closes the
// body, which ends the operation.
type operation struct {
	do      func(ctx context.Context, say func(string)) (any, error)
	ending  <-chan struct{} // closed when the server shuts down
	conn    net.Conn
	release func()
	log     *slog.Logger

	cancel context.CancelFunc // nil until the first Read
	ended  chan struct{}      // closed when do has returned
	result any                // set before ended is closed
	err    error              // set before ended is closed
	timer  *time.Ticker
	unread []byte
	last   bool // unread ends with the result

	mu struct {
		sync.Mutex
		said string
	}
}

// Read waits for a line. It implements io.Reader.
func (o *operation) Read(p []byte) (int, error) {
	if o.cancel == nil {
		o.start()
	}
	if len(o.unread) == 0 {
		if o.last {
			return 0, io.EOF
		}
		o.wait()
	}
	n := copy(p, o.unread)
	o.unread = o.unread[n:]
	return n, nil
}

// Close cancels the operation, whether or not its answer was read to its end, and waits until it
// has returned.
func (o *operation) Close() error {
	defer o.release()
	if o.cancel != nil {
		o.cancel()
		o.timer.Stop()
		<-o.ended
	}
	return nil
}

func (o *operation) start() {
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel, o.ended, o.timer = cancel, make(chan struct{}), time.NewTicker(progressInterval)
	go func() {
		defer close(o.ended)
		o.result, o.err = o.do(ctx, o.say)
	}()
}

func (o *operation) say(progress string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.said = progress
}

// wait waits for the next line.
func (o *operation) wait() {
	select {
	case <-o.ended:
	case <-o.ending:
		o.cancel()
		<-o.ended
	case <-o.timer.C:
		wire.Renew(o.conn) // tells the sweep that the operation is working
		o.mu.Lock()
		defer o.mu.Unlock()
		o.line(map[string]any{"progress": o.mu.said})
		return
	}
	o.last = true
	if o.err != nil {
		o.line(map[string]any{"error": o.err.Error()})
		return
	}
	o.line(map[string]any{"result": o.result})
}

func (o *operation) line(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		o.log.Error("the result of an operation cannot be encoded", slog.Any("cause", err))
		text = []byte(`{"error":"the result cannot be encoded"}`)
	}
	o.unread = append(append(o.unread, text...), '\n')
}
