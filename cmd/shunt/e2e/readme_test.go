package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// A reader types the commands of README.md in one shell. Only the ports and the folder of backups
// are changed.
type reader struct {
	t      *testing.T
	server *process
	home   string
	typed  string // earlier lines that set variables of the shell
}

// TestTheReadmeWorksAsWritten runs the lines of README.md in a shell, in their order, with the
// token that they make.
func TestTheReadmeWorksAsWritten(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	expect.OK(t, err)
	home := t.TempDir()
	r := &reader{t: t, server: startServer(t, filepath.Join(home, "shunt-data")), home: home}
	expect.OK(t, os.Symlink(binary, filepath.Join(home, "shunt")))

	commands := indented.FindAllStringSubmatch(string(text), -1)
	first := slices.IndexFunc(commands, func(c []string) bool { return strings.HasPrefix(c[1], "TOKEN=") })
	expect.MustThat(t, first >= 0, "the README makes no token")
	token := r.run(commands[first][1])
	expect.That(t, tokenLine.MatchString(token), "%s: got %q, want a token", commands[first][1], token)
	r.typed = "TOKEN=" + token
	got := r.run(block(t, text, "sh"))
	for _, want := range []string{
		`"code":"hello"`, `"short_url":"` + r.server.public + `/hello"`, "HTTP/1.1 302 Found", "Location: https://example.org/a/long/address",
		`"url":"https://example.org/with/an/older/curl"`, "\n" + r.server.public + "/", block(t, text, "text"),
	} {
		expect.Contains(t, got, want)
	}
	for _, span := range spans.FindAllStringSubmatch(string(text), -1) {
		r.runSpan(span[1])
	}
	for _, c := range commands[first+1:] {
		if strings.HasPrefix(c[1], "./shunt ") {
			r.run(strings.Replace(c[1], "./shunt serve", "./shunt config", 1)) // of a public server: its settings do not conflict
		}
	}
}

var (
	indented = regexp.MustCompile(`(?m)^    (\S.*)$`)
	spans    = regexp.MustCompile("`((?:\\./shunt|GET) [^`]*)`")
)

// runSpan runs a command or a GET from the middle of a sentence. It first makes the things that the
// command needs.
func (r *reader) runSpan(span string) {
	r.t.Helper()
	if path, found := strings.CutPrefix(span, "GET "); found {
		r.run(`curl -f -H "Authorization: Bearer $TOKEN" 'http://127.0.0.1:8080` + path + "'")
		return
	}
	switch span {
	case "./shunt import FILE":
		r.run("./shunt export > FILE")
	case "./shunt user passwd":
		span = "echo correct-horse-battery | ./shunt user passwd ann@example.com"
	case "./shunt health":
		span += " --admin-listen " + strings.TrimPrefix(r.server.admin, "http://")
	}
	r.run(span)
}

// run runs lines and returns their output.
func (r *reader) run(lines string) string {
	r.t.Helper()
	lines = strings.ReplaceAll(r.typed+lines, "http://127.0.0.1:8080", r.server.public)
	lines = strings.ReplaceAll(lines, " /backups", " "+filepath.Join(r.home, "backups"))
	shell := exec.Command("sh", "-eu", "-c", lines)
	shell.Dir = r.home
	shell.Env = append(os.Environ(), "PATH="+curlPath(r.t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	err := shell.Run()
	expect.MustThat(r.t, err == nil, "%s: %v\n%s\n%s", lines, err, &stdout, &stderr)
	return stdout.String()
}

// block returns the README's fenced block of a language.
func block(t *testing.T, text []byte, language string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	expect.MustThat(t, found != nil, "the README has no block of %s", language)
	return string(found[1])
}

// curlPath returns a folder with a replacement for curl if the installed one does not know --json,
// because tests need only Go and make. The replacement is this test binary, which acts as curl
// under that name.
func curlPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if exec.Command("curl", "--json", "{}", "--version").Run() == nil {
		return dir
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "curl"))
	}
	expect.OK(t, err)
	return dir
}

func TestTheStandInForCurlDoesWhatTheReadmeNeeds(t *testing.T) {
	t.Parallel()
	p := startServer(t, t.TempDir())
	var out bytes.Buffer
	args := []string{"--json", "{", "-i", "-H", "Authorization: Bearer " + p.token(), p.public + "/api/v1/shorten"}
	code, got := standInForCurl(args, &out), out.String()
	expect.That(t, code == 0 && strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\n") && strings.Contains(got, "malformed_json"),
		"got %d, %q, want the answer to a body that is not JSON", code, got)
}

// standInForCurl acts as curl. It knows -i, -f, -H, -d and --json, and follows no redirect.
func standInForCurl(args []string, stdout io.Writer) (code int) {
	method, url, body, header, include, fail := http.MethodGet, "", "", http.Header{}, false, false
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-i":
			include = true
		case "-f":
			fail = true
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			header.Set(name, value)
		case "-d":
			i++
			method, body = http.MethodPost, args[i]
		case "--json":
			i++
			method, body = http.MethodPost, args[i]
			header.Set("Content-Type", "application/json")
		default:
			url = args[i]
		}
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 3
	}
	request.Header = header
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 7
	}
	defer response.Body.Close()
	if fail && response.StatusCode >= http.StatusBadRequest {
		return 22
	}
	if include {
		fmt.Fprintf(stdout, "%s %s\n", response.Proto, response.Status)
		for name := range response.Header {
			fmt.Fprintf(stdout, "%s: %s\n", name, response.Header.Get(name))
		}
		fmt.Fprintln(stdout)
	}
	if _, err := io.Copy(stdout, response.Body); err != nil {
		return 56
	}
	return 0
}
