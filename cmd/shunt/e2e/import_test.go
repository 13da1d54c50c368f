package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// importedFile has lines that an import accepts, finds existing and refuses. The line numbers
// matter.
const importedFile = "\ufeff" + `{"code":"Old","url":"https://example.org/?a=1&b=<2>","created_at":"2019-05-04T03:02:01Z","hits":41,"tags":["x"]}

{"code":"old","url":"https://example.org/other","redirect_status":301,"expires_at":"2020-01-01T00:00:00Z","short_url":"https://sho.rt/old","owner":9,"state":"expired","unique":3}
{"code":"bad","url":"javascript:alert(1)"}
no JSON
{"code":"loop","url":"http://127.0.0.1:8080/x"}
{"code":"Old","url":"https://example.org/another"}
`

// The same command runs alone, while a server runs, and against a remote server.
func TestLinksOfOtherServicesAreImportedWhereverTheServerIs(t *testing.T) {
	t.Parallel()
	alone := filepath.Join(t.TempDir(), "data")
	beside, remote := startServer(t, filepath.Join(t.TempDir(), "data")), startServer(t, filepath.Join(t.TempDir(), "data"))
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--init", "--data", alone)
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--data", beside.dir)
	file := filepath.Join(t.TempDir(), "links.ndjson")
	must(t, os.WriteFile(file, []byte(importedFile), 0o600))
	for name, where := range map[string]struct{ args, env []string }{
		"alone":    {[]string{"--data", alone, "--base-url", "http://127.0.0.1:8080"}, nil},
		"beside":   {[]string{"--data", beside.dir}, nil},
		"--server": {[]string{"--server", remote.public}, []string{"SHUNT_TOKEN=" + remote.token()}},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(args ...string) result {
				t.Helper()
				return shunt(t, t.TempDir(), where.env, append(args, where.args...)...)
			}
			refused := `(?s)links.ndjson:4: bad: url: .*invalid\).*:5: is not JSON\n.*:7: Old: .*alias_taken\)`
			if name != "alone" { // their origin is not that of line 6
				run("import", file).want(t, exitFailed, `^3 links imported, 0 already there, 3 refused\n$`, refused)
				run("rm", "loop").want(t, exitDone, "", "")
			} else {
				run("import", file).want(t, exitFailed, `^2 links imported, 0 already there, 4 refused\n$`, refused)
			}
			export := run("export").stdout
			wantCodes(t, export, "old Old")
			if !strings.Contains(export, `"created_at":"2019-05-04T03:02:01Z"`) || !strings.Contains(export, `"hits":41}`) {
				t.Errorf("got %s", export)
			}
			again := filepath.Join(t.TempDir(), "again.ndjson")
			must(t, os.WriteFile(again, []byte(export), 0o600))
			run("import", again).want(t, exitDone, `^0 links imported, 2 already there, 0 refused\n$`, "^$")
			run("import", again, "--json").want(t, exitDone, `^\{\s*"created": *0,\s*"existing": *2,\s*"failed": *0\s*\}\n$`, "^$")
			run("import", again, "--owner", "77").want(t, exitFailed, "", `^shunt: import: owner: is not the id of a user \(422 invalid\)\n$`)
			run("import", again, "--owner", "all").want(t, exitUsage, "", `must be a user's ID`)
			run("import", filepath.Join(t.TempDir(), "none")).want(t, exitFailed, "", `does not exist`)
			run("import").want(t, exitUsage, "", `FILE is missing`)
			wantCodes(t, run("export").stdout, "old Old")
		})
	}
}

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
		must(t, os.WriteFile(file, []byte(step.text), 0o600))
		shunt(t, t.TempDir(), nil, "import", file, "--data", step.dir).want(t, exitDone, `^2100 links imported, 0 already there, 0 refused\n$`, "^$")
	}
	first := shunt(t, t.TempDir(), nil, "export", "--data", from).stdout
	second := shunt(t, t.TempDir(), nil, "export", "--data", to.dir).stdout
	if codes(t, first) != codes(t, second) || !strings.HasPrefix(codes(t, first), "c2099 c2098 ") {
		t.Errorf("got the order %.40s, want %.40s", codes(t, second), codes(t, first))
	}
}

func TestAWrongLineDoesNotStopTheImportOfOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--init", "--data", dir)
	for name, line := range map[string]string{
		"Latin-1":     `{"code":"bad","url":"https://example.org/","title":"Gr` + "\xf6\xdfe" + `"}`,
		"deep":        `{"code":"bad","url":"https://example.org/","title":` + strings.Repeat("[", 9998) + strings.Repeat("]", 9998) + `}`,
		"long":        `{"code":"bad","url":"https://example.org/` + strings.Repeat("x", maxImportLine) + `"}`,
		"quite long":  `{"code":"bad","url":"https://example.org/` + strings.Repeat("x", maxImportLine/2) + `"}`,
		"a number":    `7`,
		"an array":    `[{"code":"bad","url":"https://example.org/"}]`,
		"cut off":     `{"code":"bad","url":"https://example.org/"`,
		"two objects": `{"code":"bad","url":"https://example.org/"} {"code":"bad","url":"https://example.org/"}`,
	} {
		file := filepath.Join(t.TempDir(), "links.ndjson")
		good := `{"code":"good` + codeOfName(name) + `%d","url":"https://example.org/"}` + "\r\n"
		text := fmt.Sprintf(good, 1) + line + "\n" + strings.TrimSpace(fmt.Sprintf(good, 2))
		must(t, os.WriteFile(file, []byte(text), 0o600))
		shunt(t, t.TempDir(), nil, "import", file, "--data", dir).
			want(t, exitFailed, `^2 links imported, 0 already there, 1 refused\n$`, `ndjson:2: .*\nshunt: import: refused: 1 of 3 links\n$`)
	}
}

func codeOfName(name string) string { return strings.ReplaceAll(name, " ", "_") }

func TestATruncatedExportIsNotImported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--init", "--data", dir)
	file := filepath.Join(t.TempDir(), "links.ndjson")
	link, end := `{"code":"a","url":"https://example.org/"}`+"\n", `{"type":"urn:shunt:problem:overloaded","status":503}`+"\n"
	for _, text := range []string{link + end, link + end + "\n\r\n", "\n" + link + end, "# exported\n" + link + end, end} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		shunt(t, t.TempDir(), nil, "import", file, "--data", dir).want(t, exitFailed, "^$", `ndjson: the last line says that the export broke off here`)
	}
	if got := shunt(t, t.TempDir(), nil, "export", "--data", dir).stdout; got != "" {
		t.Errorf("got %s, want nothing", got)
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
	must(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	shunt(t, t.TempDir(), nil, "import", file, "--data", s.dir).want(t, exitDone, `^2500 links imported, 0 already there, 0 refused\n$`, "^$")
	s.kill()
	export := shunt(t, t.TempDir(), nil, "export", "--data", s.dir)
	if links, hits := strings.Count(export.stdout, "\n"), strings.Count(export.stdout, `"hits":3}`); links != 2500 || hits != 2500 {
		t.Errorf("got %d links, %d of them with their hits, want 2500; %s", links, hits, export.stderr)
	}
	shunt(t, t.TempDir(), nil, "check", "--data", s.dir).want(t, exitDone, `faults +0`, "")
}
