package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// sampleCommand prints the file of the packages.
var sampleCommand = []string{"shunt", "config", "--sample", "--data", "/var/lib/shunt/data"}

func TestTheSampleFileHasEverySettingAsItIs(t *testing.T) {
	var want, stderr bytes.Buffer
	expect.MustEqual(t, run(t.Context(), sampleCommand, &want, &stderr), exitDone, "exit code: %s", &stderr)
	got, err := os.ReadFile(filepath.Join("..", "deploy", "shunt.toml"))
	expect.OK(t, err)
	expect.That(t, bytes.Equal(got, want.Bytes()), "cmd/deploy/shunt.toml is out of date: run make sample")
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
	expect.MustEqual(t, run(t.Context(), sampleCommand, &sample, &stderr), exitDone, "exit code: %s", &stderr)
	all := sampleLine.ReplaceAllString(sample.String(), "$1")
	file := filepath.Join(t.TempDir(), "shunt.toml")
	expect.OK(t, os.WriteFile(file, []byte(noDefault.ReplaceAllString(all, "")), 0o600))
	expect.Equal(t, run(t.Context(), []string{"shunt", "config", "check", file}, &stdout, &stderr), exitDone, "exit code: %s\n%s", &stderr, all)
	n := len(sampleLine.FindAllString(sample.String(), -1))
	expect.That(t, n >= 40, "it has %d settings", n)
}
