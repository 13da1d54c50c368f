package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestErrorsIsFindsAProblem(t *testing.T) {
	refused := New(Forbidden, "owner needs the scope %s", "admin")
	wrapped := fmt.Errorf("listing: %w", refused)
	expect.Error(t, wrapped, refused, "errors.Is does not find a problem that an error wraps")
	for _, other := range []error{New(Forbidden, "another"), New(NotFound, "owner needs the scope admin"), errors.New("x")} {
		expect.That(t, !errors.Is(wrapped, other), "errors.Is takes it for %v", other)
	}
}

func TestAProblemHasTheBytesOfEncodingJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		body := Body{
			Type: text.Draw(t, "type"), Title: text.Draw(t, "title"), Status: rapid.Int().Draw(t, "status"),
			Detail: text.Draw(t, "detail"), Code: text.Draw(t, "code"),
			Errors: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.FieldError {
				return engine.FieldError{Field: text.Draw(t, "field"), Code: text.Draw(t, "code"), Message: text.Draw(t, "message")}
			}), 0, 4).Draw(t, "errors"),
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		expect.OK(t, enc.Encode(body))
		got := append(body.AppendJSON(nil), '\n')
		expect.MustThat(t, bytes.Equal(got, want.Bytes()), "got\n%s\nwant\n%s", got, want.Bytes())
	})
}
