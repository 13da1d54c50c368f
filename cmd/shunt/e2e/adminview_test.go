package e2e

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// adminView is the last answer of the admin address. The zero value means that it has not answered.
type adminView struct {
	readyStatus int
	ready       string
	readOnly    string // a metric, as are the following
	memtables   float64
	flushes     float64 // of memtables
}

// watch reads the admin address and keeps the answer.
func (l *sickLoad) watch() {
	v := &adminView{}
	if response, err := http.Get(l.server.admin + "/readyz"); err == nil {
		v.readyStatus, v.ready = response.StatusCode, bodyOf(response)
	}
	if response, err := http.Get(l.server.admin + "/metrics"); err == nil {
		metrics := bodyOf(response)
		v.readOnly = metricIn(metrics, "shunt_read_only")
		v.memtables, _ = strconv.ParseFloat(metricIn(metrics, "shunt_storage_memtable_bytes"), 64)
		v.flushes, _ = strconv.ParseFloat(metricIn(metrics, "shunt_storage_memtable_flushes_total"), 64)
	}
	l.admin.Store(v)
}

// metricIn returns the value of a metric without labels, "" if it is missing.
func metricIn(metrics, name string) string {
	_, value, _ := strings.Cut(metrics, "\n"+name+" ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

func bodyOf(response *http.Response) string {
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body) // a truncated body fails the comparison
	return strings.TrimSpace(string(body))
}

// saysReadOnly reports whether both readiness and metric say that the server is read-only.
func (v *adminView) saysReadOnly() bool {
	return v != nil && v.readyStatus == http.StatusOK && strings.HasPrefix(v.ready, "ready, read_only:") && v.readOnly == "1"
}

func (v *adminView) saysWell() bool {
	return v != nil && v.readyStatus == http.StatusOK && v.ready == "ready" && v.readOnly == "0"
}
