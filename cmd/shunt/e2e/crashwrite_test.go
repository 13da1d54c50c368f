package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// This file sends creates, edits, deletes and races for an alias under load; see crash_test.go.

// An order is a create as it is sent. No two have the same target.
type order struct {
	URL       string   `json:"url"`
	Alias     string   `json:"alias,omitempty"`
	Title     string   `json:"title"`
	Tags      []string `json:"tags"`
	ExpiresAt *string  `json:"expires_at,omitempty"`
	MaxHits   *uint64  `json:"max_hits,omitempty"`
	key       string   // Idempotency-Key, "" for none
	made      string   // the code in the answer
}

// A raceOrder is a race for an alias without a known winner.
type raceOrder struct {
	orders []order // that were cut off
	won    bool    // one was made: another one was refused
}

// promised returns the state that an order makes.
func (o *order) promised() *bookState {
	return &bookState{linkFields: linkFields{
		Code: o.Alias, URL: storedForm(o.URL), RedirectStatus: http.StatusFound, Title: o.Title, Tags: o.Tags,
		ExpiresAt: o.ExpiresAt, MaxHits: o.MaxHits,
	}}
}

// isIn reports whether got is the link of the order.
func (o *order) isIn(got *bookState) bool {
	want := o.promised()
	if o.Alias == "" {
		want.Code = got.Code
	}
	return want.is(got)
}

// newOrder draws a create.
func (k *crash) newOrder(random *rand.Rand) order {
	n := k.drafts.Add(1)
	o := order{
		URL:   fmt.Sprintf("%s/%d", k.lines[n%uint64(len(k.lines))], n),
		Title: fmt.Sprintf("Nr. %d <ü>", n), Tags: []string{"crash", fmt.Sprint(n % 7)},
	}
	if n%2 == 0 {
		o.Alias = fmt.Sprintf("Crash-%d", n)
	}
	if n%3 == 0 {
		o.key = fmt.Sprintf("key-%d", n)
	}
	if n%5 == 0 {
		o.MaxHits = new(1 + random.Uint64N(60))
	}
	if n%11 == 0 {
		o.ExpiresAt = new(farAway(n))
	}
	return o
}

// farAway returns the n-th of many times that no test lives to see.
func farAway(n uint64) string {
	return time.Unix(4_102_444_800+int64(n), 0).UTC().Format(time.RFC3339)
}

// place sends an order.
func (k *crash) place(c *fasthttp.HostClient, o *order) (*fasthttp.Response, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	header := map[string]string{"Authorization": "Bearer " + k.token, "Content-Type": "application/json"}
	if o.key != "" {
		header["Idempotency-Key"] = o.key
	}
	return k.try(c, http.MethodPost, "/api/v1/shorten", header, body)
}

// kind returns the kind of request that an order counts as.
func (o *order) kind() string {
	if o.key != "" {
		return "create with a key"
	}
	return "create"
}

// create makes a link and reports whether it got an answer.
func (k *crash) create(c *fasthttp.HostClient, random *rand.Rand) (answered bool) {
	o, begun := k.newOrder(random), time.Now()
	response, err := k.place(c, &o)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil:
		k.failedLocked(o.kind(), begun, err)
		k.book.cut = append(k.book.cut, o)
	case outcomeUnknown(response):
		k.count("answered outcome_unknown", cutColumn, 1)
		k.book.cut = append(k.book.cut, o)
	case !k.unavailable(response):
		k.madeLocked(&o, response, http.StatusCreated)
		k.count(o.kind(), answeredColumn, 1)
		k.written.Add(1)
	}
	return err == nil
}

// madeLocked enters the link of an order that was answered.
func (k *crash) madeLocked(o *order, response *fasthttp.Response, status int) {
	got, err := shown(response)
	if err != nil || response.StatusCode() != status || !o.isIn(got) {
		k.wrong(altered, "%+v: got %d %s (%v), want %d", *o, response.StatusCode(), response.Body(), err, status)
		return
	}
	if k.book.codes[got.Code] {
		k.wrong(altered, "%+v: the code %s is another link's", *o, got.Code)
		return
	}
	k.book.enter(got)
	if o.made = got.Code; o.key != "" && len(k.book.created) < keptOrders {
		k.book.created = append(k.book.created, *o)
	}
}

