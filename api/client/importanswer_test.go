package client

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// importAnswers are answers, some of which are not of the usual form.
var importAnswers = []string{
	`{"created":0,"existing":0,"failed":0,"results":[]}`,
	`{"created":1,"existing":1,"failed":0,"results":[{"index":0,"status":201,"link":{"code":"a","tags":["x","}"],"title":"\"}]{\\"}},{"index":1,"status":200,"link":{}}]}` + "\n",
	`{"created":0,"existing":0,"failed":2,"results":[{"index":0,"status":422,"problem":{"type":"urn:shunt:problem:invalid","status":422,"code":"invalid","errors":[{"field":"url","code":"x","message":"}{"}]}},{"index":1,"status":409,"problem":{"code":"alias_taken","status":409}}]}`,
	` { "created": 1, "existing": 0, "results": [ {"index":0,"status":201,"link":null,"problem":null} ] } `,
	`{"created":1,"existing":0,"failed":0,"results":[{"index":0,"status":201,"link":{"code":"a"},"more":1}]}`,
	`{"created":12345678901,"existing":0,"failed":0,"results":[]}`,
	`{"created":01,"existing":0,"failed":0,"results":[]}`,
	`{"created":1,"existing":0,"failed":0,"results":[{"index":0,"status":201,"link":{"code":"a"}}`,
	`{"created":1,"existing":0,"failed":0,"results":[{"index":0,"status":422,"problem":{"code":5}}]}`,
	`{"created":1,"existing":0,"failed":0,"results":[,]}`,
	`{"created":-1,"existing":0,"failed":0,"results":[]}`,
	`{"created":1,"existing":0,"failed":0,"results":[{"index":0,"status":201,"link":{"title":"` + strings.Repeat(`\\`, 9) + `\""}}]}`,
	`{}`, `[]`, ``, `{"created":`, `<h1>no</h1>`,
}

// FuzzScannedAnswersAreThoseOfEncodingJSON holds the scanner to what encoding/json reads.
func FuzzScannedAnswersAreThoseOfEncodingJSON(f *testing.F) {
	for _, text := range importAnswers {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, results, ok := scanImportAnswer([]byte(text))
		if !ok || !json.Valid([]byte(text)) {
			return // another reader decides, or a skipped link is broken
		}
		var answer importAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("scanned %s, which encoding/json refuses: %v", text, err)
		}
		if want := answer.result(); !reflect.DeepEqual(got, want) || results != len(answer.Results) {
			t.Errorf("%s: got %+v of %d, want %+v of %d", text, got, results, want, len(answer.Results))
		}
	})
}

func TestAnAnswerNeedsAResultForEachLink(t *testing.T) {
	for n, want := range map[int]error{1: errResults, 2: nil, 3: errResults} {
		if _, err := readImportAnswer([]byte(importAnswers[1]), n); !errors.Is(err, want) {
			t.Errorf("for %d links: got %v, want %v", n, err, want)
		}
	}
	r, err := readImportAnswer([]byte(importAnswers[2]), 2)
	if err != nil || len(r.Refused) != 2 || r.Refused[1].Index != 1 || !errors.Is(r.Refused[1].Problem, ErrAliasTaken) || r.Refused[0].Problem.Errors[0].Field != "url" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := readImportAnswer([]byte("<h1>no</h1>"), 1); err == nil || !strings.Contains(err.Error(), "the server's answer: invalid character") {
		t.Errorf("got %v, want an error", err)
	}
}

func TestUsualAnswersAreScanned(t *testing.T) {
	for i, text := range importAnswers[:3] {
		if _, _, ok := scanImportAnswer([]byte(text)); !ok {
			t.Errorf("answer %d was not scanned", i)
		}
	}
	text := []byte(importAnswers[1])
	if n := testing.AllocsPerRun(100, func() { _, _, _ = scanImportAnswer(text) }); n != 0 {
		t.Errorf("scanning an answer without refusals allocates %v times, want 0", n)
	}
}

func TestABatchIsALineForEachLink(t *testing.T) {
	b := new(ImportBatch)
	for _, link := range []string{`{"code":"a"}`, "{\n\"code\":\n\"b\"}", " \t\n"} {
		if !b.Add([]byte(link)) {
			t.Fatal("the batch is full")
		}
	}
	if want := "{\"code\":\"a\"}\n{\r\"code\":\r\"b\"}\n \t\rnull\n"; string(b.body) != want || b.Len() != 3 || string(b.Link(0)) != `{"code":"a"}` {
		t.Errorf("got %q, want %q", b.body, want)
	}
	b.Reset()
	for n := 0; b.Add([]byte(`{}`)); n++ {
		if n > MaxImportLinks {
			t.Fatal("the batch does not end")
		}
	}
	if b.Len() != MaxImportLinks {
		t.Errorf("got %d links, want %d", b.Len(), MaxImportLinks)
	}
	b.Reset()
	if large := make([]byte, 2*importBatchBytes); !b.Add(large) || b.Add([]byte(`{}`)) {
		t.Error("an empty batch takes one large link, and then no other")
	}
}
