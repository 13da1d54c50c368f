package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/api/ops"
	"shunt/engine/expect"
)

// A fieldCase has the values with which a field of a link is tested. All values are JSON.
type fieldCase struct {
	value, other string            // two valid values; the link object has them in this form
	unset        string            // the value in the link object if the field was not sent, or leftOut; empty: the field is required
	alike        []string          // other ways to write value
	invalid      map[string]string // values that the field refuses, and "field:code" of the error
	imported     []string          // those of these that an import accepts
	skipped      bool              // an import skips the field
}

// leftOut is the unset of a field that a link object leaves out then.
const leftOut = "left out"

// fieldCases has a case for each field that can be set. Most tests of fields use it.
var fieldCases = map[string]fieldCase{
	"url": {
		value: `"https://example.org/a?b=c"`, other: `"http://other.example/"`,
		alike:   []string{`"https://EXAMPLE.org/a?b=c"`},
		invalid: map[string]string{`""`: "url:required", `"ftp://a/"`: "url:scheme", `7`: "url:type", `"http://127.0.0.1:8080/x"`: "url:own_origin"},
	},
	"redirect_status": {
		value: `301`, other: `308`, unset: `302`,
		invalid: map[string]string{`303`: "redirect_status:range", `"301"`: "redirect_status:type", `301.5`: "redirect_status:type"},
	},
	"expires_at": {
		value: `"2030-01-02T03:04:05.678Z"`, other: `"2031-01-01T00:00:00Z"`, unset: `null`,
		alike:    []string{`"2030-01-02T04:04:05.6789+01:00"`},
		invalid:  map[string]string{`"2020-01-01T00:00:00Z"`: "expires_at:past", `"2030-01"`: "expires_at:format", `1893456000`: "expires_at:type"},
		imported: []string{`"2020-01-01T00:00:00Z"`},
	},
	"starts_at": {
		value: `"2030-01-02T03:04:05.678Z"`, other: `"2020-01-01T00:00:00Z"`, unset: `null`,
		alike:   []string{`"2030-01-02T04:04:05.6789+01:00"`},
		invalid: map[string]string{`"1970-01-01"`: "starts_at:range", `"1969-01-01"`: "starts_at:range", `"2030-01"`: "starts_at:format", `1893456000`: "starts_at:type"},
	},
	"expired_url": {
		value: `"https://example.org/over?b=c"`, other: `"http://other.example/"`, unset: `null`,
		alike: []string{`"https://EXAMPLE.org/over?b=c"`, `" https://example.org/over?b=c"`},
		invalid: map[string]string{
			`""`: "expired_url:required", `"ftp://a/"`: "expired_url:scheme", `7`: "expired_url:type",
			`"http://127.0.0.1:8080/x"`: "expired_url:own_origin", `"https://a/` + strings.Repeat("x", 8192) + `"`: "expired_url:too_long",
		},
	},
	"max_hits": {
		value: `7`, other: `9007199254740992`, unset: `null`,
		invalid: map[string]string{`0`: "max_hits:range", `9007199254740993`: "max_hits:range", `"7"`: "max_hits:type"},
	},
	"title": {
		value: `"Größe <1> \"&\""`, other: `"another"`, unset: `""`,
		alike:   []string{`"Gr\u00f6\u00dfe \u003c1> \"&\""`},
		invalid: map[string]string{`"a\nb"`: "title:characters", `["a"]`: "title:type", `"` + strings.Repeat("x", 513) + `"`: "title:too_long"},
	},
	"note": {
		value: `"für <später>\n& \"mehr\""`, other: `"another"`, unset: `""`,
		alike:   []string{`"f\u00fcr \u003csp\u00e4ter>\n& \"mehr\""`},
		invalid: map[string]string{`"a\tb"`: "note:characters", `["a"]`: "note:type", `"` + strings.Repeat("x", 2001) + `"`: "note:too_long"},
	},
	"tags": {
		value: `["b","a"]`, other: `["a","b"]`, unset: `[]`,
		invalid: map[string]string{`[""]`: "tags[0]:required", `"a"`: "tags:type", `[null]`: "tags:type"},
	},
	"folder": {
		value: `1`, other: `2`, unset: leftOut, skipped: true, // eachField makes both
		invalid: map[string]string{`0`: "folder:unknown", `-1`: "folder:unknown", `99`: "folder:unknown", `4294967296`: "folder:unknown", `"1"`: "folder:type", `1.5`: "folder:type", `[]`: "folder:type"},
	},
	"forward_query": flagCase("forward_query"),
	"query": {
		value: `"override"`, other: `"keep"`, unset: `"none"`,
		invalid: map[string]string{`"merge"`: "query:range", `""`: "query:range", `true`: "query:type"},
	},
	"forward_path": flagCase("forward_path"),
	"disabled":     flagCase("disabled"),
	"rules": {
		value: `[{"url":"https://example.org/ios","conditions":[{"type":"device","match_key":null,"match_value":"ios"},{"type":"language","match_key":null,"match_value":"en-GB"}],"target":2}]`,
		other: `[{"url":"https://example.org/ios","conditions":[{"type":"any-value-query-param","match_key":"a","match_value":null}],"target":2}]`,
		unset: leftOut,
		alike: []string{
			`[{"url":" https://EXAMPLE.org/ios","target":9,"conditions":[{"match_value":"iOS","type":"device"},{"type":"language","match_value":"EN_gb"}]}]`,
		},
		invalid: map[string]string{
			`{}`: "rules:type", `[7]`: "rules[0]:type", `[{"url":"http://a/","conditions":[]}]`: "rules[0].conditions:required", `[{"url":"http://a/"}]`: "rules[0].conditions:required",
			`[{"conditions":[{"type":"device","match_value":"ios"}]}]`:                                                                                                                             "rules[0].url:required",
			`[{"url":"http://127.0.0.1:8080/x","conditions":[{"type":"device","match_value":"ios"}]}]`:                                                                                             "rules[0].url:own_origin",
			`[{"url":"http://a/","conditions":[{"type":"device","match_value":"amiga"}]}]`:                                                                                                         "rules[0].conditions[0].match_value:format",
			`[{"url":"http://a/","conditions":[{"match_value":"ios"}]}]`:                                                                                                                           "rules[0].conditions[0].type:required",
			`[{"url":"http://a/","conditions":[{"type":"geolocation-city-name","match_value":"Berlin"}]}]`:                                                                                         "rules[0].conditions[0].type:range",
			`[{"url":"http://a/","conditions":[{"type":"query-param","match_value":"x"}]}]`:                                                                                                        "rules[0].conditions[0].match_key:required",
			`[{"url":"http://a/","conditions":[{"type":"device","match_value":"ios","more":1}]}]`:                                                                                                  "rules[0].conditions[0].more:unknown",
			`[{"url":"http://a/","conditions":[{"type":"device","match_value":"ios"}],"more":1}]`:                                                                                                  "rules[0].more:unknown",
			`[` + strings.Repeat(someRule+",", 32) + someRule + `]`:                                                                                                                                "rules:too_many",
			`[{"url":"http://a/","conditions":[` + strings.Repeat(iOS+",", 8) + iOS + `]}]`:                                                                                                        "rules[0].conditions:too_many",
			`[{"url":"http://a/` + strings.Repeat("x", 8100) + `","conditions":[` + iOS + `,` + iOS + `,{"type":"query-param","match_key":"a","match_value":"` + strings.Repeat("x", 99) + `"}]}]`: "rules:too_long",
		},
	},
	"split": {
		value: `[{"url":"https://example.org/a","weight":70,"target":2},{"url":"https://example.org/b","weight":30,"target":3}]`,
		other: `[{"url":"https://example.org/a","weight":60,"target":2},{"url":"https://example.org/b","weight":40,"target":3}]`,
		unset: leftOut,
		alike: []string{`[{"weight":70,"url":" https://EXAMPLE.org/a"},{"url":"https://example.org/b","weight":30}]`},
		invalid: map[string]string{
			`7`: "split:type", `[{"url":"http://a/","weight":1}]`: "split:range", `[{"url":"http://a/","weight":0},{"url":"http://b/","weight":1}]`: "split[0].weight:range",
			`[{"url":"http://a/","weight":1},{"url":"http://b/","weight":1001}]`: "split[1].weight:range", `[{"url":"http://a/","weight":1},{"weight":1}]`: "split[1].url:required",
			`[{"url":"http://a/","weight":1},{"url":"http://b/"}]`: "split[1].weight:required", `[{"url":"http://a/","weight":1},{"url":"ftp://b/","weight":1}]`: "split[1].url:scheme",
			`[` + strings.Repeat(`{"url":"http://a/","weight":1},`, 10) + `{"url":"http://a/","weight":1}]`:                                     "split:too_many",
			`[{"url":"http://a/` + strings.Repeat("x", 4090) + `","weight":1},{"url":"http://b/` + strings.Repeat("x", 4090) + `","weight":1}]`: "split:too_long",
		},
	},
	"card": {
		value: `{"title":"Größe <1> \"&\"","description":"für später","image":"https://example.org/ä.png?b&c"}`,
		other: `{"title":"another","description":null,"image":null}`, unset: leftOut,
		alike: []string{`{"image":" https://EXAMPLE.org/ä.png?b&c","description":"f\u00fcr\nspäter ","title":" Größe \u003c1> \"&\""}`},
		invalid: map[string]string{
			`7`: "card:type", `[]`: "card:type", `{"title":7}`: "card.title:type", `{"title":""}`: "card.title:required", `{"title":null}`: "card.title:required",
			`{"title":"a\tb"}`: "card.title:characters", `{"title":"` + strings.Repeat("x", 257) + `"}`: "card.title:too_long", `{"title":"t","more":1}`: "card.more:unknown",
			`{"title":"t","description":"` + strings.Repeat("x", 1001) + `"}`: "card.description:too_long", `{"title":"t","image":""}`: "card.image:required",
			`{"title":"t","image":"http://127.0.0.1:8080/x"}`: "card.image:own_origin", `{"title":"t","image":"data:image/png;base64,"}`: "card.image:scheme",
			`{"title":"t","image":"https://a/` + strings.Repeat("x", 2048) + `"}`: "card.image:too_long", `{"title":"t","title":"u"}`: "card.title:duplicate",
		},
	},
}

