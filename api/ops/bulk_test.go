package ops

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/expect"
)

// FuzzBulk checks that an accepted body has 1 to 1,000 items, each within the body, and that each
// item is read or refused.
func FuzzBulk(f *testing.F) {
	items := []string{`{"url":"https://a.example/","alias":"one"}`, `{"url":"https://b.example/"}`, `{"url":"ftp://x"}`, `{`, `7`}
	for _, body := range []string{"[" + strings.Join(items, ",") + "]", strings.Join(items, "\n"), "[]", "[[", "\xff", `["\ud800"]`} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	c := &Calls{o: Options{Domains: onlyDefault(f, "https://sho.rt")}}
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		mediaType := jsonbody.JSON
		if lines {
			mediaType = jsonbody.NDJSON[0]
		}
		items, err := jsonbody.Body{MediaType: []byte(mediaType), Text: body}.Items(engine.MaxBulk)
		if err != nil {
			_, known := problem.Of(err)
			expect.MustThat(t, known && items == nil, "got %d items, %v", len(items), err)
			return
		}
		expect.MustThat(t, len(items) != 0 && len(items) <= engine.MaxBulk, "a body of %d items was accepted", len(items))
		want := bulkItemsOf(t, body, lines)
		expect.MustThat(t, slices.EqualFunc(items, want, sameJSON), "%q: got items %q, encoding/json says %q", body, items, want)
		sizeBytes := 0
		for _, item := range items {
			sizeBytes += len(item)
			if _, err := c.parseDraft(item, benchCaller, nil, time.Unix(1_700_000_000, 0)); err != nil {
				_, known := problem.Of(err)
				expect.MustThat(t, known, "%q: %v", item, err)
			}
		}
		expect.MustThat(t, sizeBytes <= len(body), "items of %d bytes in a body of %d", sizeBytes, len(body))
	})
}

// bulkItemsOf reads the items of a body with encoding/json alone.
func bulkItemsOf(t *testing.T, body []byte, lines bool) (items [][]byte) {
	if !lines {
		var all []json.RawMessage
		expect.OK(t, json.Unmarshal(body, &all), "%q was accepted", body)
		for _, item := range all {
			items = append(items, item)
		}
		return items
	}
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if line = bytes.Trim(line, " \t\r"); len(line) > 0 { // the white space of JSON
			items = append(items, line)
		}
	}
	return items
}

func sameJSON(a, b []byte) bool {
	return bytes.Equal(bytes.Trim(a, " \t\r\n"), bytes.Trim(b, " \t\r\n"))
}
