package e2e

import (
	"os"
	"os/exec"
	"testing"

	"shunt/engine/expect"
)

// TestClientsOfShlinkUseItsDoor runs programs of testdata/clients, each of which makes all calls of a library of npm at
// a server of its own, checks each answer, and that nothing is deleted but what it deletes.
func TestClientsOfShlinkUseItsDoor(t *testing.T) {
	tools := os.Getenv("SHUNTTEST_CLIENTS")
	if tools == "" {
		t.Skip("make clients runs this test: it needs Node and the clients")
	}
	dir, err := os.MkdirTemp(tools, "shlink-") // Node looks for packages in the parent folders
	expect.OK(t, err)
	expect.OK(t, os.CopyFS(dir, os.DirFS("testdata/clients")))
	for _, name := range []string{"shlink-js-sdk", "shlink-client"} {
		t.Run(name, func(t *testing.T) {
			p := startServer(t, t.TempDir(), "--doors", "shlink")
			cmd := exec.Command("node", name+".mjs")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "SHUNT_URL="+p.public, "SHUNT_TOKEN="+p.token())
			out, err := cmd.CombinedOutput()
			expect.That(t, err == nil, "%v\n%s", err, out)
		})
	}
}
