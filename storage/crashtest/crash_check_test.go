package crashtest

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

const accountRow = "account "

// check compares everything in s with what may be there after c, and returns what is there.
func (h *history) check(s *session, c *crash) map[string]found {
	rows := map[string]found{}
	for _, row := range h.ledger.names() {
		f, err := h.read(s, row)
		if err != nil {
			h.t.Errorf("after %v: %v", c, err)
			continue
		}
		a := matching(h.ledger.candidates(row, c.began, c.ended), &f)
		if a == nil {
			h.t.Errorf("after %v, %s is %q v%d\nmay be %s", c, row, f.state, f.version, list(h.ledger.candidates(row, c.began, c.ended)))
			continue
		}
		h.table.note(c, a)
		f.hits = a.hits
		h.checkHits(c, row, &f)
		rows[row] = f
	}
	h.checkDrawn(s, c, rows)
	if err := s.checkTogether(owners...); err != nil {
		h.t.Errorf("after %v: %v", c, err)
	}
	if m := s.e.Metrics(); c.kill && !c.opening && m.JournalMissing > 0 { // a new epoch may have no files yet
		h.t.Errorf("after %v, %d journal files are missing", c, m.JournalMissing)
	}
	h.table.add(c)
	return rows
}

func (h *history) read(s *session, row string) (found, error) {
	if key, ok := strings.CutPrefix(row, accountRow); ok {
		v, err := s.store.Accounts().Get([]byte(key))
		return found{state: string(v)}, err
	}
	return s.read(row)
}

func matching(may []*attempt, f *found) *attempt {
	for _, a := range may {
		if a.state == f.state && (a.version == 0 || a.version == f.version) {
			return a
		}
	}
	return nil
}

func list(may []*attempt) string {
	var b strings.Builder
	for _, a := range may {
		fmt.Fprintf(&b, "\n\t%q v%d, begun at %d, acknowledged at %d", a.state, a.version, a.begun, a.acked)
	}
	return b.String()
}

// checkDrawn checks links whose drawn codes were never returned to a caller: they must be whole.
func (h *history) checkDrawn(s *session, c *crash, rows map[string]found) {
	codes, err := s.codes()
	if err != nil {
		h.t.Errorf("after %v: %v", c, err)
	}
	folded := map[string]string{}
	for code := range codes {
		if other, twice := folded[strings.ToLower(code)]; twice {
			h.t.Errorf("after %v, both %s and %s are there", c, code, other)
		}
		folded[strings.ToLower(code)] = code
		if _, known := rows[code]; known || h.ledger.knows(code) {
			continue
		}
		f, err := s.read(code)
		a := h.ledger.nameless(f.state)
		if err != nil || a == nil || f.version != 1 || f.counted != 0 {
			h.t.Errorf("after %v, %s is %q v%d, %v, which nobody asked for", c, code, f.state, f.version, err)
			continue
		}
		f.hits = &hits{limit: a.hits.limit}
		rows[code] = f
	}
}

// checkHits checks that a link has at least the hits that were answered before a kill, or that a
// flush had committed before a power cut, and no more than were sent.
func (h *history) checkHits(c *crash, row string, f *found) {
	if f.hits == nil {
		return
	}
	from, to := c.from[f.hits], c.to[f.hits]
	least, leastUnique := from.durable, 0
	if c.kill {
		visitors := uint64(bits.OnesCount64(from.allVisitors))
		least, leastUnique = max(from.durable, from.answered-min(from.answered, c.atRisk)), int(visitors-min(visitors, c.atRisk))
	}
	if f.counted < least || f.counted > to.sent {
		h.t.Errorf("after %v, %s has %d hits, want %d to %d", c, row, f.counted, least, to.sent)
	}
	if most := bits.OnesCount64(to.sentVisitors); f.unique < uint64(leastUnique) || f.unique > uint64(most) {
		h.t.Errorf("after %v, %s has %d visitors, want %d to %d", c, row, f.unique, leastUnique, most)
	}
	h.table.hits(c, f.counted, from.answered)
}

// crashTable collects the outcomes of the crashes.
type crashTable struct {
	rows map[string]*crashLine
	n    int
}

type crashLine struct {
	crashes, acknowledged, found int
	hits, lost, lostAtMost       uint64
	lostNow                      uint64 // by the crash being checked
}

func (t *crashTable) crashes() int { return t.n }

func (t *crashTable) line(c *crash) *crashLine {
	if t.rows == nil {
		t.rows = map[string]*crashLine{}
	}
	l := t.rows[c.String()]
	if l == nil {
		l = new(crashLine)
		t.rows[c.String()] = l
	}
	return l
}

// note counts a row that was checked.
func (t *crashTable) note(c *crash, a *attempt) {
	l := t.line(c)
	switch {
	case a == gone || a.acked != 0 && a.acked < c.began:
		l.acknowledged++
	default:
		l.found++
	}
}

func (t *crashTable) hits(c *crash, counted, answered uint64) {
	l := t.line(c)
	l.hits += counted
	l.lostNow += max(answered, counted) - counted
}

func (t *crashTable) add(c *crash) {
	if c.fs == nil || c.from == nil {
		return
	}
	l := t.line(c)
	t.n++
	l.crashes++
	l.lost += l.lostNow
	l.lostAtMost = max(l.lostAtMost, l.lostNow)
	l.lostNow = 0
}

func (t *crashTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| crash | crashes | rows as acknowledged | under way and done | hits recovered | answered hits lost | by one crash |\n")
	fmt.Fprintf(&b, "|---|--:|--:|--:|--:|--:|--:|\n")
	names := make([]string, 0, len(t.rows))
	for name := range t.rows {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a, b) })
	for _, name := range names {
		l := t.rows[name]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", name, l.crashes, l.acknowledged, l.found, l.hits, l.lost, l.lostAtMost)
	}
	return b.String()
}
