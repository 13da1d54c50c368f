package api

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

func TestAmbiguousRequestsAreRefusedAndEndTheConnection(t *testing.T) {
	t.Parallel()
	rows := wiretest.Refused()
	expect.That(t, len(rows) >= 200, "there are only %d rows", len(rows))
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
		st.shorten(`{"url":"http://a/","alias":"smuggled"}`)
		before := st.counted()
		for _, row := range rows {
			t.Run(row.Name, func(t *testing.T) {
				method, _, _ := strings.Cut(row.Raw, " ")
				r := onlyAnswer(t, exchangeOn(t, dial(), row.Raw+wiretest.Smuggled), method)
				expect.That(t, slices.Contains(row.Want, r.status) && r.close,
					"%s: got %d, close %v; want %v, and the connection closed", row.Section, r.status, r.close, row.Want)
				expect.That(t, r.problem() != "" || method == http.MethodHead, "got %+v, want a problem", r)
			})
		}
		expect.Equal(t, st.counted(), before, "something was created or counted")
	})
}