const (
	iOS      = `{"type":"device","match_value":"ios"}`
	someRule = `{"url":"http://a/","conditions":[` + iOS + `]}`
)

// flagCase returns the case of a field that is true or false.
func flagCase(name string) fieldCase {
	return fieldCase{value: `true`, other: `false`, unset: `false`, invalid: map[string]string{`1`: name + ":type", `"true"`: name + ":type"}}
}

func TestEveryFieldThatCanBeSetHasItsCase(t *testing.T) {
	for _, f := range ops.Fields() {
		expect.That(t, f.Settable == (f.Fixed == "") && (!f.Settable || f.Secret || f.Importable && f.Shown && f.Creatable != f.Admins), "%+v lacks something", f)
	}
	settable := fieldNames(func(f ops.Field) bool { return f.Settable && !f.Admins && !f.Secret })
	cases := slices.Sorted(maps.Keys(fieldCases))
	expect.That(t, slices.Equal(settable, cases), "can be set: %q; cases: %q", settable, cases)
}

// with returns a body that has a target, an identifying field, and the named one, unless value is
// empty.
func with(key, code, name, value string) string {
	body := `{"` + key + `":"` + code + `"`
	if name != "url" {
		body += `,"url":"http://a/"`
	}
	if value != "" {
		body += `,"` + name + `":` + value
	}
	return body + "}"
}

