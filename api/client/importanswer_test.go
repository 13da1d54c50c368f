package client

import (
	"errors"
	"testing"

	"shunt/engine/expect"
)

func readAnswer(text string, links int) (ImportResult, error) {
	answer := importAnswer{links: links}
	err := answer.read([]byte(text))
	return answer.ImportResult, err
}

func TestAnAnswerNeedsAResultForEachLink(t *testing.T) {
	const (
		made    = `{"created":1,"existing":1,"failed":0,"results":[{"index":0,"status":201,"link":{"code":"a"}},{"index":1,"status":200,"link":{}}]}` + "\n"
		refused = `{"created":0,"existing":0,"failed":2,"results":[` +
			`{"index":0,"status":422,"problem":{"type":"urn:shunt:problem:invalid","status":422,"code":"invalid","errors":[{"field":"url","code":"x","message":"}{"}]}},` +
			`{"index":1,"status":409,"problem":{"code":"alias_taken","status":409}}]}`
		other = ` { "created": 1, "existing": 0, "results": [ {"index":0,"status":201,"link":null,"problem":null} ] } `
	)
	for n, want := range map[int]error{1: errResults, 2: nil, 3: errResults} {
		r, err := readAnswer(made, n)
		expect.That(t, errors.Is(err, want) && (err != nil || r.Created == 1 && r.Existing == 1 && r.Refused == nil),
			"for %d links: got %+v, %v, want %v", n, r, err, want)
	}
	r, err := readAnswer(refused, 2)
	expect.That(t, err == nil && len(r.Refused) == 2 && r.Refused[1].Index == 1 && errors.Is(r.Refused[1].Problem, ErrAliasTaken) &&
		r.Refused[0].Problem.Errors[0].Field == "url", "got %+v, %v", r, err)
	r, err = readAnswer(other, 1)
	expect.That(t, err == nil && r.Created == 1, "with spaces: got %+v, %v", r, err)
	for _, text := range []string{
		`<h1>no</h1>`, ``, `{}`, `[]`, `{"created":`, `{"created":1,"existing":0,"failed":0`, `{"created":-1,"existing":2,"failed":0,"results":[]}`,
		`{"created":4294967297,"existing":0,"failed":0,"results":[]}`, `{"created":0,"existing":0,"failed":1,"results":[{"index":0,"status":422,"problem":{"code":5}}]}`,
	} {
		r, err := readAnswer(text, 1)
		expect.That(t, err != nil, "%s: got %+v, %v, want an error", text, r, err)
	}
}
