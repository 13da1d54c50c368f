package jsonbody

import (
	"encoding/json"
	"time"
)

// Readers of single values. Each returns an error of code "type" if the value has another JSON
// type.

func typeError(want string) error { return FieldError("", "type", "must be "+want) }

// String reads a string.
func String(value json.RawMessage) (s string, err error) {
	if json.Unmarshal(value, &s) != nil {
		return "", typeError("a string")
	}
	return s, nil
}

// Bool reads true or false.
func Bool(value json.RawMessage) (b bool, err error) {
	if json.Unmarshal(value, &b) != nil {
		return false, typeError("true or false")
	}
	return b, nil
}

// Int reads a whole number.
func Int(value json.RawMessage) (n int64, err error) {
	if json.Unmarshal(value, &n) != nil {
		return 0, typeError("a whole number")
	}
	return n, nil
}

// Strings reads an array of strings; null is not a string.
func Strings(value json.RawMessage) ([]string, error) {
	var pointers []*string
	if json.Unmarshal(value, &pointers) != nil {
		return nil, typeError("an array of strings")
	}
	texts := make([]string, len(pointers))
	for i, p := range pointers {
		if p == nil {
			return nil, typeError("an array of strings")
		}
		texts[i] = *p
	}
	return texts, nil
}

// Time reads an RFC 3339 time, to the millisecond.
func Time(value json.RawMessage) (time.Time, error) {
	text, err := String(value)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	if t = t.UTC(); err != nil || t.Year() > 9999 { // an offset can move a time into the year 10000
		return time.Time{}, FieldError("", "format", "must be a time such as 2030-12-31T23:59:59Z (RFC 3339)")
	}
	return t.Truncate(time.Millisecond), nil
}
