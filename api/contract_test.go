package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/valyala/fasthttp"

	"shunt/api/docs"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/api/urlpath"
	"shunt/engine"
)

// A contract checks requests and answers against the OpenAPI document. An error that it finds is
// one of the program or of the document; people must decide which.
type contract struct {
	doc *openapi3.T // unchanged, and checked as such

	// quick is doc with the version number 3.0, so that kin-openapi checks values with its own
	// validator of schemas. The validator for 3.1 compiles the schema for each value: 2 ms instead of
	// 0.02 for a link. Its own validator knows all keywords except those of unheld.
	quick openapi3.T

	mu   sync.Mutex
	held map[string]int // answers, by "METHOD path status" and, of problems, code
}

// documentText returns the text of docs/openapi.json.
var documentText = func() []byte {
	text, err := os.ReadFile("docs/openapi.json")
	if err != nil {
		panic(err)
	}
	return text
}()

// theContract returns the contract of openapi.json.
var theContract = sync.OnceValue(func() *contract {
	c, err := newContract(documentText)
	if err != nil {
		panic(err)
	}
	return c
})

// theContract30 returns the contract of the same document in version 3.0.
var theContract30 = sync.OnceValue(func() *contract {
	c, err := newContract(docs.OpenAPI30().Body)
	if err != nil {
		panic(err)
	}
	return c
})

// holdBoth calls hold with both contracts and returns the first error.
func holdBoth(x *exchanged, hold func(*contract, *exchanged) error) error {
	if err := hold(theContract(), x); err != nil {
		return err
	}
	if err := hold(theContract30(), x); err != nil {
		return fmt.Errorf("in version 3.0 only: %w", err)
	}
	return nil
}

func newContract(text []byte) (*contract, error) {
	for _, lines := range []string{"application/x-ndjson", "application/ndjson", "text/event-stream", "image/svg+xml", "image/png", "image/jpeg", "application/pdf"} {
		openapi3filter.RegisterBodyDecoder(lines, openapi3filter.PlainBodyDecoder)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	closeAnswers(doc)
	c := &contract{doc: doc, quick: *doc, held: make(map[string]int)}
	c.quick.OpenAPI = "3.0.3"
	return c, errors.Join(doc.Validate(context.Background()), wantHeld(text), c.holdHeaderExamples(), c.holdLineExamples())
}

// closeAnswers lets objects have only the documented fields. In the document the objects of answers
// are open, because fields may be added within version 1, and some generated clients refuse fields
// that a closed object does not have.
func closeAnswers(doc *openapi3.T) {
	for _, s := range doc.Components.Schemas {
		if len(s.Value.Properties) > 0 {
			s.Value.AdditionalProperties.Has = new(bool)
		}
	}
}

// unheld are the keywords of JSON Schema 2020-12 that contract.quick ignores.
var unheld = []string{
	"const", "contains", "contentSchema", "dependentRequired", "dependentSchemas", "else", "if", "patternProperties", "prefixItems",
	"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "$defs",
}

func wantHeld(text []byte) error {
	for _, keyword := range unheld {
		if bytes.Contains(text, []byte(`"`+keyword+`":`)) {
			return fmt.Errorf("nothing would be checked against the keyword %s", keyword)
		}
	}
	return nil
}

// holdHeaderExamples checks the examples of headers, because Validate checks all examples but
// these.
func (c *contract) holdHeaderExamples() error {
	for name, header := range c.doc.Components.Headers {
		if err := header.Value.Schema.Value.VisitJSON(header.Value.Example, openapi3.EnableJSONSchema2020()); err != nil {
			return fmt.Errorf("the example of the header %s: %w", name, err)
		}
	}
	return nil
}

// holdLineExamples checks the examples of bodies that have an object in each line, which are one text to Validate.
func (c *contract) holdLineExamples() error {
	var errs []error
	hold := func(content openapi3.Content) {
		for _, media := range content {
			for _, example := range media.Examples {
				if line, found := media.Extensions["x-line"]; found {
					for text := range strings.Lines(example.Value.Value.(string)) {
						errs = append(errs, c.holdText(line, []byte(text)))
					}
				}
			}
		}
	}
	for _, item := range c.doc.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.RequestBody != nil {
				hold(operation.RequestBody.Value.Content)
			}
			for _, response := range operation.Responses.Map() {
				hold(response.Value.Content)
			}
		}
	}
	return errors.Join(errs...)
}

// An exchanged is a request to the API with its answer. Its body may be the beginning of a longer
// one.
type exchanged struct {
	method, target string // as they were sent
	asked          http.Header
	request        []byte
	status         int
	header         http.Header
	body           []byte
}

