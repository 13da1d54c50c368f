package e2e

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestAStuckAccessLogStopsNoRedirect gives the server a pipe as access log that nobody reads, which
// holds a write as a disk does that does not answer.
func TestAStuckAccessLogStopsNoRedirect(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	expect.OK(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that the server can open it
	expect.OK(t, err)
	defer reader.Close()
	dir := t.TempDir()
	p := launch(t, dir, "--access-log", pipe).waitReady()
	shunt(t, "", nil, "add", "https://a.example/", "--alias", "known", "--data", dir).done(t)
	const requests = 60_000 // of about 100 bytes: 2 MiB wait in memory, the rest is dropped
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.public, "http://"))
	expect.OK(t, err)
	defer conn.Close()
	expect.OK(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	go func() {
		_, _ = io.WriteString(conn, strings.Repeat("GET /known HTTP/1.1\r\nHost: a\r\n\r\n", requests))
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	answers, err := io.ReadAll(conn)
	got := bytes.Count(answers, []byte("HTTP/1.1 302 "))
	expect.That(t, err == nil && got == requests, "got %d redirects, %v, want %d", got, err, requests)
	metrics := ask(t, p.admin+"/metrics", "")
	m := regexp.MustCompile(`\nshunt_access_log_dropped_total ([0-9.e+]+)\n`).FindStringSubmatch(metrics)
	expect.That(t, m != nil && m[1] != "0", "dropped lines are not counted: %q", m)
	p.terminate() // although the last lines cannot be written
	expect.Contains(t, p.stderr(), "the access log does not take its last lines", "nothing says that lines are missing")
}

func TestSIGHUPOpensTheAccessLogAgain(t *testing.T) {
	t.Parallel()
	dir, folder := t.TempDir(), t.TempDir()
	path := filepath.Join(folder, "access")
	p := launch(t, dir, "--access-log", path).waitReady()
	ask(t, p.public+"/robots.txt", "")
	expect.OK(t, os.Rename(path, path+".1"))
	expect.OK(t, p.cmd.Process.Signal(syscall.SIGHUP))
	await(t, "there is a new file", 20*time.Second, func() bool { return exists(t, path) }, p)
	ask(t, p.public+"/", "")
	p.terminate()
	for file, want := range map[string]string{path + ".1": `"path":"/robots.txt"`, path: `"path":"/"`} {
		text, err := os.ReadFile(file)
		expect.That(t, err == nil && strings.Count(string(text), "\n") == 1 && strings.Contains(string(text), want),
			"%s: got %q, %v, want a line with %s", filepath.Base(file), text, err, want)
	}
}
