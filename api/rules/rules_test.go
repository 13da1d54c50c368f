package rules

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/extras"
)

// shown returns a condition as it is shown, "field:code" if it is refused.
func shown(kind, key, value string) string {
	c, err := Parse(kind, key, value)
	if wrong := (engine.FieldError{}); errors.As(err, &wrong) {
		return wrong.Field + ":" + wrong.Code
	}
	text, ok := ValueText(&c)
	if !ok {
		return "no value"
	}
	return text
}

func TestConditionsHaveOneForm(t *testing.T) {
	const format = "match_value:format"
	for _, c := range []struct{ kind, key, value, want string }{
		{"device", "", "iOS", "ios"}, {"device", "", "desktop", "desktop"}, {"device", "", "", format}, {"device", "x", "ios", "match_key:range"},
		{"browser", "", "firefox", "Firefox"}, {"browser", "", "samsung INTERNET", "Samsung Internet"}, {"browser", "", "unknown", format},
		{"language", "", "en", "en"}, {"language", "", "EN_gb", "en-GB"}, {"language", "", "zh-hant-TW", "zh-Hant-TW"}, {"language", "", "e", format}, {"language", "", "en-", format},
		{"language", "", "*", format}, {"language", "", "de,en", format}, {"language", "", "englishman", format},
		{"query-param", "a", "b c", "b c"}, {"query-param", "a", "", ""}, {"query-param", "", "b", "match_key:required"}, {"query-param", strings.Repeat("x", 256), "b", "match_key:too_long"},
		{"query-param", "a", strings.Repeat("x", 256), "match_value:too_long"}, {"any-value-query-param", "a", "", "no value"}, {"any-value-query-param", "a", "b", format},
		{"valueless-query-param", "a", "", "no value"},
		{"ip-address", "", "192.0.2.7", "192.0.2.7"}, {"ip-address", "", "192.0.2.7/24", "192.0.2.0/24"}, {"ip-address", "", "11.22.*.*", "11.22.0.0/16"}, {"ip-address", "", "11.*.33.*", "11.*.33.*"},
		{"ip-address", "", "*.*.*.*", "0.0.0.0/0"}, {"ip-address", "", "2001:DB8::7", "2001:db8::7"}, {"ip-address", "", "2001:db8::7/33", "2001:db8::/33"}, {"ip-address", "", "::ffff:10.0.0.1", "10.0.0.1"},
		{"ip-address", "", "10.0.0.1/32", "10.0.0.1"}, {"ip-address", "", "fe80::1%eth0", format}, {"ip-address", "", "11.22.*", format}, {"ip-address", "", "11.22.*.300", format}, {"ip-address", "", "11.22.*.01", format},
		{"ip-address", "", "10.0.0.0/33", format}, {"ip-address", "", "a.example", format}, {"ip-address", "", "1.*.2.3.4", format},
		{"geolocation-country-code", "", "de", "DE"}, {"geolocation-country-code", "", "XX", format}, {"geolocation-country-code", "", "DEU", format}, {"geolocation-city-name", "", "Berlin", "type:range"},
		{"before-date", "", "2030-12-31", "2030-12-31T00:00:00Z"}, {"after-date", "", "2030-12-31", "2030-12-31T23:59:59Z"}, {"after-date", "", "2030-12-31T01:00:00.5+01:00", "2030-12-31T00:00:00.5Z"},
		{"before-date", "", "1960-01-01", format}, {"before-date", "", "tomorrow", format}, {"Device", "", "ios", "type:range"}, {"", "", "", "type:range"},
	} {
		expect.Equal(t, shown(c.kind, c.key, c.value), c.want, "%s %.20q %.20q", c.kind, c.key, c.value)
	}
}

// FuzzParse holds that a condition is well-formed, and is the same when it is read as it is shown.
func FuzzParse(f *testing.F) {
	for i, kind := range Types() {
		f.Add(kind, "a", []string{"ios", "Firefox", "en-GB", "b", "", "", "10.*.0.0", "DE", "2030-12-31", "2030-01-01T00:00:00Z"}[i])
		f.Add(kind, "", "2001:db8::/32")
	}
	f.Fuzz(func(t *testing.T, kind, key, value string) {
		c, err := Parse(kind, key, value)
		if err != nil {
			return
		}
		blob := (&extras.Fields{Rules: []extras.Rule{{URL: "u", Conditions: []extras.Condition{c}}}}).Append(nil)
		expect.NoError(t, expect.Err(extras.ReadUnnumbered(blob)), "%q %q %q", kind, key, value)
		text, _ := ValueText(&c)
		again, err := Parse(kind, key, text)
		expect.MustThat(t, err == nil && again == c, "%q %q %q is shown as %q, which is %+v, %v", kind, key, value, text, again, err)
	})
}

// FuzzRead holds that rules are refused, or well-formed and the same when they are read as they are shown.
func FuzzRead(f *testing.F) {
	f.Add(`[{"url":"http://a/","conditions":[{"type":"device","match_value":"ios"}]}]`)
	f.Add(`[{"url":"http://a/","conditions":[{"type":"query-param","match_key":"a","match_value":"ä"}],"target":7},{}]`)
	any := func(raw string) (string, error) { return raw, nil }
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || strings.TrimSpace(text) != text {
			return
		}
		read, err := Read(json.RawMessage(text), any)
		if err != nil {
			return
		}
		shown := Append(nil, read)
		again, err := Read(shown, any)
		expect.MustThat(t, err == nil && Same(read, again), "%q is shown as %q, which is %+v, %v", text, shown, again, err)
		Warnings(read, false, time.Now())
	})
}
