package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"shunt/engine/expect"
)

const (
	composeFile        = "../../deploy/docker/compose.yml"
	clusterComposeFile = "../../deploy/cluster/compose.yml"
	dockerFile         = "../../deploy/docker/Dockerfile"

	bridgeAddress    = "172.18.0.1" // this machine, as a container sees it: the end of the bridge that Docker makes for a compose file
	containerAddress = "172.18.0.2"
)

// A service is what a compose file says of one, as far as a machine without Docker can do it.
type service struct {
	Build struct {
		Dockerfile string
	}
	Command     []string
	Environment map[string]string
	Ports       []string
	Volumes     []string
}

// servicesOf returns the services of a compose file that are built from our Dockerfile.
func servicesOf(t *testing.T, path string, variables map[string]string) map[string]service {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	var file struct{ Services map[string]service }
	expect.OK(t, yaml.Unmarshal(text, &file), path)
	for name, s := range file.Services {
		if s.Build.Dockerfile == "" {
			delete(file.Services, name)
			continue
		}
		for setting, value := range s.Environment {
			s.Environment[setting] = interpolated(t, value, variables)
		}
	}
	expect.MustThat(t, len(file.Services) != 0, "%s has no service of ours", path)
	return file.Services
}

// composeVariable matches a variable in a compose file. A default with a variable in it is not matched.
var composeVariable = regexp.MustCompile(`\$\{(\w+)(:-([^${}]*))?\}`)

// interpolated puts variables into text, as docker compose does.
func interpolated(t *testing.T, text string, variables map[string]string) string {
	t.Helper()
	text = composeVariable.ReplaceAllStringFunc(text, func(found string) string {
		m := composeVariable.FindStringSubmatch(found)
		if value := variables[m[1]]; value != "" {
			return value
		}
		return m[3]
	})
	expect.MustThat(t, !strings.Contains(text, "$"), "this test cannot read %s", text)
	return text
}

// imageEnvironment returns the environment that the image gives to its commands.
func imageEnvironment(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(dockerFile)
	expect.OK(t, err)
	_, rest, _ := strings.Cut(string(text), "\nENV ")
	env := map[string]string{}
	for more := true; more; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line, more = strings.CutSuffix(line, "\\")
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	return env
}

// TestComposeFilesPublishToThisMachineOnly holds what makes it safe to take tokens over plain HTTP: nobody but this
// machine reaches a port.
func TestComposeFilesPublishToThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, path := range []string{composeFile, clusterComposeFile} {
		var addresses []string
		bases := map[string]bool{}
		for name, s := range servicesOf(t, path, nil) {
			expect.That(t, s.Environment["SHUNT_ALLOW_HTTP"] == "true",
				"%s: %s refuses tokens from this machine, whose address is the bridge's", path, name)
			for _, port := range s.Ports {
				outside, found := strings.CutPrefix(strings.TrimSuffix(port, ":8080"), "127.0.0.1:")
				expect.That(t, found && outside != port, "%s: %s publishes %s, want 127.0.0.1:PORT:8080", path, name, port)
				addresses = append(addresses, "http://localhost:"+outside)
			}
			bases[s.Environment["SHUNT_BASE_URL"]] = true
		}
		for base := range bases {
			expect.That(t, slices.Contains(addresses, base), "%s: short addresses begin with %q, and only %q are published", path, base, addresses)
		}
	}
}

// TestCommandsForContainersNameTheProgram: the image has no shell and no PATH that leads to the program.
func TestCommandsForContainersNameTheProgram(t *testing.T) {
	t.Parallel()
	program := imageProgram(t)
	commands := regexp.MustCompile(`docker (?:compose(?: -f \S+)? )?exec (\S+) (\S+)`)
	for _, path := range []string{composeFile, clusterComposeFile, dockerFile, "../../../README.md", "../../deploy/cluster/RUNBOOK.md"} {
		text, err := os.ReadFile(path)
		expect.OK(t, err)
		for _, m := range commands.FindAllStringSubmatch(string(text), -1) {
			expect.Equal(t, m[2], program, "%s: %q runs, which is not in the image", path, m[0])
		}
	}
}

// imageProgram returns the path of the program in the image.
func imageProgram(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(dockerFile)
	expect.OK(t, err)
	m := regexp.MustCompile(`(?m)^ENTRYPOINT \["(.*)"\]$`).FindSubmatch(text)
	expect.MustThat(t, m != nil, "the image has no program to start")
	return string(m[1])
}

// A container is a service that runs in a namespace of networks without Docker. Requests to the ports that it
// publishes come from the bridge, as Docker forwards them.
type container struct {
	*process
	env       []string
	published map[string]string // by host:port of this machine, for clients: host:port of the container
	proxied   bool              // a proxy with HTTPS forwards requests
}

// runService starts the service of our compose file as docker compose does.
func runService(t *testing.T, variables map[string]string) *container {
	t.Helper()
	s, env := servicesOf(t, composeFile, variables)["shunt"], imageEnvironment(t)
	expect.MustThat(t, slices.ContainsFunc(s.Volumes, func(v string) bool { return strings.HasSuffix(v, ":"+env["SHUNT_DATA"]) }),
		"no volume of %q keeps the data in %s", s.Volumes, env["SHUNT_DATA"])
	for name, value := range s.Environment {
		env[name] = value
	}
	env["SHUNT_DATA"] = filepath.Join(t.TempDir(), "data")
	c := &container{published: map[string]string{}}
	for name, value := range env {
		c.env = append(c.env, name+"="+value)
	}
	for _, port := range s.Ports {
		at := strings.LastIndex(port, ":")
		_, outside, err := net.SplitHostPort(port[:at])
		expect.OK(t, err)
		c.published[net.JoinHostPort("localhost", outside)] = net.JoinHostPort(containerAddress, port[at+1:])
	}
	cmd := exec.Command(binary, s.Command...)
	cmd.Env = c.env
	c.process = launchCommand(t, cmd, env["SHUNT_DATA"]).waitReady()
	return c
}

