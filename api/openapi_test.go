package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"shunt/api/account"
	"shunt/api/internal/seams"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/wire"
	"shunt/engine/expect"
)

// TestMain also fails if the whole suite passes but has not seen each success and each problem of
// the document.
func TestMain(m *testing.M) {
	debug.SetGCPercent(gcPercent)
	seams.Passwords = seams.CheapPasswords
	wire.IdleWorkers = time.Second // so that the memory of ended servers is used again
	code := m.Run()
	if whole := watches && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""; code == 0 && whole {
		answers, unseen := theContract().tally()
		if fmt.Printf("%d answers of the API were held to openapi.json\n", answers); len(unseen) > 0 {
			fmt.Printf("FAIL: no test has got\n\t%s\n", strings.Join(unseen, "\n\t"))
			code = 1
		}
	}
	os.Exit(code)
}

// tally returns how many answers were checked, and which documented successes and problems were not
// seen.
func (c *contract) tally() (answers int, unseen []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := make(map[string]bool)
	for key, n := range c.held {
		answers += n
		problems[key[strings.LastIndexByte(key, ' ')+1:]] = true
	}
	for operation := range c.operations() {
		for status := range operation.Responses.Map() {
			if key := operation.name + " " + status; status < "400" && c.held[key] == 0 {
				unseen = append(unseen, key)
			}
		}
	}
	for _, code := range c.problemCodes() {
		if !problems[code] && code != "gone" && code != "cap_elsewhere" && code != "locked" { // which are only in items of a bulk, and of redirects
			unseen = append(unseen, "the problem "+code)
		}
	}
	slices.Sort(unseen)
	return answers, unseen
}

// A namedOperation is an operation of the document under "METHOD path".
type namedOperation struct {
	*openapi3.Operation
	name string
}

func (c *contract) operations() map[namedOperation]bool {
	all := make(map[namedOperation]bool)
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			all[namedOperation{operation, method + " " + path}] = true
		}
	}
	return all
}

// problemCodes returns the codes that a problem may have by the document.
func (c *contract) problemCodes() (codes []string) {
	for _, code := range c.doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		codes = append(codes, code.(string))
	}
	return codes
}

func TestTheDocumentIsValidOpenAPI31(t *testing.T) {
	c, err := newContract(documentText)
	expect.OK(t, err)
	expect.That(t, c.doc.IsOpenAPI31OrLater() && c.doc.OpenAPI == "3.1.0", "it is of version %s, want 3.1.0", c.doc.OpenAPI)
}

func TestTheDocumentHasExactlyTheEndpointsAndTheirScopes(t *testing.T) {
	want := make(map[string]string)
	for _, e := range new(Server).endpoints() {
		want[e.method+" "+e.path] = "[" + string(e.scope) + "]"
		if e.scope == noCaller || e.scope == anyScope {
			want[e.method+" "+e.path] = map[account.Scope]string{noCaller: "nobody", anyScope: "[]"}[e.scope]
		}
	}
	got := make(map[string]string)
	for operation := range theContract().operations() {
		got[operation.name] = "nobody"
		for _, way := range *operation.Security {
			for scheme, scopes := range way {
				got[operation.name] = fmt.Sprint(scopes)
				expect.That(t, scheme == "token" || scheme == "session", "%s has the scheme %s", operation.name, scheme)
			}
		}
		n := len(*operation.Security)
		expect.That(t, n == 0 || n == 2, "%s has %d ways to authenticate, want a token and a session", operation.name, n)
	}
	expect.That(t, maps.Equal(got, want), "the document has\n%v\nand the server\n%v", got, want)
}

// problemRow is a row of the kinds in package problem.
type problemRow struct {
	status      int
	code, title string
}

// problemRows reads all kinds of problems from the source, so that a new one cannot be forgotten.
func problemRows(t *testing.T) (rows []problemRow) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "problem/problem.go", nil, 0)
	expect.OK(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if name, _ := literalType(literal, ok).(*ast.Ident); name == nil || name.Name != "Kind" {
			return true
		}
		status, _ := strconv.Atoi(literal.Elts[0].(*ast.BasicLit).Value)
		code, _ := strconv.Unquote(literal.Elts[1].(*ast.BasicLit).Value)
		title, _ := strconv.Unquote(literal.Elts[2].(*ast.BasicLit).Value)
		rows = append(rows, problemRow{status, code, title})
		return true
	})
	return rows
}

func literalType(literal *ast.CompositeLit, ok bool) ast.Expr {
	if !ok {
		return nil
	}
	return literal.Type
}

// Every problem is in the schema, and in an example with the status and title that are sent.
func TestTheDocumentHasEveryProblemAndNoOther(t *testing.T) {
	rows := problemRows(t)
	expect.MustThat(t, len(rows) >= 25, "problem.go has %v; is it read aright?", rows)
	inCode, inSchema, inExamples := map[string]bool{}, map[string]bool{}, map[string]bool{}
	known := map[problemRow]bool{}
	for _, row := range rows {
		if row.code == problem.Busy.Code { // of backup and check, which only the socket of local commands has
			continue
		}
		inCode[row.code], known[row] = true, true
	}
	for _, code := range theContract().problemCodes() {
		inSchema[code] = true
	}
	eachProblem(documentValue(t), func(p map[string]any) {
		row := problemRow{int(p["status"].(float64)), p["code"].(string), p["title"].(string)}
		inExamples[row.code] = true
		expect.That(t, known[row] && p["type"] == "urn:shunt:problem:"+row.code, "an example is not a problem of ours: %v", p)
	})
	expect.That(t, maps.Equal(inCode, inSchema) && maps.Equal(inCode, inExamples),
		"problem.go has %v\nthe schema Problem %v\nthe examples %v", inCode, inSchema, inExamples)
}

