package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/dashboard"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/engine/expect"
)

// A leakCaller is somebody who is limited to b.test.
type leakCaller struct {
	user  string
	lines []string // of the header
	reads bool     // and nothing else: a viewer
}

// What the secret domain has in all of its texts, and the hits of one of its links. Requests of the tests below have
// neither, so an answer that has one tells something of that domain.
const (
	marker     = "quagga"
	markerHits = 987654321
)

var leaked = regexp.MustCompile(`(?i)` + marker + `|987.?654.?321|98\d\.\d ?M`)

// A leakSite has links of several users in the domain b.test, and secrets in the default domain and in one whose alias
// is guessed.test. The links, tags and aliases that a stranger may guess have no marker.
type leakSite struct {
	*site
	values  map[string][]string   // of placeholders of paths, parameters of queries, and fields of forms
	callers map[string]leakCaller // who is limited to b.test
	admin   []string
	before  string // what may not change
}

func newLeakSite(t *testing.T) *leakSite {
	st := &leakSite{site: newSite(t, fetching), callers: make(map[string]leakCaller)}
	st.addDomain(domain.Domain{
		Host: marker + ".test", Aliases: []string{"guessed.test"},
		Settings: domain.Settings{RootURL: "https://" + marker + ".example/", Robots: "User-agent: " + marker},
	})
	st.addDomain(domain.Domain{Host: "b.test"})
	st.person(marker+"@example.com", account.RoleMember)
	admin, err := st.accounts.OldestAdmin()
	expect.OK(t, err)
	ann, bob := st.person("ann@example.com", account.RoleMember), st.person("bob@example.com", account.RoleMember)
	st.admin = []string{bearer(st.token)}
	var shared folder.Folder // who may read it is limited to one domain all the same
	for _, id := range []uint32{bob.ID, admin.ID} {
		shared.Members = append(shared.Members, folder.Member{User: id, May: folder.Edit})
	}
	shared.Name, shared.Owner = "shared", ann.ID
	expect.OK(t, expect.Err(st.folders.Add(account.Caller{}, shared)))
	lent := folder.Folder{Name: "lent", Owner: admin.ID, Members: []folder.Member{{User: ann.ID, May: folder.Read}}}
	expect.OK(t, expect.Err(st.folders.Add(account.Caller{}, lent)))
	var ids []string
	for name, u := range map[string]account.User{"ann": ann, "bob": bob, "boss": admin} {
		token := st.issue(account.CallerOf(u), everyMemberScope...)
		st.links(name, token)
		st.followAll(name)
		var made struct{ ID string }
		r := st.callAs(token, "POST", "/tokens", `{"name":"`+[]string{marker, "of a"}[min(1, strings.Count(name, "ann"))]+`","domains":["guessed.test"]}`)
		expect.OK(t, json.Unmarshal([]byte(r.body), &made))
		ids = append(ids, made.ID)
		expect.OK(t, st.accounts.KeepFilter(u.ID, account.Filter{Name: marker, Query: "domain=" + marker + ".test&tag=" + marker}, ""))
		if name == "ann" {
			st.callers["a token of ann"] = leakCaller{name, []string{bearer(token)}, false}
		}
	}
	st.limitTo(ann.ID, "b.test")
	st.callers["a session of ann"] = leakCaller{"ann", []string{st.logIn("ann@example.com"), ownPage}, false}
	st.limitTo(st.person("eve@example.com", account.RoleViewer).ID, "b.test")
	st.callers["a viewer"] = leakCaller{"eve", []string{st.logIn("eve@example.com"), ownPage}, true}
	for name, u := range map[string]account.User{"bob": bob, "boss": admin} {
		var made struct{ ID, Token string }
		r := st.callAs(st.issue(account.CallerOf(u), everyMemberScope...), "POST", "/tokens", `{"name":"limited","domains":["b.test"]}`)
		expect.OK(t, json.Unmarshal([]byte(r.body), &made))
		st.callers["a token of "+name+" for b"] = leakCaller{name, []string{bearer(st.secret(made.Token))}, false}
		r = st.callAs(made.Token, "POST", "/tokens", `{"name":"child"}`)
		expect.OK(t, json.Unmarshal([]byte(r.body), &made))
		st.callers["its child, of "+name] = leakCaller{name, []string{bearer(st.secret(made.Token))}, false}
	}
	st.values = map[string][]string{
		"code": {"guessed-ann", "guessed-bob", "guessed-boss", "mine-ann", "mine-bob", "mine-boss"},
		"tag":  {"guessed-tag", "mine-tag"}, "id": append(ids, "1", "2", "3", "none"), "host": {"guessed.test", "b.test", "127.0.0.1"}, "name": {"frankfurt"}, "folder": {"1", "2", "99"}, "user": {"3", "99"},
	}
	st.before = st.secretsNow()
	for _, want := range []string{"guessed-ann", "guessed-boss", marker + "-imported-bob", "http://" + marker + ".test:8080/guessed-ann"} {
		expect.Contains(t, st.before, want)
	}
	return st
}

