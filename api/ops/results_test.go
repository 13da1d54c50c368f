package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/expect"
)

// encoded returns v as encoding/json writes it, without escapes of HTML.
func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// resultObject is a result as encoding/json wrote it before AppendJSON did.
type resultObject struct {
	Index   int             `json:"index"`
	Status  int             `json:"status"`
	Link    json.RawMessage `json:"link,omitempty"`
	Problem *problem.Body   `json:"problem,omitempty"`
}

// encodedResults returns the answer to a bulk as encoding/json writes it.
func encodedResults(results Results) []byte {
	var o struct {
		Created  int            `json:"created"`
		Existing int            `json:"existing"`
		Failed   int            `json:"failed"`
		Results  []resultObject `json:"results"`
	}
	o.Results = []resultObject{}
	for i := range results {
		r := resultObject{Index: i, Status: 201}
		if err := results[i].Err; err != nil {
			p, _ := problem.Of(err)
			body := p.Body()
			r.Problem, r.Status = &body, body.Status
			o.Failed++
		} else if r.Link = encodedLink(&results[i].Link); results[i].Existed {
			r.Status = 200
			o.Existing++
		} else {
			o.Created++
		}
		o.Results = append(o.Results, r)
	}
	return encoded(o)
}

// drawResult draws what became of an item.
func drawResult(t *rapid.T) Result {
	switch rapid.IntRange(0, 4).Draw(t, "outcome") {
	case 0:
		return Result{Err: engine.ErrReadOnly}
	case 1:
		return Result{Err: fmt.Errorf("wrapped: %w", engine.ErrTaken)}
	case 2:
		fields := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.FieldError {
			return engine.FieldError{Field: anyText.Draw(t, "field"), Code: anyText.Draw(t, "code"), Message: anyText.Draw(t, "message")}
		}), 1, 30).Draw(t, "errors")
		return Result{Err: engine.InvalidError(fields)}
	}
	return Result{Link: drawLink(t), Existed: rapid.Bool().Draw(t, "existed")}
}

func TestABulkAnswerHasTheBytesOfEncodingJSON(t *testing.T) {
	onlyKnown(t)
	rapid.Check(t, func(t *rapid.T) {
		results := Results(rapid.SliceOfN(rapid.Custom(drawResult), 0, 12).Draw(t, "results"))
		before := []byte(anyText.Draw(t, "before"))
		got, found := bytes.CutPrefix(results.AppendJSON(bytes.Clone(before)), before)
		want := encodedResults(results)
		expect.MustThat(t, found && bytes.Equal(got, want), "got\n%s\nwant\n%s", got, want)
	})
}

func TestAPageHasTheBytesOfEncodingJSON(t *testing.T) {
	onlyKnown(t)
	rapid.Check(t, func(t *rapid.T) {
		page := Page{Links: rapid.SliceOfN(rapid.Custom(drawLink), 0, 5).Draw(t, "links"), Next: anyText.Draw(t, "next")}
		o := struct {
			Data []json.RawMessage `json:"data"`
			Next *string           `json:"next_cursor"`
		}{Data: []json.RawMessage{}}
		for i := range page.Links {
			o.Data = append(o.Data, encodedLink(&page.Links[i]))
		}
		if page.Next != "" {
			o.Next = &page.Next
		}
		got, want := page.AppendJSON(nil), encoded(o)
		expect.MustThat(t, bytes.Equal(got, want), "got\n%s\nwant\n%s", got, want)
	})
}

func TestAnswersNeedNoMemoryInABufferThatWasUsed(t *testing.T) {
	links := listOf(100)
	results := make(Results, len(links))
	for i := range links {
		results[i].Link = links[i]
	}
	page := Page{Links: links, Next: "next"}
	for name, write := range map[string]func([]byte) []byte{
		"link": links[0].AppendJSON, "page": page.AppendJSON, "bulk": results.AppendJSON,
	} {
		buffer := make([]byte, 0, linkBytes*(2+len(links)))
		if n := testing.AllocsPerRun(20, func() { write(buffer) }); n != 0 {
			t.Errorf("%s: got %v allocations, want none", name, n)
		}
	}
}
