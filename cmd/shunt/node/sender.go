package node

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/cluster"
	"shunt/engine"
)

// senderTimeout bounds one message to the leader. A lost message is repeated, except one about caps: those who wait are
// told.
const senderTimeout = 3 * time.Second

// sender sends messages to the node that leads. It belongs to one goroutine.
type sender struct {
	node    *Node
	name    string        // of the node that client is for
	timeout time.Duration // of a message; 0: senderTimeout
	client  *http.Client
}

func (s *sender) close() {
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
}

// maxProblemBytes is enough for the text of an answer that says why something is not done.
const maxProblemBytes = 4096

var errNoLeader = errors.New("no node of the cluster is known to lead")

// post sends body to a path of the node that leads, which is not this one, and returns the body of its answer, which
// must have a status, up to a number of bytes.
func (s *sender) post(ctx context.Context, path string, body []byte, status, maxBytes int) ([]byte, error) {
	name, address := s.node.Leader()
	if address == "" {
		return nil, errNoLeader
	}
	if s.name != name {
		s.close()
		s.name, s.client = name, newClient(s.node.gate, cluster.FromFull(s.node.identity.client(), name), cmp.Or(s.timeout, senderTimeout))
	}
	resp, err := ask(ctx, s.client, name, http.MethodPost, "https://"+address+path, body, status)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, int64(maxBytes)))
}

// ask sends a request to the node of that name, and returns its answer, whose body the caller closes. It is an
// answerError unless it has a status.
func ask(ctx context.Context, client *http.Client, name, method, url string, body []byte, status int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return do(client, req, name, status)
}

// do is ask for a request that was made.
func do(client *http.Client, req *http.Request, name string, status int) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking node %s: %w", name, err)
	}
	if resp.StatusCode != status {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes))
		resp.Body.Close()
		return nil, &answerError{resp.StatusCode, fmt.Sprintf("node %s answered %s: %s", name, resp.Status, problemText(said))}
	}
	return resp, nil
}

// problemText returns what a person reads of an answer: the detail of a problem, or all of another answer.
func problemText(said []byte) string {
	problem := struct{ Detail string }{}
	if json.Unmarshal(said, &problem) == nil && problem.Detail != "" {
		return problem.Detail
	}
	return strings.TrimSpace(string(said))
}

// answerError is an unexpected answer.
type answerError struct {
	status int
	text   string
}

func (e *answerError) Error() string { return e.text }

func newClient(gate *cluster.Gate, config *tls.Config, timeout time.Duration) *http.Client {
	return &http.Client{Transport: &http.Transport{DialTLSContext: gate.Dialer(config), MaxIdleConnsPerHost: 1, DisableCompression: true}, Timeout: timeout}
}

// sendUses tells the leader when tokens were last used at this node.
func (n *Node) sendUses(uses []account.Use) error {
	s := sender{node: n}
	defer s.close()
	_, err := s.post(context.Background(), cluster.UsesPath, account.AppendUses(nil, uses), http.StatusNoContent, maxProblemBytes)
	if errors.Is(err, errNoLeader) { // as if this node could write: it will be tried again
		return fmt.Errorf("%w: %w", engine.ErrNotLeader, err)
	}
	return err
}
