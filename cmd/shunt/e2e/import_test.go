package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// A line of an export has hundreds of bytes, so a thousand lines are far more than the limit of
// other bodies.
func TestAnImportKeepsTheOrderOfAnExport(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "data"), startServer(t, filepath.Join(t.TempDir(), "data"))
	for _, dir := range []string{from, to.dir} {
		shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--init", "--data", dir)
	}
	var lines strings.Builder
	for i := range 2100 {
		fmt.Fprintf(&lines, `{"code":"c%d","url":"https://example.org/%s","created_at":"2020-01-01T00:%02d:%02dZ","title":"%[2]s"}`+"\n",
			i, strings.Repeat("x", 300), i/60, i%60)
	}
	file := filepath.Join(t.TempDir(), "links.ndjson")
	for _, step := range []struct {
		dir  string
		text string
	}{{from, lines.String()}, {to.dir, ""}} {
		if step.text == "" {
			step.text = shunt(t, t.TempDir(), nil, "export", "--data", from).stdout
		}
		expect.OK(t, os.WriteFile(file, []byte(step.text), 0o600))
		shunt(t, t.TempDir(), nil, "import", file, "--data", step.dir).want(t, exitDone, `^2100 links imported, 0 already there, 0 refused\n$`, "^$")
	}
	first := shunt(t, t.TempDir(), nil, "export", "--data", from).stdout
	second := shunt(t, t.TempDir(), nil, "export", "--data", to.dir).stdout
	if codes(t, first) != codes(t, second) || !strings.HasPrefix(codes(t, first), "c2099 c2098 ") {
		t.Errorf("got the order %.40s, want %.40s", codes(t, second), codes(t, first))
	}
}

// A kill right after an import loses nothing of it.
func TestAnImportOutlivesAKillWithItsHits(t *testing.T) {
	t.Parallel()
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--data", s.dir)
	file := filepath.Join(t.TempDir(), "links.ndjson")
	var lines strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&lines, `{"code":"c%d","url":"https://example.org/","title":"%s","hits":3}`+"\n", i, strings.Repeat("t", 300))
	}
	expect.OK(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	shunt(t, t.TempDir(), nil, "import", file, "--data", s.dir).want(t, exitDone, `^2500 links imported, 0 already there, 0 refused\n$`, "^$")
	s.kill()
	export := shunt(t, t.TempDir(), nil, "export", "--data", s.dir)
	links, hits := strings.Count(export.stdout, "\n"), strings.Count(export.stdout, `"hits":3}`)
	expect.That(t, links == 2500 && hits == 2500, "got %d links, %d of them with their hits, want 2500; %s", links, hits, export.stderr)
	shunt(t, t.TempDir(), nil, "check", "--data", s.dir).want(t, exitDone, `faults +0`, "")
}

// codes returns the codes of link objects, one a line.
func codes(t *testing.T, lines string) string {
	t.Helper()
	var codes []string
	for line := range strings.Lines(lines) {
		var l struct{ Code string }
		expect.OK(t, json.Unmarshal([]byte(line), &l), "%q", line)
		codes = append(codes, l.Code)
	}
	return strings.Join(codes, " ")
}