// hold returns what is wrong with x by the document.
func (c *contract) hold(x *exchanged) error {
	route, parameters := c.find(x.method, x.target)
	name := "any path"
	if route != nil {
		name = route.Method + " " + route.Path
	}
	err := c.holdAnswer(route, x)
	if err == nil && route != nil && x.status < 300 {
		err = c.holdRequest(route, parameters, x)
	}
	if err != nil {
		return fmt.Errorf("%s is answered %d in another way than openapi.json has it: %w", name, x.status, err)
	}
	c.note(name, x)
	return nil
}

func (c *contract) note(name string, x *exchanged) {
	key := strings.TrimSpace(fmt.Sprintf("%s %d %s", name, x.status, problemCode(x)))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[key]++
}

// find returns the operation that a request is for, nil if there is none. HEAD is answered where
// GET is.
func (c *contract) find(method, target string) (*routers.Route, map[string]string) {
	path, _ := urlpath.Split([]byte(target))
	path = withoutSlash(path)
	segments := strings.Split(strings.TrimPrefix(string(path), apiRoot), "/")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for template, item := range c.doc.Paths.Map() {
		parameters, matches := matchTemplate(strings.Split(template, "/"), segments)
		if operation := item.GetOperation(method); matches && operation != nil {
			return &routers.Route{Spec: &c.quick, Path: template, PathItem: item, Method: method, Operation: operation}, parameters
		}
	}
	return nil, nil
}

func matchTemplate(template, segments []string) (map[string]string, bool) {
	parameters := make(map[string]string)
	if len(template) != len(segments) {
		return nil, false
	}
	for i, t := range template {
		name, isParameter := strings.CutPrefix(t, "{")
		switch {
		case isParameter && segments[i] != "":
			parameters[strings.TrimSuffix(name, "}")] = segments[i]
		case t != segments[i]:
			return nil, false
		}
	}
	return parameters, true
}

// anyPath are the components that describe what paths without an operation are answered.
var anyPath = map[int]string{404: "NotFound", 405: "MethodNotAllowed", 500: "Internal"}

func (c *contract) holdAnswer(route *routers.Route, x *exchanged) error {
	if route == nil {
		ref := c.doc.Components.Responses[anyPath[x.status]]
		if ref == nil {
			return errors.New("the status is not documented")
		}
		route = &routers.Route{Spec: &c.quick, Operation: &openapi3.Operation{
			Responses: openapi3.NewResponses(openapi3.WithStatus(x.status, ref)),
		}}
	}
	response := route.Operation.Responses.Status(x.status)
	if response == nil {
		response = route.Operation.Responses.Default()
	}
	if response == nil {
		return errors.New("the status is not documented")
	}
	request := &http.Request{Method: http.MethodGet} // the server has written the body also for HEAD
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route},
		Status:                 x.status, Header: x.header, Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	return errors.Join(
		openapi3filter.ValidateResponse(context.Background(), input.SetBodyBytes(x.body)),
		holdFields(response.Value, x), holdProblem(response.Value, x), c.holdLines(response.Value, x),
	)
}

// holdUnread holds the answer to a request that was not read, because it is not HTTP, or because
// its body is one of too many large ones, which only bulks can have.
func (c *contract) holdUnread(x *exchanged) error {
	component := "Unread"
	if x.status == http.StatusServiceUnavailable {
		component = "Overloaded"
	}
	route := &routers.Route{Spec: &c.quick, Operation: &openapi3.Operation{
		Responses: openapi3.NewResponses(openapi3.WithName("default", c.doc.Components.Responses[component].Value)),
	}}
	if err := c.holdAnswer(route, x); err != nil {
		return fmt.Errorf("what cannot be read is answered %d in another way than openapi.json has it: %w", x.status, err)
	}
	c.note("unread", x)
	return nil
}

// plainFields are header fields that say nothing of the API.
var plainFields = []string{
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary",
	"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", fasthttp.HeaderStrictTransportSecurity, "Transfer-Encoding", "X-Accel-Buffering",
	"X-Content-Type-Options",
}

// holdFields: no header field is undocumented, and nothing has a body that should have none.
func holdFields(r *openapi3.Response, x *exchanged) error {
	for name := range x.header {
		if _, documented := r.Headers[name]; !documented && !slices.Contains(plainFields, name) && !isRateLimit(r, name) {
			return fmt.Errorf("the header field %s is not documented", name)
		}
	}
	if len(r.Content) == 0 && (len(x.body) > 0 || x.header.Get("Content-Type") != "") {
		return fmt.Errorf("it has a body: %s %q", x.header.Get("Content-Type"), x.body)
	}
	return nil
}

// isRateLimit: net/http spells the fields in its own way.
func isRateLimit(r *openapi3.Response, name string) bool {
	for documented := range r.Headers {
		if strings.EqualFold(name, documented) {
			return true
		}
	}
	return false
}

// problemCode returns the code of a problem, "" if x has none.
func problemCode(x *exchanged) string {
	var p problem.Body
	if x.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(x.body, &p) != nil {
		return ""
	}
	return p.Code
}