// field returns the value of a field in a link object.
func field(t *testing.T, object, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	expect.OK(t, json.Unmarshal([]byte(object), &members), object)
	return string(members[name])
}

// eachField runs fn for each case, each with a new server.
func eachField(t *testing.T, fn func(t *testing.T, st *site, name string, c fieldCase)) {
	for name, c := range fieldCases {
		t.Run(name, func(t *testing.T) {
			st := newSite(t, nil)
			for _, name := range []string{"one", "two"} {
				st.call("POST", "/folders", `{"name":"`+name+`"}`).expect(t, name, 201)
			}
			fn(t, st, name, c)
		})
	}
}

func TestEveryFieldIsShownAsItWasSent(t *testing.T) {
	eachField(t, func(t *testing.T, st *site, name string, c fieldCase) {
		values := append([]string{c.value, c.other}, c.alike...)
		if c.unset != "" {
			values = append(values, "", "null")
		}
		for i, value := range values {
			want := value
			switch {
			case i >= 2 && i < 2+len(c.alike):
				want = c.value
			case i >= 2:
				want = strings.TrimPrefix(c.unset, leftOut)
			}
			code := fmt.Sprint("c", i)
			made := st.call("POST", "/shorten", with("alias", code, name, value))
			got := field(t, made.body, name)
			expect.That(t, made.status == 201 && got == want, "POST %s: got %d %s, want %s", value, made.status, made.body, want)
			expect.Equal(t, field(t, st.call("GET", "/links/"+code, "").body, name), want, "GET after %s", value)
			bulk := st.call("POST", "/shorten/bulk", "["+with("alias", "b"+code, name, value)+"]")
			results := field(t, bulk.body, "results")
			expect.Equal(t, field(t, field(t, results[1:len(results)-1], "link"), name), want, "bulk of %s: got %d %s", value, bulk.status, bulk.body)
		}
	})
}

