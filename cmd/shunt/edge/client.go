package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"shunt/api/absent"
	"shunt/api/edges"
	"shunt/api/lock"
	"shunt/cmd/shunt/version"
	"shunt/engine"
)

const (
	dialTimeout   = 5 * time.Second
	answerTimeout = edges.Hold + 8*time.Second // a question of which nothing goes or comes for so long is given up
	silentCopy    = 30 * time.Second           // a copy of which nothing comes for so long is given up

	maxProblemBytes = 4 << 10
	apiRoot         = "/api/v1"
)

var (
	// errRevoked: the writer refuses the token of this edge.
	errRevoked = errors.New("the writer refuses the token of this edge: it was revoked, has expired, or is not that of an edge")
	// errLoop: the address of the writer leads back to this edge.
	errLoop = errors.New("--edge-of leads back to this edge itself: name the server of the links by an address of its own")
	// errEdge: the address of the writer leads to an edge.
	errEdge = errors.New("--edge-of leads to an edge: name the server of the links by an address of its own")
)

var errSilent = errors.New("the writer was silent for too long")

// refusedError is an answer that says that nothing can be done.
type refusedError struct {
	status int
	detail string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the writer answered %d: %s", e.status, e.detail)
}

// client asks the writer. But for its token, one with one connection belongs to one goroutine at a time.
type client struct {
	origin  string
	token   *secret
	process string // of this edge: see edges.ProcessField
	store   string // its id; empty: this edge has none yet. Set before others use the client
	own     func(net.Addr) bool
	http    *http.Client
}

// secret is the token of an edge. Any goroutine may call its methods.
type secret struct {
	text    atomic.Pointer[string]
	refused func(why error)        // is called when the writer refuses the token; may be nil. Set before others use it
	again   func() (string, error) // reads the token again; set with refused
}

// Load returns the text.
func (s *secret) Load() string { return *s.text.Load() }

// isRefused notes that the writer refuses a text. If there is another token by now, that is used from now on.
func (s *secret) isRefused(text string, why error) {
	if s.refused == nil {
		return
	}
	if other, err := s.again(); err == nil && other != text {
		s.text.Store(&other)
		return
	}
	if text == s.Load() {
		s.refused(why)
	}
}

// newClient returns a client of a writer, over that many connections. own reports whether an address is one at which
// this process listens.
func newClient(origin, token, process string, own func(net.Addr) bool, conns int) *client {
	c := &client{
		origin: origin, token: new(secret), process: process, own: own,
		http: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
				MaxConnsPerHost: conns, MaxIdleConnsPerHost: conns, IdleConnTimeout: time.Minute, DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.token.text.Store(&token)
	return c
}

// another returns a client of the same writer, with connections of its own.
func (c *client) another(conns int) *client {
	other := newClient(c.origin, "", c.process, c.own, conns)
	other.token = c.token
	return other
}

func (c *client) close() { c.http.CloseIdleConnections() }

// post sends a body to a path, and returns the answer if its status is 200. It calls alive whenever some of either goes
// or comes.
func (c *client) post(ctx context.Context, path string, body []byte, alive func()) (*http.Response, error) {
	loop := false
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { loop = c.own != nil && c.own(info.Conn.RemoteAddr()) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, c.origin+apiRoot+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(&aliveReader{bytes.NewReader(body), alive}), nil
	}
	req.Body, _ = req.GetBody()
	token := c.token.Load()
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "shunt-edge/"+version.Text())
	resp, err := c.http.Do(req)
	if loop {
		if err == nil {
			resp.Body.Close()
		}
		return nil, errLoop
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{&aliveReader{resp.Body, alive}, resp.Body}
		return resp, nil
	}
	defer resp.Body.Close()
	if err = c.refusal(resp); errors.Is(err, errRevoked) {
		c.token.isRefused(token, err)
	}
	return nil, err
}

