package e2e

import (
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
	if r, err := try(http.DefaultTransport, "GET", l.server.admin+"/readyz", ""); err == nil {
		v.readyStatus, v.ready = r.StatusCode, strings.TrimSpace(r.text)
	}
	if r, err := try(http.DefaultTransport, "GET", l.server.admin+"/metrics", ""); err == nil {
		v.readOnly = metricIn(r.text, "shunt_read_only")
		v.memtables, _ = strconv.ParseFloat(metricIn(r.text, "shunt_storage_memtable_bytes"), 64)
		v.flushes, _ = strconv.ParseFloat(metricIn(r.text, "shunt_storage_memtable_flushes_total"), 64)
	}
	l.admin.Store(v)
}

// saysReadOnly reports whether both readiness and metric say that the server is read-only.
func (v *adminView) saysReadOnly() bool {
	return v != nil && v.readyStatus == http.StatusOK && strings.HasPrefix(v.ready, "ready, read_only:") && v.readOnly == "1"
}

func (v *adminView) saysWell() bool {
	return v != nil && v.readyStatus == http.StatusOK && v.ready == "ready" && v.readOnly == "0"
}
