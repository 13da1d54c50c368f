package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shunt/engine/expect"
)

// A caseFolder is where the cases of one file of testdata/cases run, one after the other. A case is what a person
// types and sees:
//
//	run
//	shunt stats nosuchcode
//	----
//	! shunt: stats nosuchcode: link not found (404 not_found)
//	exit status 1
//
// run gives its lines to a shell, in the folder, in which shunt is the program under test. Below ---- are its standard
// output, its standard error with "! " before each line, and its exit status unless that is 0. serve starts a server
// on the folder "data" with the flags in its lines, and commands find its folder in SHUNT_DATA and its addresses in
// PUBLIC and ADMIN; stop and kill end it, log counts the
// lines of its log that have a text, and get asks the server for paths, each with
// header fields after it. FILES is the folder with files of other systems, of api/source. What differs each time has a
// name (see named). `go test ./cmd/shunt/e2e -run NAME -rewrite` writes what the program says now.
type caseFolder struct {
	t      *testing.T
	dir    string
	env    []string
	server *process
	names  []string // of what named replaces: what, name, …

	data    string   // the folder of servers
	cwd     string   // of the shell; "": dir
	tools   string   // functions of the shell
	starter []string // a command that becomes the server's program; nil: none
	program string   // of servers
}

func newCaseFolder(t *testing.T) *caseFolder {
	t.Helper()
	readSources()
	dir := t.TempDir()
	c := &caseFolder{t: t, dir: dir, cwd: dir, data: filepath.Join(dir, "data"), program: binary}
	tools := t.TempDir()
	expect.OK(t, os.Symlink(binary, filepath.Join(tools, "shunt")))
	files, err := filepath.Abs("../../../api/source/testdata/files")
	expect.OK(t, err)
	c.env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "DIR="+c.dir, "FILES="+files)
	c.name(c.dir, "$DIR")
	return c
}

// name has named replace what by a name.
func (c *caseFolder) name(what, name string) { c.names = append([]string{what, name}, c.names...) }

// takePort gives cases a port that is in use: TAKEN is its address.
func (c *caseFolder) takePort() {
	c.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(c.t, err)
	c.t.Cleanup(func() { _ = ln.Close() })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	c.env = append(c.env, "TAKEN="+ln.Addr().String())
	c.name(":"+port, ":$PORT")
	c.name("port "+port, "port $PORT")
	c.name(ln.Addr().String(), "$TAKEN")
}

func (c *caseFolder) run(file string) {
	c.t.Helper()
	datadriven.RunTest(c.t, filepath.Join("testdata", "cases", file+".txt"), func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "run":
			return c.shell(t, d.Input)
		case "serve":
			c.serve(strings.Fields(strings.ReplaceAll(d.Input, "$DIR", c.dir))...)
		case "stop":
			c.server.terminate()
		case "kill": // once it can lose no hit; the disk of the journal may have been busy
			await(t, "all hits are in the journal or in the store", time.Minute, func() bool { return c.server.figure("shunt_journal_unprotected_records") == "0" })
			c.server.kill()
		case "log":
			return c.log(d.Input)
		case "get":
			return c.get(t, d.Input)
		default:
			t.Fatalf("there is no %s", d.Cmd)
		}
		return ""
	})
}

// serve starts a server, whose folder and addresses commands have in their environment from then on.
func (c *caseFolder) serve(args ...string) {
	c.t.Helper()
	p := launchProgram(c.t, c.program, nil, c.starter, c.data, args...).waitReady()
	c.server = p
	c.t.Cleanup(func() {
		log := p.stderr()
		expect.That(c.t, !strings.Contains(log, "code=") && !secret.MatchString(log), "the server's log has a setup code or a token:\n%s", log)
	})
	c.env = append(c.env, "SHUNT_DATA="+c.data, "PUBLIC="+c.server.public, "ADMIN="+c.server.admin)
	c.name(strings.TrimPrefix(c.server.public, "http://"), "$PUBLIC")
	c.name(strings.TrimPrefix(c.server.admin, "http://"), "$ADMIN")
}

