package edges

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// messageOf returns a message with a head that no type of this program has.
func messageOf(head string, parts ...string) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head...)
	for _, part := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b
}

// goodAsk is a question with every field.
func goodAsk() Ask {
	hits := uint64(7)
	return Ask{
		Who: Who{Store: strings.Repeat("f", 32), Process: "p"}, Version: 1, Key: strings.Repeat("a", 32), Log: strings.Repeat("b", 32), At: strings.Repeat("c", 98), Outbox: strings.Repeat("d", 32),
		First: 5, Before: strings.Repeat("e", 16), NoWait: true, Program: "v1.2.3", Applied: 9, Hits: &hits, HitsBytes: 280, ServesTill: 1_800_000_000,
	}
}

// asJSON shows a head with what its pointers point to.
func asJSON(t *testing.T, head any) string {
	t.Helper()
	text, err := json.Marshal(head)
	expect.OK(t, err)
	return string(text)
}

func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	ask, parts := goodAsk(), [][]byte{[]byte("first"), {}, []byte("third")}
	a, records, err := ReadAsk(AppendAsk(nil, &ask, parts))
	expect.OK(t, err)
	expect.Equal(t, asJSON(t, a), asJSON(t, ask))
	expect.Equal(t, string(bytes.Join(records, []byte("|"))), "first||third")
	answer := Answer{Version: 1, Head: 12, Taken: 8, Last: "f", Lost: 3, Busy: true, Copy: Behind, WaitedMs: 40, NowMs: 1_700_000_000_000}
	got, entries, err := ReadAnswer(AppendAnswer(nil, &answer, parts))
	expect.OK(t, err)
	expect.Equal(t, got, answer)
	expect.Equal(t, len(entries), 3, "entries")
}

// TestUnknownFieldsAreSkipped reads messages of a later version, and those of one without what came later: servers
// and edges are upgraded in any order.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	later := `"colour":"red","more":{"deep":[1,null,{"x":true}]},"n":1e400,"none":null`
	a, records, err := ReadAsk(messageOf(`{"version":2,"first":3,"at":"p",`+later+`,"hits":4}`, "record"))
	expect.OK(t, err)
	expect.That(t, a.Version == 2 && a.First == 3 && a.At == "p" && *a.Hits == 4 && len(records) == 1, "got %+v and %q", a, records)
	a, _, err = ReadAsk(messageOf(`{"version":1,"first":1}`))
	expect.That(t, err == nil && a.Hits == nil && a.Program == "" && a.ServesTill == 0, "a question of an earlier version: %+v, %v", a, err)
	answer, entries, err := ReadAnswer(messageOf(`{"version":3,"taken":2,`+later+`}`, "entry", "another"))
	expect.That(t, err == nil && answer.Version == 3 && answer.Taken == 2 && len(entries) == 2, "got %+v, %q, %v", answer, entries, err)
	answer, _, err = ReadAnswer(messageOf(`{"version":1,"copy":"of a later version"}`))
	expect.That(t, err == nil && answer.Copy != NotNeeded, "a reason of a later version: %+v, %v", answer, err)
}

func TestMessagesThatAreNoneAreRefused(t *testing.T) {
	many := messageOf(`{"version":1,"first":1}`)
	for range MaxParts {
		many = binary.BigEndian.AppendUint32(many, 0)
	}
	_, records, err := ReadAsk(many)
	expect.That(t, err == nil && len(records) == MaxParts, "as many records as there may be: %d, %v", len(records), err)
	for name, b := range map[string][]byte{
		"nothing": nil, "half of a length": {0, 0}, "no head": messageOf(""), "a head that is no object": messageOf(`[]`), "null": messageOf(`null`),
		"a length beyond its end": {0xff, 0xff, 0xff, 0xff, '{', '}'},
		"a long head":             messageOf(`{"version":1,"first":1,"x":"` + strings.Repeat("x", maxHeadBytes) + `"}`),
		"too many parts":          binary.BigEndian.AppendUint32(many, 0),
		"half of a part":          append(messageOf(`{"version":1,"first":1}`), 0, 0, 0, 2, 'x'),
	} {
		for kind, err := range map[string]error{"question": errOf(ReadAsk(b)), "answer": errOf(ReadAnswer(b))} {
			expect.That(t, err != nil, "a %s: %s is read", kind, name)
		}
	}
}

func errOf[A any](_ A, _ [][]byte, err error) error { return err }

