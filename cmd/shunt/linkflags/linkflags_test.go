package linkflags

import (
	"encoding/json"
	"os"
	"testing"
)

// A field of PATCH without a flag fails this test: it becomes a row of Fields.
func TestEveryFieldOfAPatchHasAFlag(t *testing.T) {
	document, err := os.ReadFile("../../../api/docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for name := range patchProperties(t, string(document)) {
		has := false
		for _, f := range Fields {
			has = has || f.Name == name
		}
		if !has {
			t.Errorf("no flag sets %s", name)
		}
	}
}

// patchProperties returns the fields of PATCH /links/{code}.
func patchProperties(t *testing.T, document string) map[string]any {
	t.Helper()
	var d struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		t.Fatal(err)
	}
	fields := d.Components.Schemas["LinkPatch"].Properties
	if len(fields) == 0 {
		t.Fatal("the document has no fields of a patch")
	}
	return fields
}
