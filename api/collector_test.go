package api

import (
	"strconv"
	"testing"
)

func TestEndedConnectionsAreInTheMetricsByReason(t *testing.T) {
	st := newSite(t, nil)
	st.connections.Late.Store(1)
	st.connections.Idle.Store(2)
	st.connections.Evicted.Store(3)
	st.connections.Address.Store(4)
	st.connections.PlainHTTP.Store(5)
	for i, reason := range []string{"late", "idle", "evicted", "address", "plain_http"} {
		if got := st.metric(`shunt_connections_ended_total{reason="` + reason + `"}`); got != strconv.Itoa(i+1) {
			t.Errorf("%s: got %s, want %d", reason, got, i+1)
		}
	}
}
