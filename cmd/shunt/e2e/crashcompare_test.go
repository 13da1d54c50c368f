package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// This file compares what the server has after a kill with what the clients know; see
// crash_test.go.

const (
	bookLimit   = 2_000 // links; more are deleted after a restart, so that a round stays short
	goneSample  = 100   // deleted links that are looked up each round
	statsSample = 16    // one link in this many has its statistics read each round

	revived = 4 // deleted aliases that their owner takes again each round
)

// compare compares a server that has just started with the book, and adds to the book the outcomes
// that were unknown.
func (k *crash) compare(all bool) {
	k.opening = k.number() // before anything is written
	live := append([]*bookLink{}, k.book.live...)
	k.each(len(live), func(c *fasthttp.HostClient, i int) {
		k.compareLink(c, live[i], all || (i+k.lives)%statsSample == 0)
	})
	k.compareGone(all)
	k.settleCreates()
}

// compareLink compares a link's state and figures.
func (k *crash) compareLink(c *fasthttp.HostClient, l *bookLink, stats bool) {
	followed := k.e2e.send(c, http.MethodHead, "/"+l.code, nil, nil) // counts nothing
	read := k.api(c, http.MethodGet, "/links/"+l.code, nil)
	var figures *fasthttp.Response
	if stats {
		figures = k.api(c, http.MethodGet, "/stats/"+l.code, nil)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	got := k.settleWrite(l, read)
	if got == nil {
		return
	}
	if got.gone {
		if followed.StatusCode() != http.StatusNotFound {
			k.wrong(resurrected, "/%s was deleted: got %d to %q", l.code, followed.StatusCode(), followed.Header.Peek("Location"))
		}
		return
	}
	k.settleFigures(l, got)
	exhausted := got.cap() != 0 && got.Hits >= got.cap()
	if !got.admits(followed, got.Hits) || exhausted != (followed.StatusCode() == http.StatusGone) || exhausted != (got.State == "exhausted") {
		k.wrong(altered, "/%s: got %d to %q, state %s, want %s", l.code, followed.StatusCode(), followed.Header.Peek("Location"), got.State, l.describe(0))
	}
	if stats {
		k.compareStats(l, got, figures)
	}
}

// settleWrite finds out which state a link has: the latest acknowledged one, or the result of a
// write that was cut off. It returns nil if it is neither.
func (k *crash) settleWrite(l *bookLink, read *fasthttp.Response) *bookState {
	got := &bookState{gone: true}
	if read.StatusCode() != http.StatusNotFound {
		var err error
		if got, err = shown(read); err != nil {
			k.wrong(altered, "%s: %v", l.code, err)
			return nil
		}
	}
	pending, seen := l.pending, l.seen
	l.flying = 0
	switch {
	case pending != nil && (pending.gone && got.gone || pending.is(got)):
		k.count(writeKind(pending), happenedColumn, 1)
		k.book.wrote(l, got)
	case got.gone:
		k.wrong(lost, "%s is not there, want %s", l.code, l.describe(len(l.states)-1))
		k.book.strike(l)
		return nil
	case seen || !l.now().is(got):
		k.wrong(altered, "%s: got version %d %.300s, want %s (seen: %v)", l.code, got.version, got.object, l.describe(len(l.states)-1), seen)
		return nil
	}
	l.states = append(l.states[:0], got)
	l.pending, l.seen, l.writing = nil, false, false
	return got
}

func writeKind(pending *bookState) string {
	if pending.gone {
		return "delete"
	}
	return "edit"
}

// settleFigures compares the figures of a link. They must include every answered redirect, and from
// now on they must not fall.
func (k *crash) settleFigures(l *bookLink, got *bookState) {
	least, most := max(l.hits, l.shownHits), l.hits+l.cut
	if c := got.cap(); c != 0 {
		most = min(most, c)
	}
	if got.Hits < least {
		k.wrong(lost, "%s: got %d hits, want %d to %d", l.code, got.Hits, least, most)
	} else if got.Hits > most {
		k.wrong(altered, "%s: got %d hits, want %d to %d", l.code, got.Hits, least, most)
	}
	leastUnique, mostUnique := uint64(len(l.visitors)), uint64(len(l.visitors)+len(l.cutVisitors))
	if got.Unique < max(leastUnique, l.unique) || got.Unique > mostUnique {
		k.wrong(altered, "%s: got %d unique visitors, want %d to %d", l.code, got.Unique, max(leastUnique, l.unique), mostUnique)
	}
	k.count("redirect", happenedColumn, got.Hits-l.hits)
	l.hits, l.cut, l.shownHits, l.unique = got.Hits, 0, got.Hits, got.Unique
	for visitor := range l.cutVisitors {
		switch got.Unique {
		case mostUnique:
			l.visitors[visitor] = true
			delete(l.cutVisitors, visitor)
		case leastUnique:
			delete(l.cutVisitors, visitor)
		}
	}
}

func (k *crash) compareStats(l *bookLink, got *bookState, response *fasthttp.Response) {
	figures := struct{ Hits, Unique uint64 }{}
	err := json.Unmarshal(response.Body(), &figures)
	if err != nil || response.StatusCode() != http.StatusOK || figures.Hits != got.Hits || figures.Unique != got.Unique {
		k.wrong(altered, "stats of %s: got %d %s, want %d hits, %d visitors", l.code, response.StatusCode(), response.Body(), got.Hits, got.Unique)
	}
}

// compareGone checks that deleted links, and links that were not made, are absent.
func (k *crash) compareGone(all bool) {
	codes := append([]string{}, k.book.unborn...)
	for _, l := range k.book.gone {
		codes = append(codes, l.code)
	}
	if n := len(codes); !all && n > goneSample {
		k.random.Shuffle(n, func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
		codes = codes[:goneSample]
	}
	k.each(len(codes), func(c *fasthttp.HostClient, i int) {
		followed := k.e2e.send(c, http.MethodHead, "/"+codes[i], nil, nil)
		read := k.api(c, http.MethodGet, "/links/"+codes[i], nil)
		if followed.StatusCode() != http.StatusNotFound || read.StatusCode() != http.StatusNotFound {
			k.wrong(resurrected, "%s was deleted or not made: got %d, and %d %s", codes[i], followed.StatusCode(), read.StatusCode(), read.Body())
		}
	})
}

// settleCreates finds out which of the creates that were cut off have happened. Creates with a key
// are repeated, so that they have happened in any case. Of creates without key and alias only the
// number is known (see adoptOrphans).
func (k *crash) settleCreates() {
	var repeats []order
	cut, races := k.book.cut, k.book.cutRace
	k.book.cut, k.book.cutRace = nil, nil
	for _, o := range cut {
		switch {
		case o.Alias != "":
			races = append(races, raceOrder{orders: []order{o}})
		case o.key != "":
			repeats = append(repeats, o)
		default:
			k.book.nameless[storedForm(o.URL)] = o
		}
	}
	k.each(len(races), func(c *fasthttp.HostClient, i int) { k.settleAlias(c, races[i]) })
	known := len(k.book.live)
	for _, r := range races { // a create that was made above gets the answer in its receipt
		if len(r.orders) == 1 && r.orders[0].key != "" {
			repeats = append(repeats, r.orders[0])
		}
	}
	drawn := 0
	for i := range repeats {
		if repeats[i].Alias == "" {
			drawn++
		}
	}
	k.each(len(repeats), func(c *fasthttp.HostClient, i int) { k.repeat(c, repeats[i], false) })
	k.countOrphans(known, drawn, len(k.book.live))
	k.each(len(k.book.created), func(c *fasthttp.HostClient, i int) { k.repeat(c, k.book.created[i], true) })
	k.each(len(repeats), func(c *fasthttp.HostClient, i int) { k.repeat(c, repeats[i], false) }) // and once more
	if got, want := k.number(), len(k.book.live)+k.book.orphans; got != want {
		k.wrong(altered, "after creates were repeated: got %d links, want %d", got, want)
	}
	k.book.created = nil
}

// countOrphans compares numbers of links: known were known before the drawn creates with keys were
// repeated.
func (k *crash) countOrphans(known, drawn, live int) {
	orphans := k.number() - live
	if least, most := k.book.orphans, len(k.book.nameless); orphans < least || orphans > most {
		k.wrong(altered, "got %d links that nobody was told of, want %d to %d", orphans, least, most)
	}
	found := k.opening - orphans - known // of those with keys
	if found < 0 || found > drawn {
		k.wrong(altered, "of %d creates with a key that were cut off, %d had happened", drawn, found)
	}
	k.count("create", happenedColumn, uint64(max(0, orphans-k.book.orphans)))
	k.count("create with a key", happenedColumn, uint64(max(0, found)))
	k.book.orphans = orphans
}

// settleAlias finds out which order for an alias was carried out, if any.
func (k *crash) settleAlias(c *fasthttp.HostClient, r raceOrder) {
	alias := r.orders[0].Alias
	response := k.api(c, http.MethodGet, "/links/"+alias, nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	if response.StatusCode() == http.StatusNotFound {
		if r.won {
			k.wrong(lost, "%s is not there, and another one was told that it is taken", alias)
		}
		if r.orders[0].key == "" || len(r.orders) > 1 { // otherwise it is made below
			k.book.unborn = append(k.book.unborn, alias)
			k.book.unborn = k.book.unborn[max(0, len(k.book.unborn)-keptGone):]
		}
		return
	}
	got, err := shown(response)
	for i := range r.orders {
		if err == nil && r.orders[i].isIn(got) {
			k.madeLocked(&r.orders[i], response, http.StatusOK)
			if len(r.orders) > 1 {
				k.count("race for an alias", happenedColumn, 1)
			} else {
				k.count(r.orders[i].kind(), happenedColumn, 1)
			}
			return
		}
	}
	k.wrong(altered, "%s: got %d %s (%v), want one of %+v", alias, response.StatusCode(), response.Body(), err, r.orders)
}

// repeat sends a create with a key again. It gets the answer of its first success, or it is done
// now, once. While the outcome is unknown, repeat sends it again: that is the purpose of keys, and
// on a busy machine the store may need more than two seconds.
func (k *crash) repeat(c *fasthttp.HostClient, o order, succeeded bool) {
	response, err := k.place(c, &o)
	for deadline := time.Now().Add(time.Minute); err == nil && outcomeUnknown(response) && time.Now().Before(deadline); {
		response, err = k.place(c, &o)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	got, shownErr := shown(response)
	if err != nil || shownErr != nil || response.StatusCode() != http.StatusCreated || !o.isIn(got) || succeeded && got.Code != o.made {
		k.wrong(altered, "a repeat of %+v: got %d %s (%v)", o, response.StatusCode(), response.Body(), err)
		return
	}
	k.count("repeated with its key", answeredColumn, 1)
	if succeeded || k.made[o.key] == got.Code {
		return
	}
	if k.made[o.key] != "" {
		k.wrong(altered, "a repeat of %+v: got %s, and before %s", o, got.Code, k.made[o.key])
	}
	k.made[o.key] = got.Code
	if !k.book.codes[got.Code] { // otherwise it was found by its alias
		k.book.enter(got)
	}
}

// tidy deletes the links beyond bookLimit, and makes their owner take some deleted aliases again,
// as new links without hits.
func (k *crash) tidy() {
	live := append([]*bookLink{}, k.book.live...)
	k.random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	k.each(max(0, len(live)-bookLimit), func(c *fasthttp.HostClient, i int) {
		k.mu.Lock()
		live[i].writing, live[i].pending = true, &bookState{gone: true}
		k.mu.Unlock()
		k.deleteBegun(c, live[i])
	})
	n := min(revived, len(k.book.gone))
	again := append([]*bookLink{}, k.book.gone[:n]...)
	k.book.gone = k.book.gone[n:]
	orders := make([]order, n)
	for i, l := range again {
		orders[i] = k.newOrder(k.random)
		orders[i].Alias, orders[i].key = l.code, ""
	}
	k.each(n, func(c *fasthttp.HostClient, i int) {
		response, err := k.place(c, &orders[i])
		if err != nil {
			k.t.Error(err)
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.madeLocked(&orders[i], response, http.StatusCreated)
		k.count("deleted alias taken again", answeredColumn, 1)
	})
}

// adoptOrphans finds links that no client was told of, in the store of a server that has ended.
// Each must be one of the creates that were cut off. It is added to the book, and the next
// comparison sets its state.
func (k *crash) adoptOrphans() {
	store, err := storage.Open(k.dir, storage.Options{})
	expect.OK(k.t, err)
	defer store.Close()
	err = store.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		code, target := string(h.Code), string(h.Target)
		if h.Flags&engine.FlagTombstone != 0 || k.book.codes[code] {
			return nil
		}
		o, isOne := k.book.nameless[target]
		if !isOne {
			k.wrong(resurrected, "link %q to %q was never sent, is there twice, or was deleted", code, target)
			return nil
		}
		delete(k.book.nameless, target)
		s := o.promised()
		s.Code = code
		k.book.enter(s)
		k.book.orphans--
		return nil
	}))
	expect.OK(k.t, err)
	if k.book.orphans != 0 {
		k.wrong(lost, "%d links are missing that nobody was told of", k.book.orphans)
	}
	clear(k.book.nameless) // a create that has not happened by now never will
}
