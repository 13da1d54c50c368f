package browser

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/cmd/shunt/porttest"
	"shunt/engine/expect"
)

// A way is how people reach a server: it decides which header fields and functions a browser gives
// to its pages.
type way struct {
	name   string
	ip     string // that the server listens on
	origin string // without the port
	flags  []string
}

var (
	// localhost is a secure context over plain HTTP.
	localhost = way{name: "localhost", ip: "127.0.0.1", origin: "http://localhost"}
	// otherLoopback is one too, but no name says so.
	otherLoopback = way{name: "127.0.0.2", ip: "127.0.0.2", origin: "http://127.0.0.2"}
	// intranet is not a secure context: browsers send no Sec-Fetch-Site and have no clipboard.
	intranet = way{name: "intranet", ip: "127.0.0.1", origin: "http://" + intranetHost, flags: []string{"--allow-http"}}
	// overTLS has a certificate that only this browser trusts.
	overTLS = way{name: "https", ip: "127.0.0.1", origin: "https://localhost"}
)

// intranetHost is a name that the browser resolves to 127.0.0.1 (see startBrowser).
const intranetHost = "intranet.test"

var ways = []way{localhost, otherLoopback, intranet, overTLS}

// A server is a running `shunt serve` on a new store.
type server struct {
	t      *testing.T
	base   string // its origin for browsers
	dir    string
	client *http.Client // reaches base, and follows no redirect

	mu struct {
		sync.Mutex
		log strings.Builder
	}
}

// startServer starts the binary for a way, and returns when it is ready. It is killed when the test
// ends.
func startServer(t *testing.T, w way, flags ...string) *server {
	t.Helper()
	s, err := tryServer(t, w, flags...)
	expect.OK(t, err)
	return s
}

// tryServer does what startServer does, but returns an error with the log if the binary refuses to
// start.
func tryServer(t *testing.T, w way, flags ...string) (*server, error) {
	t.Helper()
	binary, address := shuntBinary(t), porttest.Hold(t, w.ip) // the port is part of the base URL
	_, port, _ := net.SplitHostPort(address)
	s := &server{t: t, base: w.origin + ":" + port, dir: filepath.Join(t.TempDir(), "data"), client: clientOf(t, address)}
	args := append([]string{"serve", "--data", s.dir, "--listen", address, "--admin-listen", "127.0.0.1:0", "--base-url", s.base}, w.flags...)
	if strings.HasPrefix(w.origin, "https:") {
		c := certificate(t)
		args = append(args, "--tls-cert", c.cert, "--tls-key", c.key)
	}
	cmd := exec.Command(binary, append(args, flags...)...)
	stderr, err := cmd.StderrPipe()
	expect.OK(t, err)
	expect.OK(t, cmd.Start())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		s.read(stderr, ready)
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	select {
	case <-ready:
		return s, nil
	case <-ended:
		return nil, fmt.Errorf("serve ended before it was ready:\n%s", s.log())
	}
}

var readyLine = regexp.MustCompile(`msg=ready\b`)

// read keeps what the process logs, and closes ready when it says that it is.
func (s *server) read(stderr io.Reader, ready chan struct{}) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		s.mu.Lock()
		s.mu.log.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		if readyLine.MatchString(lines.Text()) {
			close(ready)
		}
	}
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.log.String()
}

// run runs a command of the binary on the server's folder and returns its output.
func (s *server) run(input string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(shuntBinary(s.t), append(args, "--data", s.dir)...)
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("shunt %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// clientOf returns a client that reaches address under any name.
func clientOf(t *testing.T, address string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: certificate(t).roots},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
