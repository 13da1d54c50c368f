package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sampleCommand prints the file of the packages.
var sampleCommand = []string{"shunt", "config", "--sample", "--data", "/var/lib/shunt/data"}

func TestTheSampleFileHasEverySettingAsItIs(t *testing.T) {
	var want, stderr bytes.Buffer
	if code := run(t.Context(), sampleCommand, &want, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	got, err := os.ReadFile(filepath.Join("..", "deploy", "shunt.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("cmd/deploy/shunt.toml is out of date: run make sample")
	}
	if lines := strings.Split(want.String(), "\n"); !strings.Contains(want.String(), "\ndata = ") || !strings.Contains(want.String(), "\n#listen = ") {
		t.Errorf("of %d lines, none sets data, or none shows the default of listen", len(lines))
	}
}

var (
	sampleLine = regexp.MustCompile(`(?m)^#([a-z-]+ = .*)$`)
	noDefault  = regexp.MustCompile(`(?m)^[a-z-]+ = \[?'[A-Z]+'\]?$\n?`)
)

func TestTheSampleFileIsAcceptedWithAllDefaults(t *testing.T) {
	var sample, stdout, stderr bytes.Buffer
	if code := run(t.Context(), sampleCommand, &sample, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	all := sampleLine.ReplaceAllString(sample.String(), "$1")
	file := filepath.Join(t.TempDir(), "shunt.toml")
	if err := os.WriteFile(file, []byte(noDefault.ReplaceAllString(all, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"shunt", "config", "check", file}, &stdout, &stderr); code != exitDone {
		t.Errorf("exit code %d: %s\n%s", code, &stderr, all)
	}
	if n := len(sampleLine.FindAllString(sample.String(), -1)); n < 40 {
		t.Errorf("it has %d settings", n)
	}
}
