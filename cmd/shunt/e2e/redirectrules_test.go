package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/api/source"
	"shunt/engine/expect"
)

// A ruledLink is a link that no rule may lack: what a real nginx must answer for it.
type ruledLink struct {
	code, url, domain string
	status            int // 0: not said, so it is 302
}

// nginxOf starts nginx with a file of rules, used as its head says, and returns its address.
func nginxOf(t *testing.T, rules string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir, addr := t.TempDir(), freeAddress(t)
	config, conf := filepath.Join(dir, "nginx.conf"), filepath.Join(dir, "rules.conf")
	expect.OK(t, os.WriteFile(conf, []byte(source.RulesHead+rules), 0o600))
	_, use, _ := strings.Cut(source.RulesHead, "\n")
	use = strings.NewReplacer("#", "", "FILE", conf, "server {", "server { listen "+addr+";").Replace(use)
	use = use[:strings.LastIndexByte(use, '}')] + "return 404; }\n"
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += kind + "_temp_path " + filepath.Join(dir, kind) + "; "
	}
	text := "daemon off; user root; pid " + config + ".pid; events {} http { access_log off; " + temp + use + "}"
	expect.OK(t, os.WriteFile(config, []byte(text), 0o600))
	out, err := exec.Command(program, "-t", "-e", "stderr", "-c", config).CombinedOutput()
	expect.MustThat(t, err == nil, "nginx -t: %v\n%s\n%s", err, out, text)
	cmd := exec.Command(program, "-e", "stderr", "-c", config)
	cmd.Stderr = os.Stderr
	expect.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	await(t, "nginx answers", time.Minute, func() bool {
		resp, err := http.Get("http://" + addr + "/")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
	return addr
}

// Rules for refused links keep each of them working in a real nginx, with its status, and nothing else.
func TestNginxRedirectsRefusedLinksByTheirRules(t *testing.T) {
	t.Parallel()
	links := []ruledLink{
		{"with space", "https://example.org/a?b=1&c=%20", "", 301}, {"weiß", "https://example.org/ü", "", 307}, {"桜🌸", "https://example.org/", "", 308},
		{`quote"d`, `https://example.org/"q"`, "", 0}, {`back\slash`, "https://example.org/$host/${uri}", "", 302}, {"a.b", "https://example.org/dot", "", 301},
		{"Aa", "https://example.org/upper", "", 301}, {"aa", "https://example.org/lower", "", 302}, {"{x}(y)[z]*+?|^$;#", "https://example.org/;{}'#x", "", 301},
		{"same", "https://example.org/brand", "brand.example", 301}, {"same", "https://example.org/other", "other.example", 302},
	}
	var rules strings.Builder
	for _, l := range links {
		object := map[string]any{"code": l.code, "url": l.url, "domain": l.domain}
		if l.status != 0 {
			object["redirect_status"] = l.status
		}
		text, err := json.Marshal(object)
		expect.OK(t, err)
		rule, target, ok := source.RuleOf(text)
		expect.MustThat(t, ok && target == l.url, "%s has no rule", text)
		rules.WriteString(rule)
	}
	addr := nginxOf(t, rules.String())
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(host, code string) string {
		r, err := http.NewRequest("GET", "http://"+addr+"/"+url.PathEscape(code), nil)
		expect.OK(t, err)
		r.Host = host
		resp, err := client.Do(r)
		expect.OK(t, err)
		expect.OK(t, resp.Body.Close())
		return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Location"))
	}
	for _, l := range links {
		host, status := l.domain, l.status
		if host == "" {
			host = "sho.rt"
		}
		if status == 0 {
			status = 302
		}
		want := fmt.Sprint(status, " ", strings.ReplaceAll(l.url, "$", "%24"))
		expect.Equal(t, ask(host, l.code), want, "%s/%s", host, l.code)
	}
	for _, code := range []string{"aXb", "AA", "with spac", "x/aa", "same", "quote"} {
		expect.Equal(t, ask("sho.rt", code), "404 ", code)
	}
}

func TestALinkThatDidNotRedirectAllHasNoRule(t *testing.T) {
	for _, link := range []string{
		`{"code":"","url":"https://a.example/"}`, `{"code":"a","url":""}`, `{"code":"a","url":"/path"}`, `{"code":"a","url":"https://a.example/","disabled":true}`,
		`{"code":"a","url":"https://a.example/","expires_at":"2020-01-01T00:00:00Z"}`, `{"code":"a","url":"https://a.example/","expires_at":"soon"}`,
		`{"code":"a","url":"https://a.example/","max_hits":1}`, `{"code":"a","url":"https://a.example/","has_password":true}`,
		`{"code":"a","url":"https://a.example/","starts_at":"2999-01-01T00:00:00Z"}`, `{"code":"a","url":"https://a.example/","redirect_status":200}`,
		`{"code":"a","url":"https://a.example/","rules":[{"url":"https://b.example/"}]}`, `{"code":"a\nb","url":"https://a.example/"}`, `no JSON`, ``,
	} {
		rule, _, ok := source.RuleOf([]byte(link))
		expect.That(t, !ok, "%s has the rule %s", link, rule)
	}
	_, _, ok := source.RuleOf([]byte(`{"code":"a","url":"https://a.example/","starts_at":"2020-01-01T00:00:00Z","rules":[],"split":null}`))
	expect.That(t, ok, "a link that redirects all has no rule")
}
