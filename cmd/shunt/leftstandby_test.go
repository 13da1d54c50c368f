package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestFoldersThatKilledServersLeftTakeOneLine(t *testing.T) {
	dir := t.TempDir()
	said := func() string {
		var text bytes.Buffer
		sayLeft(dir, slog.New(slog.NewTextHandler(&text, nil)))
		return text.String()
	}
	if got := said(); got != "" {
		t.Errorf("nothing is left: got %q", got)
	}
	for i := range 12 {
		folder := filepath.Join(dir, fmt.Sprintf("shunt-%016x", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "data-folder"), []byte("/nowhere/data\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := regexp.QuoteMeta(filepath.Join(dir, "shunt-0000000000000000"))
	want := `folders=12 .*hits=0 first="` + first + ` \(of /nowhere/data, 0 hits, \d+s old\); [^;]*; [^;]*" run="shunt check --remove-standby ` + first
	if got := said(); strings.Count(got, "\n") != 1 || !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("got %q, want %q", got, want)
	}
}
