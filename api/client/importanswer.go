package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// An importAnswer is what the answer to an import says, without the links: the server sends each of
// them back, and nobody reads them here.
type importAnswer struct {
	Created  int          `json:"created"`
	Existing int          `json:"existing"`
	Results  []importItem `json:"results"`
}

type importItem struct {
	Status  int      `json:"status"`
	Problem *Problem `json:"problem"`
}

var errResults = errors.New("the server's answer does not have a result for each link")

// readImportAnswer reads the answer to an import of n links. Answers of the usual form are scanned
// in one pass, which takes a tenth of the time of encoding/json; it reads all others.
func readImportAnswer(text []byte, n int) (ImportResult, error) {
	result, results, ok := scanImportAnswer(text)
	if !ok {
		var answer importAnswer
		if err := json.Unmarshal(text, &answer); err != nil {
			return ImportResult{}, fmt.Errorf("the server's answer: %w", err)
		}
		result, results = answer.result(), len(answer.Results)
	}
	if results != n {
		return ImportResult{}, errResults
	}
	return result, nil
}

func (a *importAnswer) result() ImportResult {
	r := ImportResult{Created: a.Created, Existing: a.Existing}
	for i, item := range a.Results {
		if item.Problem != nil {
			r.Refused = append(r.Refused, BulkItem{Index: i, Status: item.Status, Problem: item.Problem})
		}
	}
	return r
}

// scanImportAnswer reads an answer whose members have the names, order and spaces that servers
// write. results is how many items it has. If ok is false, it has another form, or is not JSON. It
// skips links without checking them: what it reads of JSON is what encoding/json reads.
func scanImportAnswer(text []byte) (r ImportResult, results int, ok bool) {
	s := answerScanner{rest: bytes.TrimSpace(text)}
	r.Created = s.number(`{"created":`)
	r.Existing = s.number(`,"existing":`)
	s.number(`,"failed":`)
	s.literal(`,"results":[`)
	for !s.failed && !s.has(`]`) {
		if results > 0 {
			s.literal(`,`)
		}
		if item := s.item(results); item.Problem != nil {
			r.Refused = append(r.Refused, item)
		}
		results++
	}
	s.literal(`]}`)
	return r, results, !s.failed && len(s.rest) == 0
}

// An answerScanner reads JSON of a known form. After it has failed it reads nothing.
type answerScanner struct {
	rest   []byte
	failed bool
}

func (s *answerScanner) has(literal string) bool {
	return len(s.rest) >= len(literal) && string(s.rest[:len(literal)]) == literal
}

// literal skips a text that must follow.
func (s *answerScanner) literal(text string) {
	if s.failed = s.failed || !s.has(text); !s.failed {
		s.rest = s.rest[len(text):]
	}
}

// maxScannedDigits is how many digits a number may have; more are for encoding/json.
const maxScannedDigits = 9

// number skips the literal and reads the number after it, which has no sign.
func (s *answerScanner) number(literal string) (n int) {
	s.literal(literal)
	digits := 0
	for digits < len(s.rest) && '0' <= s.rest[digits] && s.rest[digits] <= '9' {
		digits++
	}
	if s.failed = s.failed || digits == 0 || digits > maxScannedDigits || digits > 1 && s.rest[0] == '0'; s.failed {
		return 0
	}
	for _, digit := range s.rest[:digits] {
		n = 10*n + int(digit-'0')
	}
	s.rest = s.rest[digits:]
	return n
}

// item reads item i. It has a Problem if the link was refused.
func (s *answerScanner) item(i int) BulkItem {
	s.number(`{"index":`)
	item := BulkItem{Index: i, Status: s.number(`,"status":`)}
	if s.has(`,"problem":`) {
		s.literal(`,"problem":`)
		item.Problem = new(Problem)
		if text := s.object(); !s.failed && json.Unmarshal(text, item.Problem) != nil {
			s.failed = true
		}
	} else {
		s.literal(`,"link":`)
		s.object()
	}
	s.literal(`}`)
	return item
}

// object skips an object and returns it.
func (s *answerScanner) object() []byte {
	if s.failed = s.failed || !s.has(`{`); s.failed {
		return nil
	}
	depth := 0
	for at := 0; at < len(s.rest); at++ {
		switch s.rest[at] {
		case '"':
			at += stringEnd(s.rest[at+1:])
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				object := s.rest[:at+1]
				s.rest = s.rest[at+1:]
				return object
			}
		}
	}
	s.failed = true
	return nil
}

// stringEnd returns how many bytes of text belong to a string that has begun, its last quote
// included; all of text if the string does not end.
func stringEnd(text []byte) int {
	for end := 0; ; {
		quote := bytes.IndexByte(text[end:], '"')
		if quote < 0 {
			return len(text)
		}
		end += quote + 1
		slashes := 0
		for slashes < end-1 && text[end-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
	}
}