// begin starts a write of a link that no other client is writing. promise returns the state that
// the write makes of the latest one, nil if it deletes the link.
func (k *crash) begin(random *rand.Rand, promise func(now bookState) *bookState) (*bookLink, bookState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range 8 {
		if l := k.book.live[drawLink(random, len(k.book.live))]; !l.writing {
			l.writing, l.pending, l.seen = true, promise(*l.now()), false
			return l, *l.now()
		}
	}
	return nil, bookState{}
}

// edit edits a link; one time in eight with a condition that does not hold.
func (k *crash) edit(c *fasthttp.HostClient, random *rand.Rand) (answered bool) {
	patch, header := map[string]any{}, map[string]string{"Authorization": "Bearer " + k.token, "Content-Type": "application/merge-patch+json"}
	stale := random.IntN(8) == 0
	l, now := k.begin(random, func(now bookState) *bookState {
		if stale {
			return nil
		}
		return k.drawEdit(&now, patch, random)
	})
	if l == nil {
		return true
	}
	switch {
	case stale:
		patch["title"], header["If-Match"] = "never", fmt.Sprintf(`"%d"`, now.version+1)
	case random.IntN(2) == 0:
		header["If-Match"] = fmt.Sprintf(`"%d"`, now.version)
	}
	body, err := json.Marshal(patch)
	expect.NoError(k.t, err)
	begun := time.Now()
	response, err := k.try(c, http.MethodPatch, "/api/v1/links/"+l.code, header, body)
	k.mu.Lock()
	defer k.mu.Unlock()
	if stale {
		return k.refusedLocked(l, response, begun, err)
	}
	return k.writtenLocked("edit", l, response, begun, err)
}

// drawEdit draws the changes of an edit into patch, and returns the state that they make.
func (k *crash) drawEdit(now *bookState, patch map[string]any, random *rand.Rand) *bookState {
	n, s := k.drafts.Add(1), *now
	s.version, s.object = now.version+1, ""
	s.Title = fmt.Sprintf("Edit %d", n)
	patch["title"] = s.Title
	if random.IntN(4) > 0 {
		url := fmt.Sprintf("%s/%d", k.lines[n%uint64(len(k.lines))], n)
		patch["url"], s.URL = url, storedForm(url)
	}
	if random.IntN(2) == 0 {
		s.Tags = []string{"edited", fmt.Sprint(n % 5)}
		patch["tags"] = s.Tags
	}
	switch random.IntN(4) {
	case 0:
		patch["expires_at"], s.ExpiresAt = nil, nil
	case 1:
		s.ExpiresAt = new(farAway(n))
		patch["expires_at"] = *s.ExpiresAt
	}
	switch c := s.cap(); {
	case c == 0: // a cap that changes during redirects and is never reached
		s.MaxHits = new(1<<40 + n)
		patch["max_hits"] = *s.MaxHits
	case c > 1<<40 && random.IntN(2) == 0:
		patch["max_hits"], s.MaxHits = nil, nil
	case c < 1<<40 && random.IntN(2) == 0:
		s.MaxHits = new(c + random.Uint64N(10))
		patch["max_hits"] = *s.MaxHits
	}
	s.RedirectStatus = []int{302, 307, 301, 308}[random.IntN(4)]
	s.ForwardQuery = random.IntN(2) == 0
	patch["redirect_status"], patch["forward_query"] = s.RedirectStatus, s.ForwardQuery
	return &s
}

// delete deletes a link.
func (k *crash) delete(c *fasthttp.HostClient, random *rand.Rand) (answered bool) {
	l, _ := k.begin(random, func(now bookState) *bookState { return &bookState{gone: true} })
	if l == nil {
		return true
	}
	return k.deleteBegun(c, l)
}

