//go:build !race

package api

// Without the race detector, which would take ten times as long: there is only one goroutine.

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/api/docs"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

// An answer and a request that are as documented. Each fault below changes one thing in them.
var aLink = string((&ops.Link{ShortURL: "https://sho.rt/hello", Detail: engine.Detail{
	Key: keyOf("hello"), Target: "https://example.org/", RedirectStatus: 302, Query: engine.ForwardNone, State: engine.StateActive, Owner: 1,
	CreatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), UpdatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
}}).AppendJSON(nil))

const aProblem = `{"type":"urn:shunt:problem:alias_taken","title":"The alias is taken","status":409,"detail":"d","code":"alias_taken"}`

func createdExchange() *exchanged {
	return &exchanged{
		method: "POST", target: "/api/v1/shorten", request: []byte(`{"url":"https://example.org/","title":null,"redirect_status":null}`),
		asked:  http.Header{"Content-Type": {"application/json"}},
		status: 201, body: []byte(aLink),
		header: http.Header{"Content-Type": {"application/json"}, "Etag": {`"1"`}, "Location": {"/api/v1/links/hello"}, "X-Request-Id": {"r"}},
	}
}

func (x *exchanged) problem(status int, body string) {
	x.status, x.body, x.header = status, []byte(body), http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"r"}}
}

func (x *exchanged) replace(old, new string) {
	x.body = []byte(strings.Replace(string(x.body), old, new, 1))
}

// contractFaults are functions that each change a documented exchange into an undocumented one.
var contractFaults = map[string]func(x *exchanged){
	"an extra field":                 func(x *exchanged) { x.replace(`"hits":0`, `"hits":0,"clicks":0`) },
	"a missing field":                func(x *exchanged) { x.replace(`,"hits":0`, ``) },
	"null where it is not allowed":   func(x *exchanged) { x.replace(`"title":""`, `"title":null`) },
	"another type":                   func(x *exchanged) { x.replace(`"owner":1`, `"owner":"1"`) },
	"another word":                   func(x *exchanged) { x.replace(`"active"`, `"asleep"`) },
	"an invalid time":                func(x *exchanged) { x.replace(`2026-11-21T12:00:00Z`, `2026-11-21 12:00`) },
	"not JSON":                       func(x *exchanged) { x.body = []byte("<html>") },
	"another media type":             func(x *exchanged) { x.header.Set("Content-Type", "text/html") },
	"no media type":                  func(x *exchanged) { x.header.Del("Content-Type") },
	"another status":                 func(x *exchanged) { x.status = 202 },
	"an extra header field":          func(x *exchanged) { x.header.Set("X-Shard", "7") },
	"a missing header field":         func(x *exchanged) { x.header.Del("Location") },
	"a header field of other form":   func(x *exchanged) { x.header.Set("Etag", "1") },
	"another path":                   func(x *exchanged) { x.target = "/api/v1/shorter" },
	"another method":                 func(x *exchanged) { x.method = "PUT" },
	"an extra parameter":             func(x *exchanged) { x.target += "?dry_run=1" },
	"an extra field in the request":  func(x *exchanged) { x.request = []byte(`{"url":"https://example.org/","remark":""}`) },
	"a missing field in the request": func(x *exchanged) { x.request = []byte(`{}`) },
	"null in the request":            func(x *exchanged) { x.request = []byte(`{"url":null}`) },
	"another number of the request":  func(x *exchanged) { x.request = []byte(`{"url":"https://example.org/","redirect_status":303}`) },
	"a request of another type":      func(x *exchanged) { x.asked.Set("Content-Type", "text/plain") },
	"an undocumented problem":        func(x *exchanged) { x.problem(409, strings.ReplaceAll(aProblem, "alias_taken", "not_found")) },
	"an undocumented status":         func(x *exchanged) { x.problem(404, strings.ReplaceAll(aProblem, "409", "404")) },
	"a problem without its field": func(x *exchanged) {
		x.problem(401, strings.NewReplacer("alias_taken", "unauthorized", "409", "401").Replace(aProblem))
	},
	"a body where it is not allowed": func(x *exchanged) {
		x.method, x.target, x.request, x.status = "DELETE", "/api/v1/links/hello", nil, 204
		x.header = http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}}
	},
	"a line that is neither link nor problem": func(x *exchanged) {
		x.method, x.target, x.request, x.status, x.body = "GET", "/api/v1/export", nil, 200, []byte(aLink+"\n{}\n")
		x.header = http.Header{"Content-Type": {"application/x-ndjson"}, "X-Request-Id": {"r"}}
	},
	"an event of another name": func(x *exchanged) {
		x.method, x.target, x.request, x.status = "GET", "/api/v1/stats/hello/live", nil, 200
		x.body = []byte("event: hit\ndata: {\"hits\":1,\"unique\":1}\n\n")
		x.header = http.Header{"Content-Type": {"text/event-stream"}, "X-Request-Id": {"r"}}
	},
	"an item of a bulk": func(x *exchanged) {
		x.target, x.request = "/api/v1/shorten/bulk", []byte(`[{"url":"https://example.org/","remark":""}]`)
		x.status, x.body = 200, []byte(`{"created":1,"existing":0,"failed":0,"results":[{"index":0,"status":201,"link":`+aLink+`}]}`)
		x.header = http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}}
	},
}

func TestAnUndocumentedExchangeFailsItsTest(t *testing.T) {
	for version, text := range map[string][]byte{"3.1": documentText, "3.0": docs.OpenAPI30().Body} {
		c, err := newContract(text)
		expect.OK(t, err, "version %s", version)
		err = c.hold(createdExchange())
		expect.That(t, err == nil, "version %s, what is documented: got %v, want no error", version, err)
		for name, fault := range contractFaults {
			x := createdExchange()
			fault(x)
			expect.That(t, c.hold(x) != nil, "version %s, %s: got no error", version, name)
		}
	}
}

// forgotten are changes that each make the document wrong, either in itself or about
// createdExchange.
var forgotten = map[string][2]string{
	"a field":                    {`"hits": {"type": "integer", "description": "How often visitors followed the link; bots do not count.", "format": "int64", "minimum": 0},`, ``},
	"a status":                   {`          "201": {`, `          "203": {`},
	"that null is allowed":       {`"type": ["string", "null"]`, `"type": "string"`},
	"that a choice may be null":  {`, {"type": "null"}]`, `]`},
	"a word":                     {`"enum": ["active", `, `"enum": [`},
	"a header field":             {`"Location": {"$ref": "#/components/headers/Location"},`, ``},
	"a component":                {`      "NewLink": {`, `      "FreshLink": {`},
	"its version":                {`"openapi": "3.1.0",`, ``},
	"the value of an example":    {`"state": "active"`, `"state": "asleep"`},
	"a value of a parameter":     {`"enum": ["hour", "day"]`, `"enum": ["hour"]`},
	"the form of a header":       {`"example": "/api/v1/links/hello"`, `"example": "/links/hello"`},
	"to use only known keywords": {`"enum": ["hour", "day"]`, `"const": "day"`},
	"a field of a request":       {`"value": {"name": "laptop"}`, `"value": {"title": "laptop"}`},
}

func TestAnIncompleteDocumentFails(t *testing.T) {
	expect.Long(t)
	for what, change := range forgotten {
		text := strings.ReplaceAll(string(documentText), change[0], change[1])
		expect.That(t, text != string(documentText), "%s: the document does not have %s", what, change[0])
		c, err := newContract([]byte(text))
		if err == nil {
			err = c.hold(createdExchange())
		}
		expect.That(t, err != nil, "it forgets %s: got no error", what)
	}
}

// kin-openapi checks all other examples against their schemas when it loads the document.
func TestExamplesOfLinesAndEventsFitTheirSchemas(t *testing.T) {
	c, shown := theContract(), 0
	for operation := range c.operations() {
		for _, response := range operation.Responses.Map() {
			for contentType, media := range response.Value.Content {
				for name, example := range media.Examples {
					text, _ := example.Value.Value.(string)
					x := &exchanged{status: 200, header: http.Header{"Content-Type": {contentType}}, body: []byte(text)}
					if text == "" {
						continue
					}
					shown++
					expect.NoError(t, c.holdLines(response.Value, x), "%s, example %s", operation.name, name)
				}
			}
		}
	}
	expect.That(t, shown >= 3, "there are %d examples of lines and events, want the export's and the live figures'", shown)
}
