package browser

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// shlinkPage serves Shlink's web client, a page of an origin of its own, for a server and a token, and returns its
// origin.
func shlinkPage(t *testing.T, tools, base, token string) string {
	t.Helper()
	dir, err := os.MkdirTemp(tools, "shlink-") // esbuild looks for packages in the parent folders
	expect.OK(t, err)
	expect.OK(t, os.CopyFS(dir, os.DirFS("testdata/shlink")))
	build := exec.Command(filepath.Join(tools, "node_modules", ".bin", "esbuild"), "app.mjs", "--bundle", "--format=esm", "--outfile=app.js",
		`--define:process.env.NODE_ENV="production"`, "--loader:.png=dataurl", "--loader:.svg=dataurl", "--log-level=warning")
	build.Dir = dir
	out, err := build.CombinedOutput()
	expect.MustThat(t, err == nil, "%v: %v\n%s", build, err, out)
	page := http.NewServeMux()
	page.HandleFunc("/app.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, filepath.Join(dir, "app.js")) })
	page.HandleFunc("/config.json", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"baseUrl": base, "apiKey": token})
	})
	page.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>Shlink</title><div id="root"></div><script type="module" src="/app.js"></script>`))
	})
	s := httptest.NewServer(page)
	t.Cleanup(s.Close)
	return s.URL
}

// TestShlinksWebClientUsesItsDoor makes, lists and edits a short URL in Shlink's web client, and looks at its visits
// and tags. The client has no style sheet, which comes from another tool than its script.
func TestShlinksWebClientUsesItsDoor(t *testing.T) {
	tools := os.Getenv("SHUNTTEST_CLIENTS")
	if tools == "" {
		t.Skip("make clients runs this test: it needs the web client of Shlink")
	}
	s := startServer(t, localhost, "--doors", "shlink")
	token := s.token()
	b := watchedTab(t, shlinkPage(t, tools, s.base, token))

	b.visit("/create-short-url", http.StatusOK)
	b.fill(field("URL to be shortened"), "https://example.org/from-the-client")
	b.fill(field("Custom slug"), "client")
	b.fill(field("Title"), "Made by the client")
	b.click(button("Save"))
	b.sees(s.base + "/client")
	link := func() string {
		_, text := s.ask(token, "GET", "/links/client", nil)
		return text
	}
	expect.Contains(t, link(), `"url":"https://example.org/from-the-client"`)
	expect.Contains(t, link(), `"forward_query":true`)

	b.visit("/create-short-url", http.StatusOK)
	b.fill(field("URL to be shortened"), "https://example.org/another")
	b.fill(field("Custom slug"), "client")
	b.click(button("Save"))
	b.sees("customSlug is taken")

	s.ask(token, "PATCH", "/links/client", map[string]any{"tags": []string{"from-a-test"}})
	r, err := s.client.Get(s.base + "/client")
	expect.OK(t, err)
	r.Body.Close()

	b.visit("/list-short-urls/1", http.StatusOK)
	for _, text := range []string{"Made by the client", "from-a-test"} {
		b.sees(text)
	}
	b.visit("/overview", http.StatusOK)
	b.sees("Made by the client")

	b.visit("/short-code/client/edit", http.StatusOK)
	b.fill(field("Title"), "Edited by the client")
	b.click(button("Save"))
	b.until("the link has the new title", func() bool { return strings.Contains(link(), `"title":"Edited by the client"`) })
	expect.Contains(t, link(), `"tags":["from-a-test"]`)

	b.visit("/short-code/client/visits/by-time", http.StatusOK)
	b.sees("Visits (1)")
	b.visit("/manage-tags", http.StatusOK)
	b.sees("from-a-test")
	b.visit("/tag/from-a-test/visits/by-time", http.StatusOK)
	b.sees("Visits (1)")
	b.visit("/manage-domains", http.StatusOK)
	b.sees(strings.TrimPrefix(s.base, "http://"))
	b.visit("/short-code/client/redirect-rules", http.StatusOK)
	b.sees("This short URL has no dynamic redirect rules")
}
