// Package invalid is what is wrong with the fields of a request: one error for each field, and all
// of them together. It knows nothing of ours. Whoever checks a field returns these; the API shows
// them to clients word for word. Outside the engine they are engine.FieldError and
// engine.InvalidError.
package invalid

import "strings"

// FieldError says what is wrong with one field of a request. Field is its JSON name, Code is stable
// and for programs, Message is for people.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e FieldError) Error() string {
	if e.Field == "" { // the request as a whole
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Error carries everything that is wrong with a request's fields.
type Error []FieldError

func (e Error) Error() string {
	messages := make([]string, len(e))
	for i, f := range e {
		messages[i] = f.Error()
	}
	return strings.Join(messages, "; ")
}
