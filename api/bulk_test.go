package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shunt/api/links"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// bulk sends a body of a media type, and returns "created existing failed: statuses".
func (st *site) bulk(contentType, body string, lines ...string) (string, bulkAnswer, reply) {
	st.t.Helper()
	lines = append(lines, "Authorization: Bearer "+st.token, "Content-Type: "+contentType)
	r := send(st.t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten/bulk", body, lines...))
	var answer bulkAnswer
	if r.status != 200 {
		return "", answer, r
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		st.t.Fatal(err)
	}
	text := fmt.Sprintf("%d %d %d:", answer.Created, answer.Existing, answer.Failed)
	for i, item := range answer.Results {
		if item.Index != i || (item.Link == nil) == (item.Problem == nil) || item.Problem != nil && item.Problem.Status != item.Status {
			st.t.Errorf("result %d is %+v", i, item)
		}
		text += fmt.Sprint(" ", item.Status)
	}
	return text, answer, r
}

var bulkTexts = []string{
	`{"url":"https://a.example/1","alias":"one","title":"x"}`,
	`{"url":"https://a.example/2"}`,
	`{"url":"https://a.example/1","alias":"one"}`,
	`{"url":"https://a.example/3","alias":"one"}`,
	`{"url":"ftp://a.example/","alias":"no way"}`,
	`7`,
}

const bulkOutcome = "2 1 3: 201 201 200 409 422 422"

func TestABulkMakesItsLinksAndSaysWhatEachBecame(t *testing.T) {
	for contentType, body := range map[string]string{
		"application/json":                    "[" + strings.Join(bulkTexts, " ,\n") + "]",
		"application/x-ndjson":                "\n" + strings.Join(bulkTexts, "\r\n\n"),
		"application/x-ndjson; charset=utf-8": strings.Join(bulkTexts, "\n") + "\n",
	} {
		st := newSite(t, nil)
		got, answer, r := st.bulk(contentType, body)
		if got != bulkOutcome {
			t.Fatalf("%s: got %q %+v, want %q", contentType, got, r, bulkOutcome)
		}
		for _, i := range []int{0, 1} {
			if there := st.get("/" + answer.Results[i].Link.Code); there.status != 302 {
				t.Errorf("%s: result %d redirects with %d", contentType, i, there.status)
			}
		}
		if p := answer.Results[4].Problem; p.Code != "invalid" || len(p.Errors) != 2 {
			t.Errorf("%s: got %+v", contentType, p)
		}
		if p := answer.Results[3].Problem; p.Code != "alias_taken" || p.Type != "urn:shunt:problem:alias_taken" {
			t.Errorf("%s: got %+v", contentType, p)
		}
		if got := st.metric(`shunt_link_writes_total{op="create",result="ok"}`); got != "3" {
			t.Errorf("%s: %s writes are counted, want 3", contentType, got)
		}
	}
}

func TestALineThatIsNotJSONIsARefusedItem(t *testing.T) {
	st := newSite(t, nil)
	got, answer, r := st.bulk("application/x-ndjson", "{\n{\"url\":\"https://a.example/\"}\n\"\xff\"\n"+`{"url":"https://a.example/\ud800"}`)
	if got != "1 0 3: 400 201 400 400" {
		t.Fatalf("got %q %+v", got, r)
	}
	if p := answer.Results[0].Problem; p.Code != "malformed_json" {
		t.Errorf("got %+v", p)
	}
}

func TestAMalformedBulkIsRefusedWhole(t *testing.T) {
	st := newSite(t, nil)
	item := `{"url":"https://a.example/"}`
	many := strings.TrimSuffix(strings.Repeat(item+"\n", engine.MaxBulk+1), "\n")
	for name, c := range map[string]struct {
		contentType, body string
		status            int
		problem           string
	}{
		"not an array":       {"application/json", item, 422, "invalid"},
		"two arrays":         {"application/json", "[" + item + "][" + item + "]", 400, "malformed_json"},
		"an array cut off":   {"application/json", "[" + item, 400, "malformed_json"},
		"an empty array":     {"application/json", "[]", 422, "invalid"},
		"no lines":           {"application/x-ndjson", "\n \r\n", 422, "invalid"},
		"another media type": {"text/plain", item, 415, "unsupported_media_type"},
		"1,001 elements":     {"application/json", "[" + strings.ReplaceAll(many, "\n", ",") + "]", 422, "invalid"},
		"1,001 lines":        {"application/x-ndjson", many, 422, "invalid"},
	} {
		if _, _, r := st.bulk(c.contentType, c.body); r.status != c.status || r.problem() != c.problem {
			t.Errorf("%s: got %d %s, want %d %s", name, r.status, r.body, c.status, c.problem)
		}
	}
	if got := st.engine.Metrics().Links; got != 0 {
		t.Errorf("%d links are there, want none", got)
	}
}

func TestABulkMayBeLargeButItsItemsMayNot(t *testing.T) {
	st := newSite(t, nil)
	target := `{"url":"https://a.example/` + strings.Repeat("x", 7000) + `"}`
	tooLarge := `{"url":"https://a.example/","title":"` + strings.Repeat("x", ops.MaxItemBytes) + `"}`
	manyErrors := "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, 64), ",") + "}"
	body := strings.Repeat(target+"\n", engine.MaxBulk-2) + tooLarge + "\n" + manyErrors
	got, answer, r := st.bulk("application/x-ndjson", body)
	if !strings.HasPrefix(got, "998 0 2: 201 ") || !strings.HasSuffix(got, " 201 413 422") {
		t.Fatalf("got %.100q %d", got, r.status)
	}
	if n := len(answer.Results[999].Problem.Errors); n != problem.MaxErrors {
		t.Errorf("%d errors of an item are told, want %d", n, problem.MaxErrors)
	}
	if _, _, r := st.bulk("application/json", strings.Repeat(" ", links.MaxBulkBytes+1)); r.status != 413 {
		t.Errorf("more than 8 MiB: got %d", r.status)
	}
}

func TestARepeatedBulkGetsTheFirstAnswerAgain(t *testing.T) {
	st := newSite(t, nil)
	body := strings.Join(bulkTexts, "\n")
	_, _, first := st.bulk("application/x-ndjson", body, "Idempotency-Key: k")
	_, _, again := st.bulk("application/x-ndjson", body, "Idempotency-Key: k")
	if first.status != 200 || first.body != again.body {
		t.Errorf("got\n%s\nand then\n%s", first.body, again.body)
	}
	st.call("DELETE", "/links/one", "")
	_, _, again = st.bulk("application/x-ndjson", body, "Idempotency-Key: k")
	links, _, _ := strings.Cut(first.body, `{"index":3,`) // the rest says what is in the way now
	if !strings.HasPrefix(again.body, links) {
		t.Errorf("after a deletion: got\n%s\nwant\n%s", again.body, links)
	}
	if _, _, r := st.bulk("application/x-ndjson", body+"\n", "Idempotency-Key: k"); r.problem() != "idempotency_mismatch" {
		t.Errorf("another body: got %+v", r)
	}
	if r := st.call("POST", "/shorten", bulkTexts[1], "Idempotency-Key: k"); r.problem() != "idempotency_mismatch" {
		t.Errorf("another request: got %+v", r)
	}
	if got := st.engine.Metrics().Links; got != 1 {
		t.Errorf("%d links are there, want 1", got)
	}
}
