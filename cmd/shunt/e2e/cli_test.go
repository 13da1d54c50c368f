package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	tokenLine  = regexp.MustCompile(`^shunt_[0-9A-Za-z]{36}\n$`)
	drawnShort = regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[0-9A-Za-z]{8}\n$`)
)

// want checks the outcome of a command. An empty pattern means no output.
func (r result) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code {
		t.Errorf("got exit code %d, want %d", r.code, code)
	}
	for name, c := range map[string]struct{ got, pattern string }{"stdout": {r.stdout, stdout}, "stderr": {r.stderr, stderr}} {
		if c.pattern == "" && c.got != "" || !regexp.MustCompile(c.pattern).MatchString(c.got) {
			t.Errorf("%s: got %q, want %q", name, c.got, c.pattern)
		}
	}
}

func TestTheFirstStartLogsAddressesAndTheNextCommand(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "my data")
	p := startServer(t, dir, "--log-format", "text")
	for _, part := range []string{"base_url=" + p.public, "public=" + p.public, "admin=" + p.admin, `data="` + dir + `"`, "new=true", "msg=ready"} {
		if !strings.Contains(p.stderr(), part) {
			t.Errorf("%q is not in its log:\n%s", part, p.stderr())
		}
	}
	mode(t, dir, 0o700)
	mode(t, filepath.Join(dir, socketName), 0o600|fs.ModeSocket)

	found := regexp.MustCompile(`sign in yet; [^"]*" run="(.*)" address=`).FindStringSubmatch(p.stderr()) // leftovers of other servers are logged with a run, too
	if found == nil {
		t.Fatalf("it does not log what to run next:\n%s", p.stderr())
	}
	line := strings.TrimPrefix(found[1], binary+" ")
	words := strings.Fields(strings.ReplaceAll(line, "'"+dir+"'", "DIR"))
	words[len(words)-1] = dir
	if r := shunt(t, home, nil, words...); r.code != exitDone || !strings.HasPrefix(r.stdout, p.public+"/_/setup?code=") {
		t.Errorf("%q: got %+v, want a setup link", line, r)
	}
	if strings.Contains(p.stderr(), "code=") {
		t.Errorf("its log has a setup code:\n%s", p.stderr())
	}
	p.token()
	p.terminate()

	p = startServer(t, dir)
	if s := p.stderr(); strings.Contains(s, "sign in") || !strings.Contains(s, `"new":false`) {
		t.Errorf("a start with a token: got\n%s\nwant no mention of signing in", s)
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode()&^fs.ModeDir != want {
		t.Errorf("%s: got mode %v, want %v", path, info.Mode(), want)
	}
}

func TestUsageErrorsExitWith2AndNameTheMistake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := writeFile(t, "shunt.toml", "lisen = '127.0.0.1:0'\n")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":                  {[]string{"serve", "--lisen", "x"}, "--lisen"},
		"an unknown command":               {[]string{"sreve"}, `"shunt sreve".*serve`},
		"an unknown command of token":      {[]string{"token", "ad"}, `"shunt token ad"`},
		"no command":                       {nil, "name a command"},
		"no command of token":              {[]string{"token"}, "name a command"},
		"one argument too many":            {[]string{"serve", "now"}, `"now"`},
		"one argument too few":             {[]string{"add"}, "URL is missing"},
		"a base URL with a path":           {[]string{"serve", "--base-url", "https://sho.rt/x"}, "--base-url"},
		"a base URL without a scheme":      {[]string{"serve", "--base-url", "sho.rt"}, "--base-url"},
		"no base URL where it is needed":   {[]string{"serve", "--listen", ":0"}, "--base-url"},
		"an unknown key of the file":       {[]string{"serve", "--config", config}, `"lisen"`},
		"an address without a port":        {[]string{"serve", "--listen", "localhost"}, "--listen"},
		"no connections":                   {[]string{"serve", "--max-connections", "0"}, "--max-connections"},
		"unlimited connections":            {[]string{"serve", "--max-connections", "off"}, "--max-connections"},
		"no connections of an address":     {[]string{"serve", "--max-connections-per-address", "0"}, "--max-connections-per-address"},
		"an origin with a path":            {[]string{"serve", "--cors-origin", "https://a.example,https://b.example/x"}, "--cors-origin"},
		"an admin host with a path":        {[]string{"serve", "--admin-host", "metrics.example,a/b"}, "--admin-host"},
		"0 hours kept":                     {[]string{"serve", "--keep-hours", "0"}, "--keep-hours"},
		"too many days kept":               {[]string{"serve", "--keep-days", "3661"}, "--keep-days"},
		"a flush interval of 0":            {[]string{"serve", "--flush-interval", "0"}, "--flush-interval"},
		"a token without a name":           {[]string{"token", "add"}, "--name"},
		"an invalid time":                  {[]string{"add", "http://a.b", "--expires", "soon"}, "--expires"},
		"a server without a token":         {[]string{"add", "http://a.b", "--server", "https://sho.rt"}, "SHUNT_TOKEN"},
		"a user at a server with a token":  {[]string{"stats", "x", "--server", "https://sho.rt", "--token", "x", "--user", "u"}, "--user"},
		"a cache of 0 bytes":               {[]string{"serve", "--cache-size", "0"}, "--cache-size.*256MiB"},
		"a memory limit of 1 MiB":          {[]string{"serve", "--memory-limit", "1MiB"}, "--memory-limit.*64MiB"},
		"a memory limit without a unit":    {[]string{"serve", "--memory-limit", "lots"}, "--memory-limit.*2GiB"},
		"a header name with a space in it": {[]string{"serve", "--client-ip-header", "X Y"}, "--client-ip-header"},
	} {
		t.Run(name, func(t *testing.T) {
			r := shunt(t, dir, nil, c.args...)
			r.want(t, exitUsage, "", c.want)
		})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v, want nothing made", entries, err)
	}
}

func TestHelpAndVersionGoToStandardOutput(t *testing.T) {
	for args, want := range map[string]string{
		"version":          `^shunt \S+ go\S+ \w+/\w+\n$`,
		"--help":           `SHUNT_BASE_URL`,
		"serve --help":     `--trusted-proxy NETWORK`,
		"token add --help": `--name NAME`,
		"add --help":       `--alias CODE`,
		"stats --help":     `--json`,
	} {
		shunt(t, "", nil, strings.Fields(args)...).want(t, exitDone, want, "")
	}
}

func TestAnUnknownVariableCausesOnlyAWarning(t *testing.T) {
	r := shunt(t, t.TempDir(), []string{"SHUNT_LISEN=x"}, "token", "add", "--name", "a", "--init")
	r.want(t, exitDone, tokenLine.String(), "SHUNT_LISEN")
}

func TestLocalCommandsWorkWithoutAServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	shunt(t, home, nil, "add", "https://example.org").want(t, exitFailed, "", `no store in /.*/shunt-data`)
	shunt(t, home, nil, "stats", "x").want(t, exitFailed, "", `no store in /.*/shunt-data`)
	if exists(t, filepath.Join(home, "shunt-data")) {
		t.Error("add or stats made the data folder")
	}

	shunt(t, home, nil, "token", "add", "--name", "a", "--init").want(t, exitDone, tokenLine.String(), `^shunt: made a store in `+regexp.QuoteMeta(filepath.Join(home, "shunt-data"))+`\n$`)
	shunt(t, home, nil, "token", "add", "--name", "b").want(t, exitDone, tokenLine.String(), "")
	shunt(t, home, nil, "add", "https://example.org/a").want(t, exitDone, `^http://127\.0\.0\.1:8080/[0-9A-Za-z]{8}\n$`, "")
	shunt(t, home, nil, "add", "https://example.org/b", "--alias", "b", "--base-url", "https://sho.rt").want(t, exitDone, "^https://sho.rt/b\n$", "")
	shunt(t, home, nil, "stats", "b").want(t, exitDone, "^hits    0\nunique  0\n$", "")
	shunt(t, home, nil, "stats", "http://127.0.0.1:8080/b", "--json").want(t, exitDone, "^{\n  \"hits\": 0,\n  \"unique\": 0\n}\n$", "")
	shunt(t, home, nil, "stats", "c").want(t, exitFailed, "", `^shunt: stats c: .*\(404 not_found\)\n$`)
	shunt(t, home, nil, "add", "ftp://example.org", "--max-hits", "0").want(t, exitFailed, "", `^shunt: add: max_hits: .*; url: .*\(422 invalid\)\n$`)
	shunt(t, home, nil, "add", "https://example.org", "--alias", "").want(t, exitFailed, "", `alias`)
	shunt(t, home, nil, "add", "https://example.org/c", "--alias", "B").want(t, exitFailed, "", `\(409 alias_taken\)`)
	shunt(t, home, nil, "add", "https://example.org", "--user", "nobody@example.org").want(t, exitFailed, "", `nobody@example\.org`)
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAddSendsEveryField(t *testing.T) {
	home := t.TempDir()
	shunt(t, home, nil, "token", "add", "--name", "a", "--init")
	r := shunt(t, home, nil, "add", "https://example.org/?q=1", "--json", "--alias", "Spring", "--title", "A title", "--tag", "a, b", "--tag", "c",
		"--expires", "2099-12-31", "--max-hits", "7", "--status", "308", "--forward-query")
	got := map[string]any{}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	tags, _ := json.Marshal(got["tags"])
	for field, want := range map[string]any{
		"code": "Spring", "title": "A title", "expires_at": "2099-12-31T23:59:59Z", "max_hits": 7.0, "redirect_status": 308.0, "forward_query": true,
		"url": "https://example.org/?q=1", "short_url": "http://127.0.0.1:8080/Spring",
	} {
		if got[field] != want {
			t.Errorf("%s: got %v, want %v", field, got[field], want)
		}
	}
	if string(tags) != `["a","b","c"]` {
		t.Errorf("got tags %s", tags)
	}
}

func TestLocalCommandsWorkWhileAServerRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startServer(t, dir)
	first, second := p.token(), p.token()
	for token, scopes := range map[string]string{
		first:  `["links:read","links:write","stats:read","tokens:write","admin"]`,
		second: `["links:read","links:write","stats:read","tokens:write"]`,
	} {
		if me := ask(t, p.public+"/api/v1/me", token); !strings.Contains(me, `"scopes":`+scopes) {
			t.Errorf("got %s, want scopes %s", me, scopes)
		}
	}
	r := shunt(t, "", nil, "add", "https://example.org/a", "--data", dir)
	r.want(t, exitDone, drawnShort.String(), "")
	short := strings.TrimSpace(r.stdout)
	if !strings.HasPrefix(short, p.public+"/") {
		t.Errorf("got %s, want an address of %s", short, p.public)
	}
	follow(t, short, "https://example.org/a")
	shunt(t, "", nil, "stats", short, "--data", dir).want(t, exitDone, "^hits    1\nunique  1\n$", "")

	remote := []string{"SHUNT_TOKEN_FILE=" + writeFile(t, "token", second), "SHUNT_SERVER=" + p.public}
	shunt(t, "", remote, "stats", short).want(t, exitDone, "^hits    1\nunique  1\n$", "")
	shunt(t, "", remote, "add", "https://example.org/b").want(t, exitDone, drawnShort.String(), "")
	shunt(t, "", remote, "token", "add", "--name", "more", "--scopes", "admin").want(t, exitFailed, "", `scopes\[0\]`)
	bare := []string{remote[0], "SHUNT_SERVER=" + strings.TrimPrefix(p.public, "http://")}
	shunt(t, "", bare, "stats", short).want(t, exitDone, "^hits    1\nunique  1\n$", "^shunt: using --server "+p.public+"\n$")
	remote[0] = "SHUNT_TOKEN=shunt_wrong"
	shunt(t, "", remote, "stats", short).want(t, exitFailed, "", `\(401 unauthorized\)`)
	shunt(t, "", []string{"SHUNT_TOKEN=x"}, "stats", "x", "--server", p.admin).want(t, exitFailed, "", `404`)

	p.kill()
	shunt(t, "", remote, "stats", short).want(t, exitFailed, "", `no answer`)
	shunt(t, "", nil, "stats", short, "--data", dir).want(t, exitDone, "^hits    1\nunique  1\n$", "") // from the journal
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := startServer(t, t.TempDir())
	// A client that has an answer and has sent half of its next request delays the end of draining.
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.public, "http://"))
	must(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\n\r\nGET /x HTTP/1.1\r\nHost:"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for signals := time.NewTicker(sameSignal / 4); ; { // first at once, as timeout(1) does; then later, as a person does
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-signals.C:
			continue
		case <-p.ended:
			signals.Stop()
		}
		break
	}
	if code := p.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(p.stderr(), "second signal") {
		t.Errorf("got exit code %d, want 1:\n%s", code, p.stderr())
	}
}

