package jsonbody

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"shunt/api/problem"
)

// byteOrderMark is what some editors and libraries put before a text. RFC 8259 lets parsers ignore it.
var byteOrderMark = []byte("\ufeff")

func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }

// packings are the first bytes of compressed texts.
var packings = map[string]string{"\x1f\x8b": "gzip", "\x28\xb5\x2f\xfd": "zstd"}

// packed returns the error of a compressed text, nil if it is none.
func packed(text []byte) error {
	for first, name := range packings {
		if bytes.HasPrefix(text, []byte(first)) {
			return problem.New(problem.MalformedJSON, "%s is not accepted: send the body as it is, not compressed", name)
		}
	}
	return nil
}

// malformed returns the error of a body that is not JSON, or not in UTF-8, which want says it must be. It says
// where the first fault is: in which line, and at which character of it, both from 1.
func malformed(text []byte, want string) error {
	if err := packed(text); err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return problem.New(problem.MalformedJSON, "%s, and it is empty", want)
	}
	at, what := firstFault(text)
	line := bytes.Count(text[:at], []byte{'\n'}) + 1
	column := utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at]) + 1
	return problem.New(problem.MalformedJSON, "%s; line %d, column %d: %s", want, line, column, what)
}

// firstFault returns the index of the first fault in text, and what it is.
func firstFault(text []byte) (at int, what string) {
	at = len(text)
	what = "it cannot be read"
	var value json.RawMessage
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, &value), &syntax) {
		at, what = int(min(max(syntax.Offset-1, 0), int64(len(text)))), syntax.Error()
		if strings.HasPrefix(what, "unexpected end") {
			at, what = len(text), "it ends too early"
		}
	}
	if i := invalidUTF8(text); i >= 0 && i <= at {
		return i, fmt.Sprintf("the byte %#02x is not UTF-8", text[i])
	}
	if syntax == nil {
		if i := loneSurrogate(text); i >= 0 {
			return i, "a \\u escape that is half of a character"
		}
	}
	return at, what
}

// invalidUTF8 returns the index of the first byte that is no part of a character, or -1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
