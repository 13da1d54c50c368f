package invalid

import "strings"

// FieldError is the error in one field of a request. Field is its JSON name, Code is stable and for
// programs, Message is for people.
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

// Error is all errors in the fields of a request.
type Error []FieldError

func (e Error) Error() string {
	messages := make([]string, len(e))
	for i, f := range e {
		messages[i] = f.Error()
	}
	return strings.Join(messages, "; ")
}
