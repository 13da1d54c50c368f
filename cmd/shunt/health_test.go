package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthIsWhatTheAdminAddressSays(t *testing.T) {
	p := startServer(t, t.TempDir())
	admin := strings.TrimPrefix(p.admin, "http://")
	_, port, _ := net.SplitHostPort(admin)
	for _, args := range [][]string{
		{"--admin-listen", admin}, {"--admin-listen", ":" + port}, {"--admin-listen", "0.0.0.0:" + port}, {"--admin-listen", "localhost:" + port},
	} {
		shunt(t, "", nil, append([]string{"health"}, args...)...).want(t, exitDone, "^ready\n$", "")
	}
	shunt(t, "", []string{"SHUNT_ADMIN_LISTEN=" + admin, "HTTP_PROXY=http://127.0.0.1:1"}, "health", "--live").want(t, exitDone, "^ok\n$", "")
	file := writeFile(t, "shunt.toml", "admin-listen = \""+admin+"\"\nkeep-hours = 24\n")
	shunt(t, "", nil, "health", "--config", file).want(t, exitDone, "^ready\n$", "")
	shunt(t, "", nil, "health", "--admin-listen", strings.TrimPrefix(p.public, "http://")).
		want(t, exitFailed, "", `^shunt: health: 127\.0\.0\.1:\d+ \(--admin-listen\) answers 404 Not Found: it is not the admin address of a shunt\n$`)
	p.terminate()
	shunt(t, "", nil, "health", "--admin-listen", admin).want(t, exitFailed, "", `^shunt: health: nothing listens at 127\.0\.0\.1:\d+ \(--admin-listen\)\n$`)
}

func TestAServerThatIsNotReadyIsNotHealthy(t *testing.T) {
	loading := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("loading\n"))
	}))
	defer loading.Close()
	said, err := askHealth(t.Context(), strings.TrimPrefix(loading.URL, "http://"), false)
	if err == nil || err.Error() != "the server is not ready: loading" {
		t.Errorf("got %q, %v", said, err)
	}
}

func TestAServerThatSaysNothingIsNotHealthy(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // its backlog takes the connection
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), healthTimeout/50)
	defer cancel()
	said, err := askHealth(ctx, silent.Addr().String(), false)
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %q, %v", said, err)
	}
}

func TestEveryAddressIsAskedOnLoopback(t *testing.T) {
	for listen, want := range map[string]string{
		":8081": "127.0.0.1:8081", "0.0.0.0:8081": "127.0.0.1:8081", "[::]:8081": "[::1]:8081", "10.0.0.1:8081": "10.0.0.1:8081", "localhost:8081": "localhost:8081",
	} {
		if got, err := dialable(listen); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", listen, got, err, want)
		}
	}
}
