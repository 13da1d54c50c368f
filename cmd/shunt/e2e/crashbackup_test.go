package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"shunt/engine/expect"
)

// This file has the kills of crash_test.go while backups are made and restored.

// newFolder returns the path of a folder that does not exist.
func (k *crash) newFolder(name string) string {
	k.folders++
	return filepath.Join(filepath.Dir(k.dir), fmt.Sprint(name, k.folders))
}

// backupFolder returns the folder of the latest backup.
func (k *crash) backupFolder() string {
	return filepath.Join(filepath.Dir(k.dir), fmt.Sprint("backup", k.folders))
}

// killInBackup kills the server some time after the folder of a backup was made.
func (k *crash) killInBackup() (signalled time.Time) {
	time.Sleep(k.upTo(latestCrash))
	dir := k.newFolder("backup")
	ended := make(chan struct{})
	cmd := exec.Command(binary, "backup", dir, "--data", k.dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		k.t.Error(err)
		return k.killNow()
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it fails if the kill cut it off
	}()
	awaitFolder(dir, ended)
	time.Sleep(k.upTo(15 * time.Millisecond))
	signalled = k.killNow()
	<-ended
	k.backupSaid = fmt.Sprint(said.String(), cmd.ProcessState)
	return signalled
}

// awaitFolder waits until the folder exists, or the command that makes it has ended.
func awaitFolder(dir string, ended <-chan struct{}) {
	for {
		if _, err := os.Lstat(dir); err == nil {
			return
		}
		select {
		case <-ended:
			return
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// backupMet reports whether a backup was cut off, and checks that it is either refused as
// unfinished or complete.
func (k *crash) backupMet() bool {
	dir, to := k.backupFolder(), k.newFolder("restored")
	defer os.RemoveAll(dir)
	defer os.RemoveAll(to)
	_, err := os.Lstat(filepath.Join(dir, "format"))
	if whole := err == nil; whole {
		k.wholeBackup++
		k.restoreWhole(dir, to)
		return false
	}
	k.cutBackups++
	r := shunt(k.t, "", nil, "restore", dir, "--data", to)
	expect.That(k.t, r.code == exitFailed && (strings.Contains(r.stderr, "did not finish") || strings.Contains(r.stderr, "there is no backup in")),
		"restoring a backup that was cut off: got %+v", r)
	expect.That(k.t, expect.Err(os.Lstat(to)) != nil, "a backup that was cut off was restored")
	return true
}

// restoreWhole restores a backup and checks the result.
func (k *crash) restoreWhole(dir, to string) {
	if r := shunt(k.t, "", nil, "restore", dir, "--data", to); r.code != exitDone {
		var names []string
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			names = append(names, fmt.Sprint(strings.TrimPrefix(path, dir), " ", err))
			return nil
		})
		k.t.Errorf("restoring a whole backup: got %+v; it has %q; its command said %q", r, names, k.backupSaid)
		return
	}
	backup := printed[checkOutcome](k.t, shunt(k.t, "", nil, "check", "--data", dir, "--json"))
	restored := printed[checkOutcome](k.t, shunt(k.t, "", nil, "check", "--data", to, "--json"))
	expect.That(k.t, backup.OK && restored.OK && backup.Records.Links == restored.Records.Links && backup.Records.Receipts == restored.Records.Receipts,
		"restored: got %+v, of %+v", restored, backup)
}

// killAfterBackup makes a backup under load, and kills the server at some later moment.
func (k *crash) killAfterBackup() (signalled time.Time) {
	k.mu.Lock()
	known := len(k.book.live)
	k.mu.Unlock()
	r := shunt(k.t, "", nil, "backup", k.newFolder("backup"), "--data", k.dir, "--json")
	done := backupDone{}
	expect.That(k.t, json.Unmarshal([]byte(r.stdout), &done) == nil && r.code == exitDone, "a backup: got %+v", r)
	if done.Links+uint64(connections) < uint64(known)/2 { // some are deleted meanwhile
		k.t.Errorf("a backup has %d links of %d", done.Links, known)
	}
	return killAfter(k.t, k.server, k.upTo(latestCrash/2))
}

// restoreMet kills a restore of that backup, and runs the restore again. It reports whether the
// kill cut it off.
func (k *crash) restoreMet() bool {
	dir, to := k.backupFolder(), k.newFolder("restored")
	defer os.RemoveAll(dir)
	defer os.RemoveAll(to)
	cmd, ended := exec.Command(binary, "restore", dir, "--data", to, "--skip-check"), make(chan struct{})
	if err := cmd.Start(); err != nil {
		k.t.Error(err)
		return false
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its error is in the state
	}()
	awaitFolder(to, ended)
	time.Sleep(k.upTo(15 * time.Millisecond))
	_ = cmd.Process.Kill() // it may have ended
	<-ended
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	_, err := os.Lstat(filepath.Join(to, "format"))
	if err == nil { // the restore was done
		found := printed[checkOutcome](k.t, shunt(k.t, "", nil, "check", "--data", to, "--json"))
		expect.That(k.t, found.OK, "restored: got %+v", found)
		return false
	}
	expect.That(k.t, ok && status.Signal() == syscall.SIGKILL, "a restore ended by itself: %v", cmd.ProcessState)
	k.cutRestores++
	if r := shunt(k.t, "", nil, "stats", "nosuchcode", "--data", to); r.code != exitFailed || !strings.Contains(r.stderr, "did not finish") && !strings.Contains(r.stderr, "there is no store") {
		k.t.Errorf("a folder whose restore was cut off: got %+v", r)
	}
	k.restoreWhole(dir, to)
	return true
}
