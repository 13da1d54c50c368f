package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shunt/storage"
)

func TestAFolderWithoutPermissionIsAnErrorThatSaysSo(t *testing.T) {
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}:  `you may not open the data folder /.*/x; `,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}: `/x is not a folder; .*--data`,
	} {
		if got := storeError("x", fmt.Errorf("storage: %w", err)).Error(); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("got %q, want %q", got, want)
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
