package api

import (
	"strconv"
	"testing"

	"shunt/engine/expect"
)

func TestEndedConnectionsAreInTheMetricsByReason(t *testing.T) {
	st := newSite(t, nil)
	st.connections.Late.Store(1)
	st.connections.Idle.Store(2)
	st.connections.Evicted.Store(3)
	st.connections.Address.Store(4)
	st.connections.PlainHTTP.Store(5)
	for i, reason := range []string{"late", "idle", "evicted", "address", "plain_http"} {
		expect.Equal(t, st.metric(`shunt_connections_ended_total{reason="`+reason+`"}`), strconv.Itoa(i+1), "%s, want %d", reason, i+1)
	}
}
