package browser

import (
	"net/http"
	"testing"

	"shunt/engine/expect"
)

// A browser goes from the form to a target of another origin: no policy of the page stops that. The password is asked
// for once, is no hit, and the visitor's second visit asks for nothing.
func TestAVisitorTypesThePasswordOfALink(t *testing.T) {
	needBrowser(t)
	s := startServer(t, localhost)
	site, token := serveEagerly(t, s), s.token()
	for code, status := range map[string]int{"found": 302, "for-ever": 301, "sent-on": 307} {
		t.Run(code, func(t *testing.T) {
			s.create(token, map[string]any{"url": site.base + "/target", "alias": code, "redirect_status": status, "password": "open sesame", "forward_query": true})
			b := watchedTab(t, s.base) // it leaves the server
			b.visit("/"+code+"?a=b", http.StatusUnauthorized)
			b.fill(field("Password"), "open Sesame")
			b.submit(button("Open the link"), http.StatusUnauthorized)
			b.sees("That is not the password.")
			b.fill(field("Password"), "open sesame")
			b.key("Enter")
			b.find(heading("The target"))
			b.isAt("/target")
			again := watchedTab(t, s.base)
			again.visit("/"+code, http.StatusOK)
			again.find(heading("The target"))
			type figures struct{ Hits int }
			expect.Equal(t, answerOf[figures](s, token, http.MethodGet, "/stats/"+code, nil).Hits, 2, "hits")
		})
	}
}