// links makes the links of a user: what has a marker in the secret domain and in the default one, and some in b.
func (st *leakSite) links(name, token string) {
	st.t.Helper()
	for _, host := range []string{"guessed.test", "127.0.0.1"} {
		for _, code := range []string{"guessed-" + name, marker + "-" + name, "deleted-" + marker + name} {
			st.callAs(token, "POST", "/shorten", fmt.Sprintf(`{"url":"https://%[1]s.example/%[1]s","alias":%[2]q,"domain":%[3]q,"title":%[1]q,"note":%[1]q,
				"folder":1,"tags":["guessed-tag","%[1]s"],"expired_url":"https://%[1]s.example/over"}`, marker, code, host)).need(st.t, code, 201)
		}
		st.callAs(token, "DELETE", "/links/deleted-"+marker+name+"?domain="+host, "").need(st.t, "", 204)
		u, err := st.accounts.Authenticate(token)
		expect.OK(st.t, err)
		body := fmt.Sprintf(`[{"code":"%[1]s-imported-%[2]s","url":"https://%[1]s.example/","hits":%[3]d,"domain":%[4]q}]`, marker, name, markerHits, host)
		st.call("POST", fmt.Sprintf("/import?owner=%d", u.User.ID), body).need(st.t, "an import", 200)
	}
	st.mine(name, []string{bearer(token)})
}

// mine makes the links of a user in b, unless they are there.
func (st *leakSite) mine(name string, lines []string) {
	st.t.Helper()
	for _, code := range []string{"mine-" + name, "mine-too-" + name} {
		r := st.as(lines, "POST", "/shorten", fmt.Sprintf(`{"url":"https://mine.example/","alias":%q,"domain":"b.test","tags":["mine-tag"]}`, code))
		expect.That(st.t, r.status/100 == 2 || r.problem() == "alias_taken", "%s: got %d %s", code, r.status, r.body)
	}
}

// followAll follows the links of a user, from a referrer that has the marker, and asks for codes that nobody has.
func (st *leakSite) followAll(name string) {
	st.t.Helper()
	for _, path := range []string{"/guessed-" + name, "/missed-" + marker, "/mine-" + name} {
		for _, host := range []string{marker + ".test", "any.example", "b.test"} {
			referrer := marker
			if host == "b.test" {
				referrer = "mine"
			}
			send(st.t, st.publicAt, "GET", "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"+browser+"\r\nReferer: https://"+referrer+".example/\r\n\r\n")
		}
	}
}

// secretsNow returns all of the secret domains that may not change.
func (st *leakSite) secretsNow() string {
	st.t.Helper()
	text := ""
	for _, host := range []string{"guessed.test", "127.0.0.1"} {
		for _, list := range []string{"/export?", "/links?state=deleted&limit=1000&"} {
			text += st.call("GET", list+"owner=all&domain="+host, "").body
		}
	}
	return text
}

