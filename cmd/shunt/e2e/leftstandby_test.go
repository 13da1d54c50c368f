package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// left returns the folder in memory of the store in dir, after a kill of its server.
func left(t *testing.T, dir string) (folder string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(memoryFolder(), "shunt-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if text, _ := os.ReadFile(filepath.Join(folder, "data-folder")); strings.TrimSpace(string(text)) == dir {
			return folder
		}
	}
	t.Fatalf("none of the folders %v belongs to %s", folders, dir)
	return ""
}

func TestLeftoversOfAKilledServerAreLoggedThenRemoved(t *testing.T) {
	if memoryFolder() == "" {
		t.Skip("this machine has no file system in memory")
	}
	base := t.TempDir()
	gone, other := filepath.Join(base, "gone"), filepath.Join(base, "other")
	p := startServer(t, gone)
	folder := left(t, gone)
	shunt(t, base, nil, "check", "--remove-standby", folder).want(t, exitFailed, "", "in use; nothing was removed|has this folder in use")
	p.kill()

	p = startServer(t, other)
	if s := p.stderr(); strings.Contains(s, folder) {
		t.Errorf("its data folder exists, but a start logs:\n%s", s)
	}
	p.terminate()
	if err := os.Rename(gone, gone+".unmounted"); err != nil {
		t.Fatal(err)
	}
	p = startServer(t, other)
	p.terminate()
	if s := p.stderr(); strings.Count(s, "killed servers left") != 1 { // others may have left more than it names: TestFoldersThatKilledServersLeftTakeOneLine
		t.Errorf("a start logs\n%s\nwant one line about what is left", s)
	}
	shunt(t, base, nil, "check", "--force").want(t, exitUsage, "", "--remove-standby")
	shunt(t, base, nil, "check", "--remove-standby", base).want(t, exitFailed, "", "such folders are .*; nothing was removed")
	shunt(t, base, nil, "check", "--remove-standby", folder).want(t, exitDone, "removed "+folder+": .*, 0 hits", "")
	if exists(t, folder) {
		t.Error("the folder still exists")
	}
	if err := os.Rename(gone+".unmounted", gone); err != nil {
		t.Fatal(err)
	}
	startServer(t, gone).terminate()
}
