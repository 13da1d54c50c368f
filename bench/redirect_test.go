package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"shunt/api"
	"shunt/api/account"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// served is a whole server over a real store with generated links, on a loopback address.
type served struct {
	addr string
	stop func() error
}

func serve(b *testing.B, n uint64) served {
	b.Helper()
	dir := b.TempDir()
	store, err := storage.Open(filepath.Join(dir, "data"), storage.Options{Create: true})
	expect.OK(b, err)
	e, err := engine.Open(preloaded{store, n}, engine.Options{JournalDir: filepath.Join(dir, "journal")})
	expect.OK(b, err)
	expect.OK(b, e.Load(context.Background(), nil))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(b, err)
	server, err := api.NewServer(api.Options{
		Engine: e, Accounts: account.New(store.Accounts(), time.Now), BaseURL: "http://" + ln.Addr().String(),
	})
	expect.OK(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = e.Run(ctx) })
	wg.Go(func() { _ = server.ServePublic(ln) })
	return served{addr: ln.Addr().String(), stop: func() error {
		err := server.Shutdown(context.Background())
		cancel()
		wg.Wait()
		return errors.Join(err, e.Close(), store.Close())
	}}
}

// BenchmarkHTTPRedirect drives the whole server over loopback from the same process, over a number
// of keep-alive connections; each sends its next request after the answer to the last. Client and
// server share the processors, so a server by itself does more.
func BenchmarkHTTPRedirect(b *testing.B) {
	const n = 1_000_000
	s := serve(b, n)
	for _, connections := range []int{1, 64} {
		b.Run(fmt.Sprintf("links=%s/dist=zipf/connections=%d", human(n), connections), func(b *testing.B) {
			var wg sync.WaitGroup
			errs := make([]error, connections)
			for c := range connections {
				requests := (b.N + c) / connections
				wg.Go(func() { errs[c] = drive(s.addr, newCodes(n, "zipf", uint64(c)), requests) })
			}
			wg.Wait()
			expect.OK(b, errors.Join(errs...))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "redirects/s")
		})
	}
	if err := s.stop(); err != nil {
		b.Error(err)
	}
}

// drive sends the requests over one connection and checks the status of each answer.
func drive(addr string, codes *codes, requests int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	var request []byte
	for i := range requests {
		request = append(append(request[:0], "GET /"...), codes.next()...)
		request = append(request, " HTTP/1.1\r\nHost: x\r\nUser-Agent: bench/"...)
		request = strconv.AppendInt(request, int64(i%50), 10)
		if _, err := c.Write(append(request, "\r\n\r\n"...)); err != nil {
			return err
		}
		if err := readRedirect(answers); err != nil {
			return err
		}
	}
	return nil
}

func readRedirect(r *bufio.Reader) error {
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return errors.Join(err, io.ErrUnexpectedEOF)
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 302 ")):
			return fmt.Errorf("answer %q is not a redirect", line)
		case len(line) == 2:
			return nil
		}
	}
}
