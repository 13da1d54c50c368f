package admin

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine"
	"shunt/engine/plural"
)

// Health is what a server says of itself at one moment: on /readyz and /healthz, in shunt health, on
// the page System, and to a process manager.
type Health struct {
	Status     Status      `json:"status"`
	Conditions []Condition `json:"conditions"`

	// While links are loaded: the share of the time that is over, from 0 to 1, and the seconds that
	// are left, once they can be estimated.
	Progress        *float64 `json:"progress,omitempty"`
	EstimateSeconds *float64 `json:"estimate_seconds,omitempty"`
}

// Status says in a word whether a load balancer should send requests.
type Status string

// Statuses. All but StatusOK are answered 503 on /readyz.
const (
	StatusOK       Status = "ok"
	StatusLoading  Status = "loading"  // links that are not in memory yet are read from the store
	StatusDraining Status = "draining" // the server stops
	StatusRefused  Status = "refused"  // an edge whose token its writer refuses
)

// A Condition is something that may be wrong with a server, by name.
type Condition struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // if it is not OK: what is wrong, and what to do, in sentences for people
}

// condition is a row of the table of conditions.
type condition struct {
	name string
	ends Status // the status of a server in this condition; empty: it goes on answering

	// look returns the detail of a condition that is not OK, otherwise "".
	look func(*healthNow) string
}

// conditions is the table of conditions, the gravest first. Names are the contract of /readyz.
var conditions = []condition{
	{"draining", StatusDraining, func(h *healthNow) string {
		return sayIf(h.draining, "The server stops. It finishes the requests that it has.")
	}},
	{"loading", StatusLoading, func(h *healthNow) string {
		return sayIf(!h.ready, "The server is still loading its links. Links redirect already; pages and changes have to wait a moment.")
	}},
	{"catching_up", StatusLoading, func(h *healthNow) string {
		return sayIf(h.cluster != nil && h.cluster.CatchingUp, "This server was off, and takes what was written meanwhile. Links redirect already, but newer links and changes may be missing here.")
	}},
	{"refused", StatusRefused, func(h *healthNow) string {
		return sayIf(h.refused, "The server of this edge refuses its token, so nothing redirects here. Make a new token there, "+
			"and put it into the file of --edge-token-file. The hits of this edge are kept until then.")
	}},
	{"read_only", "", func(h *healthNow) string {
		return sayIf(h.readOnly, "The disk is almost full, so links cannot be created or changed. Make room on the disk; "+
			"changes are then possible again without a restart.")
	}},
	{"stalled", "", func(h *healthNow) string {
		return sayIf(h.stalled, "The disk does not answer changes in time. Check whether it is slow, full or gone.")
	}},
	{"journal_standby", "", func(h *healthNow) string {
		return sayIf(h.metrics.JournalStandby, "The disk of the journal does not answer, so new hits are kept in memory. Check the disk. "+
			"If the server is killed or the computer stops before it answers, these hits are lost.")
	}},
	{"hits_unprotected", "", func(h *healthNow) string {
		n := h.metrics.JournalUnprotected
		return sayIf(n > 0, plural.Of(n, "hit is", "hits are")+" not safe on the disk yet and would be lost in a crash. "+
			"Check the disk, and do not stop the server by force.")
	}},
	{"stale", "", func(h *healthNow) string {
		return sayIf(h.cluster != nil && h.cluster.Stale, "This server has not heard from the others for some time, so newer links and changes may be missing here. "+
			"Links still redirect. Check the network, and the server that takes the changes.")
	}},
	{"flush_late", "", (*healthNow).lateFlush},
	{"memory", "", func(h *healthNow) string {
		return sayIf(h.memory != nil && h.memory.Full, "The memory limit is reached, so links cannot be created. "+
			"Raise --memory-limit, or give the computer more memory. Links still redirect, and can be changed and deleted.")
	}},
	{"certificate", "", (*healthNow).badCertificate},
	{"block_list", "", func(h *healthNow) string {
		return sayIf(h.blocks != nil && h.blocks.Failing, "The block list cannot be read, so the last one that could is in force. "+
			"Check the file of --block-list and the server's log.")
	}},
	{"countries", "", func(h *healthNow) string {
		return sayIf(h.countries != nil && h.countries.Failing, "The file of countries cannot be read, so new hits get their country from the last "+
			"one that could, or none. Check the file of --geoip and the server's log.")
	}},
	{"clock", "", func(h *healthNow) string {
		return sayIf(!h.metrics.ClockTrusted && h.up > clockSettled, "The computer's clock was changed in the last minutes, so old figures "+
			"and deleted links are not cleared for now. Check the time service of the computer.")
	}},
}

// clockSettled is how long a server runs before its clock counts as wrong: each start waits until the
// clock has run evenly for that long.
const clockSettled = engine.DefaultClockSettles + time.Minute

