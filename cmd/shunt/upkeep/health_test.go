package upkeep

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestAServerThatIsNotReadyIsNotHealthy(t *testing.T) {
	loading := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("loading\n"))
	}))
	defer loading.Close()
	said, err := askHealth(t.Context(), strings.TrimPrefix(loading.URL, "http://"), false, false)
	expect.That(t, err != nil && err.Error() == "the server is not ready: loading", "got %q, %v", said, err)
}

func TestAServerThatSaysNothingIsNotHealthy(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // its backlog takes the connection
	expect.OK(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), healthTimeout/50)
	defer cancel()
	said, err := askHealth(ctx, silent.Addr().String(), false, false)
	expect.That(t, err != nil && strings.Contains(err.Error(), "does not answer"), "got %q, %v", said, err)
}

func TestEveryAddressIsAskedOnLoopback(t *testing.T) {
	for listen, want := range map[string]string{
		":8081": "127.0.0.1:8081", "0.0.0.0:8081": "127.0.0.1:8081", "[::]:8081": "[::1]:8081", "10.0.0.1:8081": "10.0.0.1:8081", "localhost:8081": "localhost:8081",
	} {
		got, err := dialable(listen)
		expect.That(t, err == nil && got == want, "%s: got %s, %v, want %s", listen, got, err, want)
	}
}