func TestEveryFieldIsPatchedAndResetByNull(t *testing.T) {
	eachField(t, func(t *testing.T, st *site, name string, c fieldCase) {
		st.shorten(with("alias", "x", name, c.value))
		patch := func(value, want string, version int) {
			t.Helper()
			st.now.Add(1000)
			r := st.call("PATCH", "/links/x", `{"`+name+`":`+value+`}`)
			if got := field(t, r.body, name); r.status != 200 || got != want || r.header.Get("ETag") != fmt.Sprintf(`"%d"`, version) {
				t.Errorf("%s: got %d %s of version %s, want %s of version %d", value, r.status, r.body, r.header.Get("ETag"), want, version)
			}
		}
		patch(c.value, c.value, 1)
		for _, alike := range c.alike {
			patch(alike, c.value, 1)
		}
		patch(c.other, c.other, 2)
		patch(c.value, c.value, 3)
		if c.unset != "" {
			unset := strings.TrimPrefix(c.unset, leftOut)
			patch("null", unset, 4)
			patch("null", unset, 4)
		} else if r := st.call("PATCH", "/links/x", `{"`+name+`":null}`); r.fields() != name+":required" {
			t.Errorf("null: got %d %s, want %s:required", r.status, r.body, name)
		}
	})
}

func TestARepeatOfAnAliasMustAgreeInEveryField(t *testing.T) {
	eachField(t, func(t *testing.T, st *site, name string, c fieldCase) {
		st.shorten(with("alias", "x", name, c.value))
		st.importText(with("code", "y", name, c.value))
		for _, alike := range append([]string{c.value}, c.alike...) {
			st.call("POST", "/shorten", with("alias", "x", name, alike)).expect(t, alike+" again", 200)
			got, _ := st.importText(with("code", "y", name, alike))
			expect.Equal(t, got, "0 1 0: 200", "importing %s again", alike)
		}
		st.call("POST", "/shorten", with("alias", "x", name, c.other)).expect(t, c.other, problemOf("alias_taken"))
		want := "0 0 1: 409"
		if c.skipped {
			want = "0 1 0: 200"
		}
		got, _ := st.importText(with("code", "y", name, c.other))
		expect.Equal(t, got, want, "importing %s", c.other)
	})
}

func TestEveryFieldOfAnExportIsImported(t *testing.T) {
	eachField(t, func(t *testing.T, from *site, name string, c fieldCase) {
		to := newSite(t, nil)
		from.shorten(with("alias", "x", name, c.value))
		from.shorten(with("alias", "y", name, c.other))
		lines := from.exportedLines()
		got, _ := to.importText(lines...)
		expect.MustEqual(t, got, "2 0 0: 201 201")
		slices.Reverse(lines) // an export is the newest first
		if c.skipped {
			for i, value := range []string{c.value, c.other} {
				lines[i] = strings.Replace(lines[i], `"`+name+`":`+value+`,`, "", 1)
			}
		}
		expect.Slices(t, to.exportedLines(), lines)
	})
}

