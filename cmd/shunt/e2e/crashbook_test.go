package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/engine"
)

// This file has what the clients of crash_test.go know of each link.

// linkFields are the fields of a link that a client can see.
type linkFields struct {
	Code           string   `json:"code"`
	URL            string   `json:"url"`
	RedirectStatus int      `json:"redirect_status"`
	State          string   `json:"state"`
	ExpiresAt      *string  `json:"expires_at"`
	MaxHits        *uint64  `json:"max_hits"`
	Title          string   `json:"title"`
	Tags           []string `json:"tags"`
	ForwardQuery   bool     `json:"forward_query"`
	Hits           uint64   `json:"hits"`
	Unique         uint64   `json:"unique"`
}

// A bookState is a link at one version, or its absence.
type bookState struct {
	linkFields
	gone    bool
	version uint64 // 0: not known
	object  string // the whole object without figures, "" until it was shown
}

// set returns, in one text, the fields that writes set.
func (f linkFields) set() string {
	f.State, f.Hits, f.Unique = "", 0, 0
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// cap returns the number of hits after which the link is used up, 0 if there is no limit.
func (f *linkFields) cap() uint64 {
	if f.MaxHits == nil {
		return 0
	}
	return *f.MaxHits
}

// shown returns the state in an answer that has a link object.
func shown(response *fasthttp.Response) (*bookState, error) {
	s := &bookState{}
	body := string(response.Body())
	if err := json.Unmarshal(response.Body(), &s.linkFields); err != nil {
		return nil, fmt.Errorf("%d %s: %w", response.StatusCode(), body, err)
	}
	if _, err := fmt.Sscanf(string(response.Header.Peek("ETag")), "\"%d\"", &s.version); err != nil {
		return nil, fmt.Errorf("%d %s: ETag %q", response.StatusCode(), body, response.Header.Peek("ETag"))
	}
	s.object = strings.Replace(withoutFigures(body), fmt.Sprintf(`"state":%q,`, s.State), "", 1)
	return s, nil
}

// is reports whether got is the promised state.
func (s *bookState) is(got *bookState) bool {
	return !s.gone && s.set() == got.set() && (s.version == 0 || s.version == got.version) &&
		(s.object == "" || s.object == got.object)
}

// admits reports whether this may be the answer to a redirect in this state, after at most most
// hits.
func (s *bookState) admits(response *fasthttp.Response, most uint64) bool {
	status := response.StatusCode()
	switch {
	case s.gone:
		return status == http.StatusNotFound
	case status == http.StatusGone:
		return s.cap() != 0 && s.cap() <= most
	}
	return status == s.RedirectStatus && string(response.Header.Peek("Location")) == string(engine.AppendASCII(nil, []byte(s.URL)))
}

// A bookLink is a link. The guard of the book guards it.
type bookLink struct {
	code string
	at   int // in book.live

	states  []*bookState // since the last restart; the last is the latest that was acknowledged
	pending *bookState   // the result of a write that is under way or was cut off
	seen    bool         // a client has seen the pending state, so it is durable
	writing bool         // a client writes it, or its write was cut off

	hits, cut, flying     uint64 // redirects that were answered, were cut off, and are under way
	visitors, cutVisitors map[int]bool
	shownHits, unique     uint64 // figures that a start has shown
}

func (l *bookLink) now() *bookState { return l.states[len(l.states)-1] }

// A book is what all clients know. killing.mu guards it.
type book struct {
	live  []*bookLink
	gone  []*bookLink // deleted for good, the latest last
	codes map[string]bool

	created []order // with a key, answered in this round; see keptOrders
	cut     []order // cut off in this round
	cutRace []raceOrder
	unborn  []string // aliases of creates that did not happen, the latest last

	nameless map[string]order // by target: cut off, without alias and key
	orphans  int              // the number of those that have happened
}

const (
	keptOrders = 16    // repeated after a restart
	keptGone   = 4_000 // deleted and unborn links that are looked up
)

// enter adds a new link to the book.
func (b *book) enter(s *bookState) *bookLink {
	l := &bookLink{
		code: s.Code, at: len(b.live), states: []*bookState{s}, visitors: map[int]bool{}, cutVisitors: map[int]bool{},
	}
	b.live = append(b.live, l)
	b.codes[s.Code] = true
	return l
}

// strike removes a deleted link.
func (b *book) strike(l *bookLink) {
	last := b.live[len(b.live)-1]
	b.live[l.at], last.at = last, l.at
	b.live = b.live[:len(b.live)-1]
	delete(b.codes, l.code)
	b.gone = append(b.gone, l)
	if len(b.gone) > keptGone {
		b.gone = b.gone[len(b.gone)-keptGone:]
	}
}

// wrote makes the pending state the latest one, as it was shown, or else as it was promised.
func (b *book) wrote(l *bookLink, s *bookState) {
	l.states = append(l.states, s)
	l.pending, l.seen, l.writing = nil, false, false
	if s.gone {
		b.strike(l)
	}
}

// admits reports whether the answer to a redirect fits one of the states since from, or the pending
// one.
func (l *bookLink) admits(response *fasthttp.Response, from int) bool {
	most := l.hits + l.cut + l.flying
	for _, s := range l.states[from:] {
		if s.admits(response, most) {
			return true
		}
	}
	if l.pending != nil && l.pending.admits(response, most) {
		l.seen = true
		return true
	}
	return false
}

// cap returns the largest cap that the link may have had since from, 0 if it may have had none.
func (l *bookLink) cap(from int) (largest uint64) {
	states := l.states[from:]
	if l.pending != nil {
		states = append(states[:len(states):len(states)], l.pending)
	}
	for _, s := range states {
		if s.gone {
			continue
		}
		if s.cap() == 0 {
			return 0
		}
		largest = max(largest, s.cap())
	}
	return largest
}
