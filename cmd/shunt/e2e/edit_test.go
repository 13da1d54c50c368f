package e2e

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"shunt/cmd/shunt/linkflags"
	"shunt/engine/expect"
)

func TestEditSetsAndResetsEveryFieldOfAPatch(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startServer(t, dir)
	run := func(args ...string) map[string]any {
		t.Helper()
		r := shunt(t, "", nil, append(args, "--json", "--data", dir)...)
		link := map[string]any{}
		err := json.Unmarshal([]byte(r.stdout), &link)
		expect.MustThat(t, err == nil, "%v: %v: %+v", args, err, r)
		return link
	}
	run("add", "https://example.org/old", "--alias", "spring")
	set := []string{"edit", "spring", "--url", "https://example.org/new", "--title", "T", "--note", "N", "--tag", `"a, b"`, "--tag", "c",
		"--starts", "2098-01-01T00:00:00Z", "--expires", "2099-12-31", "--expired-url", "https://example.org/over", "--max-hits", "7", "--status", "307",
		"--query", "override", "--rule", "device=ios and language=de -> https://example.org/ios", "--rule", "query.utm_source=x and query.y=* and query.z -> example.org/query",
		"--split", "70:https://example.org/a", "--split", "30:example.org/b",
		"--card-title", "C", "--card-description", "D", "--card-image", "example.org/i.png"}
	reset := []string{"edit", p.public + "/spring", "--title", "", "--note", "", "--tag", "", "--starts", "now", "--expires", "never", "--expired-url", "",
		"--max-hits", "none", "--status", "302", "--query", "none", "--rule", "", "--split", "", "--card-title", "", "--card-description", "", "--card-image", ""}
	wants := map[string][2]any{
		"url":   {"https://example.org/new", "https://example.org/new"},
		"title": {"T", ""}, "note": {"N", ""}, "tags": {[]any{"a, b", "c"}, []any{}}, "expires_at": {"2099-12-31T23:59:59Z", nil}, "max_hits": {7.0, nil},
		"redirect_status": {307.0, 302.0}, "starts_at": {"2098-01-01T00:00:00Z", nil}, "expired_url": {"https://example.org/over", nil},
		"query":      {"override", "none"},
		"card.title": {"C", nil}, "card.description": {"D", nil}, "card.image": {"https://example.org/i.png", nil},
		"rules": {[]any{
			map[string]any{"url": "https://example.org/ios", "target": 2.0, "conditions": []any{asked("device", nil, "ios"), asked("language", nil, "de")}},
			map[string]any{"url": "https://example.org/query", "target": 3.0, "conditions": []any{
				asked("query-param", "utm_source", "x"), asked("any-value-query-param", "y", nil), asked("valueless-query-param", "z", nil),
			}},
		}, nil},
		"split": {[]any{
			map[string]any{"url": "https://example.org/a", "weight": 70.0, "target": 4.0}, map[string]any{"url": "https://example.org/b", "weight": 30.0, "target": 5.0},
		}, nil},
	}
	for _, f := range linkflags.Fields {
		if f.Kind == "bool" {
			set, reset = append(set, "--"+f.Flag), append(reset, "--"+f.Flag+"=false")
			wants[f.Name] = [2]any{true, false}
		}
	}
	afterSet, afterReset := run(set...), run(reset...)
	for _, f := range linkflags.Fields {
		got := [2]any{at(afterSet, f.Name), at(afterReset, f.Name)}
		expect.That(t, reflect.DeepEqual(got, wants[f.Name]), "%s: got %v, want %v", f.Name, got, wants[f.Name])
	}
}

// at returns a field of an object, or a part of one; nil: it has none.
func at(object map[string]any, name string) any {
	name, part, isPart := strings.Cut(name, ".")
	if !isPart {
		return object[name]
	}
	parts, _ := object[name].(map[string]any)
	return parts[part]
}

// asked is a condition in JSON.
func asked(kind string, key, value any) map[string]any {
	return map[string]any{"type": kind, "match_key": key, "match_value": value}
}
