package jsonbody

import (
	"encoding/json"
	"time"

	"shunt/api/when"
)

// Readers of single values, which are parts of a text that Object has read. Each returns an error of
// code "type" if the value has another JSON type. The any… functions read every value with
// encoding/json; plain values need none of that.

func typeError(want string) error { return FieldError("", "type", "must be "+want) }

// String reads a string.
func String(value json.RawMessage) (string, error) {
	if s, ok := plainString(value); ok {
		return s, nil
	}
	return anyString(value)
}

func anyString(value json.RawMessage) (s string, err error) {
	if json.Unmarshal(value, &s) != nil {
		return "", typeError("a string")
	}
	return s, nil
}

// Bool reads true or false.
func Bool(value json.RawMessage) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return anyBool(value)
}

func anyBool(value json.RawMessage) (b bool, err error) {
	if json.Unmarshal(value, &b) != nil {
		return false, typeError("true or false")
	}
	return b, nil
}

// Int reads a whole number.
func Int(value json.RawMessage) (int64, error) {
	if n, after := plainInt(value, 0); after == len(value) {
		return n, nil
	}
	return anyInt(value)
}

func anyInt(value json.RawMessage) (n int64, err error) {
	if json.Unmarshal(value, &n) != nil {
		return 0, typeError("a whole number")
	}
	return n, nil
}

// Strings reads an array of strings; null is not a string.
func Strings(value json.RawMessage) ([]string, error) {
	if texts, ok := plainStrings(value); ok {
		return texts, nil
	}
	return anyStrings(value)
}

func anyStrings(value json.RawMessage) ([]string, error) {
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

// Time reads when something began, to the millisecond: a time as package when reads it, or a date,
// which is the beginning of that day in UTC.
func Time(value json.RawMessage) (time.Time, error) { return readTime(value, when.Begin) }

// Expiry reads when something expires, to the millisecond: a time as package when reads it, or a
// date, which is the end of that day in UTC.
func Expiry(value json.RawMessage) (time.Time, error) { return readTime(value, when.Expiry) }

func readTime(value json.RawMessage, read func(string, *time.Location) (time.Time, bool)) (time.Time, error) {
	text, err := String(value)
	if err != nil {
		return time.Time{}, err
	}
	t, ok := read(text, time.UTC)
	if !ok {
		return time.Time{}, FieldError("", "format", "must be a time such as 2030-12-31T23:59:59Z (RFC 3339), or a date such as 2030-12-31")
	}
	return t.Truncate(time.Millisecond), nil
}
