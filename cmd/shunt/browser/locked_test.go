package browser

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"shunt/engine/expect"
)

// A browser goes from the form to a target of another origin: no policy of the page stops that. The password is asked
// once. That is no hit, and the second visit needs no password.
func TestAVisitorTypesThePasswordOfALink(t *testing.T) {
	needBrowser(t)
	s := startServer(t, localhost)
	site, token := serveEagerly(t, s), s.token() // it makes the browser one of a person
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>a page</title><h1>The target</h1>`))
	}))
	t.Cleanup(elsewhere.Close)
	for code, status := range map[string]int{"found": 302, "for-ever": 301, "sent-on": 307} {
		t.Run(code, func(t *testing.T) {
			s.create(token, map[string]any{"url": elsewhere.URL + "/target", "alias": code, "redirect_status": status, "password": "open sesame", "forward_query": true})
			b := watchedTab(t, site.base) // it leaves the server
			b.visit("/"+code+"?a=b", http.StatusUnauthorized)
			b.fill(field("Password"), "open Sesame")
			b.submit(button("Open the link"), http.StatusUnauthorized)
			b.sees("That is not the password.")
			b.fill(field("Password"), "open sesame")
			b.loading(http.StatusOK, func() { b.key("Enter") })
			b.find(heading("The target"))
			b.isAt("/target")
			b.visit("/"+code, http.StatusOK)
			b.find(heading("The target"))
			type figures struct{ Hits int }
			expect.Equal(t, answerOf[figures](s, token, http.MethodGet, "/stats/"+code, nil).Hits, 2, "hits")
		})
	}
}
