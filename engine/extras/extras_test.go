package extras

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
)

func anyFields() *rapid.Generator[Fields] {
	return rapid.Custom(func(t *rapid.T) Fields {
		f := Fields{
			StartsAtMs: rapid.SampledFrom([]int64{0, 1, 1<<63 - 1}).Draw(t, "starts"),
			ExpiredURL: strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 255, 256, limits.MaxTargetBytes}).Draw(t, "expired")),
			Query:      Query(rapid.Uint8Max(uint8(Keep)).Draw(t, "query")),
			Card:       rapid.Bool().Draw(t, "card"),
			Rules:      rapid.SliceOfN(anyRule(), 0, 3).Draw(t, "rules"),
			Split:      anySplit().Draw(t, "split"),
			Lock:       rapid.SampledFrom([]uint64{0, 1, 1<<64 - 1}).Draw(t, "lock"),
		}
		f.Number("https://own.example/", &Fields{}, "", rapid.Uint8Max(200).Draw(t, "last"))
		return f
	})
}

func anyRule() *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		return Rule{URL: rapid.StringN(1, 20, 60).Draw(t, "url"), Conditions: rapid.SliceOfN(rapid.SampledFrom(someConditions), 1, MaxConditions).Draw(t, "conditions")}
	})
}

func anySplit() *rapid.Generator[[]Share] {
	return rapid.Custom(func(t *rapid.T) (split []Share) {
		for range rapid.SampledFrom([]int{0, 0, 2, 3, MaxShares}).Draw(t, "shares") {
			split = append(split, Share{URL: rapid.StringN(1, 20, 60).Draw(t, "url"), Weight: uint16(rapid.IntRange(1, MaxWeight).Draw(t, "weight"))})
		}
		return split
	})
}

// someConditions have each kind.
var someConditions = []Condition{
	{OnDevice, "", "\x01"}, {OnDevice, "", string([]byte{byte(Desktop)})}, {InBrowser, "", "\x03"}, {InLanguage, "", "en"}, {InLanguage, "", "zh-hant-tw"},
	{WithQuery, "utm_source", "x"}, {WithQuery, "a", ""}, {WithAnyQuery, strings.Repeat("k", MaxOperand), ""}, {WithValuelessQuery, "\x00", ""},
	{FromNetwork, "", "\x0a\x00\x00\x00\xff\x00\x00\x00"}, {FromNetwork, "", strings.Repeat("\x20", 16) + strings.Repeat("\xff", 16)}, {InCountry, "", "DE"},
	{Before, "", "\x01\x00\x00\x00\x00\x00\x00\x00"}, {After, "", "\xff\xff\xff\xff\xff\xff\xff\x7f"},
}

func equal(a, b Fields) bool { return reflect.DeepEqual(a, b) }

func TestABlobIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyFields().Draw(t, "fields")
		blob := want.Append(nil)
		got, err := Read(blob)
		expect.MustThat(t, err == nil && bytes.Equal(got.Append(nil), blob) && got.Target == want.Target && len(got.Rules) == len(want.Rules) && len(got.Split) == len(want.Split), "got %+v, %v, want %+v", got, err, want)
		expect.MustEqual(t, StartsAtMs(blob), want.StartsAtMs, "a redirect reads another start")
		expect.MustEqual(t, string(ExpiredURL(blob)), want.ExpiredURL, "a redirect reads another address")
		expect.MustEqual(t, QueryOf(blob), want.Query, "a redirect treats the query in another way")
		expect.MustEqual(t, Lock(blob), want.Lock, "a redirect asks for another password")
	})
}

func TestALinkWithoutExtrasHasNoBlob(t *testing.T) {
	expect.Equal(t, len((&Fields{}).Append(nil)), 0, "bytes")
	got, err := Read("")
	expect.That(t, err == nil && equal(got, Fields{}), "no blob says %+v, %v", got, err)
	expect.Equal(t, StartsAtMs(nil), 0, "no blob has a start")
}

