package main

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/storage"
)

func TestAFolderInUseIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir)
	r := shunt(t, "", nil, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	r.want(t, exitFailed, "", regexp.QuoteMeta(dir)+".*in use by another process")
	if info := ask(t, p.admin+"/readyz", ""); info != "ready\n" {
		t.Errorf("the first server: got %q, want it to go on", info)
	}
	if !exists(t, filepath.Join(dir, socketName)) {
		t.Error("the second server took the first one's socket away")
	}
}

func TestAPortInUseIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	home := t.TempDir()
	for _, flag := range []string{"--listen", "--admin-listen"} {
		args := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", flag, ln.Addr().String()}
		shunt(t, home, nil, args...).want(t, exitFailed, "", flag+".*address already in use")
	}
	if exists(t, filepath.Join(home, "shunt-data")) {
		t.Error("it made the data folder")
	}
}

func TestAFolderOfANewerFormatIsRefusedAndLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	shunt(t, "", nil, "token", "add", "--name", "a", "--data", dir)
	format := filepath.Join(dir, "format")
	if err := os.WriteFile(format, []byte("shunt store, format 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, {"token", "add", "--name", "b"}, {"stats", "b"},
	} {
		shunt(t, "", nil, append(args, "--data", dir)...).want(t, exitFailed, "", regexp.QuoteMeta(dir)+".*newer.*99")
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
}

// listing describes a folder with everything in it.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			text.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestAFolderOfSomebodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shunt(t, "", nil, "token", "add", "--name", "a", "--data", dir).want(t, exitFailed, "", "thesis.txt")
}

func TestASocketPathThatIsTooLongIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, {"token", "add", "--name", "b"}, {"stats", "b"},
	} {
		shunt(t, "", nil, append(args, "--data", dir)...).want(t, exitFailed, "", "at most 107.*--data")
	}
	if exists(t, dir) {
		t.Error("it made the folder")
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
		where := localTarget{data: dataSettings{dataDir: dir, listen: defaultListen, privateTargets: "auto"}}
		if _, err := where.connect(t.Context(), io.Discard); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("without patience: got %v, want an error that names the folder", err)
		}
		where.patience = lockPatience
		var c *connection
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