// holdProblem: a response has an example of each problem that it can be.
func holdProblem(r *openapi3.Response, x *exchanged) error {
	code := problemCode(x)
	if code == "" {
		return nil
	}
	for _, example := range r.Content["application/problem+json"].Examples {
		p := example.Value.Value.(map[string]any)
		if p["code"] == code && p["status"] == float64(x.status) {
			return nil
		}
	}
	return fmt.Errorf("the problem %s is not documented for it", code)
}

// holdLines holds an answer of several lines or events to what the document says of each, in x-line
// and x-events.
func (c *contract) holdLines(r *openapi3.Response, x *exchanged) error {
	media := r.Content.Get(x.header.Get("Content-Type"))
	if media == nil || x.status >= 300 {
		return nil
	}
	var errs []error
	if line, found := media.Extensions["x-line"]; found {
		whole := x.body[:bytes.LastIndexByte(x.body, '\n')+1]
		for text := range bytes.Lines(whole) {
			errs = append(errs, c.holdText(line, text))
		}
	}
	if events, found := media.Extensions["x-events"]; found {
		whole := x.body[:bytes.LastIndex(x.body, []byte("\n\n"))+1]
		for text := range bytes.SplitSeq(whole, []byte("\n\n")) {
			errs = append(errs, c.holdEvent(events.(map[string]any), string(text)))
		}
	}
	return errors.Join(errs...)
}

// holdEvent holds a server-sent event to the document: a comment, or data with the name of the
// event before it, if any.
func (c *contract) holdEvent(events map[string]any, text string) error {
	text = strings.TrimSuffix(text, "\n")
	if text == "" || text == ":" {
		return nil
	}
	name := "message"
	if named, found := strings.CutPrefix(text, "event: "); found {
		name, text, _ = strings.Cut(named, "\n")
	}
	data, found := strings.CutPrefix(text, "data: ")
	if !found || events[name] == nil {
		return fmt.Errorf("the event %q is not documented", text)
	}
	return c.holdText(events[name], []byte(data))
}

// holdText holds JSON to the schema that ref refers to.
func (c *contract) holdText(ref any, text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("%w in %q", err, text)
	}
	name := strings.TrimPrefix(fmt.Sprint(ref.(map[string]any)["$ref"]), "#/components/schemas/")
	schema := c.doc.Components.Schemas[name]
	if schema == nil {
		return fmt.Errorf("there is no schema %s", name)
	}
	return schema.Value.VisitJSON(value)
}

// holdRequest holds a request that was answered with success to parameters and body as they are
// documented.
func (c *contract) holdRequest(route *routers.Route, parameters map[string]string, x *exchanged) error {
	u, err := url.Parse(x.target)
	if err != nil {
		return err
	}
	for name := range u.Query() {
		if route.Operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("the parameter %q was accepted, and is not documented", name)
		}
	}
	for name, part := range parameters { // which the filter expects decoded
		if parameters[name], err = url.PathUnescape(part); err != nil {
			return fmt.Errorf("the parameter %q was accepted as %q: %w", name, part, err)
		}
	}
	bulk := strings.HasSuffix(route.Path, "/bulk") || strings.HasSuffix(route.Path, "/import")
	request := &http.Request{
		Method: route.Method, URL: u, Header: x.asked, Body: io.NopCloser(bytes.NewReader(x.request)), ContentLength: int64(len(x.request)),
	}
	err = openapi3filter.ValidateRequest(context.Background(), &openapi3filter.RequestValidationInput{
		Request: request, Route: route, PathParams: parameters,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
			RejectWhenRequestBodyNotSpecified: true, ExcludeRequestBody: bulk,
		},
	})
	if err == nil && bulk {
		err = c.holdItems(route, x)
	}
	if err != nil {
		return fmt.Errorf("the request was accepted: %w", err)
	}
	return nil
}

// holdItems holds the items of a bulk that are now links to their schema. The others are refused as
// they should be.
func (c *contract) holdItems(route *routers.Route, x *exchanged) error {
	var answer bulkAnswer
	if err := json.Unmarshal(x.body, &answer); err != nil {
		return err
	}
	contentType := x.asked.Get("Content-Type")
	if route.Operation.RequestBody.Value.Content.Get(contentType) == nil {
		return fmt.Errorf("the body of type %q is not documented", contentType)
	}
	items, err := jsonbody.Body{MediaType: []byte(contentType), Text: x.request}.Items(engine.MaxBulk)
	if err != nil {
		return err
	}
	array := route.Operation.RequestBody.Value.Content.Get("application/json").Schema.Value
	schema := map[string]any{"$ref": path.Base(array.Items.Ref)}
	var errs []error
	for _, result := range answer.Results {
		if result.Link != nil {
			errs = append(errs, c.holdText(schema, items[result.Index]))
		}
	}
	return errors.Join(errs...)
}
