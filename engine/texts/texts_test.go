package texts

import (
	"reflect"
	"testing"

	"shunt/engine/expect"
)

// TestTheTableHasEveryText compares the table, the fields and the switch: a text that is in one of them only would be
// stored, or found, or shown, and not all of it.
func TestTheTableHasEveryText(t *testing.T) {
	var texts Texts
	fields := reflect.ValueOf(&texts).Elem()
	expect.MustEqual(t, fields.NumField(), Number, "fields of Texts and rows of the table")
	bytes := 0
	for i, text := range All() {
		bytes += len(text.Name)
		field := fields.Type().Field(i)
		expect.Equal(t, field.Tag.Get("json"), text.Name+",omitempty", "%s: its name in JSON", field.Name)
		*texts.Text(text.Name) = text.Name
		expect.Equal(t, fields.Field(i).String(), text.Name, "%s: what the switch returns for %s", field.Name, text.Name)
		expect.That(t, Named(text.Name) == &All()[i] && text.Max > 0 && text.Label != "" && text.Hint != "", "%s: %+v", text.Name, text)
	}
	expect.Equal(t, texts.TextBytes(), bytes, "bytes")
	expect.That(t, Named("tags") == nil, "tags are a text")
}