// sayIf returns text if a condition holds.
func sayIf(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

// flushLateAfter is how old the last write of figures may be, beyond the time between two.
const flushLateAfter = time.Minute

func (h *healthNow) lateFlush() string {
	age := h.now.Sub(h.metrics.LastFlush)
	if age <= flushLateAfter+h.metrics.FlushInterval {
		return ""
	}
	text := "Figures were not written to the disk for " + age.Truncate(time.Second).String() + "."
	if n := h.metrics.FlushErrors; n > 0 {
		text += " " + plural.Of(n, "attempt has", "attempts have") + " failed since the start."
	}
	return text + " Hits still count. Check the disk and the server's log."
}

// certificateDays is how many days before its end a certificate that nobody renews by itself is a
// condition.
const certificateDays = 14

func (h *healthNow) badCertificate() string {
	c := h.certificate
	if c == nil {
		return ""
	}
	left := c.NotAfter.Sub(h.now)
	switch {
	case c.NotAfter.IsZero() && c.ACME && c.State == ACMEWaiting: // it was just asked for
		return ""
	case c.NotAfter.IsZero():
		return "There is no certificate, so HTTPS does not work. Check the server's log."
	case left <= 0:
		return "The certificate has expired, so browsers refuse HTTPS. Renew it; check the server's log."
	case c.ACME && c.State == ACMEFailing:
		return "The certificate could not be renewed, and works for " + days(left) + " more. The server tries again. Check the server's log."
	case !c.ACME && left < certificateDays*24*time.Hour:
		return "The certificate expires in " + days(left) + ". Renew it; the server reads the new file by itself."
	}
	return ""
}

// days returns a time in whole days, or hours if there are less than two days.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return plural.Of(int(d.Hours()), "hour", "hours")
	}
	return plural.Of(int(d.Hours())/24, "day", "days")
}

// healthNow is what the conditions look at.
type healthNow struct {
	draining, ready, readOnly, stalled, refused bool

	metrics engine.Metrics
	now     time.Time
	up      time.Duration // since the start

	// nil: there is none
	certificate *Certificate
	blocks      *Blocks
	countries   *CountryFile
	memory      *Memory
	cluster     *Cluster
}

// Health returns the health of the server as it is now. It costs microseconds. Any number of
// goroutines may call it at once.
func (a *Address) Health() Health {
	from := &a.sources
	now := &healthNow{
		draining: a.Draining(), ready: from.Engine.Ready(), readOnly: from.Engine.ReadOnly(),
		stalled: a.Stalled != nil && a.Stalled(), refused: from.Refused != nil && from.Refused(),
		metrics: from.Engine.Metrics(), now: time.Now(), up: time.Since(a.started),
		certificate: asked(from.Certificate), blocks: asked(from.Blocks), memory: asked(from.Memory),
		countries: asked(from.Countries), cluster: asked(from.Cluster),
	}
	if a.Now != nil {
		now.now = a.Now()
	}
	h := Health{Status: StatusOK, Conditions: make([]Condition, len(conditions))}
	for i, c := range conditions {
		detail := c.look(now)
		h.Conditions[i] = Condition{Name: c.name, OK: detail == "", Detail: detail}
		if detail != "" && h.Status == StatusOK && c.ends != "" {
			h.Status = c.ends
		}
	}
	if !now.ready {
		h.addProgress(from.Engine.LoadProgress())
	}
	return h
}

func (h *Health) addProgress(p engine.Progress) {
	share := math.Floor(p.Share*1000) / 1000
	h.Progress = &share
	if p.Left > 0 {
		seconds := math.Ceil(p.Left.Seconds())
		h.EstimateSeconds = &seconds
	}
}

// Wrong returns the conditions that are not OK.
func (h Health) Wrong() (wrong []Condition) {
	for _, c := range h.Conditions {
		if !c.OK {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// Line returns h in a line without an end: "ready"; "ready, " and the name and first sentence of each
// condition that is not OK; "loading, 43 %, about 7 s left"; "draining".
func (h Health) Line() string {
	switch {
	case h.Status == StatusLoading:
		return "loading" + h.progress()
	case h.Status != StatusOK:
		return string(h.Status)
	}
	line := "ready"
	for _, c := range h.Wrong() {
		sentence, _, _ := strings.Cut(c.Detail, ". ")
		line += ", " + c.Name + ": " + strings.TrimSuffix(sentence, ".")
	}
	return line
}

func (h Health) progress() string {
	if h.Progress == nil || *h.Progress == 0 {
		return ""
	}
	text := fmt.Sprintf(", %.0f %%", math.Floor(*h.Progress*100))
	if h.EstimateSeconds != nil {
		text += ", about " + roughly(time.Duration(*h.EstimateSeconds)*time.Second) + " left"
	}
	return text
}

// roughly returns a time in seconds, or from three minutes on in minutes.
func roughly(d time.Duration) string {
	if d < 3*time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(math.Ceil(d.Minutes())))
}

// ready answers whether the server redirects from memory, and will go on. It is ready even if there is
// no space for writes: a load balancer that follows this answer must not remove a node that redirects.
func (a *Address) ready(ctx *fasthttp.RequestCtx) {
	h := a.Health()
	status := fasthttp.StatusOK
	if h.Status != StatusOK {
		status = fasthttp.StatusServiceUnavailable
	}
	a.answerHealth(ctx, status, h, h.Line())
}

// healthy answers that the process is alive.
func (a *Address) healthy(ctx *fasthttp.RequestCtx) {
	a.answerHealth(ctx, fasthttp.StatusOK, a.Health(), "ok")
}

// answerHealth answers with h as JSON if the client prefers that, otherwise with the line.
func (a *Address) answerHealth(ctx *fasthttp.RequestCtx, status int, h Health, line string) {
	ctx.Response.Header.Set(fasthttp.HeaderVary, "Accept")
	ctx.SetStatusCode(status)
	if a.PrefersJSON == nil || !a.PrefersJSON(ctx.Request.Header.PeekAll("Accept")) {
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString(line + "\n")
		return
	}
	body, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("admin: encoding the health: %v", err)) // it has strings and finite numbers only
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(append(body, '\n'))
}