// shell runs lines of a shell, and returns what a person sees.
func (c *caseFolder) shell(t *testing.T, lines string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command("sh", "-c", c.tools+lines)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.cwd, c.env, &stdout, &stderr
	expect.OK(t, cmd.Start())
	defer killAtDeadline(t, cmd.Process).Stop()
	err := cmd.Wait()
	expect.Equal(t, insides.FindString(stderr.String()), "", "is an internal detail:\n%s", &stderr)
	seen := stdout.String()
	if seen != "" && !strings.HasSuffix(seen, "\n") {
		seen += "(no end of line)\n"
	}
	for line := range strings.Lines(stderr.String()) {
		seen += "! " + line
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		seen += failed.Error() + "\n"
	}
	return c.named(seen)
}

// log returns how many lines of the server's log have each of the texts.
func (c *caseFolder) log(texts string) (seen string) {
	for text := range strings.Lines(texts) {
		text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "$DIR", c.dir)
		n := 0
		for line := range strings.Lines(c.server.stderr()) {
			if strings.Contains(line, text) {
				n++
			}
		}
		seen += fmt.Sprintln(n)
	}
	return seen
}

// get asks the server for paths, and returns the status of each answer and where it leads.
func (c *caseFolder) get(t *testing.T, lines string) string {
	t.Helper()
	seen := ""
	for line := range strings.Lines(lines) {
		path, fields, _ := strings.Cut(strings.TrimSpace(line), " ")
		var header []string
		for field := range strings.SplitSeq(fields, ";") {
			if name, value, ok := strings.Cut(field, ": "); ok {
				header = append(header, strings.TrimSpace(name), value)
			}
		}
		answer := do(t, "GET", c.server.public+path, "", header...)
		seen += strings.TrimSpace(answer.Status[:3]+" "+answer.Header.Get("Location")) + "\n"
	}
	return c.named(seen)
}

// insides matches internals that no message to a user may have: functions and packages of Go and of
// shunt, system calls, Go's types and numbers.
var insides = regexp.MustCompile(`strconv\.|parsing|parse "|invalid syntax|0x|syscall|dial |lookup |read /|open /|stat /|mkdir |bind:|` +
	`storage: |engine: |pebble|(?:^|[^.])toml: |tls: |x509: |\bjson: |%!|\*\w+\.|\[\]\w|<nil>|U\+00|goroutine`)

var (
	aTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	anID    = regexp.MustCompile(`\b[0-9A-Za-z]{16}\b`)
	drawn   = regexp.MustCompile(`((?:\$PUBLIC|127\.0\.0\.1:8080|sho\.rt)/)[0-9A-Za-z]{8}\b`)
	secret  = regexp.MustCompile(`shunt_[0-9A-Za-z]{36}\b`)
	begins  = regexp.MustCompile(`shunt_[0-9A-Za-z]{4}\b`) // of a token in a list
	setup   = regexp.MustCompile(`/_/setup\?code=[\w-]{22}`)
	clock   = regexp.MustCompile(`\b\d\d:\d\d UTC`)
	ring    = regexp.MustCompile(`ring-[0-9A-Za-z]{16}-\d+`)
	rings   = regexp.MustCompile(`files=\d+ of=\d+`)
	sent    = regexp.MustCompile(`\d+(?:\.\d+)? [KM]iB in \d+ files`)
	version = regexp.MustCompile(`(?m)^shunt \S+ go\S+ \w+/\w+$`)
)

// named replaces what differs each time in what a person sees: addresses, the folder, times of today, ids, tokens,
// drawn codes, and the files of a journal or a backup.
func (c *caseFolder) named(seen string) string {
	seen = strings.NewReplacer(c.names...).Replace(seen)
	seen = aTime.ReplaceAllStringFunc(seen, func(text string) string {
		if at, err := time.Parse(time.RFC3339, text); err == nil && time.Since(at).Abs() < 24*time.Hour {
			return "$NOW"
		}
		return text
	})
	seen = secret.ReplaceAllString(seen, "$$TOKEN")
	seen = begins.ReplaceAllString(seen, "$$BEGINS")
	seen = setup.ReplaceAllString(seen, "/_/setup?code=$$CODE")
	seen = ring.ReplaceAllString(seen, "ring-$$RING")
	seen = rings.ReplaceAllString(seen, "files=$$N of=$$N")
	seen = sent.ReplaceAllString(seen, "$$SIZE in $$N files")
	seen = anID.ReplaceAllString(seen, "$$ID")
	seen = drawn.ReplaceAllString(seen, "${1}$$CODE")
	seen = clock.ReplaceAllString(seen, "$$CLOCK")
	return version.ReplaceAllString(seen, "shunt $$VERSION")
}
