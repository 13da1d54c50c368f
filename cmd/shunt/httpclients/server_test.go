package httpclients

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/cmd/shunt/porttest"
	"shunt/engine/expect"
)

// A server is a running `shunt serve` on a new store.
type server struct {
	binary, dir string
	base        string // its origin
}

// startServer builds the binary, starts it, and returns when it is ready. It is ended with the test.
func startServer(t *testing.T) *server {
	t.Helper()
	work := t.TempDir()
	s := &server{binary: filepath.Join(work, "shunt"), dir: filepath.Join(work, "data"), base: "http://" + porttest.Hold(t, "127.0.0.1")}
	build := exec.Command("go", "build", "-o", s.binary, "shunt/cmd/shunt")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	cmd := exec.Command(s.binary, "serve", "--data", s.dir, "--listen", strings.TrimPrefix(s.base, "http://"), "--admin-listen", "127.0.0.1:0", "--base-url", s.base)
	stderr, err := cmd.StderrPipe()
	expect.OK(t, err)
	expect.OK(t, cmd.Start())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			t.Log(lines.Text())
			if strings.HasSuffix(lines.Text(), "msg=ready") {
				close(ready)
			}
		}
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatal("serve ended before it was ready")
	case <-time.After(patience):
		t.Fatal("serve is not ready")
	}
	return s
}

// shorten makes a link to target and returns its address.
func (s *server) shorten(t *testing.T, target, alias string) string {
	t.Helper()
	out, err := exec.Command(s.binary, "add", target, "--alias", alias, "--data", s.dir).CombinedOutput()
	expect.MustThat(t, err == nil, "shunt add %s: %v\n%s", target, err, out)
	return s.base + "/" + alias
}

// locationOf returns the Location of a redirect.
func locationOf(t *testing.T, address string) string {
	t.Helper()
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(address)
	expect.OK(t, err)
	r.Body.Close()
	return r.Header.Get("Location")
}
