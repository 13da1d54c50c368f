package jsonbody

import (
	"bytes"
	"strconv"

	"shunt/api/problem"
)

// Items splits a body into the texts of at most limit items: the elements of one JSON array or, if
// the body is declared as NDJSON, its lines that are not blank. A line that is not JSON is an item
// too, so that its own result can report the error; an array is read whole or not at all. The texts
// may alias the body.
func (b Body) Items(limit int) (items [][]byte, err error) {
	switch {
	case b.Is(NDJSON...):
		items, err = splitLines(b.Text, limit)
	case b.Is(JSON):
		items, err = splitArray(b.Text, limit)
	default:
		return nil, problem.New(problem.MediaType, "Content-Type must be %s or %s", JSON, NDJSON[0])
	}
	if err == nil && len(items) == 0 {
		err = FieldError("", "required", "the body must have at least one item")
	}
	return items, err
}

func tooManyItems(limit int) error {
	return FieldError("", "too_many", "the body must have at most "+strconv.Itoa(limit)+" items")
}

func splitLines(text []byte, limit int) (items [][]byte, err error) {
	if err := packed(text); err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(withoutMark(text), []byte{'\n'}) {
		if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
			continue
		}
		if len(items) == limit {
			return nil, tooManyItems(limit)
		}
		items = append(items, line)
	}
	return items, nil
}

const oneArray = "the body must be one JSON array in UTF-8"

func splitArray(text []byte, limit int) (items [][]byte, err error) {
	text = withoutMark(text)
	if !wellFormed(text) {
		return nil, malformed(text, oneArray)
	}
	if text = bytes.TrimSpace(text); text[0] != '[' {
		return nil, FieldError("", "type", "the body must be a JSON array")
	}
	for item := range parts(text) {
		if len(items) == limit {
			return nil, tooManyItems(limit)
		}
		items = append(items, item)
	}
	return items, nil
}
