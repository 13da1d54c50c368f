package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shunt/api/client"
	"shunt/engine/expect"
)

// linksOfClients is how many links each program leaves behind: what it makes, less what it means to delete.
var linksOfClients = map[string]int{"yourls.js": 2, "yourls-api.js": 4, "kutt.js": 1, "n8n.js": 3, "curl.php": 6}

// linksAt returns how many links a server has.
func linksAt(t *testing.T, server, token string) int {
	t.Helper()
	c, err := client.New(server, token, nil)
	expect.OK(t, err)
	links := 0
	for _, err := range c.Links(t.Context(), client.LinksQuery{}) {
		expect.OK(t, err)
		links++
	}
	return links
}

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
				before := linksAt(t, p.public, token)
				out, err := cmd.CombinedOutput()
				expect.That(t, err == nil, "%v\n%s", err, out)
				made, known := linksOfClients[filepath.Base(script)]
				expect.That(t, known && linksAt(t, p.public, token) == before+made, "there were %d links, and are %d: want %d more", before, linksAt(t, p.public, token), made)
			})
		}
	}
	p.terminate()
	text, err := os.ReadFile(log)
	expect.That(t, err == nil && strings.Contains(string(text), "/yourls-api.php") && !strings.Contains(string(text)+p.stderr(), token), "the log of accesses: %v\n%s", err, text)
}