// parametersOf returns the names of the parameters of a call's query, as openapi.json has them.
func parametersOf(t testing.TB) map[string][]string {
	t.Helper()
	var doc map[string]any
	expect.OK(t, json.Unmarshal(documentText, &doc))
	known := doc["components"].(map[string]any)["parameters"].(map[string]any)
	names := make(map[string][]string)
	for path, methods := range doc["paths"].(map[string]any) {
		for method, call := range methods.(map[string]any) {
			operation, _ := call.(map[string]any)
			for _, p := range append([]any{}, asList(operation["parameters"])...) {
				one := p.(map[string]any)
				if ref, ok := one["$ref"].(string); ok {
					one = known[strings.TrimPrefix(ref, "#/components/parameters/")].(map[string]any)
				}
				if one["in"] == "query" {
					route := strings.ToUpper(method) + " " + path
					names[route] = append(names[route], one["name"].(string))
				}
			}
		}
	}
	return names
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// leakValues are values of parameters.
var leakValues = map[string][]string{
	"owner": {"all", "1", "3"}, "domain": {"guessed.test", "127.0.0.1", "b.test", "none.test"}, "q": {"guessed", "http", "https://guessed.test/guessed-ann"},
	"tag": {"guessed-tag", "mine-tag"}, "codes": {"guessed-ann,guessed-bob", "mine-ann,mine-too-ann", "guessed-ann,mine-ann"}, "limit": {"1", "100"}, "cursor": {"AQ"},
	"include": {"unique", "referrers,countries,devices,browsers", "targets"}, "state": {"active", "deleted"}, "purge": {"true"}, "created_from": {"2020-01-01"}, "created_to": {"2030-01-01"},
	"never_hit": {"true"}, "sort": {"hits", "visitors"}, "order": {"asc"}, "total": {"true"}, "create_domains": {"true"}, "dry_run": {"true"}, "reuse": {"true"}, "from": {"2026-01-01"}, "to": {"2026-01-03"},
	"interval": {"day"}, "time_zone": {"UTC"}, "top": {"100"}, "target": {"1"}, "actor": {"1"}, "code": {"guessed-ann"}, "links": {"keep"}, "move_links_to": {"3"},
	"begins_with": {"shunt_"}, "folder": {"1", "99"},
	"format": {"png"}, "color": {"#1d3557"}, "background": {"transparent"}, "margin": {"2"}, "level": {"H"}, "mm": {"20"}, "dpi": {"300"}, "size": {"600"}, "track": {"false"},
}

// leakBodies are the bodies of calls that write.
var leakBodies = map[string][]string{
	"POST /shorten": {
		`{"url":"https://u.example/"}`, `{"url":"https://u.example/","domain":"guessed.test"}`, `{"url":"https://u.example/","alias":"guessed-ann"}`,
		`{"url":"https://u.example/","alias":"guessed-ann","domain":"127.0.0.1"}`, `{"url":"https://guessed.test/guessed-ann"}`, `{}`,
	},
	"POST /shorten/bulk": {`[{"url":"https://u.example/","domain":"guessed.test","alias":"guessed-ann"},{"url":"https://u.example/"},{}]`},
	"POST /import":       {`[{"code":"guessed-ann","url":"https://u.example/","domain":"guessed.test"}]`}, "PATCH /links/{code}": {`{"title":"t"}`, `{"owner":1}`, `{"domain":"guessed.test"}`, `{"url":""}`},
	"POST /links/{code}/qr": {tinyPNG}, "POST /target-check": {``}, "DELETE /target-check": {``}, "POST /titles": {`{"url":"https://guessed.test/guessed-ann"}`}, "POST /links/{code}/reset": {``}, "POST /links/{code}/restore": {``}, "DELETE /links/{code}": {``}, "PATCH /tags/{tag}": {`{"name":"renamed"}`}, "DELETE /tags/{tag}": {``},
	"POST /tokens": {`{"name":"n"}`, `{"name":"n","domains":["guessed.test"]}`, `{"name":"n","domains":["b.test"]}`, `{"name":"n","scopes":["admin"]}`}, "DELETE /tokens/{id}": {``},
	"POST /users": {`{"email":"x@example.com"}`, `{"email":"bob@example.com","domains":["guessed.test"]}`}, "PATCH /users/{id}": {`{"domains":null}`}, "DELETE /users/{id}": {``},
	"POST /folders": {`{"name":"n"}`, `{"name":"n","members":[{"email":"bob@example.com","may":"edit"}]}`}, "PATCH /folders/{folder}": {`{"name":"n"}`}, "DELETE /folders/{folder}": {``}, "DELETE /folders/{folder}/members/{user}": {``},
	"POST /domains": {`{"host":"guessed.test"}`}, "PATCH /domains/{host}": {`{"robots":"none"}`}, "POST /domains/{host}/check": {``}, "DELETE /domains/{host}": {``}, "DELETE /edges/{name}": {``},
	"POST /session": {`{"email":"ann@example.com","password":"` + goodPassword + `"}`}, "DELETE /session": {``},
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// paths returns the paths that a route stands for.
func (st *leakSite) paths(route string) (all []string) {
	st.t.Helper()
	found := placeholder.FindStringSubmatch(route)
	if found == nil {
		return []string{route}
	}
	expect.MustThat(st.t, st.values[found[1]] != nil, "%s: this test knows no value of %s", route, found[0])
	for _, value := range st.values[found[1]] {
		all = append(all, st.paths(strings.Replace(route, found[0], value, 1))...)
	}
	return all
}

// queries returns the queries of a call: none, each parameter alone, and each with a domain.
func (st *leakSite) queries(route string, names []string) []string {
	st.t.Helper()
	all := []string{""}
	for _, name := range names {
		expect.MustThat(st.t, leakValues[name] != nil, "%s: this test knows no value of the parameter %s", route, name)
		for _, value := range leakValues[name] {
			pair := "?" + url.Values{name: {value}}.Encode()
			if all = append(all, pair); name == "domain" || !slices.Contains(names, "domain") {
				continue
			}
			for _, host := range leakValues["domain"][:3] {
				all = append(all, pair+"&domain="+host)
			}
		}
	}
	return all
}

// wantNothingOf checks an answer.
func (st *leakSite) wantNothingOf(who, request string, r reply) {
	st.t.Helper()
	if found := leaked.FindString(r.whole()); found != "" {
		st.t.Errorf("%s: %s tells %s:\n%s", who, request, found, r.whole())
	}
}

// begun sends a GET and reads its answer, of a stream the first event.
func (st *site) begun(path string, lines []string) reply {
	st.t.Helper()
	c, err := st.publicAt.Dial()
	expect.OK(st.t, err)
	defer c.Close()
	go io.WriteString(c, requestText("GET", path, "", lines...))
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "GET"})
	expect.OK(st.t, err)
	body := ""
	if res.StatusCode == 200 && res.Header.Get("Content-Type") == "text/event-stream" {
		for in := bufio.NewScanner(res.Body); in.Scan() && in.Text() != ""; {
			body += in.Text() + "\n"
		}
		return reply{res.StatusCode, res.Header, body, res.Close}
	}
	text, err := io.ReadAll(res.Body)
	expect.OK(st.t, err)
	return reply{res.StatusCode, res.Header, string(text), res.Close}
}

