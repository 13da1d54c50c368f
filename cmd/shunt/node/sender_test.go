package node

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"shunt/engine/expect"
)

func TestAnAnswerThatRefusesIsReadAsASentence(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"a problem":           {`{"status":403,"detail":"node b is not admitted"}`, "node b is not admitted"},
		"a problem, no words": {`{"status":403}`, `{"status":403}`},
		"of a proxy":          {"<h1>403</h1>\n", "<h1>403</h1>"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(c.said))
			}))
			defer server.Close()
			_, err := ask(t.Context(), server.Client(), "a", http.MethodGet, server.URL, nil, http.StatusOK)
			expect.MustThat(t, err != nil, "an answer 403: no error")
			expect.Equal(t, err.Error(), "node a answered 403 Forbidden: "+c.want)
		})
	}
}
