package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"shunt/api/docs"
	"shunt/engine/expect"
)

func TestTheDocumentOfVersion30IsValid(t *testing.T) {
	c, err := newContract(docs.OpenAPI30().Body)
	expect.OK(t, err)
	expect.Equal(t, c.doc.OpenAPI, "3.0.3", "it is of version")
	relabelled := bytes.Replace(documentText, []byte(`"openapi": "3.1.0"`), []byte(`"openapi": "3.0.3"`), 1)
	expect.That(t, expect.Err(newContract(relabelled)) != nil, "the document of version 3.1 is valid as 3.0, too: nothing of 3.1 would be found in this one")
}

// nullable returns which schemas of c allow null, and how many there are.
func (c *contract) nullable() (places []string, all int) {
	c.eachSchema(func(place string, s *openapi3.SchemaRef) {
		if strings.HasSuffix(place, "/or") {
			return // a branch: the versions have different ones
		}
		all++
		if s.Value.VisitJSON(nil) == nil {
			places = append(places, place)
		}
	})
	slices.Sort(places)
	return places, all
}

func TestBothVersionsAllowNullInTheSamePlaces(t *testing.T) {
	want, all := theContract().nullable()
	got, all30 := theContract30().nullable()
	expect.That(t, slices.Equal(got, want) && all == all30,
		"of %d schemas in version 3.0, null may be in\n%v\nof %d in 3.1, in\n%v", all30, got, all, want)
	for _, place := range []string{"Link/expires_at", "LinkPatch/redirect_status", "LinkPatch/tags", "UserPatch/role"} {
		expect.That(t, slices.Contains(got, place), "%s does not take null", place)
	}
}

func TestBothVersionsHaveTheSameOperationsAndComponents(t *testing.T) {
	names := func(c *contract) (all []string) {
		for operation := range c.operations() {
			all = append(all, operation.name+" "+operation.OperationID)
		}
		parts := c.doc.Components
		all = slices.AppendSeq(all, maps.Keys(parts.Schemas))
		all = slices.AppendSeq(all, maps.Keys(parts.Parameters))
		all = slices.AppendSeq(all, maps.Keys(parts.Headers))
		all = slices.AppendSeq(all, maps.Keys(parts.Responses))
		all = slices.AppendSeq(all, maps.Keys(parts.Examples))
		slices.Sort(all)
		return all
	}
	got, want := names(theContract30()), names(theContract())
	expect.That(t, slices.Equal(got, want), "version 3.0 has\n%v\nand 3.1\n%v", got, want)
}

// The conversion leaves examples alone: a value in an example may look like a schema of 3.1.
func TestExamplesAreTheSameInBothVersions(t *testing.T) {
	got, want := examplesIn(t, docs.OpenAPI30().Body), examplesIn(t, documentText)
	expect.That(t, len(want) >= 20 && reflect.DeepEqual(got, want), "version 3.0 has\n%v\nand 3.1\n%v", got, want)
}

func examplesIn(t *testing.T, text []byte) (found []any) {
	t.Helper()
	var root any
	expect.OK(t, json.Unmarshal(text, &root))
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				visit(item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				if name == "example" || name == "examples" {
					found = append(found, value[name])
				} else {
					visit(value[name])
				}
			}
		}
	}
	visit(root)
	return found
}
