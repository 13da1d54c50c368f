package api

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"shunt/engine/expect"
)

// Generators make types from schemas. These tests check what they need to make good types.

// eachSchema calls fn for every schema of c, with its place. The place of a component has no slash.
func (c *contract) eachSchema(fn func(place string, s *openapi3.SchemaRef)) {
	var visit func(place string, s *openapi3.SchemaRef)
	visit = func(place string, s *openapi3.SchemaRef) {
		if s == nil {
			return
		}
		fn(place, s)
		if s.Ref != "" {
			return
		}
		for name, property := range s.Value.Properties {
			visit(place+"/"+name, property)
		}
		for _, branch := range slices.Concat(s.Value.OneOf, s.Value.AnyOf, s.Value.AllOf) {
			visit(place+"/or", branch)
		}
		visit(place+"/items", s.Value.Items)
	}
	for name, s := range c.doc.Components.Schemas {
		visit(name, s)
	}
	for name, p := range c.doc.Components.Parameters {
		visit("/parameters/"+name, p.Value.Schema)
	}
	for name, h := range c.doc.Components.Headers {
		visit("/headers/"+name, h.Value.Schema)
	}
	for operation := range c.operations() {
		if operation.RequestBody != nil {
			eachBody(operation.name+"/", operation.RequestBody.Value.Content, visit)
		}
		for status, response := range operation.Responses.Map() {
			eachBody(operation.name+"/"+status+"/", response.Value.Content, visit)
		}
	}
}

func eachBody(place string, content openapi3.Content, visit func(string, *openapi3.SchemaRef)) {
	for _, mediaType := range slices.Sorted(maps.Keys(content)) {
		visit(place+mediaType, content[mediaType].Schema)
	}
}

// TestEveryObjectAndChoiceOfTheDocumentHasAName has this reason: from a schema without a name, a
// generator makes a type without a name, or one for each place.
func TestEveryObjectAndChoiceOfTheDocumentHasAName(t *testing.T) {
	theContract().eachSchema(func(place string, s *openapi3.SchemaRef) {
		expect.That(t, s.Ref != "" || !strings.Contains(place, "/") || len(s.Value.Properties)+len(s.Value.Enum) == 0,
			"%s is an object or has an enum, and is not a component", place)
	})
}

// TestNoChoiceOfTheDocumentIsNull has this reason: most languages cannot express a constant that is
// null, and generators fail.
func TestNoChoiceOfTheDocumentIsNull(t *testing.T) {
	theContract().eachSchema(func(place string, s *openapi3.SchemaRef) {
		expect.That(t, !slices.Contains(s.Value.Enum, nil), "%s has an enum with null: want anyOf of a component and null", place)
	})
}

// TestEveryNumberOfTheDocumentHasAWidth has this reason: without a width, Java uses 32 bits, and Go
// the width of the machine.
func TestEveryNumberOfTheDocumentHasAWidth(t *testing.T) {
	theContract().eachSchema(func(place string, s *openapi3.SchemaRef) {
		v := s.Value
		if !v.Type.Includes("integer") && !v.Type.Includes("number") || v.Format != "" || len(v.Enum) > 0 {
			return
		}
		expect.That(t, v.Max != nil && *v.Max <= math.MaxInt32, "%s has neither a format nor a maximum of 32 bits", place)
	})
}