// TestWhatNoEdgeSaysIsRefused changes one field of a good question at a time.
func TestWhatNoEdgeSaysIsRefused(t *testing.T) {
	high := uint64(1) << 63
	for name, change := range map[string]func(*Ask){
		"no version":                     func(a *Ask) { a.Version = 0 },
		"a version below 0":              func(a *Ask) { a.Version = -1 },
		"the position 0":                 func(a *Ask) { a.First = 0 },
		"a position that is too high":    func(a *Ask) { a.First = high - 1 },
		"an entry that is too high":      func(a *Ask) { a.Applied = high },
		"more hits than there can be":    func(a *Ask) { a.Hits = &high },
		"more bytes than there can be":   func(a *Ask) { a.HitsBytes = high },
		"a certificate to the year 1969": func(a *Ask) { a.ServesTill = -1 },
		"one to the year 10000":          func(a *Ask) { a.ServesTill = maxServesTill + 1 },
		"a long store":                   func(a *Ask) { a.Store = strings.Repeat("a", maxPlaceBytes+1) },
		"a long process":                 func(a *Ask) { a.Process = strings.Repeat("a", maxPlaceBytes+1) },
		"a long key":                     func(a *Ask) { a.Key = strings.Repeat("a", maxPlaceBytes+1) },
		"a long log":                     func(a *Ask) { a.Log = strings.Repeat("a", maxPlaceBytes+1) },
		"a long position":                func(a *Ask) { a.At = strings.Repeat("a", maxPlaceBytes+1) },
		"a long outbox":                  func(a *Ask) { a.Outbox = strings.Repeat("a", maxPlaceBytes+1) },
		"a long hash":                    func(a *Ask) { a.Before = strings.Repeat("a", maxPlaceBytes+1) },
	} {
		ask := goodAsk()
		change(&ask)
		a, records, err := ReadAsk(AppendAsk(nil, &ask, [][]byte{[]byte("record")}))
		expect.That(t, err != nil && a == (Ask{}) && records == nil, "%s: got %+v, %q, %v", name, a, records, err)
	}
	for said, want := range map[string]string{
		"v1.2.3 (dirty)": "v1.2.3 (dirty)", "\x1b[2Jx\n": "?[2Jx?", "v1\u202e2": "v1?2", strings.Repeat("x", 300): strings.Repeat("x", 100),
	} {
		ask := goodAsk()
		ask.Program = said
		a, _, err := ReadAsk(AppendAsk(nil, &ask, nil))
		expect.That(t, err == nil && a.Program == want, "the program %q: got %q, %v", said, a.Program, err)
	}
}

// FuzzReadAsk shows to an admin whatever an edge says.
func FuzzReadAsk(f *testing.F) {
	ask := goodAsk()
	f.Add(AppendAsk(nil, &ask, [][]byte{[]byte("record"), {}}))
	ask.ServesTill, ask.Program = maxServesTill, "\xff\x1b[2J"
	f.Add(AppendAsk(nil, &ask, nil))
	f.Add(messageOf(`{"version":1,"first":9223372036854710271,"applied":9223372036854775807,"hits":9223372036854775807,"serves_till":253402300800}`))
	f.Add(messageOf(`{"version":1,"first":1,"serves_till":-62135596801,"hits":null}`, "x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, records, err := ReadAsk(b)
		if err != nil {
			return
		}
		again, same, err := ReadAsk(AppendAsk(nil, &a, records))
		expect.OK(t, err)
		expect.MustThat(t, asJSON(t, again) == asJSON(t, a) && bytes.Equal(bytes.Join(same, nil), bytes.Join(records, nil)) && len(same) == len(records),
			"%+v becomes %+v", a, again)
		known, now := new(Known), time.Unix(1_700_000_000, 0)
		known.Asks("oslo", "203.0.113.7", &a, 9, now)(&Answer{Head: 9}, now)
		e := known.List([]string{"oslo"}, nil, 9, now)
		text := asJSON(t, e)
		expect.MustThat(t, len(text) < 1<<10 && !strings.ContainsFunc(e[0].Version, func(r rune) bool { return r < ' ' || r > '~' }), "shown: %s", text)
	})
}

// FuzzReadAnswer: an edge outlives whatever it is answered.
func FuzzReadAnswer(f *testing.F) {
	f.Add(AppendAnswer(nil, &Answer{Version: 1, Head: 12, Copy: Ahead}, [][]byte{[]byte("entry"), {}}))
	f.Add(messageOf(`{"version":1,"head":18446744073709551615,"waited_ms":-9223372036854775808,"now_ms":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, entries, err := ReadAnswer(b)
		if err != nil {
			return
		}
		again, same, err := ReadAnswer(AppendAnswer(nil, &a, entries))
		expect.MustThat(t, err == nil && again == a && len(same) == len(entries), "%+v becomes %+v, %v", a, again, err)
	})
}
