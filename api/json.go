package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/engine"
)

// maxEchoBytes is how much of an unknown field's name goes back to the client.
const maxEchoBytes = 64

// A member is one name and value of a JSON object, in the order in which they were sent.
type member struct {
	name  string
	value json.RawMessage
}

// A fieldReader reads one member's value into v and returns what is wrong with it: a FieldError without Field.
type fieldReader[T any] func(v *T, value json.RawMessage) error

// readBody decodes the request's JSON object into v, strictly: the media type must say JSON, no field may be unknown
// or come twice, each must have its type. null is as good as absent. It returns the names of the fields that were
// sent, and everything that is wrong with fields in invalid, so that a client learns it all at once.
func readBody[T any](ctx *fasthttp.RequestCtx, v *T, readers map[string]fieldReader[T]) (
	sent []string, invalid engine.InvalidError, err error,
) {
	if err := wantJSON(ctx); err != nil {
		return nil, nil, err
	}
	members, err := parseObject(ctx.PostBody())
	if err != nil {
		return nil, nil, err
	}
	sent, _, invalid = readMembers(members, v, readers)
	return sent, invalid, nil
}

func wantJSON(ctx *fasthttp.RequestCtx) error {
	if !isJSON(ctx.Request.Header.ContentType(), "application/json") {
		return problem.New(problem.MediaType, "Content-Type must be application/json")
	}
	return nil
}

// readMembers reads the members of an object into v. It returns which were sent with a value and which as null; no
// reader is called for those.
func readMembers[T any](members []member, v *T, readers map[string]fieldReader[T]) (
	sent, null []string, invalid engine.InvalidError,
) {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		read, known := readers[m.name]
		switch {
		case !known:
			invalid = append(invalid, fieldError(m.name, "unknown", "is not a field of this request"))
		case seen[m.name]:
			invalid = append(invalid, fieldError(m.name, "duplicate", "must not be sent twice"))
		case string(m.value) == "null":
			null = append(null, m.name)
		default:
			sent = append(sent, m.name)
			invalid = appendFieldError(invalid, m.name, read(v, m.value))
		}
		seen[m.name] = true
	}
	return sent, null, invalid
}

func fieldError(name, code, message string) engine.FieldError {
	if len(name) > maxEchoBytes {
		name = strings.ToValidUTF8(name[:maxEchoBytes], "") + "…"
	}
	return engine.FieldError{Field: name, Code: code, Message: message}
}

func appendFieldError(invalid engine.InvalidError, name string, err error) engine.InvalidError {
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

// isJSON: one of mediaTypes, in any case and with any parameters but a charset other than UTF-8.
func isJSON(contentType []byte, mediaTypes ...string) bool {
	mediaType, parameters, _ := strings.Cut(strings.ToLower(string(contentType)), ";")
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

// maxMembers is how many members of an object are looked at: no request has more than a dozen, and taking an object apart costs
// thirty times as much as checking its grammar.
const maxMembers = 64

var errTooManyMembers = fieldError("", "too_many", "the object must have at most "+strconv.Itoa(maxMembers)+" fields")

var errMalformedJSON = problem.New(problem.MalformedJSON, "the body must be one JSON object in UTF-8")

// parseObject takes a JSON object apart. Its depth is bounded by encoding/json (10,000 levels), and so is the work by
// the size of the body.
func parseObject(body []byte) ([]member, error) {
	if !json.Valid(body) || !utf8.Valid(body) || hasLoneSurrogate(body) {
		return nil, errMalformedJSON
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fieldError("", "type", "the body must be a JSON object")
	}
	var members []member
	for dec.More() {
		if len(members) == maxMembers {
			return nil, errTooManyMembers
		}
		name, err := dec.Token()
		if err != nil {
			return nil, errMalformedJSON
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, errMalformedJSON
		}
		members = append(members, member{name.(string), value})
	}
	return members, nil
}

// hasLoneSurrogate tells whether a \u escape in well-formed JSON names half a character. encoding/json would put
// U+FFFD in its place, and so change what was sent.
func hasLoneSurrogate(body []byte) bool {
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
			return true
		default:
			i += 4
		}
	}
	return false
}

// escapedUnit returns the UTF-16 unit of the \uXXXX at the start of b, 0 if there is none.
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

// The readers of single values. Each returns a FieldError of code "type" if the value has another JSON type.

func typeError(want string) error { return fieldError("", "type", "must be "+want) }

func readString(value json.RawMessage) (s string, err error) {
	if json.Unmarshal(value, &s) != nil {
		return "", typeError("a string")
	}
	return s, nil
}

func readBool(value json.RawMessage) (b bool, err error) {
	if json.Unmarshal(value, &b) != nil {
		return false, typeError("true or false")
	}
	return b, nil
}

func readInt(value json.RawMessage) (n int64, err error) {
	if json.Unmarshal(value, &n) != nil {
		return 0, typeError("a whole number")
	}
	return n, nil
}

// readStrings reads an array of strings; null is no string.
func readStrings(value json.RawMessage) ([]string, error) {
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

// readTime reads an RFC 3339 time, to the millisecond.
func readTime(value json.RawMessage) (time.Time, error) {
	text, err := readString(value)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	if t = t.UTC(); err != nil || t.Year() > 9999 { // an offset can lead to year 10000, which could not be answered
		return time.Time{}, fieldError("", "format", "must be a time such as 2030-12-31T23:59:59Z (RFC 3339)")
	}
	return t.Truncate(time.Millisecond), nil
}
