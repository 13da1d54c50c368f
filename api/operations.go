package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
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
	Backup func(ctx context.Context, order BackupOrder, r Report) (result any, err error)
	Check  func(ctx context.Context, say func(progress string)) (result any, err error)
}

// A BackupOrder says which backup is wanted: one of Dir, To and Stream is set.
type BackupOrder struct {
	Dir       string // absolute path of an empty or absent folder for this backup
	To        string // absolute path of a folder of backups, in which this one gets a name of its time
	Keep      int    // with To: how many are kept; 0: all
	Stream    bool   // the caller takes the files of a folder that the server removes afterwards
	SkipCheck bool   // do not read what was made
}

// A Report tells the client about an operation under way.
type Report struct {
	// Say tells the progress.
	Say func(progress string)
	// Take sends made to the client and waits until the client has taken it (POST /backup/taken).
	// Its error is that of ctx: the client has gone, or the server ends.
	Take func(ctx context.Context, made any) error
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
	running    sync.Mutex                // held by the operation under way
	waiting    atomic.Pointer[operation] // waits in Take
}

// paths has the paths of endpoints, with the root of the API.
func (o *operator) paths() map[string]bool {
	all := make(map[string]bool)
	for _, e := range o.endpoints() {
		all[apiRoot+e.path] = true
	}
	return all
}

// endpoints are the rows that the socket of local commands has besides those of the API.
func (o *operator) endpoints() []endpoint {
	var all []endpoint
	if o.operations.Backup != nil {
		all = append(all, endpoint{"POST", "/backup", account.Admin, o.backup, 0},
			endpoint{"POST", "/backup/taken", account.Admin, o.backupTaken, 0})
	}
	if o.operations.Check != nil {
		all = append(all, endpoint{"POST", "/check", account.Admin, o.check, 0})
	}
	return all
}

var backupFields = jsonbody.NewFields(map[string]jsonbody.Reader[BackupOrder]{
	"dir": func(r *BackupOrder, value json.RawMessage) (err error) { r.Dir, err = absolutePath(value); return err },
	"to":  func(r *BackupOrder, value json.RawMessage) (err error) { r.To, err = absolutePath(value); return err },
	"stream": func(r *BackupOrder, value json.RawMessage) (err error) {
		r.Stream, err = jsonbody.Bool(value)
		return err
	},
	"skip_check": func(r *BackupOrder, value json.RawMessage) (err error) {
		r.SkipCheck, err = jsonbody.Bool(value)
		return err
	},
	"keep": func(r *BackupOrder, value json.RawMessage) error {
		n, err := jsonbody.Int(value)
		if err == nil && (n < 0 || n > maxKeptBackups) {
			err = jsonbody.FieldError("", "invalid", fmt.Sprintf("must be from 0 to %d", maxKeptBackups))
		}
		r.Keep = int(n)
		return err
	},
})

// maxKeptBackups bounds the folders that a backup looks at.
const maxKeptBackups = 10_000

func absolutePath(value json.RawMessage) (string, error) {
	path, err := jsonbody.String(value)
	if err == nil && (!filepath.IsAbs(path) || len(path) > maxDirBytes || strings.IndexByte(path, 0) >= 0) {
		err = jsonbody.FieldError("", "invalid", "must be an absolute path")
	}
	return path, err
}

// backup is POST /backup {"dir": path}, {"to": path, "keep": 7} or {"stream": true}.
func (o *operator) backup(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	var r BackupOrder
	_, invalid, err := exchange.ReadBody(ctx, &r, backupFields)
	places := 0
	for _, given := range []bool{r.Dir != "", r.To != "", r.Stream} {
		if given {
			places++
		}
	}
	switch {
	case err != nil:
		return err
	case len(invalid) > 0:
		return invalid
	case places != 1:
		return jsonbody.FieldError("dir", "required", "one of dir, to and stream must be given")
	}
	return o.operate(ctx, func(ctx context.Context, report Report) (any, error) {
		return o.operations.Backup(ctx, r, report)
	})
}

// backupTaken is POST /backup/taken: the client of the operation under way has taken what was made.
func (o *operator) backupTaken(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	running := o.waiting.Swap(nil)
	if running == nil {
		return problem.New(problem.NotFound, "no backup waits to be taken")
	}
	close(running.taken)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// check is POST /check.
func (o *operator) check(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return o.operate(ctx, func(ctx context.Context, report Report) (any, error) { return o.operations.Check(ctx, report.Say) })
}

// operate makes the progress of an operation the body of the answer: lines of JSON, {"progress":
// text} each second, {"made": …} once if there is something to be taken, at the end {"result": …} or
// {"error": text}. One operation runs at a time.
func (o *operator) operate(ctx *fasthttp.RequestCtx, do func(context.Context, Report) (any, error)) error {
	if !o.engine.Ready() {
		return engine.ErrLoading
	}
	if !o.running.TryLock() {
		return problem.New(problem.Busy, "a backup or a check is already running; try again when it has finished")
	}
	ctx.SetConnectionClose()
	ctx.Response.Header.SetContentType("application/x-ndjson")
	ctx.SetBodyStream(&operation{
		do: do, ending: o.ending, conn: ctx.Conn(), release: o.running.Unlock, log: o.log, waiting: &o.waiting,
		made: make(chan any, 1), taken: make(chan struct{}),
	}, -1)
	return nil
}

// An operation is the body of an answer that reports its progress. fasthttp reads it on the
// connection's goroutine. When the client has gone, a line cannot be sent: then fasthttp closes the
// body, which ends the operation.
type operation struct {
	do      func(ctx context.Context, report Report) (any, error)
	ending  <-chan struct{} // closed when the server shuts down
	conn    net.Conn
	release func()
	log     *slog.Logger
	waiting *atomic.Pointer[operation]
	made    chan any      // what Take was given
	taken   chan struct{} // closed when the client has taken it

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
		o.result, o.err = o.do(ctx, Report{Say: o.say, Take: o.take})
	}()
}

// take is Report.Take. It may be called once.
func (o *operation) take(ctx context.Context, made any) error {
	o.waiting.Store(o)
	defer o.waiting.CompareAndSwap(o, nil)
	o.made <- made
	select {
	case <-o.taken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
	case made := <-o.made:
		o.line(map[string]any{"made": made})
		return
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
