package reach

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/cmd/shunt/core"
	"shunt/engine/expect"
	"shunt/storage"
)

func TestAServerWithoutASchemeIsHTTPSUnlessLocal(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "localhost": "http://localhost", "[::1]:8080": "http://[::1]:8080", "sho.rt": "https://sho.rt",
		"10.0.0.1:8080/": "https://10.0.0.1:8080", "http://sho.rt": "http://sho.rt", "ftp://sho.rt": "", "": "", "sho.rt/x": "",
	} {
		got, err := new(Target).parseServer(text)
		expect.That(t, got == want && (err == nil) == (want != ""), "%q: got %q, %v, want %q", text, got, err, want)
	}
}

// In a bubble, Wait returns once connect has met the lock and waits, and not before.
func TestACommandWaitsForALockedFolder(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		hold := func() *storage.Store {
			store, err := storage.Open(dir, storage.Options{Create: true})
			expect.OK(t, err)
			return store
		}
		store := hold()
		where := Target{Data: core.Data{Dir: dir, Listen: core.DefaultListen, PrivateTargets: "auto"}}
		if _, err := where.connect(t.Context(), io.Discard); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("without patience: got %v, want an error that names the folder", err)
		}
		where.Patience = LockPatience
		var c *Connection
		var err error
		connected := make(chan struct{})
		go func() {
			defer close(connected)
			c, err = where.connect(t.Context(), io.Discard)
		}()
		synctest.Wait()
		select {
		case <-connected:
			t.Fatalf("with patience, while the folder is locked: got %v, want it to wait", err)
		default:
		}
		expect.NoError(t, store.Close())
		<-connected
		expect.MustThat(t, err == nil, "with patience: got %v, want it to wait", err)
		expect.NoError(t, c.close())
		expect.NoError(t, hold().Close(), "after the command")
		time.Sleep(time.Minute) // of the bubble, which takes no time: fasthttp looks once in 10 s whether it has ended
	})
}
