package jsonbody

import (
	"encoding/json"
	"strings"

	"shunt/engine"
)

// A Reader reads one member's value into v. Its error is an engine.FieldError without Field.
type Reader[T any] func(v *T, value json.RawMessage) error

// Read reads the members of an object into v. It returns the names of the members that have a value
// and of those that are null, for which no reader is called. It returns the errors of all members,
// so that a client gets them at once.
func Read[T any](members []Member, v *T, readers map[string]Reader[T]) (
	sent, null []string, invalid engine.InvalidError,
) {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		read, known := readers[m.Name]
		switch {
		case !known:
			invalid = append(invalid, FieldError(m.Name, "unknown", "is not a field of this request"))
		case seen[m.Name]:
			invalid = append(invalid, FieldError(m.Name, "duplicate", "must not be sent twice"))
		case string(m.Value) == "null":
			null = append(null, m.Name)
		default:
			sent = append(sent, m.Name)
			invalid = AppendError(invalid, m.Name, read(v, m.Value))
		}
		seen[m.Name] = true
	}
	return sent, null, invalid
}

// maxEchoBytes is how much of an unknown field's name is sent back to the client.
const maxEchoBytes = 64

// FieldError returns the error of a field. It cuts a long name, because a client may have made it
// up.
func FieldError(name, code, message string) engine.FieldError {
	if len(name) > maxEchoBytes {
		name = strings.ToValidUTF8(name[:maxEchoBytes], "") + "…"
	}
	return engine.FieldError{Field: name, Code: code, Message: message}
}

// AppendError appends err, if it is not nil, as an error of the field name, or of the field that
// err names itself.
func AppendError(invalid engine.InvalidError, name string, err error) engine.InvalidError {
	switch e := err.(type) {
	case nil:
		return invalid
	case engine.FieldError:
		if e.Field == "" {
			e.Field = name
		}
		return append(invalid, e)
	default:
		return append(invalid, engine.FieldError{Field: name, Code: "invalid", Message: err.Error()})
	}
}
