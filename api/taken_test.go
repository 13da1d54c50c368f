package api

import (
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine/expect"
)

// detailOf returns the detail of a problem.
func detailOf(t *testing.T, text string) string {
	t.Helper()
	var p problem.Body
	expect.OK(t, json.Unmarshal([]byte(text), &p), text)
	return p.Detail
}

// wantTaken checks that r is a 409 with that detail.
func wantTaken(t *testing.T, r reply, detail string) {
	t.Helper()
	got := detailOf(t, r.body)
	expect.That(t, r.status == 409 && got == detail, "got %d, %s, want 409, %s", r.status, got, detail)
}

func TestATakenAliasNamesTheLinkThatHasIt(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/old","alias":"Promo"}`)
	long := "https://example.org/" + strings.Repeat("é", 200)
	st.shorten(`{"url":"` + long + `","alias":"long"}`)
	for name, c := range map[string]struct{ body, want string }{
		"another target":       {`{"url":"https://example.org/new","alias":"Promo"}`, `alias is taken: "Promo" leads to https://example.org/old`},
		"the same target":      {`{"url":"https://example.org/old","alias":"Promo","title":"T"}`, `alias is taken: "Promo" leads there already, with other settings`},
		"another case":         {`{"url":"https://example.org/old","alias":"PROMO"}`, `alias is taken: it differs only by case from "Promo", which leads to https://example.org/old`},
		"a target that is cut": {`{"url":"https://example.org/new","alias":"long"}`, `alias is taken: "long" leads to ` + long[:200] + `…`},
	} {
		t.Run(name, func(t *testing.T) {
			wantTaken(t, st.call("POST", "/shorten", c.body), c.want)
			_, answer, _ := st.bulk("application/json", "["+c.body+"]")
			expect.Equal(t, answer.Results[0].Problem.Detail, c.want, "in a bulk")
		})
	}
}

func TestATakenAliasShowsNothingOfAForeignLink(t *testing.T) {
	st := newSite(t, nil)
	other := st.member("ann@example.com", account.LinksWrite)
	st.shorten(`{"url":"https://secret.example/","alias":"Promo","title":"secret"}`)
	st.shorten(`{"url":"https://secret.example/","alias":"Gone"}`)
	st.call("DELETE", "/links/Gone", "")
	for alias, want := range map[string]string{
		"Promo": "alias is taken",
		"promo": `alias is taken: it differs only by case from "Promo"`,
		"Gone":  "alias is taken",
		"gone":  `alias is taken: it differs only by case from "Gone"`,
	} {
		for _, target := range []string{"https://secret.example/", "https://example.org/"} {
			r := st.callAs(other, "POST", "/shorten", `{"url":"`+target+`","alias":"`+alias+`"}`)
			wantTaken(t, r, want)
		}
	}
}

// Imports make codes that differ only by case. Each user is told their own.
func TestATakenVariantNamesTheCallersOwnLink(t *testing.T) {
	for _, order := range [][2]string{{"abc", "ABC"}, {"ABC", "abc"}} {
		st := newSite(t, nil)
		other := st.member("ann@example.com", account.LinksWrite)
		st.call("POST", "/import", `[{"code":"`+order[0]+`","url":"https://mine.example/"}]`)
		st.call("POST", "/import?owner=2", `[{"code":"`+order[1]+`","url":"https://hers.example/"}]`)
		const from = `alias is taken: it differs only by case from `
		mine, hers := `"`+order[0]+`", which leads to https://mine.example/`, `"`+order[1]+`", which leads to https://hers.example/`
		wantTaken(t, st.call("POST", "/shorten", `{"url":"https://a.example/","alias":"Abc"}`), from+mine)
		wantTaken(t, st.callAs(other, "POST", "/shorten", `{"url":"https://a.example/","alias":"Abc"}`), from+hers)
	}
}

func TestAnImportNamesTheLinkThatHasTheCode(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/old","alias":"Promo"}`)
	st.call("POST", "/import", `[{"code":"Promo","url":"https://example.org/new"}]`).expect(t, "", `"detail":"alias is taken: \"Promo\" leads to https://example.org/old"`)
}

// A receipt keeps only that the alias was taken; the link that has it is looked up again.
func TestARepeatedBulkNamesWhatIsInTheWayAgain(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/old","alias":"Promo"}`)
	const body = `[{"url":"https://a.example/"},{"url":"https://a.example/","alias":"promo"},{"url":"https://a.example/","alias":"x"},{"url":"https://b.example/","alias":"x"}]`
	_, _, first := st.bulk("application/json", body, "Idempotency-Key: k")
	_, _, again := st.bulk("application/json", body, "Idempotency-Key: k")
	first.expect(t, "got", bodyOf(again.body), `from \"Promo\"`, `\"x\" leads to https://a.example/`)
}
