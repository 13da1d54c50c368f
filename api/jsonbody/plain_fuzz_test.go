package jsonbody

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/problem"
)

// A value is what the readers of one implementation have read.
type value struct {
	Text  string
	Flag  bool
	Count int64
	Words []string
	At    time.Time
}

// fieldsFor returns fields of every type, read by the given readers of values.
func fieldsFor(
	text func(json.RawMessage) (string, error), flag func(json.RawMessage) (bool, error), count func(json.RawMessage) (int64, error),
	words func(json.RawMessage) ([]string, error),
) Fields[value] {
	return NewFields(map[string]Reader[value]{
		"text":  func(v *value, raw json.RawMessage) (err error) { v.Text, err = text(raw); return err },
		"flag":  func(v *value, raw json.RawMessage) (err error) { v.Flag, err = flag(raw); return err },
		"count": func(v *value, raw json.RawMessage) (err error) { v.Count, err = count(raw); return err },
		"words": func(v *value, raw json.RawMessage) (err error) { v.Words, err = words(raw); return err },
		"at":    func(v *value, raw json.RawMessage) (err error) { v.At, err = Time(raw); return err },
	})
}

var (
	fastFields    = fieldsFor(String, Bool, Int, Strings)
	generalFields = fieldsFor(anyString, anyBool, anyInt, anyStrings)
)

// answerTo returns everything that a client or a caller sees of a body that split and fields read.
func answerTo(text []byte, split func([]Member, []byte) ([]Member, error), fields Fields[value]) string {
	var few [16]Member
	var v value
	members, err := split(few[:0], text)
	if err != nil {
		return shownError(err)
	}
	sent, null, invalid := Read(members, &v, fields)
	if len(invalid) > 0 {
		err = invalid
	}
	return fmt.Sprintf("%q %q %#v %s %s", sent, null, v, v.At, shownError(err))
}

// shownError returns the problem of err as clients get it.
func shownError(err error) string {
	if err == nil {
		return ""
	}
	p, known := problem.Of(err)
	body, _ := json.Marshal(p.Body())
	if !known {
		return "unknown " + err.Error()
	}
	return string(body)
}

