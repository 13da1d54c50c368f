package jsonbody

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"shunt/api/problem"
)

// A Body is the body of a request, with the media type of its Content-Type.
type Body struct {
	MediaType []byte
	Text      []byte
}

// JSON is the media type of JSON.
const JSON = "application/json"

// NDJSON has both spellings of the media type of lines of JSON.
var NDJSON = []string{"application/x-ndjson", "application/ndjson"}

// WantJSON refuses a body that is not declared as JSON.
func (b Body) WantJSON() error {
	if string(b.MediaType) != JSON && !b.Is(JSON) {
		return problem.New(problem.MediaType, "Content-Type must be %s", JSON)
	}
	return nil
}

// Is reports whether the body is declared as one of mediaTypes, which are in lower case. Case is
// ignored, and so are parameters, except for a charset other than UTF-8.
func (b Body) Is(mediaTypes ...string) bool {
	mediaType, parameters, _ := strings.Cut(strings.ToLower(string(b.MediaType)), ";")
	if !slices.Contains(mediaTypes, strings.TrimSpace(mediaType)) {
		return false
	}
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if name == "charset" && strings.Trim(value, `"`) != "utf-8" {
			return false
		}
	}
	return true
}

// A Member is one name, without its escapes, and one value of a JSON object, as it was sent. Both may
// alias the text that they were read from.
type Member struct {
	Name  []byte
	Value json.RawMessage
}

// maxMembers is the limit of members in an object. No request has more than twenty, and splitting
// an object costs thirty times as much as checking its grammar.
const maxMembers = 64

var errTooManyMembers = FieldError("", "too_many", "the object must have at most "+strconv.Itoa(maxMembers)+" fields")

const oneObject = "the body must be one JSON object in UTF-8"

// Object splits a JSON object into its members, in their order.
func Object(text []byte) ([]Member, error) { return AppendMembers(nil, text) }

// AppendMembers does what Object does, and appends the members to dst. encoding/json limits the depth (10,000
// levels); the size of the text limits the work.
func AppendMembers(dst []Member, text []byte) ([]Member, error) {
	text = withoutMark(text)
	if !wellFormed(text) || loneSurrogate(text) >= 0 {
		return nil, malformed(text, oneObject)
	}
	if text = bytes.TrimSpace(text); text[0] != '{' {
		return nil, FieldError("", "type", "the body must be a JSON object")
	}
	first := len(dst)
	for part := range parts(text) {
		if len(dst)-first == maxMembers {
			return nil, errTooManyMembers
		}
		end := endOfString(part)
		name := unescaped(part[:end])
		_, value, _ := bytes.Cut(part[end:], []byte{':'})
		dst = append(dst, Member{name, bytes.TrimSpace(value)})
	}
	return dst, nil
}

// loneSurrogate returns the index of a \u escape in well-formed JSON that is half of a surrogate pair, or -1.
// encoding/json would replace it with U+FFFD, and so change the client's text.
func loneSurrogate(body []byte) int {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++
		if body[i] != 'u' {
			continue
		}
		switch unit := escapedUnit(body[i-1:]); {
		case unit>>10 == 0xd800>>10 && escapedUnit(body[i+5:])>>10 == 0xdc00>>10:
			i += 10
		case unit>>11 == 0xd800>>11:
			return i - 1
		default:
			i += 4
		}
	}
	return -1
}

// escapedUnit returns the UTF-16 unit of the \uXXXX at the start of b, or 0 if there is none.
func escapedUnit(b []byte) uint64 {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}