// exec runs a command in the container.
func (c *container) exec(args ...string) result { return shunt(c.t, "", c.env, args...) }

// RoundTrip sends a request from this machine or, by the proxy, from a visitor.
func (c *container) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if c.proxied {
		r.Header.Set("X-Forwarded-Proto", r.URL.Scheme)
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		r.Host = r.URL.Host
		r.URL.Scheme, r.URL.Host = "http", "localhost:8080"
	}
	to, ok := c.published[r.URL.Host]
	if !ok || r.URL.Scheme != "http" {
		return nil, fmt.Errorf("%s is not published", r.URL)
	}
	once := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return dialFrom(&net.TCPAddr{IP: net.ParseIP(bridgeAddress)}, to, 10*time.Second)
	}}
	return once.RoundTrip(r)
}

// browser returns a client with a jar of its own, which follows no redirects.
func (c *container) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	expect.OK(c.t, err)
	return &http.Client{Jar: jar, Transport: c, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// wants sends a request with a form or with JSON and a token, and returns the answer, which must have the status.
func (c *container) wants(by *http.Client, status int, method, address, token, body string) (answer *http.Response, text string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, address, strings.NewReader(body))
	expect.OK(c.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	answer, err = by.Do(r)
	expect.OK(c.t, err)
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	expect.MustThat(c.t, err == nil && answer.StatusCode == status,
		"%s %s: got %s, %v, want %d: %s", method, address, answer.Status, err, status, read)
	return answer, string(read)
}

// setUp goes through the setup link, signs in again, makes a link with the first token, and follows it.
func (c *container) setUp(base string) {
	c.t.Helper()
	c.exec("health").want(c.t, exitDone, "^ready\n$", "")
	printed := c.exec("user", "setup-link")
	printed.want(c.t, exitDone, "^"+regexp.QuoteMeta(base)+`/_/setup\?code=\S+\n$`, aboutLink)
	link := strings.TrimSpace(printed.stdout)
	_, code, _ := strings.Cut(link, "code=")
	person := c.browser()
	c.wants(person, http.StatusOK, "GET", link, "", "")
	signIn := url.Values{"email": {"ann@example.com"}, "password": {testPassword}}
	setUp := url.Values{"email": signIn["email"], "password": signIn["password"], "code": {code}}
	c.wants(person, http.StatusSeeOther, "POST", base+"/_/setup", "", setUp.Encode())
	_, welcome := c.wants(person, http.StatusOK, "GET", base+"/_/welcome", "", "")
	token := regexp.MustCompile(`shunt_\w+`).FindString(welcome)
	again := c.browser()
	c.wants(again, http.StatusSeeOther, "POST", base+"/_/sign-in", "", signIn.Encode())
	c.wants(again, http.StatusOK, "GET", base+"/_/links", "", "")
	_, made := c.wants(c.browser(), http.StatusCreated, "POST", base+"/api/v1/shorten", token, `{"url":"https://example.org/a","alias":"hello"}`)
	expect.Contains(c.t, made, `"`+base+`/hello"`, "the link, want %s/hello", base)
	answer, _ := c.wants(c.browser(), http.StatusFound, "GET", base+"/hello", "", "")
	expect.Equal(c.t, answer.Header.Get("Location"), "https://example.org/a", "the link leads to")
}

// TestTheComposeFileWorksAsShipped runs its service in a namespace where this machine is the bridge's address.
func TestTheComposeFileWorksAsShipped(t *testing.T) {
	t.Parallel()
	if os.Getenv(insideEnv) == "" {
		needsNamespaces(t)
		runInside(t, "ip route add local 172.18.0.0/16 dev lo")
		return
	}
	t.Run("to this machine", func(t *testing.T) {
		c := runService(t, nil)
		c.setUp("http://localhost:8080")
		expect.That(t, strings.Contains(c.stderr(), "--allow-http"), "the log does not say that tokens come over plain HTTP:\n%s", c.stderr())
		c.terminate()
	})
	t.Run("to others, after a proxy with HTTPS", func(t *testing.T) {
		c := runService(t, proxyVariables(t))
		c.proxied = true
		c.setUp("https://sho.rt")
		c.wants(c.browser(), http.StatusForbidden, "GET", "http://sho.rt/api/v1/links", "shunt_x", "")
		c.proxied = false
		c.wants(c.browser(), http.StatusForbidden, "GET", "http://localhost:8080/api/v1/links", "shunt_x", "")
		c.terminate()
	})
}

// proxyVariables returns what the comment of our compose file puts into .env if a proxy is in front.
func proxyVariables(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(composeFile)
	expect.OK(t, err)
	variables := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^#   (SHUNT_\w+)=(\S+)$`).FindAllStringSubmatch(string(text), -1) {
		variables[m[1]] = m[2]
	}
	return variables
}

// namespacesEnv is set where a test must not be skipped for want of a namespace.
const namespacesEnv = "SHUNTTEST_NAMESPACES"

// needsNamespaces skips the test if this process may not make a namespace of networks.
func needsNamespaces(t *testing.T) {
	t.Helper()
	if os.Getenv(namespacesEnv) != "" {
		return
	}
	if out, err := exec.Command("unshare", "--net", "--mount", "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("this needs namespaces of networks, so root and ip (iproute2): %v: %s", err, out)
	}
}
