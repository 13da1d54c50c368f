package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
)

// cutLinks is how many links an import has that is cut once some of them are there. The others take seconds, also
// while this process has to wait.
const cutLinks = 100_000

// cutRefused is how many links lie between those that are refused, if an import has files about them.
const cutRefused = 500

// A cutImport is an import that is under way while the test cuts it.
type cutImport struct {
	t      *testing.T
	server *process
	file   string
	flags  []string
	cmd    *exec.Cmd
	stderr bytes.Buffer
	stdout bytes.Buffer
}

// startImport starts a server and the import of a file, and returns when some of it is there.
func startImport(t *testing.T) *cutImport { return startImportOf(t, "links.ndjson", "") }

// startImportOf is startImport of a file that a command packs unless it is empty, with further flags.
func startImportOf(t *testing.T, name, packer string, flags ...string) *cutImport {
	t.Helper()
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--data", s.dir)
	var text strings.Builder
	for i := range cutLinks {
		if len(flags) > 0 && i%cutRefused == 0 {
			fmt.Fprintf(&text, `{"code":"bad %d","url":"https://example.org/%[1]d","redirect_status":301}`+"\n", i)
		}
		fmt.Fprintf(&text, `{"code":"c%d","url":"https://example.org/%[1]d","created_at":"2020-01-01T00:00:00Z"}`+"\n", i)
	}
	c := &cutImport{t: t, server: s, file: writeFile(t, name, text.String()), flags: flags}
	if packer != "" {
		packed, err := exec.Command(packer, "-c", c.file).Output()
		expect.OK(t, err)
		expect.OK(t, os.WriteFile(c.file, packed, 0o600))
	}
	c.begin(10_000)
	return c
}

// begin starts the command with further flags, and returns when a number of links is there.
func (c *cutImport) begin(links int, flags ...string) {
	c.t.Helper()
	c.stdout.Reset()
	c.stderr.Reset()
	cmd := exec.Command(binary, slices.Concat([]string{"import", c.file, "--data", c.server.dir}, c.flags, flags)...)
	cmd.Stderr, cmd.Stdout = &c.stderr, &c.stdout
	expect.OK(c.t, cmd.Start())
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	c.cmd = cmd
	r := &e2e{t: c.t, server: c.server}
	for r.number() < links {
		time.Sleep(time.Millisecond)
	}
	n := r.number()
	expect.MustThat(c.t, n < cutLinks, "the import was over before it could be cut: %d links", n)
}

// end waits until the command ends.
func (c *cutImport) end() result {
	timeout := killAtDeadline(c.t, c.cmd.Process)
	defer timeout.Stop()
	_ = c.cmd.Wait() // its error is in the exit code
	return result{c.stdout.String(), c.stderr.String(), c.cmd.ProcessState.ExitCode(), "import"}
}

// wantAllOnce checks that every link is there once, in the order of the file.
func (c *cutImport) wantAllOnce() {
	c.t.Helper()
	export := shunt(c.t, "", nil, "export", "--data", c.server.dir)
	expect.Equal(c.t, export.code, exitDone, "export: got exit code: %s", export.stderr)
	got := strings.Fields(codes(c.t, export.stdout))
	expect.Equal(c.t, len(got), cutLinks, "links")
	for i, code := range got {
		expect.MustEqual(c.t, code, fmt.Sprint("c", cutLinks-1-i), "as link %d of the export", i)
	}
	_, err := os.Stat(c.file + ".shunt-import")
	expect.That(c.t, os.IsNotExist(err), "the mark of the import is left: %v", err)
}

// resume runs the command again with --resume.
func (c *cutImport) resume() {
	c.t.Helper()
	c.wantWhole(shunt(c.t, "", nil, "import", "--resume", c.file, "--data", c.server.dir))
}

// wantWhole checks the summary of an import that has come to the end of its file.
func (c *cutImport) wantWhole(r result) {
	c.t.Helper()
	r.want(c.t, exitDone, `, 0 refused\n$`, "^$")
	var created, existing int
	expect.That(c.t, expect.Err(fmt.Sscanf(r.stdout, "%d links imported, %d already there", &created, &existing)) == nil && created+existing == cutLinks,
		"got %q, want %d links", r.stdout, cutLinks)
}

// An import is interrupted, its process is killed, and then that of the server, which is started again.
func TestAnImportThatIsCutGoesOn(t *testing.T) {
	t.Parallel()
	c := startImport(t)
	expect.OK(t, c.cmd.Process.Signal(syscall.SIGINT))
	c.end().want(t, exitFailed, `^\d+ links imported, 0 already there, 0 refused\n$`, `^shunt: import: interrupted\n  the same command with --resume goes on where it was cut\n$`)
	c.begin(30_000, "--resume")
	_ = c.cmd.Process.Kill()
	c.end()
	c.begin(50_000, "--resume")
	c.server.kill()
	c.server = startServer(t, c.server.dir)
	c.wantWhole(c.end())
	c.wantAllOnce()
}

// Nothing runs on the folder any more, so the command that resumes opens it itself.
func TestAnImportThatLosesItsServerIsResumedWithoutIt(t *testing.T) {
	t.Parallel()
	c := startImport(t)
	c.server.kill()
	c.end().want(t, exitFailed, `^\d+ links imported, `, `(?s)^shunt: import: no answer: .*--resume goes on where it was cut\n$`)
	c.resume()
	c.wantAllOnce()
	shunt(t, "", nil, "check", "--data", c.server.dir).want(t, exitDone, `faults +0`, "")
}

// An import that is resumed writes on in the files about refused records, and its summary is that of both runs. What it
// imports is packed.
func TestAPackedImportThatIsInterruptedKeepsRefusedRecordsOfAllRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rejects, rules := filepath.Join(dir, "rejects"), filepath.Join(dir, "rules")
	c := startImportOf(t, "links.ndjson.gz", "gzip", "--rejects", rejects, "--redirects", rules)
	expect.OK(t, c.cmd.Process.Signal(syscall.SIGINT))
	c.end().want(t, exitFailed, `^\d+ links imported, 0 already there, \d+ refused\nrefused: code may only hold .* \(\d+\)\n$`, `interrupted\n  the same command with --resume goes on where it was cut\n$`)
	const refused = cutLinks / cutRefused
	before, err := os.ReadFile(rejects)
	expect.OK(t, err)
	n := bytes.Count(before, []byte{'\n'})
	expect.That(t, n > 0 && n < refused, "%d records were refused before the cut", n)
	r := shunt(t, "", nil, append([]string{"import", "--resume", c.file, "--data", c.server.dir}, c.flags...)...)
	r.want(t, exitFailed, fmt.Sprintf(`, %d refused\n`, refused), fmt.Sprintf(`import: refused: %d of %d links\n$`, refused, cutLinks+refused))
	c.wantAllOnce()
	for path, want := range map[string]string{rejects: `"code":"bad %d",`, rules: `/bad %d$" "301 https://example.org/%[1]d";`} {
		text, err := os.ReadFile(path)
		expect.OK(t, err)
		expect.Equal(t, strings.Count(string(text), "bad "), refused*map[string]int{rejects: 2, rules: 1}[path], path)
		for i := 0; i < cutLinks; i += cutRefused {
			expect.MustContains(t, string(text), fmt.Sprintf(want, i), path)
		}
	}
	text, err := os.ReadFile(rules)
	expect.That(t, err == nil && strings.Count(string(text), "# Links that") == 1, "the head of the rules is there again")
}
