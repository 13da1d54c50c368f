package ops

import (
	"strings"
	"testing"
	"time"

	"shunt/api/domain"
	rows "shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/search"
)

// TestALinkThatLeftItsStateIsNotListed has a page whose links were selected as active, and one is
// on the block list by now.
func TestALinkThatLeftItsStateIsNotListed(t *testing.T) {
	c := &Calls{cursors: newCursors(1, 2), o: Options{Domains: onlyDefault(t, "https://sho.rt"), State: func(d *engine.Detail) engine.State {
		if d.Code == "b" {
			return engine.StateBlocked
		}
		return d.State
	}}}
	read := engine.LinkPage{Next: &search.Place{ID: 7}, Links: []engine.Detail{
		{Key: keyOf("a"), State: engine.StateActive}, {Key: keyOf("b"), State: engine.StateActive}, {Key: keyOf("c"), State: engine.StateExpired},
	}}
	for state, want := range map[engine.State]string{"": "abc", engine.StateActive: "a", engine.StateBlocked: "b", engine.StateExhausted: ""} {
		q, got := ListQuery{Listed: Listed{State: state}}, ""
		page := c.page(&q, read)
		for _, l := range page.Links {
			got += l.Code
		}
		after, ok := c.cursors.decode(&q, page.Next)
		expect.That(t, got == want && after.ID == 7 && ok, "%q: got %q and a cursor of %d, %v, want %q and 7", state, got, after, ok, want)
	}
}

func TestAnUnknownStateIsRefusedWithAllWords(t *testing.T) {
	var q ListQuery
	err := readState(&q, "dead")
	want := "must be active, scheduled, expired, exhausted, blocked, disabled or deleted"
	expect.That(t, err != nil && err.(engine.FieldError).Message == want, "got %v, want %q", err, want)
	err = readState(&q, "expired")
	expect.That(t, err == nil && q.State == engine.StateExpired, "got %v, %q", err, q.State)
	err = readState(&q, "")
	expect.That(t, err == nil && q.State == "", "empty: got %v, %q", err, q.State)
}

func TestAnAddressIsLookedForAsItIsStored(t *testing.T) {
	c := &Calls{o: Options{Domains: onlyDefault(t, "https://sho.rt")}}
	for typed, want := range map[string][2]string{
		" spring  sale ":             {"spring  sale", ""},
		"spring":                     {"spring", ""},
		"https://sho.rt/spring":      {"spring", "spring"},
		"HTTP://SHO.RT/spring/":      {"spring", "spring"},
		"sho.rt/spring+":             {"spring", "spring"},
		"sho.rt/spring?x=1":          {"spring", "spring"},
		"https://sho.rt/docs/v1.2/":  {"docs/v1.2", "docs/v1.2"},
		"sho.rt/api/v1":              {"sho.rt/api/v1", ""},
		"https://sho.rt/_/links":     {"https://sho.rt/_/links", ""},
		"https://bücher.example/a/":  {"https://xn--bcher-kva.example/a", ""},
		"https://a.example/é?x=%20":  {"https://a.example/é?x= ", ""},
		"https://a.example/%C3%A9":   {"https://a.example/é", ""},
		"https://a.example/%E9%20":   {"https://a.example/%E9%20", ""}, // not UTF-8
		"https://a.example/%20b":     {"https://a.example/%20b", ""},
		"https://example.com:8080/ü": {"https://example.com:8080/ü", ""},
		"https://":                   {"https:", ""},
	} {
		words, key := c.looksFor(typed)
		expect.That(t, words == want[0] && key.Code == want[1], "%q: got %q and the code %q, want %q", typed, words, key.Code, want)
	}
}

// However an address with bytes beyond ASCII was stored, and in whichever form it is pasted, it is found.
func TestAPastedAddressIsFoundInEachForm(t *testing.T) {
	c := &Calls{o: Options{Domains: onlyDefault(t, "https://sho.rt")}}
	forms := []string{"https://a.example/café/x%20y/", "https://a.example/caf%C3%A9/x%20y", "https://a.example/caf%c3%a9/x%20y/"}
	for _, stored := range forms {
		text := search.Fields{Target: stored}.AppendText(nil)
		for _, pasted := range forms {
			words, _ := c.looksFor(pasted)
			q, ok := search.Parse(words)
			expect.That(t, ok && q.Matches(text), "%s is not found by %s", stored, pasted)
		}
	}
	many := "https://a.example/é" + strings.Repeat("%20b", search.MaxWords)
	words, _ := c.looksFor(many)
	expect.Equal(t, words, many, "too many words would match every link")
}

// TestAStateIsJudgedByItsRowOnlyIfTheRowDecides has every combination of what decides a state. Without a block list
// only capped links need memory.
func TestAStateIsJudgedByItsRowOnlyIfTheRowDecides(t *testing.T) {
	const nowMs = 1000
	list := new(engine.BlockList)
	expect.OK(t, expect.Err(list.Replace([]byte("blocked.example\n"))))
	for _, blocks := range []*engine.BlockList{nil, new(engine.BlockList), list} {
		for bits := range 1 << 5 {
			disabled, expires, isPast, capped, usedUp := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, bits&16 != 0
			e := engine.LinkEntry{}
			if disabled {
				e.Flags |= engine.FlagDisabled
			}
			if capped {
				e.Flags |= engine.FlagCapped
			}
			if expires {
				e.Flags |= engine.FlagExpires
				if e.ExpiresAtMs = nowMs + 1; isPast {
					e.ExpiresAtMs = nowMs
				}
			}
			is := engine.StateActive
			switch {
			case disabled:
				is = engine.StateDisabled
			case expires && isPast:
				is = engine.StateExpired
			case capped && usedUp:
				is = engine.StateExhausted
			}
			c := &Calls{o: Options{Now: func() time.Time { return time.UnixMilli(nowMs) }, Targets: engine.TargetPolicy{Blocked: blocks}}}
			for _, asked := range []engine.State{engine.StateActive, engine.StateDisabled, engine.StateExpired, engine.StateExhausted, engine.StateBlocked} {
				judge, _ := c.inState(asked)
				got, mayBeBlocked := judge(&e), blocks == list
				want := engine.Unwanted
				switch {
				case mayBeBlocked && (is == asked || asked == engine.StateBlocked),
					capped && !disabled && !(expires && isPast) && (asked == engine.StateActive || asked == engine.StateExhausted):
					want = engine.Unsure
				case is == asked:
					want = engine.Wanted
				}
				expect.Equal(t, got, want, "%05b, a link that is %s, asked for %s, block list %v", bits, is, asked, mayBeBlocked)
			}
		}
	}
}

// noRows is a table without rows, which cannot be written.
type noRows struct{ rows.Table }

func (noRows) Scan([]byte, func(key, value []byte) (bool, error)) error { return nil }

// onlyDefault returns the domains of a server that has only the default one.
func onlyDefault(t testing.TB, base string) *domain.Domains {
	d := domain.New(noRows{}, nil)
	expect.OK(t, d.Begin(base))
	return d
}

func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }
