package jsonbody

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shunt/engine/expect"
)

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

// FuzzJSONIsWhatEncodingJSONReads checks that a text is well-formed, has the items and the values that
// encoding/json finds in it. FuzzObject does the same for members.
func FuzzJSONIsWhatEncodingJSONReads(f *testing.F) {
	for _, seed := range plainSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(sameAsEncodingJSON)
}

func sameAsEncodingJSON(t *testing.T, text []byte) {
	before := bytes.Clone(text)
	expect.MustThat(t, !isPlain(text) || json.Valid(text), "%q is plain, and not JSON", text)
	var items []json.RawMessage
	well := utf8.Valid(text) && json.Unmarshal(withoutMark(text), &items) == nil && items != nil
	got, err := splitArray(text, 1000)
	same := func(a []byte, b json.RawMessage) bool { return bytes.Equal(a, b) }
	expect.MustThat(t, well == (err == nil) && (!well || slices.EqualFunc(got, items, same)), "%q: got items %q, %v, want %q", text, got, err, items)
	for _, item := range got {
		sameValues(t, item)
	}
	if members, err := Object(text); err == nil {
		for _, m := range members {
			sameValues(t, m.Value)
		}
	}
	expect.MustThat(t, bytes.Equal(text, before), "%q was changed to %q", before, text)
}

// sameValues checks that each reader reads a value, other than null, as encoding/json does.
func sameValues(t *testing.T, raw []byte) {
	if string(raw) == "null" {
		return
	}
	sameValue(t, raw, String)
	sameValue(t, raw, Bool)
	sameValue(t, raw, Int)
	var pointers []*string
	if json.Unmarshal(raw, &pointers) == nil && slices.Contains(pointers, nil) {
		words, err := Strings(raw)
		expect.MustThat(t, err != nil, "%q: got %q, want an error: null is not a string", raw, words)
		return
	}
	sameValue(t, raw, Strings)
}

func sameValue[T any](t *testing.T, raw []byte, read func(json.RawMessage) (T, error)) {
	var want T
	wantErr := json.Unmarshal(raw, &want)
	got, err := read(raw)
	expect.MustThat(t, (err == nil) == (wantErr == nil) && (err != nil || reflect.DeepEqual(got, want)),
		"%q: got %#v, %v, want %#v, %v", raw, got, err, want, wantErr)
}

func TestManyMembersAreRefused(t *testing.T) {
	for n, refused := range map[int]bool{maxMembers: false, maxMembers + 1: true} {
		text := "{" + strings.Repeat(`"a":1,`, n-1) + `"b":1}`
		_, err := Object([]byte(text))
		expect.Equal(t, err != nil, refused, "%d members: got %v", n, err)
	}
}

func TestBodiesNeedOnlyTheirStrings(t *testing.T) {
	type value struct {
		text  string
		flag  bool
		count int64
		words []string
	}
	fields := NewFields(map[string]Reader[value]{
		"text":  func(v *value, raw json.RawMessage) (err error) { v.text, err = String(raw); return err },
		"flag":  func(v *value, raw json.RawMessage) (err error) { v.flag, err = Bool(raw); return err },
		"count": func(v *value, raw json.RawMessage) (err error) { v.count, err = Int(raw); return err },
		"words": func(v *value, raw json.RawMessage) (err error) { v.words, err = Strings(raw); return err },
		"at":    func(v *value, raw json.RawMessage) (err error) { _, err = Time(raw); return err },
	})
	text := []byte(` {"text": "https://example.org/", "count":7, "flag":true, "words":["a","b"], "at":"2030-12-31T23:59:59Z"}`)
	allocations := testing.AllocsPerRun(100, func() {
		var few [16]Member
		var v value
		members, err := AppendMembers(few[:0], text)
		if _, _, invalid := Read(members, &v, fields); err != nil || len(invalid) > 0 || v.count != 7 {
			t.Fatal(err, invalid, v)
		}
	})
	if allocations > 6 { // the text, two words, their slice, the names that were sent, the value
		t.Errorf("got %v allocations, want at most 6", allocations)
	}
}

func TestPlainJSONNeedsNoSecondParser(t *testing.T) {
	for text, plain := range map[string]bool{
		`{"count":1,"flag":false,"other":null,"words":["a\n"]}`: true, `{}`: true, ` [{"a":[]} , {}] `: true, `0`: true, "\"\u00e9\"": true,
		`{"text":"a","count":1.5}`: false, `{"text":"\u00e9"}`: false, `[[[[[]]]]]`: false, `-1`: false,
		`{"text":"a"`: false, `{"text":"a",}`: false, `[1 2]`: false, `01`: false, `{}{}`: false, `{"a" 1}`: false, "\"\n\"": false, ``: false,
	} {
		expect.Equal(t, isPlain([]byte(text)), plain, text)
	}
}

// FuzzStrings checks long strings with escapes, which random bytes seldom are.
func FuzzStrings(f *testing.F) {
	f.Add("Größe \u2028 \"x\" \\ / \x00 \U0001f355", uint8(3))
	f.Fuzz(func(t *testing.T, text string, every uint8) {
		raw, err := json.Marshal(text)
		expect.OK(t, err)
		sameValues(t, raw)
		sameAsEncodingJSON(t, fmt.Appendf(nil, `{"text":%s,"words":[%s,%s],"count":%d}`, raw, raw, raw, every))
		var escaped []byte // every nth character as \u
		for i, r := range []rune(strings.ToValidUTF8(text, "?")) {
			if q, _ := json.Marshal(string(r)); r > 0xffff || i%(int(every)+1) != 0 {
				escaped = append(escaped, q[1:len(q)-1]...)
			} else {
				escaped = fmt.Appendf(escaped, `\u%04X`, r)
			}
		}
		sameAsEncodingJSON(t, fmt.Appendf(nil, `[{"text":"%s"},{"at":"%s"}]`, escaped, escaped))
	})
}
