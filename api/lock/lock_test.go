package lock

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

const someTime = 1_700_000_000_000

func TestACookieOpensItsLinkForAnHour(t *testing.T) {
	keys := KeysOf(1, 2)
	value := keys.Value(7, 9, someTime)
	lines := "GET /a HTTP/1.1\r\nHost: a\r\ncOOkie: other=1; " + Name + "=" + value + "; more=2\r\nAccept: */*\r\n"
	opens := func(k Keys, headers string, id, lock uint64, nowMs int64) bool {
		return k.Opens([]byte(headers), id, lock, nowMs)
	}
	expect.That(t, opens(keys, lines, 7, 9, someTime), "its link stays closed")
	expect.That(t, opens(keys, lines, 7, 9, someTime+Life.Milliseconds()-1), "its link is closed within the hour")
	expect.That(t, opens(keys, "Cookie: "+Name+"=x; "+Name+"="+value, 7, 9, someTime), "a cookie of another path before it closes the link")
	expect.That(t, opens(keys, "Cookie: a=b\r\nCookie: "+Name+"="+value, 7, 9, someTime), "a second line is not read")
	expect.That(t, opens(keys, "Cookie: a=b; "+LastName+"="+value, 7, 9, someTime), "that of the link that was opened last is not read")
	for name, closed := range map[string]bool{
		"after the hour":          opens(keys, lines, 7, 9, someTime+Life.Milliseconds()),
		"another link":            opens(keys, lines, 8, 9, someTime),
		"another password":        opens(keys, lines, 7, 10, someTime),
		"the keys of another one": opens(KeysOf(1, 3), lines, 7, 9, someTime),
		"no cookie":               opens(keys, "Host: a\r\n", 7, 9, someTime),
		"another field":           opens(keys, strings.Replace(lines, "cOOkie", "x-cookie", 1), 7, 9, someTime),
		"cut off":                 opens(keys, "Cookie: "+Name+"="+value[:len(value)-1], 7, 9, someTime),
		"more than 16 of them":    opens(keys, "Cookie: "+strings.Repeat(Name+"=x; ", maxCookies)+Name+"="+value, 7, 9, someTime),
	} {
		expect.That(t, !closed, "%s: it opens", name)
	}
}

func TestAChangedCookieOpensNothing(t *testing.T) {
	keys := KeysOf(1, 2)
	rapid.Check(t, func(t *rapid.T) {
		value := []byte(keys.Value(7, 9, someTime))
		at := rapid.IntRange(0, len(value)-1).Draw(t, "at")
		other := rapid.Byte().Draw(t, "other")
		if value[at] == other {
			return
		}
		value[at] = other
		expect.MustThat(t, !keys.Opens(append([]byte("Cookie: "+Name+"="), value...), 7, 9, someTime), "%s opens", value)
	})
}

func TestACookieIsReadWithoutAllocation(t *testing.T) {
	keys := KeysOf(1, 2)
	headers := []byte("Host: a\r\nCookie: " + Name + "=" + keys.Value(7, 9, someTime) + "\r\n")
	expect.Equal(t, testing.AllocsPerRun(100, func() { keys.Opens(headers, 7, 9, someTime) }), 0, "allocations")
}

func BenchmarkOpens(b *testing.B) {
	keys := KeysOf(1, 2)
	headers := []byte("Host: a\r\nUser-Agent: x\r\nCookie: " + Name + "=" + keys.Value(7, 9, someTime) + "\r\n")
	for b.Loop() {
		keys.Opens(headers, 7, 9, someTime)
	}
}

func FuzzOpens(f *testing.F) {
	f.Add([]byte("Cookie: " + Name + "=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
	f.Fuzz(func(t *testing.T, headers []byte) {
		expect.MustThat(t, !KeysOf(1, 2).Opens(headers, 7, 9, someTime), "%q opens a link", headers)
	})
}