// The API refuses unknown fields, and answers may gain fields (info.description).
func TestAnswersMayGainFieldsAndRequestsMayNot(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(documentText)
	expect.OK(t, err)
	asked := make(map[string]bool)
	var ask func(s *openapi3.SchemaRef) // what is sent, with all that it has
	ask = func(s *openapi3.SchemaRef) {
		if s == nil {
			return
		}
		if s.Ref != "" {
			asked[refName(s.Ref)] = true
		}
		ask(s.Value.Items)
		for _, property := range s.Value.Properties {
			ask(property)
		}
		for _, branch := range s.Value.AnyOf {
			ask(branch)
		}
	}
	for path := range doc.Paths.Map() {
		for _, operation := range doc.Paths.Find(path).Operations() {
			if operation.RequestBody != nil {
				if body := operation.RequestBody.Value.Content.Get("application/json"); body != nil { // else it is a picture
					ask(body.Schema)
				}
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		has := s.Value.AdditionalProperties.Has
		closed := has != nil && !*has
		expect.That(t, len(s.Value.Properties) == 0 || closed == asked[name], "%s: additionalProperties is false: %t; it is of requests: %t", name, closed, asked[name])
	}
}

func documentValue(t *testing.T) (v any) {
	t.Helper()
	expect.OK(t, json.Unmarshal(documentText, &v))
	return v
}

// eachProblem calls fn for every problem in v.
func eachProblem(v any, fn func(p map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if text, _ := v["type"].(string); strings.HasPrefix(text, "urn:shunt:problem:") {
			fn(v)
		}
		for _, inner := range v {
			eachProblem(inner, fn)
		}
	case []any:
		for _, inner := range v {
			eachProblem(inner, fn)
		}
	}
}

func TestTheDocumentIsServedToEverybodyWithItsTag(t *testing.T) {
	for _, path := range []string{"/api/v1/openapi.json", "/api/v1/openapi-3.0.json"} {
		t.Run(path, func(t *testing.T) { holdDocument(t, path) })
	}
}

func holdDocument(t *testing.T, path string) {
	st := newSite(t, nil)
	far := st.from("192.0.2.1") // by plain HTTP: a caller with a token would be refused
	get := func(method string, lines ...string) reply {
		return send(t, far, method, requestText(method, path, "", lines...))
	}
	first := get("GET")
	tag := first.header.Get("ETag")
	expect.That(t, first.status == 200 && first.header.Get("Cache-Control") == "public, max-age=300" && tag != "",
		"got %d %v", first.status, first.header)
	c, err := newContract([]byte(first.body))
	expect.That(t, err == nil && len(c.operations()) == len(st.endpoints()), "what is served is another document: %v", err)
	get("HEAD").expect(t, "HEAD", 200, bodyOf(""), header("Content-Length", strconv.Itoa(len(first.body))))
	send(t, st.localAt, "GET", requestText("GET", path, "")).expect(t, "on the socket", bodyOf(first.body))
	for value, want := range map[string]int{
		tag: 304, "W/" + tag: 304, "*": 304, `"x", ` + tag: 304, `"x"`: 200, strings.Trim(tag, `"`): 200, "": 200,
	} {
		r := get("GET", "If-None-Match: "+value)
		expect.That(t, r.status == want && r.header.Get("ETag") == tag && (r.body == "") == (want == 304), "If-None-Match: %s: got %d, want %d", value, r.status, want)
	}
}

func TestNoUndocumentedParameterIsAccepted(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"abc"}`)
	body := map[string]string{"POST /shorten": `{"url":"http://a/"}`, "POST /shorten/bulk": `[{"url":"http://a/"}]`, "POST /links/{code}/qr": tinyPNG}
	for operation := range theContract().operations() {
		method, path, _ := strings.Cut(operation.name, " ")
		path = strings.NewReplacer("{code}", "abc", "{id}", "1", "{name}", "frankfurt").Replace(path)
		st.call(method, path+"?pretty=1", body[operation.name]).expect(t, operation.name, 422, fieldsOf("pretty:unknown"))
	}
	for _, path := range []string{"/links", "/links/abc", "/stats", "/stats/abc", "/stats/abc/live", "/export"} {
		st.call("GET", path+"?"+strings.Repeat("owner=1&", ops.MaxParameters+1), "").expect(t, path+" with too many parameters", problemOf("bad_request"))
	}
	for _, request := range []string{"GET /links/abc?owner=all&owner=1", "DELETE /users/1?links=keep&links=keep"} {
		method, path, _ := strings.Cut(request, " ")
		r := st.call(method, path, "")
		expect.That(t, r.status == 422 && strings.HasSuffix(r.fields(), ":duplicate"), "%s: got %d %s", request, r.status, r.body)
	}
}

// refName returns the name of the component that ref refers to.
func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
