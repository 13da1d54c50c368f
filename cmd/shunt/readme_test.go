package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheReadmeWorksAsWritten runs the lines of README.md in a shell. Only the port is another.
func TestTheReadmeWorksAsWritten(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	p := startServer(t, filepath.Join(home, "shunt-data"))
	if err := os.Symlink(binary, filepath.Join(home, "shunt")); err != nil {
		t.Fatal(err)
	}
	runLines := func(lines string) string {
		lines = strings.ReplaceAll(lines, "http://127.0.0.1:8080", p.public)
		shell := exec.Command("sh", "-eu", "-c", lines)
		shell.Dir = home
		shell.Env = append(os.Environ(), "PATH="+curlPath(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
		var stdout, stderr bytes.Buffer
		shell.Stdout, shell.Stderr = &stdout, &stderr
		if err := shell.Run(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
		}
		return stdout.String()
	}

	second := "./shunt token add --name first"
	if got := runLines(second); !tokenLine.MatchString(got) || !strings.Contains(string(text), "\n    "+second+"\n") {
		t.Errorf("%s: got %q, want a token, and it in the README", second, got)
	}
	got := runLines(block(t, text, "sh"))
	for _, want := range []string{
		`"code":"hello"`, `"short_url":"` + p.public + `/hello"`, "HTTP/1.1 302 Found", "Location: https://example.org/a/long/address",
		"\n" + p.public + "/", block(t, text, "text"),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
}

// block returns the README's fenced block of a language.
func block(t *testing.T, text []byte, language string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("the README has no block of %s", language)
	}
	return string(found[1])
}

// curlPath returns a folder with a stand-in for curl where there is none that knows --json: tests need Go and make
// only. The stand-in is this test binary, which acts as curl under that name.
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
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheStandInForCurlDoesWhatTheReadmeNeeds(t *testing.T) {
	p := startServer(t, t.TempDir())
	var out bytes.Buffer
	args := []string{"--json", "{", "-i", "-H", "Authorization: Bearer " + p.token(), p.public + "/api/v1/shorten"}
	code, got := standInForCurl(args, &out), out.String()
	if code != 0 || !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\n") || !strings.Contains(got, "malformed_json") {
		t.Errorf("got %d, %q, want the answer to a body that is no JSON", code, got)
	}
}

// standInForCurl knows -i, -H and --json, and follows no redirect.
func standInForCurl(args []string, stdout io.Writer) (code int) {
	method, url, body, header, include := http.MethodGet, "", "", http.Header{}, false
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-i":
			include = true
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			header.Set(name, value)
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
