package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// within waits for what, which ok reports.
func (s *edgeSite) within(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		expect.MustThat(s.t, time.Now().Before(deadline), "a minute later: %s", what)
	}
}

// leads reports whether a code leads to a target at a server.
func (s *edgeSite) leads(at, code, target string) bool {
	status, location := s.follow(at, code)
	return status == http.StatusFound && location == target
}

// add makes a link at the writer, and returns where it leads.
func (s *edgeSite) add(code string) (target string) {
	s.t.Helper()
	target = "https://example.org/" + code
	shunt(s.t, "", nil, "add", target, "--alias", code, "--data", s.writer.dir).done(s.t)
	return target
}

// TestEdgesOfARestoredWriterGiveTheirHitsAndTakeItsLinks restores a writer from a backup while its edges run, or rolls
// its folder back as a snapshot of its machine does. The edges are cut off, with hits that it has not taken. They say
// that hits are lost which they had given after the backup, hand over all others, and take the links of the writer: one
// is gone, and there are new ones, which have no hit of it.
func TestEdgesOfARestoredWriterGiveTheirHitsAndTakeItsLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep, again func(s *edgeSite, kept string) // keep the state of the running writer, and begin again with it
		says        string                         // what the writer says
	}{
		"restored": {func(s *edgeSite, kept string) {
			shunt(s.t, "", nil, "backup", kept, "--data", s.writer.dir).done(s.t)
		}, func(s *edgeSite, kept string) {
			shunt(s.t, "", nil, "restore", kept, "--data", kept+"-restored").done(s.t)
			s.startWriter(kept + "-restored")
		}, "hits that an edge has counted are lost"},
		"rolled back": {func(s *edgeSite, kept string) {
			expect.OK(s.t, s.writer.cmd.Process.Signal(syscall.SIGSTOP))
			copyFolder(s.t, s.writer.dir, kept)
			expect.OK(s.t, s.writer.cmd.Process.Signal(syscall.SIGCONT))
		}, func(s *edgeSite, kept string) { s.startWriter(kept) }, "its data folder was rolled back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &edgeSite{t: t, counted: make(map[string]uint64), unknown: make(map[string]uint64)}
			kept := filepath.Join(t.TempDir(), "kept")
			s.args = []string{"--listen", freeAddress(t)} // the journal is in the folder
			s.startWriter(filepath.Join(t.TempDir(), "data"))
			s.addEdge("frankfurt")
			s.addEdge("tokyo")
			s.loseLinks(func() { c.keep(s, kept) }, func() { c.again(s, kept) })
			said := s.writer.stderr()
			expect.Contains(t, said, c.says)
			expect.That(t, strings.Count(said, "knows changes that this server lacks") <= len(s.edges), "more than one line about an edge: %s", said)
			s.writer.terminate()
			report := shunt(t, "", nil, "check", "--data", s.writer.dir).done(t)
			expect.Contains(t, report, "faults               0")
		})
	}
}

// loseLinks keeps the state of the writer, makes a link, and begins again with that state.
func (s *edgeSite) loseLinks(keep, again func()) {
	t := s.t
	t.Helper()
	kept := s.add("kept")
	s.followAll("kept", kept, 10)
	s.within("the writer has the hits", func() bool { return s.hits("kept") == s.counted["kept"] })
	keep()
	lost := s.add("lost")
	s.followAll("lost", lost, 3)
	s.within("the writer has the hits", func() bool { return s.hits("lost") == s.counted["lost"] })
	for _, p := range s.paths {
		p.cut(time.Hour)
	}
	s.followAll("kept", kept, 7)
	s.followAll("lost", lost, 5)
	s.writer.kill()
	again()
	codes := []string{"kept"}
	for i := range 20 { // with the ids of lost links, if any link gets them
		codes = append(codes, fmt.Sprintf("new-%d", i))
		s.add(codes[i+1])
	}
	for i, e := range s.edges {
		expect.That(t, s.leads(e.public, "lost", lost), "edge %d redirects the lost link until it hears otherwise", i)
		s.paths[i].cut(0)
		s.within("the edge takes the writer's links", func() bool { status, _ := s.follow(e.public, "lost"); return status == http.StatusNotFound })
		expect.Contains(t, e.stderr(), "takes a new copy of all links", "edge %d", i)
		expect.Contains(t, e.stderr(), "hits of this edge are lost", "edge %d", i)
	}
	for _, code := range codes {
		s.followAll(code, "https://example.org/"+code, 2)
	}
	for _, code := range codes {
		s.within("the writer has the hits of "+code, func() bool { return s.hits(code) == s.counted[code] })
	}
	time.Sleep(2 * time.Second) // for hits that come late, or twice
	for _, code := range codes {
		expect.Equal(t, s.hits(code), s.counted[code], "hits of %s", code)
	}
}

// followAll follows a code at each edge, some times after it leads to a target there.
func (s *edgeSite) followAll(code, target string, times int) {
	s.t.Helper()
	for i, e := range s.edges {
		s.within(fmt.Sprintf("edge %d redirects %s", i, code), func() bool { return s.leads(e.public, code, target) })
		for range times - 1 {
			expect.That(s.t, s.leads(e.public, code, target), "edge %d: %s does not lead to %s", i, code, target)
		}
	}
}

