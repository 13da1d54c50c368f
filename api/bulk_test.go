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
	"shunt/engine/expect"
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
	expect.OK(st.t, json.Unmarshal([]byte(r.body), &answer))
	text := fmt.Sprintf("%d %d %d:", answer.Created, answer.Existing, answer.Failed)
	for i, item := range answer.Results {
		expect.That(st.t, item.Index == i && (item.Link == nil) != (item.Problem == nil) && (item.Problem == nil || item.Problem.Status == item.Status),
			"result %d is %+v", i, item)
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
		expect.MustEqual(t, got, bulkOutcome, "%s %+v", contentType, r)
		for _, i := range []int{0, 1} {
			st.get("/"+answer.Results[i].Link.Code).expect(t, fmt.Sprintf("%s: result %d", contentType, i), 302)
		}
		p := answer.Results[4].Problem
		expect.That(t, p.Code == "invalid" && len(p.Errors) == 2, "%s: got %+v", contentType, p)
		p = answer.Results[3].Problem
		expect.That(t, p.Code == "alias_taken" && p.Type == "urn:shunt:problem:alias_taken", "%s: got %+v", contentType, p)
		expect.Equal(t, st.metric(`shunt_link_writes_total{op="create",result="ok"}`), "3", "%s writes are counted", contentType)
	}
}

func TestALineThatIsNotJSONIsARefusedItem(t *testing.T) {
	st := newSite(t, nil)
	got, answer, r := st.bulk("application/x-ndjson", "{\n{\"url\":\"https://a.example/\"}\n\"\xff\"\n"+`{"url":"https://a.example/\ud800"}`)
	expect.MustEqual(t, got, "1 0 3: 400 201 400 400", "%+v", r)
	p := answer.Results[0].Problem
	expect.Equal(t, p.Code, "malformed_json", "got %+v", p)
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
		_, _, r := st.bulk(c.contentType, c.body)
		r.expect(t, name, c.status, problemOf(c.problem))
	}
	expect.Equal(t, st.engine.Metrics().Links, 0, "links are there")
}

func TestABulkMayBeLargeButItsItemsMayNot(t *testing.T) {
	st := newSite(t, nil)
	target := `{"url":"https://a.example/` + strings.Repeat("x", 7000) + `"}`
	tooLarge := `{"url":"https://a.example/","title":"` + strings.Repeat("x", ops.MaxItemBytes) + `"}`
	manyErrors := "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, 64), ",") + "}"
	body := strings.Repeat(target+"\n", engine.MaxBulk-2) + tooLarge + "\n" + manyErrors
	var got string
	var answer bulkAnswer
	r := known(t, func() (r reply) {
		got, answer, r = st.bulk("application/x-ndjson", body, "Idempotency-Key: large")
		return r
	})
	expect.MustThat(t, strings.HasPrefix(got, "998 0 2: 201 ") && strings.HasSuffix(got, " 201 413 422"), "got %.100q %d", got, r.status)
	expect.Equal(t, len(answer.Results[999].Problem.Errors), problem.MaxErrors, "errors of an item are told")
	_, _, r = st.bulk("application/json", strings.Repeat(" ", links.MaxBulkBytes+1))
	r.expect(t, "more than 8 MiB", 413)
}

func TestARepeatedBulkGetsTheFirstAnswerAgain(t *testing.T) {
	st := newSite(t, nil)
	body := strings.Join(bulkTexts, "\n")
	_, _, first := st.bulk("application/x-ndjson", body, "Idempotency-Key: k")
	_, _, again := st.bulk("application/x-ndjson", body, "Idempotency-Key: k")
	first.expect(t, "", 200, bodyOf(again.body))
	st.call("DELETE", "/links/one", "")
	_, _, again = st.bulk("application/x-ndjson", body, "Idempotency-Key: k")
	links, _, _ := strings.Cut(first.body, `{"index":3,`) // the rest says what is in the way now
	expect.That(t, strings.HasPrefix(again.body, links), "after a deletion: got\n%s\nwant\n%s", again.body, links)
	_, _, r := st.bulk("application/x-ndjson", body+"\n", "Idempotency-Key: k")
	r.expect(t, "another body", problemOf("idempotency_mismatch"))
	st.call("POST", "/shorten", bulkTexts[1], "Idempotency-Key: k").expect(t, "another request", problemOf("idempotency_mismatch"))
	expect.Equal(t, st.engine.Metrics().Links, 1, "links are there")
}
