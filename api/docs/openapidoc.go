package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// openAPI is the part of an OpenAPI document that the reference page needs.
type openAPI struct {
	Info       struct{ Title, Summary, Description string }
	Servers    []struct{ URL string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[ordered[apiOperation]] // by path, by method
	Components struct {
		Schemas    ordered[apiSchema]
		Parameters ordered[apiParameter]
		Headers    ordered[apiParameter]
		Responses  ordered[apiResponse]
		Examples   ordered[apiExample]
	}
}

type apiOperation struct {
	Tags                              []string
	OperationID, Summary, Description string
	Security                          []map[string][]string
	Parameters                        []apiParameter
	RequestBody                       *apiBody
	Responses                         ordered[apiResponse]
}

// An apiParameter is a parameter or a header field.
type apiParameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Schema                apiSchema
	Example               json.RawMessage
}

type apiBody struct {
	Description string
	Content     ordered[apiMedia]
}

type apiResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     ordered[apiParameter]
	Content     ordered[apiMedia]
}

type apiMedia struct {
	Schema   apiSchema
	Line     apiSchema          `json:"x-line"`   // of a body of lines
	Events   ordered[apiSchema] `json:"x-events"` // of a stream, by their names
	Examples ordered[apiExample]
}

type apiExample struct {
	Ref     string `json:"$ref"`
	Summary string
	Value   json.RawMessage
}

type apiSchema struct {
	Ref                 string `json:"$ref"`
	Description, Format string
	Type                texts
	Enum                []json.RawMessage
	Default             json.RawMessage
	Minimum, Maximum    *int64
	Items               *apiSchema
	OneOf               []apiSchema
	AnyOf               []apiSchema // a choice, and null
	Required            []string
	Properties          ordered[apiSchema]
}

// ordered is a JSON object that keeps the order of its names.
type ordered[T any] struct {
	names  []string
	values map[string]T
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	o.values = make(map[string]T)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value T
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		o.names, o.values[name.(string)] = append(o.names, name.(string)), value
	}
	return nil
}

// all iterates over o in order.
func (o ordered[T]) all(yield func(name string, value T) bool) {
	for _, name := range o.names {
		if !yield(name, o.values[name]) {
			return
		}
	}
}

// texts is one string or several.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*w = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// deref returns the component that ref refers to, or itself if ref is empty.
func deref[T any](components ordered[T], ref string, itself T) T {
	if ref == "" {
		return itself
	}
	return components.values[refName(ref)]
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// described returns the schema to describe for s: for a list that of its items, for a choice
// between a component and null the component. name is the name of the component, or empty.
func (d *openAPI) described(s *apiSchema) (name string, _ apiSchema) {
	if s.Items != nil {
		s = s.Items
	}
	if len(s.AnyOf) > 0 {
		s = &s.AnyOf[0]
	}
	if s.Ref != "" {
		name = refName(s.Ref)
	}
	return name, deref(d.Components.Schemas, s.Ref, *s)
}

// objectsOf returns the names of the objects that s may be, or may be lines of.
func (d *openAPI) objectsOf(s *apiSchema) (names []string) {
	name, of := d.described(s)
	for i := range of.OneOf {
		names = append(names, d.objectsOf(&of.OneOf[i])...)
	}
	if len(of.Properties.names) > 0 {
		names = append(names, name)
	}
	return names
}

// typeOf describes the type of a value in words.
func (d *openAPI) typeOf(s *apiSchema) string {
	if s.Items != nil {
		return orNull(s.Type, "list of "+d.typeOf(s.Items))
	}
	if len(s.AnyOf) > 0 {
		return d.typeOf(&s.AnyOf[0]) + " · null"
	}
	of := deref(d.Components.Schemas, s.Ref, *s)
	switch {
	case len(of.Properties.names) > 0:
		return refName(s.Ref)
	case len(of.Enum) > 0 && len(of.Enum) <= maxShownWords:
		return strings.Join(wordsOf(of.Enum), " · ")
	case of.Format == "date-time":
		return orNull(of.Type, "time")
	case len(of.OneOf) > 0:
		return strings.Join(d.objectsOf(s), " or ")
	case len(of.Type) == 0:
		return "object"
	}
	text := of.Type[0] + between(of.Minimum, of.Maximum)
	if len(of.Default) > 0 {
		text += ", default " + string(of.Default)
	}
	return orNull(of.Type, text)
}

func orNull(types texts, text string) string {
	if len(types) > 1 {
		return text + " or null"
	}
	return text
}

// maxShownWords is the largest number of enum values that are shown in place of the type; longer
// lists are part of the description.
const maxShownWords = 8

func wordsOf(values []json.RawMessage) texts {
	all := make(texts, len(values))
	for i, v := range values {
		all[i] = strings.Trim(string(v), `"`)
	}
	return all
}

// between returns the bounds of a number in words, without a bound of 0.
func between(low, high *int64) string {
	switch {
	case low != nil && high != nil && *high < 1<<32-1:
		return " " + strconv.FormatInt(*low, 10) + " to " + strconv.FormatInt(*high, 10)
	case low != nil && *low > 0:
		return " from " + strconv.FormatInt(*low, 10)
	}
	return ""
}
