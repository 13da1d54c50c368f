package httpclients

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A request is what a client sent.
type request struct {
	target string // of the request line, byte for byte
	host   string // the header Host
}

// A recorder is a server that keeps each request as it came. It is not net/http's, which refuses some
// request targets.
type recorder struct {
	port string
	mu   struct {
		sync.Mutex
		requests []request
	}
}

func startRecorder(t *testing.T) *recorder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(func() { listener.Close() })
	r := new(recorder)
	_, r.port, _ = net.SplitHostPort(listener.Addr().String())
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r
}

// page shows its own address, with the fragment, which no server sees.
const page = `<!doctype html><link rel=icon href=data:,><p></p><script>document.querySelector("p").textContent = location.href</script>`

// serve records one request and answers it.
func (r *recorder) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	lines := bufio.NewReader(c)
	line, err := lines.ReadString('\n')
	if err != nil {
		return // connected in advance, and not used
	}
	_, q, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	got := request{target: q}
	if end := strings.LastIndexByte(q, ' '); end >= 0 {
		got.target = q[:end]
	}
	for line != "\r\n" {
		if line, err = lines.ReadString('\n'); err != nil {
			return
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "host") {
			got.host = strings.TrimSpace(value)
		}
	}
	r.mu.Lock()
	r.mu.requests = append(r.mu.requests, got)
	r.mu.Unlock()
	_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(page)) + "\r\n\r\n" + page))
}

// take returns the requests since the last call.
func (r *recorder) take() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.mu.requests
	r.mu.requests = nil
	return taken
}
