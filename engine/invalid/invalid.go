package invalid

import (
	"strconv"
	"strings"
)

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

// maxShownBytes is how much of a refused value a message shows: enough to recognize it.
const maxShownBytes = 64

// ItIs returns the end of a message about a value that is none of a few words: the value in quotes, cut if it is long.
func ItIs(value string) string {
	cut := ""
	if len(value) > maxShownBytes {
		value, cut = strings.ToValidUTF8(value[:maxShownBytes], ""), "…"
	}
	return "; it is " + strconv.Quote(value) + cut
}
