package cluster

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

func FuzzReadOutbox(f *testing.F) {
	whole := Outbox{ID: [16]byte{1, 2}, First: 7, Records: [][]byte{[]byte("one"), {}, []byte("three")}, More: true}
	f.Add(whole.AppendTo(nil))
	f.Add(whole.AppendTo(nil)[:54])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ReadOutbox(bytes.NewReader(b))
		if err != nil {
			expect.That(t, reflect.DeepEqual(o, Outbox{}) || len(o.Records) == 0, "an error with records: %+v", o)
			return
		}
		again := o.AppendTo(nil)
		expect.That(t, bytes.Equal(again, b), "%x is read and written as %x", b, again)
	})
}

func TestAnOutboxIsReadAsItWasWritten(t *testing.T) {
	want := Outbox{ID: [16]byte{1, 2}, First: 7, Records: [][]byte{[]byte("one"), []byte("two")}, More: true, Left: 3, LeftBytes: 900, Settled: 12}
	got, err := ReadOutbox(bytes.NewReader(want.AppendTo(nil)))
	expect.That(t, err == nil && reflect.DeepEqual(got, want), "got %+v, %v, want %+v", got, err, want)
	for cut := range len(want.AppendTo(nil)) {
		if cut == outboxHeadBytes || cut == outboxHeadBytes+4+3 {
			continue // whole records
		}
		expect.That(t, expect.Err(ReadOutbox(bytes.NewReader(want.AppendTo(nil)[:cut]))) != nil, "an answer of %d bytes is read", cut)
	}
}

func TestAQuestionForAnOutboxIsReadAsItWasWritten(t *testing.T) {
	parse := func(query string) (OutboxQuery, error) {
		args := new(fasthttp.Args)
		args.Parse(strings.TrimPrefix(query, OutboxPath+"?"))
		return ParseOutboxQuery(args)
	}
	for _, q := range []OutboxQuery{{}, {Known: [16]byte{1, 15: 2}, After: 9, Kept: 7, Hash: [8]byte{3, 7: 4}, Settle: true}, {After: 1<<64 - 1, Kept: 1<<64 - 1, Lost: true}} {
		got, err := parse(q.String())
		expect.That(t, err == nil && got == q, "got %+v, %v, want %+v", got, err, q)
	}
	whole := OutboxQuery{After: 9, Kept: 9}.String()
	for name, query := range map[string]string{
		"no hash": strings.Replace(whole, "&hash=0000000000000000", "", 1), "a short hash": strings.Replace(whole, "&hash=00", "&hash=", 1),
		"a long hash": strings.Replace(whole, "&hash=", "&hash=00", 1), "a hash of other letters": strings.Replace(whole, "&hash=00", "&hash=0x", 1),
		"no id": strings.Replace(whole, "id=", "i=", 1), "no position": strings.Replace(whole, "after=9", "after=", 1), "more than it has": strings.Replace(whole, "kept=9", "kept=10", 1),
	} {
		expect.That(t, expect.Err(parse(query)) != nil, "%s: %s is accepted", name, query)
	}
}
