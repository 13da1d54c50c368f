package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// TestClientsOfOtherShortenersWorkAsTheyAre runs programs that use clients from npm, as their authors published them,
// and PHP's curl, on a server with its doors open. Each program of testdata/clients checks what it gets. None of what
// they do may be in a log of the server.
func TestClientsOfOtherShortenersWorkAsTheyAre(t *testing.T) {
	tools := os.Getenv("SHUNTTEST_CLIENTS")
	if tools == "" {
		t.Skip("make clients runs this test: it needs Node, PHP and the clients")
	}
	dir, err := os.MkdirTemp(tools, "clients-") // Node looks for packages in the parent folders
	if err == nil {
		err = os.CopyFS(dir, os.DirFS("testdata/clients"))
	}
	expect.OK(t, err)
	log := filepath.Join(t.TempDir(), "access.log")
	p := startServer(t, t.TempDir(), "--doors", "yourls,kutt,polr", "--access-log", log, "--access-log-clients")
	token := p.token()
	for program, suffix := range map[string]string{"node": "*.js", "php": "*.php"} {
		scripts, err := filepath.Glob(filepath.Join(dir, suffix))
		expect.MustThat(t, err == nil && len(scripts) > 0, "%s: %v", suffix, err)
		for _, script := range scripts {
			t.Run(filepath.Base(script), func(t *testing.T) {
				cmd := exec.Command(program, script)
				cmd.Env = append(os.Environ(), "SHUNT_URL="+p.public, "SHUNT_TOKEN="+token)
				out, err := cmd.CombinedOutput()
				expect.That(t, err == nil, "%v\n%s", err, out)
			})
		}
	}
	p.terminate()
	text, err := os.ReadFile(log)
	expect.That(t, err == nil && strings.Contains(string(text), "/yourls-api.php") && !strings.Contains(string(text)+p.stderr(), token), "the log of accesses: %v\n%s", err, text)
}
