package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// A workshop is a folder in which clients are generated from the documents of a running server,
// compiled and run. Its parent folder has the tools that make openapi-clients fetches.
type workshop struct {
	t          *testing.T
	tools, dir string
	server     *process
	token      string
	programs   int // that have run
}

// openAPIVersions are the documents of a server. Generators must accept both.
var openAPIVersions = []string{"openapi.json", "openapi-3.0.json"}

func newWorkshop(t *testing.T, tools string) *workshop {
	dir, err := os.MkdirTemp(tools, "clients-") // Node looks for packages in the parent folders
	if err == nil {
		err = os.CopyFS(dir, os.DirFS("testdata/openapi"))
	}
	expect.OK(t, err)
	w := &workshop{t: t, tools: tools, dir: dir, server: startServer(t, t.TempDir())}
	w.token = w.server.token()
	for _, document := range openAPIVersions {
		text := w.get(w.server.public + "/api/v1/" + document)
		expect.OK(t, os.WriteFile(filepath.Join(dir, document), []byte(text), 0o600))
	}
	return w
}

func (w *workshop) get(url string) string {
	w.t.Helper()
	r := do(w.t, "GET", url, "")
	expect.MustEqual(w.t, r.StatusCode, http.StatusOK, "%s %s", url, r.text)
	return r.text
}

// run runs a command in a folder of the workshop: a tool, or a program of the system. If the
// command fails, the test fails.
func (w *workshop) run(folder string, command ...string) {
	w.t.Helper()
	program := command[0]
	for _, tool := range []string{filepath.Join(w.tools, program), filepath.Join(w.tools, "node_modules", ".bin", program)} {
		if _, err := os.Stat(tool); err == nil {
			program = tool
		}
	}
	cmd := exec.Command(program, command[1:]...)
	cmd.Dir = filepath.Join(w.dir, folder)
	cmd.Env = append(os.Environ(), "SHUNT_URL="+w.server.public, "SHUNT_TOKEN="+w.token, "REDOCLY_TELEMETRY=off")
	out, err := cmd.CombinedOutput()
	expect.MustThat(w.t, err == nil, "%s: %v\n%s", strings.Join(command, " "), err, out)
}

// runClient runs a program of testdata/openapi, which checks each answer, and then reads from the
// server what was done.
func (w *workshop) runClient(folder string, command ...string) {
	w.t.Helper()
	w.run(folder, command...)
	w.programs++
	metrics := w.get(w.server.admin + "/metrics")
	for write, each := range map[string]int{"create": 2, "update": 1, "delete": 2} {
		name := `shunt_link_writes_total{op="` + write + `",result="ok"}`
		expect.Equal(w.t, metricIn(metrics, name), strconv.Itoa(each*w.programs), "after %d programs, the last in %s: %s", w.programs, folder, name)
	}
}

func TestGeneratedClientsCanDoEverythingWithALink(t *testing.T) {
	tools := os.Getenv("SHUNTTEST_OPENAPI")
	if tools == "" {
		t.Skip("make openapi-clients runs this test: it needs Node and the generators")
	}
	w := newWorkshop(t, tools)
	w.run(".", append([]string{"redocly", "lint", "--config", "redocly.yaml"}, openAPIVersions...)...)
	for _, document := range openAPIVersions {
		w.run("go", "oapi-codegen", "-config", "oapi-codegen.yaml", "../"+document)
		w.run("go", "oapi-codegen", "-generate", "types,client", "-package", "plain", "-o", "plain/client.go", "../"+document)
		w.run("go", "go", "vet", "./...")
		w.runClient("go", "go", "run", ".")
		w.run("ts", "openapi-typescript", "../"+document, "--output", "shunt.ts")
		w.run("ts", "tsc", "--project", ".")
		w.runClient("ts", "node", "main.js")
	}
}
