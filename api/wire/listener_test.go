package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestAcceptWaitsForFreeFileDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := make([]error, 12)
		for i := range errs {
			errs[i] = &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		ln := fasthttputil.NewInmemoryListener()
		log := new(bytes.Buffer)
		l := listenerOf(&failing{ln, errs}, conns.Limits{Connections: conns.MaxConnections}, conns.DefaultPatience, testLogger(log))
		go func() {
			if c, err := ln.Dial(); err == nil {
				_ = c.Close()
			}
		}()
		start := time.Now()
		c, err := l.Accept()
		expect.OK(t, err)
		// 5 + 10 + … + 160 ms are 315 ms, then 6 times 250 ms.
		expect.Equal(t, time.Since(start), 1815*time.Millisecond, "waited")
		expect.Equal(t, strings.Count(log.String(), "trying again"), 1, "logged times")
		expect.NoError(t, c.Close())
		expect.NoError(t, l.Close())
		_, err = l.Accept()
		expect.That(t, err == io.EOF, "Accept after Close: got %v, want io.EOF", err)
	})
}

func TestABrokenListenerEndsServing(t *testing.T) {
	broken := errors.New("broken")
	l := listenerOf(&failing{nil, []error{broken}}, conns.Limits{Connections: conns.MaxConnections}, conns.DefaultPatience, testLogger(io.Discard))
	_, err := l.Accept()
	expect.That(t, err == broken, "got %v, want %v", err, broken)
}
