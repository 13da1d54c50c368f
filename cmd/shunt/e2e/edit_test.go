package e2e

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"shunt/cmd/shunt/linkflags"
)

func TestEditSetsAndResetsEveryFieldOfAPatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := startServer(t, dir)
	run := func(args ...string) map[string]any {
		t.Helper()
		r := shunt(t, "", nil, append(args, "--json", "--data", dir)...)
		link := map[string]any{}
		if err := json.Unmarshal([]byte(r.stdout), &link); err != nil {
			t.Fatalf("%v: %v: %+v", args, err, r)
		}
		return link
	}
	run("add", "https://example.org/old", "--alias", "spring")
	set := []string{"edit", "spring", "--url", "https://example.org/new", "--title", "T", "--tag", `"a, b"`, "--tag", "c",
		"--expires", "2099-12-31", "--max-hits", "7", "--status", "307"}
	reset := []string{"edit", p.public + "/spring", "--title", "", "--tag", "", "--expires", "never", "--max-hits", "none", "--status", "302"}
	wants := map[string][2]any{
		"url":   {"https://example.org/new", "https://example.org/new"},
		"title": {"T", ""}, "tags": {[]any{"a, b", "c"}, []any{}}, "expires_at": {"2099-12-31T23:59:59Z", nil}, "max_hits": {7.0, nil},
		"redirect_status": {307.0, 302.0},
	}
	for _, f := range linkflags.Fields {
		if f.Kind == "bool" {
			set, reset = append(set, "--"+f.Flag), append(reset, "--"+f.Flag+"=false")
			wants[f.Name] = [2]any{true, false}
		}
	}
	afterSet, afterReset := run(set...), run(reset...)
	for _, f := range linkflags.Fields {
		if got := [2]any{afterSet[f.Name], afterReset[f.Name]}; !reflect.DeepEqual(got, wants[f.Name]) {
			t.Errorf("%s: got %v, want %v", f.Name, got, wants[f.Name])
		}
	}
}

func TestAnEditOfAnOldVersionChangesNothing(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	run("token", "add", "--name", "n", "--init")
	run("add", "https://example.org/", "--alias", "spring")
	run("show", "spring").want(t, exitDone, `\nversion +1\n$`, "")
	run("edit", "spring", "--title", "mine", "--if-match", "1").want(t, exitDone, `(?s)\ntitle +mine\n.*\nversion +2\n$`, "")
	run("edit", "spring", "--title", "yours", "--if-match", "1").want(t, exitFailed, "", `^shunt: edit spring: .*\(412 precondition_failed\)\n$`)
	run("show", "spring").want(t, exitDone, `(?s)\ntitle +mine\n.*\nversion +2\n$`, "")
	run("edit", "spring", "--title", "yours", "--if-match", `"2"`).want(t, exitDone, `\ntitle +yours\n`, "")
}

func TestShowPrintsALinkForPeopleAndPipes(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	run("token", "add", "--name", "n", "--init")
	run("add", "https://example.org/", "--alias", "spring", "--tag", "a", "--tag", "b")
	r := run("show", "spring")
	var names []string
	for line := range strings.Lines(r.stdout) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if names = append(names, name); strings.TrimSpace(value) == "" {
			t.Errorf("%q has no value", line)
		}
	}
	want := "address"
	for _, f := range linkflags.Fields {
		want += " " + f.Flag
	}
	want += " state hits unique owner created updated version"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.want(t, exitDone, `(?s)^address +http://127\.0\.0\.1:8080/spring\nurl +https://example\.org/\ntitle +-\ntag +a, b\nexpires +never\nmax-hits +none\n`, "")
	run("show", "spring", "--json").want(t, exitDone, `(?s)^{\n  "code": "spring",.*"unique": 0\n}\n$`, "")
	run("show", "summer").want(t, exitFailed, "", `^shunt: show summer: .*\(404 not_found\)\n$`)
}

func TestAnEmptyEditIsAUsageError(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"edit spring", "say what to change: --url, --title, .* or --disable"},
		{"edit spring --if-match 3", "say what to change"},
		{"edit --title T", "CODE is missing"},
		{"edit spring --max-hits many", "--max-hits.*a number of hits, or none"},
		{"edit spring --status 303", "--status.*301, 302, 307, 308"},
		{"edit spring --forward-query=perhaps", "--forward-query.*true or false"},
		{"edit spring --expires soon", "--expires.*30d|90d"},
		{"edit spring --title T --if-match 0", "--if-match.*version"},
		{"user edit ann@example.com", "say what to change: --admin, --member or --email"},
		{"user edit ann@example.com --admin --member", "exclude each other"},
	} {
		r := shunt(t, t.TempDir(), nil, strings.Fields(c.args)...)
		r.want(t, exitUsage, "", c.want)
		if strings.Contains(r.stderr, "strconv") {
			t.Errorf("%s: it prints %q", c.args, r.stderr)
		}
	}
}

func TestUserEditChangesRoleAndAddress(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	run("user", "add", "ann@example.com", "--init")
	run("user", "edit", "Ann@Example.com", "--admin").want(t, exitDone, `^ID +EMAIL +ROLE .*\n2 +ann@example\.com +admin .*\n$`, "")
	run("user", "edit", "admin", "--member", "--json").want(t, exitDone, `"role": "member"`, "")
	run("user", "edit", "ann@example.com", "--member").want(t, exitFailed, "", `^shunt: user edit: role: this is the last admin.*\n$`)
	run("user", "edit", "ann@example.com", "--email", "smith@example.com").want(t, exitDone, `\n2 +smith@example\.com +admin `, "")
	run("user", "edit", "ann@example.com", "--member").want(t, exitFailed, "", `there is no user "ann@example\.com"`)
}

func TestAddReportsTheLinkThatHasTheAlias(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	run("token", "add", "--name", "n", "--init")
	run("add", "https://example.org/old", "--alias", "Promo")
	run("add", "https://example.org/new", "--alias", "Promo").want(t, exitFailed, "",
		`^shunt: add: alias is taken: "Promo" leads to https://example\.org/old \(409 alias_taken\)\n$`)
	run("add", "https://example.org/new", "--alias", "promo").want(t, exitFailed, "", `differs only by case from "Promo", which leads to https://example\.org/old`)
}

func TestAddressesAreReadAsPeopleTypeThem(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	run("token", "add", "--name", "n", "--init")
	run("add", " example.org:8080/a b ", "--alias", "spring").want(t, exitDone, `/spring\n$`, "")
	run("show", "spring").want(t, exitDone, `\nurl +https://example\.org:8080/a%20b\n`, "")
	run("edit", "spring", "--url", "\u00a0www.example.org\u200b").want(t, exitDone, `\nurl +https://www\.example\.org\n`, "")
	run("add", "localhost:8080/x").want(t, exitFailed, "", `^shunt: add: .*must be an absolute address, with http:// or https:// before it`)
	run("add", "ann@example.org").want(t, exitFailed, "", `^shunt: add: .*looks like an e-mail address`)
	run("ls", "--json").want(t, exitDone, `^[^\n]*\n$`, "")
}
