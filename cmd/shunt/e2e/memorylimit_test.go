package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// longLinks are n links with targets that hardly compress, so that a few take much memory.
func longLinks(n int) (lines string, target func(i int) string) {
	target = func(i int) string {
		b := []byte("https://example.org/")
		for part := range 30 {
			sum := sha256.Sum256(fmt.Append(nil, i, part))
			b = hex.AppendEncode(b, sum[:])
		}
		return string(b)
	}
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `{"code":"long%d","url":"%s"}`+"\n", i, target(i))
	}
	return all.String(), target
}

func TestAtItsMemoryLimitAServerRefusesLinksOnly(t *testing.T) {
	t.Parallel()
	const links = 60_000 // 60 MB or more
	dir := t.TempDir()
	lines, target := longLinks(links)
	file := writeFile(t, "links.ndjson", lines)
	limited := []string{"--memory-limit", "64MiB", "--cache-size", "8MiB"}
	p := startServer(t, filepath.Join(dir, "data"), limited...)
	env := []string{"SHUNT_DATA=" + p.dir}
	r := shunt(t, dir, env, "import", file)
	expect.MustThat(t, r.code == exitFailed && strings.Contains(r.stderr, "--memory-limit") && strings.Contains(r.stderr, "503 overloaded"),
		"import: exit code %d, want %d and a word about --memory-limit:\n%s", r.code, exitFailed, r.stderr)
	expect.Contains(t, p.stderr(), "the memory limit is reached", "the log does not say it:\n%s", p.lastWords())
	shunt(t, dir, env, "edit", "long0", "--title", "changed").done(t)
	follow(t, p.public+"/long0", target(0))
	p.terminate()

	p = startServer(t, p.dir, "--memory-limit", "off")
	shunt(t, dir, env, "import", file).done(t)
	p.terminate()

	p = startServer(t, p.dir, limited...)
	p.awaitLog("the store does not fit in the memory limit")
	follow(t, p.public+fmt.Sprint("/long", links-1), target(links-1))
	p.terminate()
}
