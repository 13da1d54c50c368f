package api

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

func TestTokensAreTakenOverTLSFromAnywhere(t *testing.T) {
	st := newSite(t, nil)
	source := httptest.NewTLSServer(nil) // for its certificate
	config := source.TLS
	config.NextProtos = []string{"http/1.1"}
	source.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := new(atomic.Pointer[net.TCPAddr])
	at.Store(tcpAddr("192.0.2.1"))
	st.serveOn(tls.NewListener(withAddr{ln, at}, config), st.ServePublic)
	c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for range 2 {
		if _, err := io.WriteString(c, requestText("GET", "/api/v1/me", "", "Authorization: Bearer "+st.token)); err != nil {
			t.Fatal(err)
		}
		if got := readReply(t, r, "GET"); got.status != 200 {
			t.Errorf("got %+v, want 200", got)
		}
	}
	_ = c.Close()
	check(t, st.Shutdown(context.Background()))
}
