package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/socket"
	"shunt/engine"
	"shunt/storage"
)

// connect connects to --server; else to the server that runs on the folder; else to one that it
// starts in this process, on the folder and without a network. Closing the connection ends the
// latter.
func (t *Target) connect(ctx context.Context, stderr io.Writer) (*Connection, error) {
	if t.Server != "" {
		return t.connectRemote(stderr)
	}
	if _, err := socket.Path(t.Data.Dir); err != nil {
		return nil, err
	}
	var alone *Connection
	c, err := t.Reach(ctx, func() (err error) {
		alone, err = t.openAlone(ctx, stderr)
		return err
	})
	if c != nil || err != nil {
		return c, err
	}
	return alone, nil
}

func (t *Target) connectRemote(stderr io.Writer) (*Connection, error) {
	if t.token == "" {
		return nil, settings.UsageErrorf("--server needs a token: set SHUNT_TOKEN, or set SHUNT_TOKEN_FILE to the path of a file that contains it")
	}
	if t.init {
		return nil, settings.UsageErrorf("--init is for a data folder on this machine, not for --server")
	}
	if t.User != "" {
		return nil, settings.UsageErrorf("--user is for local commands: with --server the token decides the user")
	}
	if t.guessed {
		fmt.Fprintf(stderr, "shunt: using --server %s\n", t.Server)
	}
	if host := strings.TrimPrefix(t.Server, "http://"); host != t.Server && !core.IsLoopback(hostOf(host)) {
		fmt.Fprintf(stderr, "shunt: warning: the token travels to %s unencrypted\n", t.Server)
	}
	return newConnection(t.Server, t.token, nil, nil)
}

// connectSocket connects to the server at the socket; nil: no server listens there. It fails if a
// stranger listens, before a request is sent.
func (t *Target) connectSocket(ctx context.Context, path string) (*Connection, error) {
	dial := func(ctx context.Context) (net.Conn, error) { return socket.Dial(ctx, path) }
	conn, err := dial(ctx)
	if errors.Is(err, socket.ErrStranger) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	_ = conn.Close() // it only showed that a server listens
	return newLocalConnection(t.User, dial)
}

// openAlone opens the folder and serves the API on it to the connection that it returns, and to no
// one else: commands with and without a running server share one code path.
func (t *Target) openAlone(ctx context.Context, stderr io.Writer) (*Connection, error) {
	parts := core.NewStack()
	c, err := t.startAlone(ctx, parts, stderr)
	if err != nil {
		return nil, errors.Join(err, parts.Stop())
	}
	c.onClose = parts.Stop
	return c, nil
}

func (t *Target) startAlone(ctx context.Context, parts *core.Stack, stderr io.Writer) (*Connection, error) {
	say := console.New(stderr, "text", slog.LevelWarn)
	c := &core.Core{Reads: t.Reads}
	if !t.Reads {
		if err := t.Data.BecomeOwner(); err != nil {
			return nil, err
		}
	}
	if err := t.openStore(parts, c, stderr, say.Log); err != nil {
		return nil, err
	}
	if t.Served {
		return nil, fmt.Errorf("no server runs on %s, and this command asks one that runs: start it, or name another with --server", t.Data.Dir)
	}
	baseURL, err := t.Data.AloneBaseURL(c.Store)
	if err != nil {
		return nil, err
	}
	options := engine.Options{
		Rings: core.AloneRings, RingRecords: core.AloneRingRecords, Logger: say.Log,
		KeptHours: engine.MaxKeptHours, KeptDays: engine.MaxKeptDays, KeptAuditDays: engine.MaxKeptDays, // serve decides what is deleted
	}
	if err := c.OpenEngine(parts, &t.Data, options); err != nil {
		return nil, err
	}
	if err := c.Load(ctx, say); err != nil {
		return nil, err
	}
	parts.Run("engine", c.Engine.Run)
	front, err := api.NewServer(c.APIOptions(&t.Data, baseURL, say.Log))
	if err != nil {
		return nil, err
	}
	listener := fasthttputil.NewInmemoryListener()
	core.ServeOn(parts, "local", front.ServeLocal, listener)
	core.DrainOnStop(parts, front, say.Log)
	return newLocalConnection(t.User, func(context.Context) (net.Conn, error) { return listener.Dial() })
}

// openStore opens the store. With --init it makes one if there is none, but only after the other
// settings have been checked.
func (t *Target) openStore(parts *core.Stack, c *core.Core, stderr io.Writer, log *slog.Logger) error {
	err := c.OpenStore(parts, &t.Data, false, log)
	switch {
	case !errors.Is(err, storage.ErrNoStore):
		return err
	case !t.init:
		return t.withoutStore(err)
	}
	if err := t.Data.CheckBaseURL(); err != nil {
		return err
	}
	if err := c.OpenStore(parts, &t.Data, true, log); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "shunt: made a store in %s\n", core.Absolute(t.Data.Dir))
	return nil
}

// withoutStore adds the alternatives to ErrNoStore.
func (t *Target) withoutStore(err error) error {
	makers := "'shunt serve' makes a store here"
	if t.mayInit {
		makers = "'shunt serve' makes a store here, and so does --init"
	}
	return fmt.Errorf("%w, or a server with --server (%s)", err, makers)
}

// With calls fn with a connection to the server that t is about, and closes it.
func (t *Target) With(ctx context.Context, stderr io.Writer, fn func(c *Connection) error) error {
	c, err := t.connect(ctx, stderr)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.close())
}

// Do is With for a command that verb names in errors.
func (t *Target) Do(ctx context.Context, verb string, stderr io.Writer, fn func(c *Connection) error) error {
	if err := t.With(ctx, stderr, fn); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}

// Reach connects to the server that runs on the folder; or returns nil, and what alone has
// returned: it opens the folder, and storage.ErrLocked means that a process without a socket has
// it.
func (t *Target) Reach(ctx context.Context, alone func() error) (*Connection, error) {
	if err := t.Data.CheckFolder(); err != nil {
		return nil, err
	}
	path, tooLong := socket.Path(t.Data.Dir) // too long: no server can run on it, but a backup can be there
	patience, cancel := context.WithTimeout(ctx, t.Patience)
	defer cancel()
	for {
		if tooLong == nil {
			if c, err := t.connectSocket(patience, path); c != nil || err != nil {
				return c, err
			}
		}
		err := alone()
		if !errors.Is(err, storage.ErrLocked) {
			return nil, err
		}
		select {
		case <-patience.Done():
			return nil, fmt.Errorf("%w (and nothing has answered at %s for %v)", err, path, t.Patience)
		case <-time.After(retryInterval):
		}
	}
}
