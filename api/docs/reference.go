package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"shunt/api/problem"
)

// A reference is the OpenAPI document as the reference page shows it, in the order of the document.
type reference struct {
	Title, Summary, Description string
	Root                        string     // of the paths
	Groups                      []refGroup // of operations: the document's tags
	Objects                     []refObject
	Errors                      []refError
}

type refGroup struct {
	Name, Description string
	Operations        []refOperation
}

type refOperation struct {
	ID, Method, Path, Summary, Description string
	Access                                 string // what the caller needs
	Parameters                             []refField
	Body                                   *refBody // nil: none
	Curl                                   refCurl
	Answers                                []refAnswer // successes
	Errors                                 []refError
}

// A refField is a field of an object, a parameter or a header field.
type refField struct {
	Name, Mark, Type, Description string
	Object                        string // the one of Objects that the type is, or is made of; empty: none
}

type refBody struct {
	Description string
	Types       []string // media types
	Object      refObject
	Examples    []refExample
}

type refAnswer struct {
	Status, Description, Type string
	Objects                   []string
	Headers                   []refField
	Examples                  []refExample
}

type refExample struct{ Summary, Text string }

type refObject struct {
	Name, Description string
	Fields            []refField
}

type refError struct{ Name, Status, Code, Title, Summary, Text string }

// readReference returns the reference of an OpenAPI document.
func readReference(text []byte) (*reference, error) {
	var d openAPI
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	r := &reference{Title: d.Info.Title, Summary: d.Info.Summary, Description: d.Info.Description, Root: d.Servers[0].URL}
	asked := make(map[string]bool) // objects in requests, which are shown with their requests
	for _, tag := range d.Tags {
		group := refGroup{Name: tag.Name, Description: tag.Description}
		for path, item := range d.Paths.all {
			for method, o := range item.all {
				if slices.Contains(o.Tags, tag.Name) {
					group.Operations = append(group.Operations, d.operation(strings.ToUpper(method), path, &o))
				}
			}
		}
		for _, o := range group.Operations {
			if o.Body != nil {
				asked[o.Body.Object.Name] = true
			}
		}
		r.Groups = append(r.Groups, group)
	}
	for name, s := range d.Components.Schemas.all {
		if len(s.Properties.names) > 0 && !asked[name] {
			r.Objects = append(r.Objects, d.object(name, &s, "", "may be absent"))
		}
	}
	for name, e := range d.Components.Examples.all {
		if problem, ok := d.problem(name, e); ok {
			r.Errors = append(r.Errors, problem)
		}
	}
	return r, nil
}

func (d *openAPI) operation(method, path string, o *apiOperation) refOperation {
	shown := refOperation{
		ID: o.OperationID, Method: method, Path: d.Servers[0].URL + path, Summary: o.Summary, Description: o.Description,
		Access: o.access(), Body: d.body(o.RequestBody),
	}
	for _, p := range o.Parameters {
		p = deref(d.Components.Parameters, p.Ref, p)
		shown.Parameters = append(shown.Parameters, d.field(p.Name, &p.Schema, p.Description, p.In))
	}
	for status, r := range o.Responses.all {
		r = deref(d.Components.Responses, r.Ref, r)
		if status < "400" {
			shown.Answers = append(shown.Answers, d.answer(status, &r))
		} else {
			shown.Errors = append(shown.Errors, d.errors(&r)...)
		}
	}
	shown.Curl = d.curl(method, path, o)
	return shown
}

// access describes in words what the caller needs.
func (o *apiOperation) access() string {
	if len(o.Security) == 0 {
		return "Needs no token."
	}
	for _, scopes := range o.Security[0] {
		if len(scopes) > 0 {
			return "Needs the scope `" + strings.Join(scopes, "`, `") + "`."
		}
	}
	return "Needs a token or a session, with any scopes."
}

func (d *openAPI) body(b *apiBody) *refBody {
	if b == nil {
		return nil
	}
	shown := &refBody{Description: b.Description}
	for mediaType, m := range b.Content.all {
		shown.Types = append(shown.Types, mediaType)
		if name, s := d.described(&m.Schema); len(s.Properties.names) > 0 {
			shown.Object = d.object(name, &s, "required", "")
		}
		for _, e := range d.examples(&m) {
			if !slices.Contains(shown.Examples, e) {
				shown.Examples = append(shown.Examples, e)
			}
		}
	}
	return shown
}

