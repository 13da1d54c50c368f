package jsonbody

import (
	"encoding/json"
	"strconv"
	"time"

	"shunt/api/when"
)

// Readers of single values, which are parts of a text that Object has read. Each returns an error of
// code "type" if the value has another JSON type.

func typeError(want string) error { return FieldError("", "type", "must be "+want) }

// String reads a string.
func String(value json.RawMessage) (string, error) {
	if value[0] != '"' {
		return "", typeError("a string")
	}
	return string(unescaped(value)), nil
}

// Bool reads true or false.
func Bool(value json.RawMessage) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, typeError("true or false")
}

// Int reads a whole number.
func Int(value json.RawMessage) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, typeError("a whole number")
	}
	return n, nil
}

// Strings reads an array of strings; null is not a string.
func Strings(value json.RawMessage) ([]string, error) {
	if value[0] != '[' {
		return nil, typeError("an array of strings")
	}
	texts := make([]string, 0, 4)
	for part := range parts(value) {
		s, err := String(part)
		if err != nil {
			return nil, typeError("an array of strings")
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// Array reads an array of at most limit values, which alias value.
func Array(value json.RawMessage, limit int) ([]json.RawMessage, error) {
	if value[0] != '[' {
		return nil, typeError("an array")
	}
	var items []json.RawMessage
	for part := range parts(value) {
		if len(items) == limit {
			return nil, FieldError("", "too_many", "must be at most "+strconv.Itoa(limit))
		}
		items = append(items, part)
	}
	return items, nil
}

// Time reads when something began, to the millisecond: a time as package when reads it, or a date,
// which is the beginning of that day in UTC.
func Time(value json.RawMessage) (time.Time, error) { return readTime(value, when.Begin) }

// Expiry reads when something expires, to the millisecond: a time as package when reads it, or a
// date, which is the end of that day in UTC.
func Expiry(value json.RawMessage) (time.Time, error) { return readTime(value, when.Expiry) }

// Start reads when something begins, to the millisecond: a time as package when reads it, or a date, which is the
// beginning of that day in UTC.
func Start(value json.RawMessage) (time.Time, error) { return readTime(value, when.Begin) }

func readTime(value json.RawMessage, read func(string, *time.Location) (time.Time, bool)) (time.Time, error) {
	text, err := String(value)
	if err != nil {
		return time.Time{}, err
	}
	t, ok := read(text, time.UTC)
	if !ok {
		return time.Time{}, FieldError("", "format", "must be a time such as 2030-12-31T23:59:59Z, or a date such as 2030-12-31")
	}
	return t.Truncate(time.Millisecond), nil
}