func TestHitsSurviveAKillAlthoughTheJournalMoves(t *testing.T) {
	t.Parallel()
	dir, journals := t.TempDir(), t.TempDir()
	short := ""
	for i, journal := range []string{"a", "b"} {
		p := startServer(t, dir, "--flush-interval", "1h", "--journal-dir", filepath.Join(journals, journal))
		if i == 0 {
			short = "/" + path.Base(strings.TrimSpace(shunt(t, "", nil, "add", "https://example.org/a", "--data", dir).stdout))
		}
		follow(t, p.public+short, "https://example.org/a")
		p.kill()
	}
	shunt(t, "", nil, "stats", short[1:], "--data", dir).want(t, exitDone, "^hits    2\nunique  1\n$", "")
	p := startServer(t, dir)
	if !exists(t, filepath.Join(journals, "b")) || exists(t, filepath.Join(dir, "journal")) {
		t.Error("without --journal-dir the journal is not in its previous folder")
	}
	shunt(t, "", nil, "stats", short[1:], "--data", dir).want(t, exitDone, "^hits    2\nunique  1\n$", "")
	p.terminate()

	startServer(t, dir, "--journal-dir", filepath.Join(dir, "journal")).terminate()
	if exists(t, filepath.Join(dir, rememberedJournal)) || !exists(t, filepath.Join(dir, "journal")) {
		t.Error("with the default as --journal-dir, the journal is not in the default folder")
	}
}

func TestATargetMayNotLeadBackToTheServer(t *testing.T) {
	p := startServer(t, t.TempDir())
	shunt(t, "", nil, "add", p.public+"/x", "--data", p.dir).want(t, exitFailed, "", `url: .*\(422 invalid\)`)
}