func (k *crash) deleteBegun(c *fasthttp.HostClient, l *bookLink) (answered bool) {
	begun := time.Now()
	response, err := k.tryAPI(c, http.MethodDelete, "/links/"+l.code, nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.writtenLocked("delete", l, response, begun, err)
}

// writtenLocked notes how an edit or a delete ended. If the outcome is unknown, the link stays
// locked.
func (k *crash) writtenLocked(kind string, l *bookLink, response *fasthttp.Response, begun time.Time, err error) (answered bool) {
	switch {
	case err != nil:
		k.failedLocked(kind, begun, err)
		return false
	case outcomeUnknown(response):
		k.count("answered outcome_unknown", cutColumn, 1)
		return true
	case k.unavailable(response):
		l.pending, l.writing = nil, false
		return true
	case l.pending.gone && response.StatusCode() == http.StatusNoContent:
		k.book.wrote(l, l.pending)
	default:
		got, err := shown(response)
		if err != nil || response.StatusCode() != http.StatusOK || !l.pending.is(got) {
			k.wrong(altered, "%s %s: got %d %s (%v), want %s", kind, l.code, response.StatusCode(), response.Body(), err, l.describe(0))
			l.pending, l.writing = nil, false
			return true
		}
		k.book.wrote(l, got)
	}
	k.count(kind, answeredColumn, 1)
	k.written.Add(1)
	return true
}

// refusedLocked notes how an edit with a condition that did not hold ended.
func (k *crash) refusedLocked(l *bookLink, response *fasthttp.Response, begun time.Time, err error) (answered bool) {
	l.writing = false
	switch {
	case err != nil:
		k.failedLocked("edit refused by If-Match", begun, err)
		return false
	case k.unavailable(response):
	case response.StatusCode() != http.StatusPreconditionFailed:
		k.wrong(altered, "%s: an edit on a condition that does not hold: got %d %s", l.code, response.StatusCode(), response.Body())
	default:
		k.count("edit refused by If-Match", answeredColumn, 1)
	}
	return true
}

// race sends several creates of one alias at once; one must win.
func (k *crash) race(clients []*fasthttp.HostClient, random *rand.Rand) (answered bool) {
	alias := fmt.Sprintf("Race-%d", k.drafts.Add(1))
	orders, responses, errs := make([]order, len(clients)), make([]*fasthttp.Response, len(clients)), make([]error, len(clients))
	var racing sync.WaitGroup
	begun := time.Now()
	for i, c := range clients {
		orders[i] = k.newOrder(random)
		orders[i].Alias = alias
		racing.Go(func() { responses[i], errs[i] = k.place(c, &orders[i]) })
	}
	racing.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	open, winners, answered := raceOrder{}, 0, true
	for i, response := range responses {
		switch {
		case errs[i] != nil:
			k.failedLocked("race for an alias", begun, errs[i])
			open.orders, answered = append(open.orders, orders[i]), false
			continue
		case outcomeUnknown(response):
			open.orders = append(open.orders, orders[i])
			continue
		case k.unavailable(response):
			continue
		case response.StatusCode() == http.StatusConflict:
			open.won = true
		default:
			k.madeLocked(&orders[i], response, http.StatusCreated)
			winners++
		}
		k.count("race for an alias", answeredColumn, 1)
	}
	switch {
	case winners > 1 || winners == 0 && len(open.orders) == 0 && open.won:
		k.wrong(altered, "a race for %s had %d winners", alias, winners)
	case winners == 0 && len(open.orders) > 0:
		k.book.cutRace = append(k.book.cutRace, open)
	}
	return answered
}

// outcomeUnknown reports whether the answer says that the outcome is unknown.
func outcomeUnknown(response *fasthttp.Response) bool {
	return response.StatusCode() == http.StatusServiceUnavailable && strings.Contains(string(response.Body()), `"outcome_unknown"`)
}

// unavailable reports whether a server that is too busy refused the request. Then nothing has
// happened.
func (k *crash) unavailable(response *fasthttp.Response) bool {
	if response.StatusCode() != http.StatusServiceUnavailable {
		return false
	}
	k.count("refused with 503", answeredColumn, 1)
	return true
}
