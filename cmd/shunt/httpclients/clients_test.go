package httpclients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// patience is how long a client may take for one redirect.
const patience = time.Minute

// A client is a program that asks for an address and follows redirects.
type client struct {
	name    string
	command []string              // asks for the address that is its last argument
	version []string              // prints it
	browser bool                  // prints the page, and is compared with itself, see cellOf
	differs map[string]difference // by the name of a target
}

// A difference is what a client makes of a correct Location of one target.
type difference struct {
	sent  string // the request target that it sends
	note  string // why
	typed string // of a browser: the request target that it sends if the address is typed
	hash  string // of a browser: the fragment that the page then sees
}

// encodedApostrophe is what clients send that read addresses by the URL Standard.
var encodedApostrophe = map[string]difference{"quotes": {
	sent: "/%22a%22'b'?q=%22c%22&r=%27d%27",
	note: "The URL Standard (WHATWG), by which this client reads addresses, encodes `'` in a query as `%27`, also if it is given the address itself.",
}}

// needles is what needle sends.
var needles = map[string]difference{"quotes": {
	sent: "/%22a%22%27b%27?q=%22c%22&r=%27d%27",
	note: "needle reads addresses with Node's older parser (`url.parse`), which encodes `'` as `%27` everywhere, also if it is given the address itself.",
}}

// rawIfTyped is what Chromium sends, and shows to pages, as it is, if it is typed.
var rawIfTyped = map[string]difference{
	"|": {
		sent:  "/a%7Cb%7Bc%7D%5Ed%60e%3Cf%3E?g=h%7Ci%7Bj%7D%5Ek%60l%3Cm%3E",
		typed: "/a%7Cb%7Bc%7D%5Ed%60e%3Cf%3E?g=h|i{j}^k`l%3Cm%3E",
		note: "As sent, byte for byte. If it is typed, the path is the same, but in the query the URL Standard (WHATWG) leaves `|`, `{`, `}`, `^` and " +
			"the backquote as they are, which RFC 3986 does not allow.",
	},
	"#!": {
		sent:  "/app?q=%C3%A9",
		typed: "/app?q=%C3%A9",
		hash:  "#!/inbox/%C3%A9|[x]",
		note: "As sent and as typed, which are the same. The page sees the fragment of `Location`, byte for byte; if it is typed, " +
			"the URL Standard (WHATWG) leaves its `|` as it is, which RFC 3986 does not allow.",
	},
}

var clients = []client{
	{name: "curl", command: []string{"curl", "-qsSfL"}, version: []string{"curl", "--version"}},
	{name: "wget", command: []string{"wget", "--no-config", "--no-hsts", "-nv", "-t", "1", "-O", "-"}, version: []string{"wget", "--version"}},
	{name: "Python's urllib", command: []string{"python3", "client.py"}, version: []string{"python3", "--version"}},
	{name: "Node's fetch", command: []string{"node", "client.mjs", "fetch"}, version: []string{"node", "client.mjs", "fetch"}, differs: encodedApostrophe},
	{name: "axios", command: []string{"node", "client.mjs", "axios"}, version: []string{"node", "client.mjs", "axios"}, differs: encodedApostrophe},
	{name: "got", command: []string{"node", "client.mjs", "got"}, version: []string{"node", "client.mjs", "got"}, differs: encodedApostrophe},
	{name: "needle", command: []string{"node", "client.mjs", "needle"}, version: []string{"node", "client.mjs", "needle"}, differs: needles},
	{name: "superagent", command: []string{"node", "client.mjs", "superagent"}, version: []string{"node", "client.mjs", "superagent"}, differs: encodedApostrophe},
	{name: "node-fetch", command: []string{"node", "client.mjs", "node-fetch"}, version: []string{"node", "client.mjs", "node-fetch"}, differs: encodedApostrophe},
	{name: "Java's HttpURLConnection", command: []string{"java", "OldClient.java"}, version: []string{"java", "--version"}},
	{name: "Java's HttpClient", command: []string{"java", "NewClient.java"}, version: []string{"java", "--version"}},
	{name: "Go's net/http", command: []string{"goclient/goclient"}, version: []string{"go", "version"}},
	{name: "Perl's LWP", command: []string{"perl", "client.pl"}, version: []string{"perl", "-MLWP", "-e", "print 'libwww-perl ', LWP->VERSION"}},
	{name: "Chromium", browser: true, differs: rawIfTyped, version: []string{"chromium", "--version"}, command: []string{
		"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir=profile", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE " + idnHost, "--dump-dom",
	}},
}

// A bench is the folder in which clients run.
type bench struct{ dir, hosts string }

// newBench makes a folder below tools, because Node looks for packages in the parent folders.
func newBench(t *testing.T, tools string) bench {
	t.Helper()
	dir, err := os.MkdirTemp(tools, "clients-")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS("testdata"))
	}
	b := bench{dir: dir, hosts: filepath.Join(dir, "hosts")}
	if err == nil {
		err = os.WriteFile(b.hosts, []byte("127.0.0.1 localhost "+idnHost+"\n"), 0o644)
	}
	expect.OK(t, err)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "goclient", "goclient"), "./testdata/goclient")
	out, err := build.CombinedOutput()
	expect.MustThat(t, err == nil, "%v: %v\n%s", build, err, out)
	return b
}

// foreign are variables that would make a client another one than it is by itself.
var foreign = regexp.MustCompile(`(?i)proxy|^(_?JAVA|JDK|NODE|PYTHON|PERL).*OPT|^LC_|^LANG`)

// run runs a command with the hosts of the test, and returns what it prints.
func (b bench) run(command ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	const private = `mount --bind "$0" /etc/hosts && exec "$@"`
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "sh", "-c", private, b.hosts}, command...)...)
	cmd.Dir, cmd.WaitDelay = b.dir, time.Second
	for _, variable := range os.Environ() {
		if !foreign.MatchString(variable) {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "LANG=C.UTF-8")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = cmd.Run()
	return out.String(), complaints.String(), err
}

// versionOf returns the version that a client says it has.
func (b bench) versionOf(t *testing.T, c client) string {
	t.Helper()
	stdout, stderr, err := b.run(c.version...)
	expect.MustThat(t, err == nil, "%s: %v; make http-clients installs it\n%s", strings.Join(c.version, " "), err, stderr)
	line, _, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
	return strings.TrimSpace(line)
}
