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
)

// FuzzBulk checks that an accepted body has 1 to 1,000 items, each within the body, and that each
// item is read or refused.
func FuzzBulk(f *testing.F) {
	items := []string{`{"url":"https://a.example/","alias":"one"}`, `{"url":"https://b.example/"}`, `{"url":"ftp://x"}`, `{`, `7`}
	for _, body := range []string{"[" + strings.Join(items, ",") + "]", strings.Join(items, "\n"), "[]", "[[", "\xff", `["\ud800"]`} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	c := &Calls{}
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		mediaType := jsonbody.JSON
		if lines {
			mediaType = jsonbody.NDJSON[0]
		}
		items, err := jsonbody.Body{MediaType: []byte(mediaType), Text: body}.Items(engine.MaxBulk)
		if err != nil {
			if _, known := problem.Of(err); !known || items != nil {
				t.Fatalf("got %d items, %v", len(items), err)
			}
			return
		}
		if len(items) == 0 || len(items) > engine.MaxBulk {
			t.Fatalf("a body of %d items was accepted", len(items))
		}
		if want := bulkItemsOf(t, body, lines); !slices.EqualFunc(items, want, sameJSON) {
			t.Fatalf("%q: got items %q, encoding/json says %q", body, items, want)
		}
		sizeBytes := 0
		for _, item := range items {
			sizeBytes += len(item)
			if _, err := c.parseDraft(item, 1, time.Unix(1_700_000_000, 0)); err != nil {
				if _, known := problem.Of(err); !known {
					t.Fatalf("%q: %v", item, err)
				}
			}
		}
		if sizeBytes > len(body) {
			t.Fatalf("items of %d bytes in a body of %d", sizeBytes, len(body))
		}
	})
}

// bulkItemsOf reads the items of a body with encoding/json alone.
func bulkItemsOf(t *testing.T, body []byte, lines bool) (items [][]byte) {
	if !lines {
		var all []json.RawMessage
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatalf("%q was accepted: %v", body, err)
		}
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