// TestAnEdgeSpeaksHTTPSWithItsWriterAndItsVisitors has both serve HTTPS with certificates of an authority of their own,
// which the edge knows by SSL_CERT_FILE. Without that it does not start, and says why.
func TestAnEdgeSpeaksHTTPSWithItsWriterAndItsVisitors(t *testing.T) {
	t.Parallel()
	authority, home := certtest.NewAuthority(t), t.TempDir()
	certificate := func() []string {
		certPEM, keyPEM := authority.Issue()
		files := certtest.NewFolder(t, certPEM, keyPEM)
		return []string{"--tls-cert", files.Cert, "--tls-key", files.Key}
	}
	w := startServer(t, filepath.Join(home, "writer"), certificate()...)
	expect.MustThat(t, strings.HasPrefix(w.public, "https://"), "the writer listens on %s", w.public)
	shunt(t, "", nil, "add", "https://example.org/a", "--alias", "a", "--data", w.dir).done(t)
	token := writeFile(t, "token", shunt(t, "", nil, "token", "add", "--edge", "frankfurt", "--data", w.dir).done(t))
	args := append(certificate(), "--edge-of", w.public, "--edge-token-file", token, "--flush-interval", "50ms")
	stranger := launch(t, filepath.Join(home, "stranger"), args...)
	<-stranger.ended
	expect.That(t, stranger.cmd.ProcessState.ExitCode() == exitFailed && strings.Contains(stranger.stderr(), "certificate signed by unknown authority"),
		"an edge that does not know the authority: %s", stranger.lastWords())

	trusted := writeFile(t, "authority.pem", string(authority.PEM()))
	e := launchThrough(t, []string{"env", "SSL_CERT_FILE=" + trusted}, filepath.Join(home, "edge"), args...).waitReady()
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	expect.MustThat(t, strings.HasPrefix(e.public, "https://"), "the edge listens on %s", e.public)
	for range 3 {
		resp, err := client.Get(e.public + "/a")
		expect.OK(t, err)
		expect.That(t, resp.StatusCode == http.StatusFound && resp.Header.Get("Location") == "https://example.org/a", "a redirect at the edge: %d, %v", resp.StatusCode, resp.Header)
		resp.Body.Close()
	}
	secret := w.token()
	made := callOf(client, e.public, secret, "POST", "/shorten", map[string]any{"url": "https://example.org/b", "alias": "b"})
	expect.MustThat(t, made.status == http.StatusCreated, "a call that the edge passes on: %d, %v: %s", made.status, made.err, made.text)
	expect.Equal(t, callOf(client, w.public, secret, "GET", "/links/b", nil).status, http.StatusOK, "the link at the writer")
	s := &edgeSite{t: t, writer: w}
	s.within("the edge redirects the new link", func() bool {
		resp, err := client.Get(e.public + "/b")
		expect.OK(t, err)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusFound
	})
	s.within("the writer has the hits", func() bool { return s.hits("a") == 3 && s.hits("b") >= 1 })
	s.within("the writer knows the edge's certificate", func() bool {
		return regexp.MustCompile(`(?m)^frankfurt +connected .* to \d{4}-\d\d-\d\d `).MatchString(shunt(t, "", nil, "edges", "--data", w.dir).done(t))
	})
}

// TestTheReadmesLinesMakeAnEdge types what README.md says about edges: a token at the server, and an edge on an empty
// machine. From there to the first redirect it takes less than a minute. Only addresses are changed.
func TestTheReadmesLinesMakeAnEdge(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	expect.OK(t, err)
	server, machine := t.TempDir(), t.TempDir()
	w := startServer(t, filepath.Join(server, "shunt-data"))
	shunt(t, "", nil, "add", "https://example.org/first", "--alias", "first", "--data", w.dir).done(t)
	shell := func(dir, line string) *exec.Cmd {
		expect.OK(t, os.Symlink(binary, filepath.Join(dir, "shunt")))
		cmd := exec.Command("sh", "-eu", "-c", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		return cmd
	}
	line := func(expression string) string {
		t.Helper()
		found := regexp.MustCompile(expression).FindSubmatch(text)
		expect.MustThat(t, found != nil, "README.md has no line %s", expression)
		return string(found[1])
	}
	out, err := shell(server, line("`(shunt token add --edge [^`]*)`")).CombinedOutput()
	expect.MustThat(t, err == nil, "making a token: %v: %s", err, out)
	token, err := os.ReadFile(filepath.Join(server, "token"))
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(filepath.Join(machine, "token"), token, 0o600))
	serve := line(`(?m)^    (\./shunt serve --edge-of .*)$`)
	for _, change := range [][2]string{{"https://origin.sho.rt", w.public}, {"--listen :8080", "--listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --log-format json"}} {
		expect.MustThat(t, strings.Count(serve, change[0]) == 1, "README.md has an edge without %s: %s", change[0], serve)
		serve = strings.Replace(serve, change[0], change[1], 1)
	}
	began := time.Now()
	e := launchCommand(t, shell(machine, "exec "+serve), filepath.Join(machine, "shunt-data")).waitReady()
	resp, err := edgeClient.Get(e.public + "/first")
	expect.OK(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	expect.That(t, resp.StatusCode == http.StatusFound && resp.Header.Get("Location") == "https://example.org/first", "the first redirect: %d, %v", resp.StatusCode, resp.Header)
	expect.That(t, time.Since(began) < time.Minute, "the first redirect came after %v", time.Since(began))
	s := &edgeSite{t: t, writer: w}
	s.within("the server hears it", func() bool {
		out, err := exec.Command(binary, "edges", "--data", w.dir).CombinedOutput()
		return err == nil && strings.Contains(string(out), "frankfurt  connected")
	})
	s.within("the server has its hit", func() bool { return s.hits("first") == 1 })
	e.terminate()
}