func TestAnInvalidFieldIsRefusedEverywhere(t *testing.T) {
	eachField(t, func(t *testing.T, st *site, name string, c fieldCase) {
		st.shorten(with("alias", "x", name, c.value))
		before := st.call("GET", "/links/x", "").body
		for value, want := range c.invalid {
			for way, r := range map[string]reply{
				"POST":  st.call("POST", "/shorten", with("alias", "y", name, value)),
				"PATCH": st.call("PATCH", "/links/x", `{"`+name+`":`+value+`}`),
				"bulk":  itemOf(st.call("POST", "/shorten/bulk", "["+with("alias", "y", name, value)+"]")),
			} {
				got := r.fields()
				expect.That(t, r.status == 422 && got == want, "%s %s: got %d %s, want %s", way, value, r.status, r.body, want)
			}
			r := itemOf(st.call("POST", "/import", "["+with("code", "z", name, value)+"]"))
			if c.skipped || slices.Contains(c.imported, value) {
				want = ""
			}
			expect.Equal(t, r.fields(), want, "import %s: got %d %s", value, r.status, r.body)
		}
		expect.Equal(t, st.call("GET", "/links/x", "").body, before, "the link")
	})
}

func TestAPatchOfAFixedFieldExplainsTheRefusal(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(fullLink)
	for _, f := range ops.Fields() {
		if f.Settable {
			continue
		}
		for _, value := range []string{`-1`, `null`} {
			st.call("PATCH", "/links/x", `{"`+f.Name+`":`+value+`}`).expect(t, f.Name, 422, fieldsOf(f.Name+":unknown"), `"message":"`+f.Fixed+`"`)
		}
	}
}

