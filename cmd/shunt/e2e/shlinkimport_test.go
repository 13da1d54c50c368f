package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// shlinkServer answers as a Shlink server with links does, to whoever has its key.
func shlinkServer(t *testing.T, links, says int) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "right" {
			http.Error(w, `{"detail":"Provided API key does not exist or is invalid."}`, http.StatusUnauthorized)
			return
		}
		page, size := 0, 0
		_, err := fmt.Sscan(r.URL.Query().Get("page")+" "+r.URL.Query().Get("itemsPerPage"), &page, &size)
		expect.OK(t, err)
		var items []string
		for i := (page - 1) * size; i < min(page*size, links); i++ {
			items = append(items, fmt.Sprintf(`{"shortCode":"c%04d","shortUrl":"https://s.example/c%04[1]d","longUrl":"https://example.org/%[1]d","dateCreated":"2024-05-06T07:08:09+02:00",`+
				`"visitsSummary":{"total":%[1]d,"nonBots":%[1]d,"bots":0},"tags":["a","b"],"meta":{"validSince":null,"validUntil":null,"maxVisits":null},"domain":null,"title":"T %[1]d","crawlable":false,"forwardQuery":true}`, i))
		}
		fmt.Fprintf(w, `{"shortUrls":{"data":[%s],"pagination":{"currentPage":%d,"pagesCount":%d,"itemsPerPage":%d,"itemsInCurrentPage":%d,"totalItems":%d}}}`,
			strings.Join(items, ","), page, (links+size-1)/size, size, len(items), says)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestLinksAreImportedFromAShlinkServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--init", "--data", dir)
	here, short := shlinkServer(t, 1203, 1203), shlinkServer(t, 3, 4)
	key := filepath.Join(t.TempDir(), "key")
	expect.OK(t, os.WriteFile(key, []byte("right\n"), 0o600))
	run := func(env []string, args ...string) result {
		t.Helper()
		return shunt(t, t.TempDir(), env, append([]string{"import", "--data", dir}, args...)...)
	}
	run(nil, "--from", here.URL, "--allow-http").want(t, exitUsage, "^$", "needs a key of the API: name a file that has it with --key-file, or set SHUNT_SOURCE_KEY")
	run(nil, "--from", here.URL, "--key-file", key).want(t, exitUsage, "^$", "must begin with https://, because the key travels there")
	run([]string{"SHUNT_ALLOW_HTTP=true"}, "--from", here.URL, "--key-file", key).want(t, exitUsage, "^$", "must begin with https://")
	run(nil, "--from", here.URL, "--allow-http", "--source-key", "right").want(t, exitUsage, "^$", "others can see arguments")
	run(nil, "--from", here.URL, "--allow-http", "--key-file", key, "file").want(t, exitUsage, "^$", "give one of them")
	run(nil, "--from", here.URL, "--allow-http", "--key-file", key, "--resume").want(t, exitUsage, "^$", "--resume needs a file")
	run(nil, "--key-file", key, "file").want(t, exitUsage, "^$", "are for --from")
	run([]string{"SHUNT_SOURCE_KEY=wrong"}, "--from", here.URL, "--allow-http").want(t, exitFailed, "^$", "it does not take the key: it answered 401")
	run(nil, "--from", short.URL, "--allow-http", "--key-file", key).want(t, exitFailed, "^$", "says that it has 4 links, and 3 came")

	run(nil, "--from", here.URL, "--allow-http", "--key-file", key, "--dry-run").want(t, exitDone, "^1203 links would be imported, 0 are already there", "^$")
	run(nil, "--from", here.URL, "--allow-http", "--key-file", key).want(t, exitDone, "^1203 links imported, 0 already there, 0 refused\nformat: shlink, whose links redirect with 302\nhosts: s.example .1203.", "^$")
	run([]string{"SHUNT_SOURCE_KEY_FILE=" + key}, "--from", here.URL+"/", "--allow-http").want(t, exitDone, "^0 links imported, 1203 already there, 0 refused", "^$")
	shunt(t, t.TempDir(), nil, "show", "c1202", "--json", "--data", dir).want(t, exitDone, `"title": "T 1202"`, "^$")
}