// reads calls each with every GET of the API.
func (st *leakSite) reads(lines []string, each func(route, request string, r reply)) {
	st.t.Helper()
	parameters := parametersOf(st.t)
	for _, e := range st.endpoints() {
		if e.method != "GET" || e.scope == noCaller {
			continue
		}
		route := e.method + " " + e.path
		for _, path := range st.paths(e.path) {
			for _, query := range st.queries(route, parameters[route]) {
				each(route, "GET "+path+query, st.begun("/api/v1"+path+query, lines))
				if strings.Contains(path, "/live") {
					st.awaitStreams(0)
				}
			}
		}
	}
}

// TestNothingOfOtherDomains asks for everything that the API has, as those who are limited to b.test. The calls and
// their parameters are those of the tables, so that a new one is asked, too.
func TestNothingOfOtherDomains(t *testing.T) {
	expect.Long(t)
	st := newLeakSite(t)
	told := make(map[string]bool)
	st.reads(st.admin, func(route, _ string, r reply) { told[route] = told[route] || leaked.MatchString(r.whole()) })
	for _, route := range []string{
		"/links", "/export", "/links/{code}", "/tags", "/stats", "/stats/{code}", "/misses", "/audit", "/users", "/tokens", "/domains", "/domains/{host}",
	} {
		expect.That(t, told["GET "+route], "an admin is told nothing by %s: this test has no secret that it could tell", route)
	}
	for _, who := range slices.Sorted(maps.Keys(st.callers)) {
		lines := st.callers[who].lines
		mine := st.callers[who]
		if mine.reads { // the links of somebody else
			mine = st.callers["a session of ann"]
		}
		st.mine(mine.user, mine.lines)
		answered := make(map[string]bool)
		st.reads(lines, func(route, request string, r reply) {
			st.wantNothingOf(who, request, r)
			answered[route] = answered[route] || r.status == 200
		})
		for _, e := range st.endpoints() {
			if e.method == "GET" && e.scope != account.Admin && e.scope != noCaller {
				expect.That(t, answered[e.method+" "+e.path], "%s: no GET %s was answered 200", who, e.path)
			}
		}
		st.writes(who)
	}
	expect.That(t, st.secretsNow() == st.before, "somebody has changed\n%s\nto\n%s", st.before, st.secretsNow())
}

// writes sends every call that is no GET.
func (st *leakSite) writes(who string) {
	st.t.Helper()
	parameters := parametersOf(st.t)
	for _, e := range st.endpoints() {
		route := e.method + " " + e.path
		if e.method == "GET" {
			continue
		}
		expect.MustThat(st.t, leakBodies[route] != nil, "this test knows no body of %s", route)
		for _, path := range st.paths(e.path) {
			for _, query := range st.queries(route, parameters[route]) {
				for _, body := range leakBodies[route] {
					lines := st.callers[who].lines
					if e.scope == noCaller {
						lines = []string{ownPage}
					}
					r := st.as(lines, e.method, path+query, body)
					st.wantNothingOf(who, route+" "+path+query+" "+body, r)
				}
			}
		}
	}
}