// refusal returns the error of an answer whose status is not 200.
func (c *client) refusal(resp *http.Response) error {
	switch process := resp.Header.Get(edges.ProcessField); {
	case process == c.process:
		return errLoop
	case process != "":
		return errEdge
	case resp.StatusCode/100 == 3:
		return &refusedError{resp.StatusCode, "it redirects to another address; name that (--edge-of)"}
	}
	var said struct{ Code, Detail string }
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes))
	if json.Unmarshal(text, &said) != nil || said.Code == "" {
		return &refusedError{resp.StatusCode, "that is not an answer of shunt"}
	}
	switch {
	case said.Code == "unauthorized" || said.Code == "forbidden" && resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w (%s)", errRevoked, said.Detail)
	case resp.StatusCode == http.StatusNotFound:
		return &refusedError{resp.StatusCode, "it has no edges of this kind: it is older, or a node of a cluster, whose edges start with --role edge"}
	}
	return &refusedError{resp.StatusCode, said.Detail}
}

// who says which edge this is.
func (c *client) who() edges.Who { return edges.Who{Store: c.store, Process: c.process} }

// postWho sends who this edge is to a path.
func (c *client) postWho(ctx context.Context, path string, alive func()) (*http.Response, error) {
	body, err := json.Marshal(c.who())
	if err != nil {
		return nil, err
	}
	return c.post(ctx, path, body, alive)
}

// meet asks what the store of a new edge begins with.
func (c *client) meet(ctx context.Context) (id edges.Identity, err error) {
	ctx, alive, end := whileAlive(ctx, answerTimeout)
	defer end()
	resp, err := c.postWho(ctx, edges.MeetPath, alive)
	if err != nil {
		return id, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxProblemBytes)).Decode(&id); err != nil {
		return id, fmt.Errorf("the writer says who it is in another way: %w", err)
	}
	if len(id.VisitorKey) != 16 || id.Name == "" {
		return id, errors.New("the writer says who it is in another way")
	}
	return id, nil
}

// follow asks one question.
func (c *client) follow(ctx context.Context, ask *edges.Ask, records [][]byte) (a edges.Answer, entries [][]byte, err error) {
	ctx, alive, end := whileAlive(ctx, answerTimeout)
	defer end()
	ask.Version, ask.Program, ask.Who = edges.Version, version.Text(), c.who()
	resp, err := c.post(ctx, edges.FollowPath, edges.AppendAsk(nil, ask, records), alive)
	if err != nil {
		return a, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, edges.MaxAnswerBytes+1))
	if err == nil && len(body) > edges.MaxAnswerBytes {
		err = errors.New("an answer of the writer is too long")
	}
	if err != nil {
		return a, nil, err
	}
	return edges.ReadAnswer(body)
}

// capsTimeout bounds a question about caps: visitors wait.
const capsTimeout = 2 * time.Second

// caps asks about redirects of links with a cap.
func (c *client) caps(ctx context.Context, asks []engine.CapAsk) (answers []engine.CapAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, capsTimeout)
	defer cancel()
	err = c.json(ctx, edges.CapsPath, asks, &answers)
	return answers, err
}

// find asks about codes that this edge does not know.
func (c *client) find(ctx context.Context, codes []engine.Key) (f absent.Found, err error) {
	err = c.json(ctx, edges.FindPath, &absent.Question{Codes: codes}, &f)
	return f, err
}

// unlock asks whether a visitor has typed the password of a link.
func (c *client) unlock(ctx context.Context, q lock.Question) (a lock.Answer, err error) {
	err = c.json(ctx, edges.UnlockPath, &q, &a)
	return a, err
}

// json asks a question in JSON.
func (c *client) json(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	resp, err := c.post(ctx, path, body, func() {})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, edges.MaxJSONAnswerBytes))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// copy has take read a copy of the links.
func (c *client) copy(ctx context.Context, take func(io.Reader) error) error {
	ctx, alive, end := whileAlive(ctx, silentCopy)
	defer end()
	resp, err := c.postWho(ctx, edges.CopyPath, alive)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return take(resp.Body)
}

// whileAlive returns a context that ends when alive was not called for a time, or by end.
func whileAlive(ctx context.Context, silence time.Duration) (alone context.Context, alive, end func()) {
	alone, cancel := context.WithCancelCause(ctx)
	silent := time.AfterFunc(silence, func() { cancel(errSilent) })
	return alone, func() { silent.Reset(silence) }, func() {
		silent.Stop()
		cancel(nil)
	}
}

// aliveReader calls alive whenever something was read.
type aliveReader struct {
	r     io.Reader
	alive func()
}

// Read implements io.Reader.
func (a *aliveReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.alive()
	}
	return n, err
}
