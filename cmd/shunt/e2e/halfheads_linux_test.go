package e2e

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHalfHeadsHarmNobody connects 2,000 times a second from 50 addresses of 50 networks and sends half a head.
// Of 200 requests from elsewhere at most one may fail.
func TestHalfHeadsHarmNobody(t *testing.T) {
	if _, asked := floodSizes[os.Getenv("SHUNTTEST_FLOOD")]; !asked {
		t.Skip("make floods runs this test; SHUNTTEST_FLOOD is short or long")
	}
	p := &front{t: t, server: startServer(t, filepath.Join(t.TempDir(), "data"), "--max-connections=1000")}
	p.addr, p.token = strings.TrimPrefix(p.server.public, "http://"), p.server.token()
	p.create("x", "http://a/", 302)
	for _, at := range []struct{ name, addr, path, want string }{
		{"public", p.addr, "/x", "HTTP/1.1 302 "}, {"admin", strings.TrimPrefix(p.server.admin, "http://"), "/healthz", "HTTP/1.1 200 "},
	} {
		t.Run(at.name, func(t *testing.T) {
			over := make(chan struct{})
			var attack sync.WaitGroup
			var held sync.Map
			attack.Go(func() { halfHeads(at.addr, over, &held) })
			failed := 0
			for i := 0; i < 250 && failed < 10; i++ { // the first 50 while slots run out
				if err := askFrom(at.addr, at.path, at.want); err != nil && i >= 50 {
					failed++
					t.Log(err)
				}
				time.Sleep(20 * time.Millisecond) // the pace of the visitors, nothing is waited for
			}
			close(over)
			attack.Wait()
			held.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
			if t.Logf("%d of 200 failed (no more are tried after 10)", failed); failed > 1 {
				t.Errorf("%d of 200 visitors failed, want 1 at most", failed)
			}
		})
	}
}

// halfHeads opens 20 connections every 10 ms and keeps them.
func halfHeads(addr string, over chan struct{}, held *sync.Map) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		for range 20 {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(1+i%50), 1)}, Timeout: 50 * time.Millisecond}
			if i++; i > 15_000 {
				break // of the files that a process may open
			}
			if c, err := d.Dial("tcp", addr); err == nil {
				_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: ")
				held.Store(c, nil)
			}
		}
	}
}

func askFrom(addr, path, want string) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, 9, 9)}, Timeout: 2 * time.Second}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, want) {
		err = errors.New(line)
	}
	return err
}