// leakFields are the fields of all forms, some for each of the domains.
func leakFields(host, owner string) string {
	fields, _ := url.ParseQuery(everyField)
	maps.Copy(fields, url.Values{
		"domain": {host}, "code": {"guessed-ann", "guessed-ann," + host, "mine-ann"}, "tag": {"guessed-tag"}, "owner": {owner}, "q": {""},
		"to": {"1"}, "name": {"n" + host}, "key": {"k" + host}, "domains": {host}, "alias": {"guessed-ann"}, "addresses": {"https://u.example/"},
		"current-password": {"wrong password"}, "session": {"none"},
	})
	return fields.Encode()
}

// TestNoPageTellsOfOtherDomains opens every page and sends every form as a member of b.test, and goes where it leads.
func TestNoPageTellsOfOtherDomains(t *testing.T) {
	expect.Long(t)
	for _, hosts := range [][]string{{"b.test"}, {"b.test", "c.test"}} {
		t.Run(strings.Join(hosts, " and "), func(t *testing.T) { noPageTells(t, hosts) })
	}
}

// noPageTells is TestNoPageTellsOfOtherDomains for a member of some domains.
func noPageTells(t *testing.T, hosts []string) {
	st := newLeakSite(t)
	st.addDomain(domain.Domain{Host: "c.test"})
	st.limitTo(3, hosts...)
	queries := []string{""}
	for _, host := range []string{"guessed.test", "127.0.0.1:8080", "b.test", "none.test"} {
		queries = append(queries, "?domain="+host)
		for _, pair := range []string{
			"code=guessed-ann", "code=mine-ann", "tag=guessed-tag", "tag=mine-tag", "codes=guessed-ann,mine-ann", "codes=mine-ann,mine-too-ann", "owner=all", "owner=1",
			"q=guessed", "q=https://guessed.test/guessed-ann", "like=guessed-ann", "made=guessed-ann", "country=DE", "referrer=x.example", "sort=hits", "view=table", "to=guessed-ann",
		} {
			queries = append(queries, "?"+pair, "?"+pair+"&domain="+host)
		}
	}
	slices.Sort(queries)
	queries = slices.Compact(queries)
	ann := st.browse("ann@example.com")
	opened := make(map[string]bool)
	for _, p := range dashboard.Pages() {
		for _, path := range st.paths(p.Path) {
			for _, r := range st.leadOf(ann, p, path, queries) {
				st.wantNothingOf("ann", p.Method+" "+path, r)
				opened[p.Method+" "+p.Path] = opened[p.Method+" "+p.Path] || r.status == 200
			}
			if ann.cookie == "" || ann.get("/_/account").status != 200 {
				ann = st.browse("ann@example.com")
			}
		}
	}
	for _, p := range dashboard.Pages() {
		if p.Method == "GET" && p.SignedIn && !p.Admins && p.Path != "/_/link/{code}/owner" && p.Path != "/_/new" { // which is missing but for admins, and which leads to a page
			expect.That(t, opened["GET "+p.Path], "GET %s was never answered 200", p.Path)
		}
	}
	expect.That(t, st.secretsNow() == st.before, "somebody has changed\n%s\nto\n%s", st.before, st.secretsNow())
}

// leadOf returns the answers to all requests for a page or a form, and of the pages to which they lead.
func (st *leakSite) leadOf(b *plainBrowser, p dashboard.Page, path string, queries []string) (all []reply) {
	st.t.Helper()
	if p.Method == "GET" {
		for _, query := range queries {
			lines := append(slices.Clone(b.lines), b.cookie)
			all = append(all, st.begun(strings.ReplaceAll(path+query, " ", "%20"), lines))
		}
		return all
	}
	for _, host := range []string{"", "", "guessed.test", "127.0.0.1:8080", "b.test"} {
		owner := []string{"", "all"}[min(1, len(all))]
		answer := b.post(path, formType, leakFields(host, owner))
		all = append(all, answer.reply)
		if to := answer.header.Get("Location"); answer.status == 303 && strings.HasPrefix(to, "/_/") {
			all = append(all, b.get(to).reply)
		}
	}
	return all
}
