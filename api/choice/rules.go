package choice

import (
	"encoding/binary"
	"net/netip"

	"shunt/engine"
	"shunt/engine/extras"
)

// A Request is what rules ask about. Its slices are only read. It is for one choice.
type Request struct {
	Query     []byte // what follows the first '?', without it
	UserAgent []byte
	Headers   []byte // the lines of the header; a request line before them does no harm
	Client    netip.Addr
	NowMs     int64
	Browser   engine.Browser
	Country   engine.Country

	// Several conditions may need these, so each is worked out once.
	device    extras.Device
	devised   bool   // device is known
	languages []byte // see languageLines
	lined     bool   // languages are known
}

// ByRule returns the address and the number of the first of rules that matches; nil: none does.
func ByRule(rules []byte, q *Request) (url []byte, target uint8) {
	for rule, rest, ok := extras.CutRule(rules); ok; rule, rest, ok = extras.CutRule(rest) {
		met := true
		for c, more, ok := extras.CutCondition(rule.Conditions); ok && met; c, more, ok = extras.CutCondition(more) {
			met = q.meets(&c)
		}
		if met {
			return rule.URL, rule.Target
		}
	}
	return nil, 0
}

// meets reports whether q meets a condition.
func (q *Request) meets(c *extras.ConditionView) bool {
	switch c.Kind {
	case extras.OnDevice:
		if !q.devised {
			q.device, q.devised = deviceOf(q.UserAgent), true
		}
		return isDevice(q.device, extras.Device(c.Value[0]))
	case extras.InBrowser:
		return q.Browser == engine.Browser(c.Value[0])
	case extras.InLanguage:
		if !q.lined {
			q.languages, q.lined = languageLines(q.Headers), true
		}
		return wantsLanguage(q.languages, c.Value)
	case extras.WithQuery, extras.WithAnyQuery, extras.WithValuelessQuery:
		return hasParameter(q.Query, c)
	case extras.FromNetwork:
		return isIn(q.Client, c.Value)
	case extras.InCountry:
		return q.Country != 0 && q.Country == engine.CountryOf(c.Value)
	case extras.Before:
		return q.NowMs < momentOf(c)
	case extras.After:
		return q.NowMs >= momentOf(c)
	}
	return false
}

func momentOf(c *extras.ConditionView) int64 { return int64(binary.LittleEndian.Uint64(c.Value)) }

// isIn reports whether client is in a network: an address and a mask of its bits.
func isIn(client netip.Addr, network []byte) bool {
	client = client.Unmap()
	var room [16]byte
	size := len(room)
	switch {
	case !client.IsValid():
		return false
	case client.Is4():
		four := client.As4()
		size = copy(room[:], four[:])
	default:
		room = client.As16()
	}
	if len(network) != 2*size {
		return false
	}
	for i, b := range room[:size] {
		if b&network[size+i] != network[i] {
			return false
		}
	}
	return true
}
