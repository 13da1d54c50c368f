package api

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shunt/api/wiretest"
)

func TestAmbiguousRequestsAreRefusedAndEndTheConnection(t *testing.T) {
	t.Parallel()
	rows := wiretest.Refused()
	if len(rows) < 200 {
		t.Errorf("there are only %d rows", len(rows))
	}
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
		st.shorten(`{"url":"http://a/","alias":"smuggled"}`)
		before := st.counted()
		for _, row := range rows {
			t.Run(row.Name, func(t *testing.T) {
				method, _, _ := strings.Cut(row.Raw, " ")
				r := onlyAnswer(t, exchangeOn(t, dial(), row.Raw+wiretest.Smuggled), method)
				if !slices.Contains(row.Want, r.status) || !r.close {
					t.Errorf("%s: got %d, close %v; want %v, and the connection closed", row.Section, r.status, r.close, row.Want)
				}
				if r.problem() == "" && method != http.MethodHead {
					t.Errorf("got %+v, want a problem", r)
				}
			})
		}
		if after := st.counted(); after != before {
			t.Errorf("something was created or counted: %s became %s", before, after)
		}
	})
}
