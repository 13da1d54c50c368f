package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/engine"
	"shunt/storage"
)

// This file checks what the server has after a kill; see kill_test.go.

// A survivor is a link that must exist. tracked has the redirects that were answered.
type survivor struct {
	tracked
	object, etag string // as first shown; the object without its figures

	cut         uint64       // redirects that were cut off, and may have been counted
	cutVisitors map[int]bool // their visitors, if it is unknown whether they were counted
	unique      uint64       // shown by the last restart
}

// add makes the link in response, which must be that of d, a survivor.
func (k *killing) add(d draft, response *fasthttp.Response, status int) {
	got := struct {
		draft
		Code string
	}{}
	body := string(response.Body())
	if err := json.Unmarshal(response.Body(), &got); err != nil || response.StatusCode() != status {
		k.t.Errorf("%+v: got %d %s, want %d", d, response.StatusCode(), body, status)
		return
	}
	want := storedForm(d.URL)
	if got.URL != want || d.Alias != "" && got.Code != d.Alias || got.Title != d.Title || !slices.Equal(got.Tags, d.Tags) {
		k.t.Errorf("%+v: got %s", d, body)
	}
	l := &survivor{
		tracked: tracked{input: d.URL, code: got.Code, url: want, visitors: map[int]bool{}},
		object:  withoutFigures(body), etag: string(response.Header.Peek("ETag")), cutVisitors: map[int]bool{},
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.survivors = append(k.mu.survivors, l)
}

// withoutFigures returns a link object without its figures, which are last.
func withoutFigures(object string) string {
	rest, _, _ := strings.Cut(object, `,"hits":`)
	return rest
}

// check compares everything with what the server knows after a restart.
func (k *killing) check() {
	k.settleCreates()
	k.each(len(k.mu.survivors), func(c *fasthttp.HostClient, i int) { k.checkSurvivor(c, k.mu.survivors[i]) })
	k.each(len(k.unborn), func(c *fasthttp.HostClient, i int) {
		if response := k.api(c, http.MethodGet, "/links/"+k.unborn[i], nil); response.StatusCode() != http.StatusNotFound {
			k.t.Errorf("%s was not there after an earlier restart: got %d %s", k.unborn[i], response.StatusCode(), response.Body())
		}
	})
	k.t.Logf("%d links; of the requests that were cut off, %d redirects were counted and %d creates done",
		len(k.mu.survivors)+k.orphans, k.round.countedCut.Load(), k.round.foundCut.Load())
}

// settleCreates finds out which of the creates that were cut off have happened. Of those without an
// alias only the number is known (see findOrphans).
func (k *killing) settleCreates() {
	cut, nameless := k.mu.cut, 0
	k.mu.cut = nil
	k.each(len(cut), func(c *fasthttp.HostClient, i int) {
		if cut[i].Alias != "" {
			k.adopt(c, cut[i].Alias, cut[i])
		}
	})
	for _, d := range cut {
		if d.Alias == "" {
			k.nameless = append(k.nameless, d)
			nameless++
		}
	}
	orphans := k.number() - len(k.mu.survivors)
	if orphans < k.orphans || orphans > k.orphans+nameless {
		k.t.Errorf("got %d links that no client was told of, want %d to %d", orphans, k.orphans, k.orphans+nameless)
	}
	k.round.foundCut.Add(int64(orphans - k.orphans))
	k.orphans = orphans
}

// adopt makes the link of a create that was cut off a survivor, if the link exists.
func (k *killing) adopt(c *fasthttp.HostClient, code string, d draft) {
	response := k.api(c, http.MethodGet, "/links/"+code, nil)
	if response.StatusCode() != http.StatusNotFound {
		k.add(d, response, http.StatusOK)
		k.round.foundCut.Add(1)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unborn = append(k.unborn, code)
}

// checkSurvivor compares a link with what the server knows of it, and notes outcomes that were
// unknown until now.
func (k *killing) checkSurvivor(c *fasthttp.HostClient, l *survivor) {
	k.checkLocation(&l.tracked, k.send(c, http.MethodHead, "/"+l.code, nil, nil)) // HEAD is not counted
	read := k.api(c, http.MethodGet, "/links/"+l.code, nil)
	object, etag := withoutFigures(string(read.Body())), string(read.Header.Peek("ETag"))
	if object != l.object || etag != l.etag {
		k.t.Errorf("%s: got %s %s, want %s %s", l.code, object, etag, l.object, l.etag)
	}
	response := k.api(c, http.MethodGet, "/stats/"+l.code, nil)
	got := struct{ Hits, Unique uint64 }{}
	if err := json.Unmarshal(response.Body(), &got); err != nil || response.StatusCode() != http.StatusOK {
		k.t.Errorf("stats of %s: %d %s", l.code, response.StatusCode(), response.Body())
		return
	}
	if got.Hits < l.hits || got.Hits > l.hits+l.cut {
		k.t.Errorf("%s: got %d hits, want %d to %d", l.code, got.Hits, l.hits, l.hits+l.cut)
	}
	least, most := uint64(len(l.visitors)), uint64(len(l.visitors)+len(l.cutVisitors))
	if got.Unique < max(least, l.unique) || got.Unique > most {
		k.t.Errorf("%s: got %d unique visitors, want %d to %d", l.code, got.Unique, max(least, l.unique), most)
	}
	k.round.countedCut.Add(int64(got.Hits - l.hits))
	l.hits, l.cut, l.unique = got.Hits, 0, got.Unique
	for visitor := range l.cutVisitors {
		switch got.Unique {
		case most:
			l.visitors[visitor] = true
			delete(l.cutVisitors, visitor)
		case least:
			delete(l.cutVisitors, visitor)
		}
	}
}

// An orphan is a link that no client was told of.
type orphan struct {
	code  string
	draft draft
}

// findOrphans finds orphans in the store of a server that has ended. Each must be one of the
// creates that were cut off.
func (k *killing) findOrphans() (orphans []orphan) {
	store, err := storage.Open(k.dir, storage.Options{})
	must(k.t, err)
	defer store.Close()
	drafts, known := map[string]draft{}, map[string]bool{}
	for _, d := range k.nameless {
		drafts[storedForm(d.URL)] = d
	}
	for _, l := range k.mu.survivors {
		known[l.code] = true
	}
	err = store.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		code, target := string(h.Code), string(h.Target)
		d, isDraft := drafts[target]
		switch {
		case isDraft:
			delete(drafts, target) // once
			orphans = append(orphans, orphan{code, d})
		case !known[code]:
			k.t.Errorf("link %q to %q was never sent, or exists twice", code, target)
		}
		return nil
	}))
	must(k.t, err)
	return orphans
}

var replayedLine = regexp.MustCompile(`"msg":"hit journal replayed","records":(\d+)`)

// replayedRecords returns how many hits the starts have replayed.
func replayedRecords(t *testing.T, starts []*process) (records int) {
	for _, p := range starts {
		if found := replayedLine.FindStringSubmatch(p.stderr()); found != nil {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				t.Error(err)
			}
			records += n
		}
	}
	t.Logf("%d hits were replayed", records)
	return records
}
