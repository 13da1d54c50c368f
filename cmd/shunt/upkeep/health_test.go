package upkeep

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAServerThatIsNotReadyIsNotHealthy(t *testing.T) {
	loading := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("loading\n"))
	}))
	defer loading.Close()
	said, err := askHealth(t.Context(), strings.TrimPrefix(loading.URL, "http://"), false, false)
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
	said, err := askHealth(ctx, silent.Addr().String(), false, false)
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
