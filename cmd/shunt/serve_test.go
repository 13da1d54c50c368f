package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"shunt/cmd/shunt/settings"
	"shunt/engine/expect"

	"go.uber.org/goleak"
)

// TestMain takes the settings of whoever runs the tests out of the environment.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, settings.EnvPrefix) {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// syncBuffer is what a server in this process writes to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestAServerJoinsEverythingThatItStarts runs serve in this process, where the race detector and
// goleak see it: it starts, is used by several clients and local commands at once, and is stopped
// in the middle of that.
func TestAServerJoinsEverythingThatItStarts(t *testing.T) {
	leaks := []goleak.Option{
		goleak.IgnoreCurrent(),
		// fasthttp's own housekeeping; it sleeps for 1 s and 10 s and then sees that its server is
		// gone.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	}
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	stderr := newReadyWriter()
	code := make(chan int)
	go func() {
		args := []string{"--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--flush-interval", "10ms"}
		code <- run(ctx, append([]string{"shunt", "serve"}, args...), io.Discard, stderr)
	}()
	public := <-stderr.ready

	var added syncBuffer
	expect.MustEqual(t, run(t.Context(), []string{"shunt", "add", "https://example.org/a", "--data", dir}, &added, stderr), exitDone, "add: exit code\n%s", stderr)
	short := strings.TrimSpace(added.b.String())
	expect.MustThat(t, strings.HasPrefix(short, public), "got %q, want an address of %s", short, public)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 50 {
				follow(t, short, "https://example.org/a")
			}
		})
		clients.Go(func() {
			expect.Equal(t, run(t.Context(), []string{"shunt", "stats", short, "--data", dir}, io.Discard, stderr), exitDone, "stats: exit code")
		})
	}
	clients.Wait()
	stop()
	expect.Equal(t, <-code, exitDone, "got exit code, want 0:\n%s", stderr)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goleak.VerifyNone(t, leaks...)

	var stats syncBuffer
	run(t.Context(), []string{"shunt", "stats", short, "--data", dir}, &stats, stderr)
	expect.Equal(t, stats.b.String(), "hits    200\nunique  1\n", "want every hit\n%s", stderr)
	goleak.VerifyNone(t, leaks...)
}

// publicAddress is in the line that says where a server listens.
var publicAddress = regexp.MustCompile(`msg=listening.* public=(\S+)`)

// readyWriter delivers the public address of a server when it says that it is ready.
type readyWriter struct {
	syncBuffer
	ready chan string
}

func newReadyWriter() *readyWriter { return &readyWriter{ready: make(chan string, 1)} }

func (w *readyWriter) Write(p []byte) (int, error) {
	n, err := w.syncBuffer.Write(p)
	if bytes.Contains(p, []byte("msg=ready")) {
		w.ready <- publicAddress.FindStringSubmatch(w.String())[1]
	}
	return n, err
}

func (w *readyWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// follow asks once for a short address.
func follow(t *testing.T, short, want string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, short, nil)
	expect.OK(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	expect.OK(t, err)
	defer response.Body.Close()
	got := response.Header.Get("Location")
	expect.That(t, response.StatusCode == http.StatusFound && got == want, "%s: got %d to %q, want 302 to %q", short, response.StatusCode, got, want)
}
