package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/socket"
	"shunt/cmd/shunt/usage"
	"shunt/engine"
	"shunt/storage"
)

// lockPatience is how long a command waits for a folder that is locked by a process without a
// socket: a server that is starting or stopping, or another command.
const (
	lockPatience  = 10 * time.Second
	retryInterval = 50 * time.Millisecond
)

// localTarget says which server a command talks to.
type localTarget struct {
	data    core.Data
	server  string
	guessed bool // the scheme of server was not given
	token   string
	user    string

	reads    bool          // the command changes nothing
	mayInit  bool          // the command has --init
	init     bool          // make the store if there is none
	patience time.Duration // with a folder that is locked by a process without a socket
}

func addLocalSettings(cmd *cobra.Command, t *localTarget) {
	t.patience = lockPatience
	core.AddDataSettings(cmd, &t.data)
	fs := cmd.Flags()
	usage.Hide(fs, "listen", "acme-domain", "private-targets", "journal-dir", "min-free-space")
	settings.Var(fs, &t.server, "server", "URL", "", "use the server at this origin, such as https://sho.rt, with the token in SHUNT_TOKEN", t.parseServer)
	fs.StringVar(&t.token, "token", "", "`TOKEN` for --server; others can see arguments, so prefer SHUNT_TOKEN or SHUNT_TOKEN_FILE")
	settings.MarkSecret(fs, "token")
	fs.StringVar(&t.user, "user", "", "`EMAIL` of the user to act as (default: the oldest admin)")
	settings.MarkArguments(fs, "user")
}

// addInit gives cmd the flag --init, with which it may make the store.
func addInit(cmd *cobra.Command, t *localTarget) {
	t.mayInit = true
	cmd.Flags().BoolVar(&t.init, "init", false, "make a store in the data folder if there is none")
	settings.MarkArguments(cmd.Flags(), "init")
}

// connect connects to --server; else to the server that runs on the folder; else to one that it
// starts in this process, on the folder and without a network. Closing the connection ends the
// latter.
func (t *localTarget) connect(ctx context.Context, stderr io.Writer) (*connection, error) {
	if t.server != "" {
		return t.connectRemote(stderr)
	}
	if _, err := socket.Path(t.data.Dir); err != nil {
		return nil, err
	}
	var alone *connection
	c, err := t.reach(ctx, func() (err error) {
		alone, err = t.openAlone(ctx, stderr)
		return err
	})
	if c != nil || err != nil {
		return c, err
	}
	return alone, nil
}

func (t *localTarget) connectRemote(stderr io.Writer) (*connection, error) {
	if t.token == "" {
		return nil, settings.UsageErrorf("--server needs a token: set SHUNT_TOKEN, or set SHUNT_TOKEN_FILE to the path of a file that contains it")
	}
	if t.init {
		return nil, settings.UsageErrorf("--init is for a data folder on this machine, not for --server")
	}
	if t.user != "" {
		return nil, settings.UsageErrorf("--user is for local commands: with --server the token decides the user")
	}
	if t.guessed {
		fmt.Fprintf(stderr, "shunt: using --server %s\n", t.server)
	}
	if host := strings.TrimPrefix(t.server, "http://"); host != t.server && !core.IsLoopback(hostOf(host)) {
		fmt.Fprintf(stderr, "shunt: warning: the token travels to %s unencrypted\n", t.server)
	}
	return newConnection(t.server, t.token, nil, nil)
}

// parseServer is core.ParseOrigin that also accepts HOST or HOST:PORT: with http on this machine, where
// no token leaves it, otherwise https.
func (t *localTarget) parseServer(text string) (string, error) {
	t.guessed = text != "" && !strings.Contains(text, "://")
	if t.guessed {
		scheme := "https://"
		if host, _, _ := strings.Cut(text, "/"); core.IsLoopback(hostOf(host)) {
			scheme = "http://"
		}
		text = scheme + text
	}
	return core.ParseOrigin(text)
}

func hostOf(hostPort string) string {
	if host, _, err := net.SplitHostPort(hostPort); err == nil {
		return host
	}
	return strings.Trim(hostPort, "[]")
}

// connectSocket connects to the server at the socket; nil: no server listens there. It fails if a
// stranger listens, before a request is sent.
func (t *localTarget) connectSocket(ctx context.Context, path string) (*connection, error) {
	dial := func(ctx context.Context) (net.Conn, error) { return socket.Dial(ctx, path) }
	conn, err := dial(ctx)
	if errors.Is(err, socket.ErrStranger) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	_ = conn.Close() // it only showed that a server listens
	return newLocalConnection(t.user, dial)
}

// openAlone opens the folder and serves the API on it to the connection that it returns, and to no
// one else: commands with and without a running server share one code path.
func (t *localTarget) openAlone(ctx context.Context, stderr io.Writer) (*connection, error) {
	parts := core.NewStack()
	c, err := t.startAlone(ctx, parts, stderr)
	if err != nil {
		return nil, errors.Join(err, parts.Stop())
	}
	c.onClose = parts.Stop
	return c, nil
}

func (t *localTarget) startAlone(ctx context.Context, parts *core.Stack, stderr io.Writer) (*connection, error) {
	say := console.New(stderr, "text", slog.LevelWarn)
	c := &core.Core{Reads: t.reads}
	if !t.reads {
		if err := t.data.BecomeOwner(); err != nil {
			return nil, err
		}
	}
	if err := t.openStore(parts, c, stderr, say.Log); err != nil {
		return nil, err
	}
	baseURL, err := t.data.AloneBaseURL(c.Store)
	if err != nil {
		return nil, err
	}
	options := engine.Options{
		Rings: core.AloneRings, RingRecords: core.AloneRingRecords, Logger: say.Log,
		KeptHours: engine.MaxKeptHours, KeptDays: engine.MaxKeptDays, KeptAuditDays: engine.MaxKeptDays, // serve decides what is deleted
	}
	if err := c.OpenEngine(parts, &t.data, options); err != nil {
		return nil, err
	}
	if err := c.Load(ctx, say); err != nil {
		return nil, err
	}
	parts.Run("engine", c.Engine.Run)
	front, err := api.NewServer(c.APIOptions(&t.data, baseURL, say.Log))
	if err != nil {
		return nil, err
	}
	listener := fasthttputil.NewInmemoryListener()
	core.ServeOn(parts, "local", front.ServeLocal, listener)
	core.DrainOnStop(parts, front, say.Log)
	return newLocalConnection(t.user, func(context.Context) (net.Conn, error) { return listener.Dial() })
}

// OpenStore opens the store. With --init it makes one if there is none, but only after the other
// settings have been checked.
func (t *localTarget) openStore(parts *core.Stack, c *core.Core, stderr io.Writer, log *slog.Logger) error {
	err := c.OpenStore(parts, &t.data, false, log)
	switch {
	case !errors.Is(err, storage.ErrNoStore):
		return err
	case !t.init:
		return t.withoutStore(err)
	}
	if err := t.data.CheckBaseURL(); err != nil {
		return err
	}
	if err := c.OpenStore(parts, &t.data, true, log); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "shunt: made a store in %s\n", core.Absolute(t.data.Dir))
	return nil
}

// withoutStore adds the alternatives to ErrNoStore.
func (t *localTarget) withoutStore(err error) error {
	makers := "'shunt serve' makes a store here"
	if t.mayInit {
		makers = "'shunt serve' makes a store here, and so does --init"
	}
	return fmt.Errorf("%w, or a server with --server (%s)", err, makers)
}
