package reach

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"shunt/cmd/shunt/core"
	"shunt/engine/expect"
)

func TestAnOperationWithoutAResultIsAnError(t *testing.T) {
	const progress, result = `{"progress":"half"}` + "\n", `{"result":{"links":3}}` + "\n"
	for name, c := range map[string]struct {
		status int
		answer string
		cut    bool
		want   string
	}{
		"done":                  {200, progress + progress + result, false, ""},
		"failed":                {200, progress + `{"error":"no\u001b space"}`, false, `^no\\x1b space$`},
		"refused":               {409, `{"code":"busy","detail":"another is under way"}`, false, `^another is under way \(409 busy\)$`},
		"cut off":               {200, progress, true, "the server ended, .* unexpected EOF"},
		"cut off in the result": {200, progress + result[:9], true, "the server ended, .* unexpected EOF"},
		"stopped":               {200, progress, false, "^the server was stopped"},
		"of something else":     {200, "5\n", false, "the server's answer"},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.answer)
				if _ = http.NewResponseController(w).Flush(); c.cut {
					panic(http.ErrAbortHandler)
				}
			}))
			defer elsewhere.Close()
			server, err := newConnection(elsewhere.URL, "t", nil, nil)
			expect.OK(t, err)
			said, done := "", core.Backup{}
			err = server.Operate(t.Context(), "/backup", nil, func(text string) { said = text }, &done)
			expect.MustThat(t, err == nil == (c.want == "") && (err != nil || done.Links == 3 && said == "half"),
				"got %v, %+v, having said %q", err, done, said)
			expect.That(t, err == nil || regexp.MustCompile(c.want).MatchString(err.Error()), "got %v, want %s", err, c.want)
		})
	}
}