func TestWhatAppendDoesNotWriteIsMalformed(t *testing.T) {
	start := "\x01\x08\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00"
	const ownNumber = "\x04\x01\x00\x01"
	for name, blob := range map[string]string{
		"a number alone":              "\x01",
		"half a length":               "\x01\x08",
		"a part that is cut off":      start[:len(start)-1],
		"bytes after the last":        start + "\x00",
		"a part twice":                start + start,
		"the number 0":                "\x00\x00\x00",
		"a number not known":          start + "\x63\x01\x00\x07",
		"a start of 7 bytes":          "\x01\x07\x00" + "\x01\x00\x00\x00\x00\x00\x00",
		"the start 0":                 "\x01\x08\x00" + strings.Repeat("\x00", 8),
		"a start before 1970":         "\x01\x08\x00" + strings.Repeat("\xff", 8),
		"an empty address":            "\x02\x00\x00",
		"an address too long":         "\x02\x01\x20" + strings.Repeat("x", limits.MaxTargetBytes+1),
		"bits that say nothing":       "\x03\x01\x00\x00",
		"a bit not known":             "\x03\x01\x00\x81",
		"both ways of a query":        "\x03\x01\x00\x03",
		"bits of two bytes":           "\x03\x02\x00\x01\x00",
		"parts without order":         "\x02\x01\x00x" + start,
		"a number of no other target": "\x04\x01\x00\x01",
		"rules without that number":   "\x05\x0a\x00" + "\x02\x04\x00\x01\x00" + "\x01\x00\x01\x01" + "u",
		"a rule without a number":     ownNumber + "\x05\x0a\x00" + "\x00\x04\x00\x01\x00" + "\x01\x00\x01\x01" + "u",
		"a number twice":              ownNumber + "\x05\x0a\x00" + "\x01\x04\x00\x01\x00" + "\x01\x00\x01\x01" + "u",
		"no rules":                    ownNumber + "\x05\x00\x00",
		"a rule without conditions":   ownNumber + "\x05\x06\x00" + "\x02\x00\x00\x01\x00" + "u",
		"a rule without an address":   ownNumber + "\x05\x09\x00" + "\x02\x04\x00\x00\x00" + "\x01\x00\x01\x01",
		"a rule that is cut off":      ownNumber + "\x05\x09\x00" + "\x02\x04\x00\x01\x00" + "\x01\x00\x01\x01",
		"a condition that is cut off": ownNumber + "\x05\x09\x00" + "\x02\x03\x00\x01\x00" + "\x01\x00\x01" + "u",
		"a device not known":          ownNumber + "\x05\x0a\x00" + "\x02\x04\x00\x01\x00" + "\x01\x00\x01\x09" + "u",
		"a kind not known":            ownNumber + "\x05\x0a\x00" + "\x02\x04\x00\x01\x00" + "\x0b\x00\x01\x01" + "u",
		"a share alone":               ownNumber + "\x06\x06\x00" + "\x02\x01\x00\x01\x00u",
		"a share without weight":      ownNumber + "\x06\x0c\x00" + "\x02\x01\x00\x01\x00u" + "\x03\x00\x00\x01\x00u",
		"a share of 1001":             ownNumber + "\x06\x0c\x00" + "\x02\x01\x00\x01\x00u" + "\x03\xe9\x03\x01\x00u",
		"a lock of 7 bytes":           "\x07\x07\x00" + "\x01\x00\x00\x00\x00\x00\x00",
		"the lock 0":                  "\x07\x08\x00" + strings.Repeat("\x00", 8),
		"too many bytes":              "\x63\x00\x80" + strings.Repeat("x", MaxBytes),
	} {
		got, err := Read(blob)
		expect.That(t, err == ErrMalformed && equal(got, Fields{}), "%s: got %+v, %v", name, got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add((&Fields{StartsAtMs: 1_700_000_000_000, ExpiredURL: "https://a.b/", Query: Keep}).Append(nil))
	all := Fields{StartsAtMs: 1, Split: []Share{{"https://a/", 70, 0}, {"https://b/", 30, 0}}}
	for _, c := range someConditions {
		all.Rules = append(all.Rules, Rule{URL: "https://c/", Conditions: []Condition{c}})
	}
	all.Number("", &Fields{}, "", 0)
	f.Add(all.Append(nil))
	f.Fuzz(func(t *testing.T, blob []byte) {
		fields, err := Read(blob)
		expect.MustThat(t, err != nil || bytes.Equal(fields.Append(nil), blob), "%x is read as %+v, which is written in another way", blob, fields)
		if err == nil {
			expect.MustEqual(t, StartsAtMs(blob), fields.StartsAtMs, "%x", blob)
			expect.MustEqual(t, string(ExpiredURL(blob)), fields.ExpiredURL, "%x", blob)
			expect.MustEqual(t, QueryOf(blob), fields.Query, "%x", blob)
			expect.MustEqual(t, HasCard(blob), fields.Card, "%x", blob)
			expect.MustEqual(t, Target(blob), fields.Target, "%x", blob)
			checkViews(t, blob, &fields)
		}
	})
}

// checkViews fails unless a redirect reads the rules and the split of a blob as Read does.
func checkViews(t *testing.T, blob []byte, f *Fields) {
	t.Helper()
	var rules []Rule
	for r, rest, ok := CutRule(Rules(blob)); ok; r, rest, ok = CutRule(rest) {
		rule := Rule{URL: string(r.URL), Target: r.Target}
		for c, more, ok := CutCondition(r.Conditions); ok; c, more, ok = CutCondition(more) {
			rule.Conditions = append(rule.Conditions, Condition{c.Kind, string(c.Key), string(c.Value)})
		}
		rules = append(rules, rule)
	}
	var split []Share
	for s, rest, ok := CutShare(Split(blob)); ok; s, rest, ok = CutShare(rest) {
		split = append(split, Share{string(s.URL), s.Weight, s.Target})
	}
	expect.MustThat(t, reflect.DeepEqual(rules, f.Rules) && reflect.DeepEqual(split, f.Split), "%x is %+v, a redirect reads %+v, %+v", blob, f, rules, split)
}