func (d *openAPI) answer(status string, r *apiResponse) refAnswer {
	shown := refAnswer{Status: status, Description: r.Description}
	for name, h := range r.Headers.all {
		h = deref(d.Components.Headers, h.Ref, h)
		shown.Headers = append(shown.Headers, d.field(name, &h.Schema, h.Description, ""))
	}
	for mediaType, m := range r.Content.all {
		shown.Type, shown.Examples = mediaType, d.examples(&m)
		shown.Objects = append(d.objectsOf(&m.Schema), d.objectsOf(&m.Line)...)
		for _, event := range m.Events.all {
			shown.Objects = append(shown.Objects, d.objectsOf(&event)...)
		}
	}
	return shown
}

func (d *openAPI) errors(r *apiResponse) (shown []refError) {
	for _, m := range r.Content.all {
		for name, e := range m.Examples.all {
			if problem, ok := d.problem(name, e); ok {
				shown = append(shown, problem)
			}
		}
	}
	return shown
}

func (d *openAPI) problem(name string, e apiExample) (shown refError, ok bool) {
	if e.Ref != "" {
		name = refName(e.Ref)
	}
	e = deref(d.Components.Examples, e.Ref, e)
	var p problem.Body
	if json.Unmarshal(e.Value, &p) != nil || !strings.HasPrefix(p.Type, "urn:shunt:problem:") {
		return refError{}, false
	}
	return refError{name, fmt.Sprint(p.Status), p.Code, p.Title, e.Summary, exampleText(e.Value)}, true
}

func (d *openAPI) examples(m *apiMedia) (shown []refExample) {
	for _, e := range m.Examples.all {
		e = deref(d.Components.Examples, e.Ref, e)
		shown = append(shown, refExample{e.Summary, exampleText(e.Value)})
	}
	return shown
}

// exampleText returns the text of a JSON string, and other JSON indented.
func exampleText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimRight(text, "\n")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		return string(value)
	}
	return b.String()
}

// object returns the fields of a schema. Required fields get the mark required, the others the mark
// optional.
func (d *openAPI) object(name string, s *apiSchema, required, optional string) refObject {
	shown := refObject{Name: name, Description: s.Description}
	for field, of := range s.Properties.all {
		mark := optional
		if slices.Contains(s.Required, field) {
			mark = required
		}
		shown.Fields = append(shown.Fields, d.field(field, &of, of.Description, mark))
	}
	return shown
}

func (d *openAPI) field(name string, s *apiSchema, description, mark string) refField {
	object, described := d.described(s)
	if len(described.Properties.names) == 0 {
		object = ""
	}
	if description == "" {
		description = described.Description
	}
	if len(described.Enum) > maxShownWords {
		description += " One of `" + strings.Join(wordsOf(described.Enum), "`, `") + "`."
	}
	return refField{name, mark, d.typeOf(s), description, object}
}

// A refCurl is a command line that sends a request, in two parts: before and after the base URL.
type refCurl struct{ Before, After string }

// curl returns a command for the first example of a request, with the examples of its path's
// parameters.
func (d *openAPI) curl(method, path string, o *apiOperation) refCurl {
	line := "curl"
	if o.RequestBody == nil && method != "GET" || method == "PATCH" {
		line += " -X " + method
	}
	if o.RequestBody != nil {
		line += d.sent(o.RequestBody)
	}
	if len(o.Security) > 0 {
		line += ` -H "Authorization: Bearer $TOKEN"`
	}
	if strings.HasSuffix(path, "/live") {
		line += " -N"
	}
	for _, p := range o.Parameters {
		p = deref(d.Components.Parameters, p.Ref, p)
		path = strings.Replace(path, "{"+p.Name+"}", strings.Trim(string(p.Example), `"`), 1)
	}
	return refCurl{line + " ", d.Servers[0].URL + path}
}

// sent returns how curl sends a body: its first example, or a picture, which has none.
func (d *openAPI) sent(b *apiBody) string {
	if example := d.firstExample(b); example != "" {
		return " --json '" + example + "'"
	}
	return ` --data-binary @logo.png -H "Content-Type: image/png"`
}

func (d *openAPI) firstExample(b *apiBody) string {
	for _, m := range b.Content.all {
		for _, e := range m.Examples.all {
			var line bytes.Buffer
			if json.Compact(&line, deref(d.Components.Examples, e.Ref, e).Value) == nil {
				return strings.ReplaceAll(line.String(), "'", `'\''`)
			}
		}
	}
	return ""
}
