package reach

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/cmd/shunt/core"
	"shunt/storage"
)

func TestAServerWithoutASchemeIsHTTPSUnlessLocal(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "localhost": "http://localhost", "[::1]:8080": "http://[::1]:8080", "sho.rt": "https://sho.rt",
		"10.0.0.1:8080/": "https://10.0.0.1:8080", "http://sho.rt": "http://sho.rt", "ftp://sho.rt": "", "": "", "sho.rt/x": "",
	} {
		got, err := new(Target).parseServer(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// In a bubble, Wait returns once connect has met the lock and waits, and not before.
func TestACommandWaitsForALockedFolder(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		hold := func() *storage.Store {
			store, err := storage.Open(dir, storage.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
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
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		<-connected
		if err != nil {
			t.Fatalf("with patience: got %v, want it to wait", err)
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
		if err := hold().Close(); err != nil {
			t.Errorf("after the command: %v", err)
		}
		time.Sleep(time.Minute) // of the bubble, which takes no time: fasthttp looks once in 10 s whether it has ended
	})
}