// plainSeeds are bodies on both sides of every border of plain JSON.
var plainSeeds = []string{
	`{}`, ` { } `, `{"text":"a"}`, "\t{\r\n\"text\" : \"a\" , \"count\":7}\n", `{"text":"a","text":"b"}`, `{"text":"a","other":1}`, `{"te\u0078t":"a"}`,
	`{"text":"\"\\\/\b\f\n\r\t\u00e9\u0000\uFFFD\ud7ff\ue000"}`, `{"text":"\ud83c\udf55"}`, `{"text":"\ud83c"}`, `{"text":"\x"}`, `{"text":"\u00g0"}`, `{"text":"\u00"}`, `{"text":"\`,
	"{\"text\":\"Gr\u00f6\u00dfe \u2028\"}", "{\"text\":\"\xff\"}", "{\"\xff\":1}", "{\"text\":\"\x00\"}", "{\"text\":\"a\nb\"}", "{\"text\":\"\x7f\"}",
	`{"count":0}`, `{"count":-0}`, `{"count":01}`, `{"count":-1}`, `{"count":1.0}`, `{"count":1e3}`, `{"count":999999999999999999}`, `{"count":1000000000000000000}`, `{"count":-9223372036854775808}`,
	`{"count":9223372036854775808}`, `{"count":-}`, `{"count":+1}`, `{"count":1 2}`, `{"flag":true,"count":null}`, `{"flag":truex}`, `{"flag":tru}`, `{"flag":"true"}`, `{"flag":false}`, `{"flag":1}`,
	`{"words":[]}`, `{"words":[ "a" , "b\n" ]}`, `{"words":["a",null]}`, `{"words":["a",]}`, `{"words":["a"`, `{"words":[["a"]]}`, `{"words":{}}`, `{"words":[1]}`, `{"words":null,"words":[]}`,
	`{"at":"2030-12-31T23:59:59Z"}`, `{"at":"2030-12-31T23:59:59.123456+01:00"}`, `{"at":"2030-12-31T23:59:59,5Z"}`, `{"at":"9999-12-31T23:59:59-01:00"}`, `{"at":"\u0032030-12-31T23:59:59Z"}`, `{"at":7}`, `{"at":"x"}`, `{"at":"`,
	`{"text":"a",}`, `{,}`, `{"text"}`, `{"text":}`, `{"text":"a"}x`, `{"text":"a"}{}`, `[{"text":"a"},{"count":1}]`, ` [ { } ] `, `[{}],`, `[]`, `[{},]`, `[{} {}]`, `[1]`, `[[{}]]`, `[{},7,"\ud800"]`, `7`, ``, "\ufeff{}",
	`{"` + strings.Repeat("long", 40) + `":1}`, `{"` + strings.Repeat("é", 40) + `":1}`,
}

// FuzzPlainJSONIsWhatTheGeneralParserReads checks that both ways to read a body, the items of a body
// and a value give the same answers, byte for byte.
func FuzzPlainJSONIsWhatTheGeneralParserReads(f *testing.F) {
	for _, seed := range plainSeeds {
		f.Add([]byte(seed))
	}
	f.Add([]byte("{" + strings.Repeat(`"a":1,`, maxMembers-1) + `"b":1}`))
	f.Add([]byte("{" + strings.Repeat(`"a":1,`, maxMembers) + `"b":1}`))
	f.Fuzz(sameAnswers)
}

func sameAnswers(t *testing.T, text []byte) {
	before := bytes.Clone(text)
	if got, want := answerTo(text, AppendMembers, fastFields), answerTo(text, appendAnyMembers, generalFields); got != want {
		t.Fatalf("%q: got\n%s\nwant\n%s", text, got, want)
	}
	for _, limit := range []int{1, 3, 1000} {
		got, err := splitArray(text, limit)
		want, wantErr := splitAnyArray(text, limit)
		if !slices.EqualFunc(got, want, bytes.Equal) || shownError(err) != shownError(wantErr) {
			t.Fatalf("%q: got items %q, %v, want %q, %v", text, got, err, want, wantErr)
		}
	}
	members, err := AppendMembers(nil, text)
	want, _ := appendAnyMembers(nil, text)
	if !slices.EqualFunc(members, want, func(a, b Member) bool { return bytes.Equal(a.Name, b.Name) && bytes.Equal(a.Value, b.Value) }) {
		t.Fatalf("%q: got members %q, want %q", text, members, want)
	}
	if err == nil {
		for _, m := range members {
			sameValues(t, m.Value)
		}
	}
	if json.Valid(text) {
		sameValues(t, bytes.TrimSpace(text))
	}
	if !bytes.Equal(text, before) {
		t.Fatalf("%q was changed to %q", before, text)
	}
}

// sameValues checks that every reader reads a value as its general form does.
func sameValues(t *testing.T, raw json.RawMessage) {
	for name, fast := range fastFields {
		var got, want value
		err, wantErr := fast.read(&got, raw), generalFields[name].read(&want, raw)
		if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w || shownError(err) != shownError(wantErr) {
			t.Fatalf("%s of %q: got %s, %v, want %s, %v", name, raw, g, err, w, wantErr)
		}
	}
}

func TestPlainBodiesNeedOnlyTheirStrings(t *testing.T) {
	text := []byte(` {"text": "https://example.org/", "count":7, "flag":true, "words":["a","b"], "at":"2030-12-31T23:59:59Z"}`)
	allocations := testing.AllocsPerRun(100, func() {
		var few [16]Member
		var v value
		members, err := AppendMembers(few[:0], text)
		if _, _, invalid := Read(members, &v, fastFields); err != nil || len(invalid) > 0 || v.Count != 7 {
			t.Fatal(err, invalid, v)
		}
	})
	if allocations > 6 { // the text, two words, their slice, the names that were sent, the value
		t.Errorf("got %v allocations, want at most 6", allocations)
	}
}

func TestPlainJSONDeclinesBeforeAnyReaderIsCalled(t *testing.T) {
	for _, text := range []string{`{"text":"a","other":{}}`, `{"text":"a","count":1.5}`, `{"text":"a","text":"\ud83c\udf55"}`, `{"text":"a"`, `[7]`, "{\"a\":\"\xff\"}"} {
		if members, after := appendPlainMembers(nil, []byte(text), 0); after == len(text) && !strings.Contains(text, "\xff") {
			t.Errorf("%s: got %q as plain", text, members)
		}
	}
	for _, text := range []string{`{"count":1,"flag":false,"other":null,"words":["a\n"]}`, `{}`, `{"text":"\u00e9"}`} {
		if _, after := appendPlainMembers(nil, []byte(text), 0); after != len(text) {
			t.Errorf("%s was declined", text)
		}
	}
}

// FuzzPlainStrings checks long strings with escapes, which random bytes seldom are.
func FuzzPlainStrings(f *testing.F) {
	f.Add("Größe \u2028 \"x\" \\ / \x00 \U0001f355", uint8(3))
	f.Fuzz(func(t *testing.T, text string, every uint8) {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		sameValues(t, raw)
		sameAnswers(t, fmt.Appendf(nil, `{"text":%s,"words":[%s,%s],"count":%d}`, raw, raw, raw, every))
		var escaped []byte // every nth character as \u
		for i, r := range []rune(strings.ToValidUTF8(text, "?")) {
			if q, _ := json.Marshal(string(r)); r > 0xffff || i%(int(every)+1) != 0 {
				escaped = append(escaped, q[1:len(q)-1]...)
			} else {
				escaped = fmt.Appendf(escaped, `\u%04X`, r)
			}
		}
		sameAnswers(t, fmt.Appendf(nil, `[{"text":"%s"},{"at":"%s"}]`, escaped, escaped))
	})
}