// fieldNames returns the names of the fields that has takes, sorted.
func fieldNames(has func(f ops.Field) bool) (names []string) {
	for _, f := range ops.Fields() {
		if has(f) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

var (
	createdNames  = fieldNames(func(f ops.Field) bool { return f.Creatable })
	patchedNames  = fieldNames(func(f ops.Field) bool { return f.Settable })
	importedNames = fieldNames(func(f ops.Field) bool { return f.Importable })
	shownNames    = fieldNames(func(f ops.Field) bool { return f.Shown })
	sentBackNames = fieldNames(func(f ops.Field) bool { return f.Settable || f.Shown }) // a patch may have what was read
)

func TestTheDocumentHasExactlyTheFieldsOfTheTable(t *testing.T) {
	for schema, want := range map[string][]string{
		"Link": shownNames, "NewLink": createdNames, "LinkPatch": sentBackNames, "ImportedLink": importedNames,
	} {
		expect.Slices(t, slices.Sorted(maps.Keys(theContract().doc.Components.Schemas[schema].Value.Properties)), want, schema)
	}
}

func TestTheGoClientHasExactlyTheFieldsOfTheTable(t *testing.T) {
	for what, c := range map[string]struct {
		got  reflect.Type
		want []string
	}{
		"Link":  {reflect.TypeFor[client.Link](), shownNames},
		"Draft": {reflect.TypeFor[client.Draft](), createdNames},
		"Edit":  {reflect.TypeFor[client.Edit](), patchedNames},
	} {
		var got []string
		for i := range c.got.NumField() {
			if name, _, _ := strings.Cut(c.got.Field(i).Tag.Get("json"), ","); name != "-" {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		expect.Slices(t, got, c.want, "client.%s", what)
	}
}

// TestTheGoClientKeepsEveryField: the client keeps what it reads of a link and sends in a draft.
func TestTheGoClientKeepsEveryField(t *testing.T) {
	eachField(t, func(t *testing.T, st *site, name string, c fieldCase) {
		for _, value := range []string{c.value, c.other} {
			for _, through := range []any{new(client.Link), new(client.Draft)} {
				expect.OK(t, json.Unmarshal([]byte(`{"`+name+`":`+value+`}`), through))
				text, err := json.Marshal(through)
				expect.That(t, err == nil && (alikeJSON(field(t, string(text), name), value) || value == c.unset), "%T: %s became %s, %v", through, value, text, err)
			}
		}
	})
}

func alikeJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// A linkState is a reason why a link does not redirect.
type linkState struct {
	name   string
	field  string // what a link that works is patched with, in JSON, after one hit; empty: see blocked
	status int    // of the redirect, preview and QR code
	page   string // a part of the page of all three
	opens  bool   // the link works for those who have its password: its state is active, it has a QR code, it takes a POST in every state
}

// stopsHits reports whether a link that is made so cannot have its one hit.
func (s *linkState) stopsHits() bool { return s.name == "disabled" || s.name == "scheduled" || s.opens }

// linkStates are in the contract's order: the first that applies decides.
var linkStates = []linkState{
	{name: "blocked", status: 403, page: "block"}, // its target is on the block list
	{"disabled", `"disabled":true`, 410, "disabled", false},
	{"expired", `"expires_at":"2026-01-02T03:05:00Z"`, 410, "expired", false},
	{"exhausted", `"max_hits":1`, 410, "limit of uses", false},
	{"scheduled", `"starts_at":"2026-01-03T00:00:00Z"`, 404, "There is no link", false},
	{"locked", `"password":"open sesame"`, 401, "has a password", true},
}

// statesOf returns the linkStates whose bits are set.
func statesOf(bits int) (states []linkState) {
	for i, s := range linkStates {
		if bits>>i&1 != 0 {
			states = append(states, s)
		}
	}
	isExpired := func(s linkState) bool { return s.name == "expired" }
	if slices.ContainsFunc(states, isExpired) { // no link expires before it starts
		states = slices.DeleteFunc(states, func(s linkState) bool { return s.name == "scheduled" })
	}
	return states
}

func TestTheFirstStateDecidesForRedirectPreviewAndQRCode(t *testing.T) {
	st := newSite(t, func(o *Options) {
		blocking(t, o, "b.example\n")
	})
	if _, err := st.targets.Blocked.Replace(nil); err != nil { // until the links are made
		t.Fatal(err)
	}
	for bits := range 1 << len(linkStates) {
		code, host, patch := fmt.Sprint("c", bits), "a.example", []string{`"title":"t"`}
		for _, s := range statesOf(bits) {
			if s.name == "blocked" {
				host = "b.example"
			} else {
				patch = append(patch, s.field)
			}
		}
		st.shorten(fmt.Sprintf(`{"url":"http://%s/","alias":"%s","forward_query":true}`, host, code))
		st.get("/"+code, browser)
		st.call("PATCH", "/links/"+code, "{"+strings.Join(patch, ",")+"}").need(t, fmt.Sprintf("%s", patch), 200)
	}
	st.now.Add((2 * time.Minute).Milliseconds())
	expect.OK(t, expect.Err(st.targets.Blocked.Replace([]byte("b.example\n"))))
	for bits := range 1 << len(linkStates) {
		want, post := linkState{name: "active", status: 302}, 405
		if states := statesOf(bits); len(states) > 0 {
			if want = states[0]; states[len(states)-1].opens { // it takes a POST, for its password
				post = want.status
			}
		}
		st.wantVerdict(fmt.Sprint("c", bits), want, post)
	}
}

// wantVerdict expects what a redirect, a preview, a QR code and a POST of a link get, and its state.
func (st *site) wantVerdict(code string, want linkState, post int) {
	st.t.Helper()
	state := want.name
	if want.opens {
		state = "active"
	}
	st.wantState(code, state)
	for _, suffix := range []string{"", "+", ".svg", ".png"} {
		status, page := want.status, want.page
		if suffix != "" && status == 302 || strings.HasPrefix(suffix, ".") && want.opens {
			status, page = 200, ""
		}
		st.get("/"+code+suffix, browser).expect(st.t, fmt.Sprintf("%s: GET /%s%s", want.name, code, suffix), status, page)
	}
	send(st.t, st.publicAt, "POST", requestText("POST", "/"+code, "")).expect(st.t, want.name+": POST", post)
	status := want.status
	if want.name == "active" {
		status = 414
	}
	st.get("/"+code+"?"+strings.Repeat("x", 8<<10), browser).expect(st.t, want.name+": a query that is too long", status)
}
