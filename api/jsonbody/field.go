package jsonbody

import (
	"encoding/json"
	"strings"

	"shunt/engine"
)

// A Reader reads one member's value into v. Its error is an engine.FieldError without Field.
type Reader[T any] func(v *T, value json.RawMessage) error

// Fields are the fields that a request knows, by name. Make them once with NewFields.
type Fields[T any] map[string]field[T]

type field[T any] struct {
	name string
	mark uint64 // a bit of its own
	read Reader[T]
}

// NewFields returns the fields that readers read. It panics if there are more than maxMembers.
func NewFields[T any](readers map[string]Reader[T]) Fields[T] {
	if len(readers) > maxMembers {
		panic("jsonbody: more fields than an object may have")
	}
	fields := make(Fields[T], len(readers))
	for name, read := range readers {
		fields[name] = field[T]{name, 1 << len(fields), read}
	}
	return fields
}

// Has reports whether name is a field.
func (f Fields[T]) Has(name string) bool { return f[name].read != nil }

// Read reads the members of an object into v. It returns the names of the members that have a value
// and of those that are null, for which no reader is called. It returns the errors of all members,
// so that a client gets them at once. Nothing that it returns aliases the members, unless a reader
// keeps its value.
func Read[T any](members []Member, v *T, fields Fields[T]) (sent, null []string, invalid engine.InvalidError) {
	return AppendRead(make([]string, 0, len(members)), members, v, fields)
}

// AppendRead does what Read does, and appends the names of the members that have a value to sent.
func AppendRead[T any](sent []string, members []Member, v *T, fields Fields[T]) (_, null []string, invalid engine.InvalidError) {
	var seen uint64
	for i := range members {
		m := &members[i]
		f, known := fields[string(m.Name)]
		switch {
		case !known:
			invalid = append(invalid, FieldError(string(m.Name), "unknown", "is not a field of this request"))
		case seen&f.mark != 0:
			invalid = append(invalid, FieldError(f.name, "duplicate", "must not be sent twice"))
		case string(m.Value) == "null":
			null = append(null, f.name)
		default:
			sent = append(sent, f.name)
			invalid = AppendError(invalid, f.name, f.read(v, m.Value))
		}
		seen |= f.mark
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
