package engine

import "strings"

// FieldError says what is wrong with one field of a request. Field is its JSON name, Code is stable and for programs,
// Message is for people.
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

// InvalidError carries everything that is wrong with a request's fields.
type InvalidError []FieldError

func (e InvalidError) Error() string {
	messages := make([]string, len(e))
	for i, f := range e {
		messages[i] = f.Error()
	}
	return strings.Join(messages, "; ")
}
