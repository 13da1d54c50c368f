package rules

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/api/jsonbody"
	"shunt/api/when"
	"shunt/engine"
	"shunt/engine/extras"
)

// types are the names of the kinds of conditions: those of Shlink.
var types = [...]string{
	extras.OnDevice: "device", extras.InBrowser: "browser", extras.InLanguage: "language",
	extras.WithQuery: "query-param", extras.WithAnyQuery: "any-value-query-param", extras.WithValuelessQuery: "valueless-query-param",
	extras.FromNetwork: "ip-address", extras.InCountry: "geolocation-country-code",
	extras.Before: "before-date", extras.After: "after-date",
}

// cityType is Shlink's type of a condition that cannot be asked here.
const cityType = "geolocation-city-name"

// devices are the names of devices: those of Shlink.
var devices = [...]string{
	extras.Android: "android", extras.IOS: "ios", extras.Mobile: "mobile", extras.Windows: "windows", extras.MacOS: "macos",
	extras.Linux: "linux", extras.ChromeOS: "chromeos", extras.Desktop: "desktop",
}

// Types returns the types of conditions.
func Types() []string { return slices.Clone(types[1:]) }

// Devices returns the devices that a condition may ask for.
func Devices() []string { return slices.Clone(devices[1:]) }

// Parse returns the condition of that type. Errors: an engine.FieldError of one of type, match_key and match_value.
func Parse(kind, key, value string) (c extras.Condition, err error) {
	at := slices.Index(types[:], kind)
	switch {
	case kind == cityType:
		return c, jsonbody.FieldError("type", "range", "cities are not known here; geolocation-country-code asks for the country")
	case at < 1:
		return c, jsonbody.FieldError("type", "range", "must be one of "+strings.Join(types[1:], ", "))
	}
	c = extras.Condition{Kind: extras.Kind(at), Key: key}
	switch {
	case c.Kind.HasKey() && key == "":
		return c, jsonbody.FieldError("match_key", "required", "must be the name of a parameter of the query")
	case !c.Kind.HasKey() && key != "":
		return c, jsonbody.FieldError("match_key", "range", "must be left out: only conditions on the query have one")
	case len(key) > extras.MaxOperand:
		return c, jsonbody.FieldError("match_key", "too_long", "must be at most "+strconv.Itoa(extras.MaxOperand)+" bytes")
	case len(value) > extras.MaxOperand:
		return c, jsonbody.FieldError("match_value", "too_long", "must be at most "+strconv.Itoa(extras.MaxOperand)+" bytes")
	}
	if c.Value, err = parseValue(c.Kind, value); err != nil {
		return c, err
	}
	if !c.WellFormed() { // what the form of a value says is checked there, once
		return c, jsonbody.FieldError("match_value", "format", wants[c.Kind])
	}
	return c, nil
}

// wants says what a value must be.
var wants = [...]string{
	extras.OnDevice:           "must be one of " + strings.Join(devices[1:], ", "),
	extras.InBrowser:          "must be the name of a browser as figures have it, such as Firefox or Samsung Internet",
	extras.InLanguage:         "must be a language such as en, or one with a region such as en-GB",
	extras.WithQuery:          "must be text",
	extras.WithAnyQuery:       "must be left out",
	extras.WithValuelessQuery: "must be left out",
	extras.FromNetwork:        "must be an address such as 192.0.2.7 or 2001:db8::7, a network such as 192.0.2.0/24, or have wildcards as 192.0.2.*",
	extras.InCountry:          "must be a country's code of two letters (ISO 3166-1)",
	extras.Before:             "must be a time such as 2030-12-31T23:59:59Z, or a date such as 2030-12-31, after 1970",
	extras.After:              "must be a time such as 2030-12-31T23:59:59Z, or a date such as 2030-12-31, after 1970",
}

// parseValue returns a value as the engine keeps it. What is no value of that kind becomes one that is not well-formed.
func parseValue(kind extras.Kind, text string) (string, error) {
	switch kind {
	case extras.OnDevice:
		return string([]byte{byte(max(0, slices.Index(devices[:], strings.ToLower(text))))}), nil
	case extras.InBrowser:
		return string([]byte{byte(browserNamed(text))}), nil
	case extras.InLanguage:
		return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), "_", "-")), nil
	case extras.FromNetwork:
		return string(parseNetwork(strings.TrimSpace(text))), nil
	case extras.InCountry:
		return strings.ToUpper(text), nil
	case extras.Before:
		return momentOf(when.Begin(text, time.UTC)), nil
	case extras.After:
		return momentOf(when.Expiry(text, time.UTC)), nil
	}
	return text, nil
}

// browserNamed returns the browser of that name, in any case; 0: none has it.
func browserNamed(name string) engine.Browser {
	for b := engine.Browser(1); b.String() != engine.UnknownBrowser.String(); b++ {
		if strings.EqualFold(b.String(), name) {
			return b
		}
	}
	return engine.UnknownBrowser
}

func momentOf(t time.Time, ok bool) string {
	if !ok {
		return ""
	}
	return string(binary.LittleEndian.AppendUint64(nil, uint64(t.UnixMilli())))
}

// ValueText returns the value of a condition as the API shows it. ok is false if conditions of its kind have none.
func ValueText(c *extras.Condition) (text string, ok bool) {
	switch v := c.Value; c.Kind {
	case extras.OnDevice:
		return devices[v[0]], true
	case extras.InBrowser:
		return engine.Browser(v[0]).String(), true
	case extras.InLanguage:
		return languageText(v), true
	case extras.FromNetwork:
		return networkText([]byte(v)), true
	case extras.WithAnyQuery, extras.WithValuelessQuery:
		return "", false
	case extras.Before, extras.After:
		return time.UnixMilli(momentIn(c)).UTC().Format(time.RFC3339Nano), true
	default:
		return v, true
	}
}

// momentIn returns the time in a condition, in Unix milliseconds.
func momentIn(c *extras.Condition) int64 { return int64(binary.LittleEndian.Uint64([]byte(c.Value))) }

// languageText returns a language as people write it: a region in capitals, a script with one (RFC 5646, 2.1.1).
func languageText(tag string) string {
	subtags := strings.Split(tag, "-")
	for i, s := range subtags[1:] {
		switch len(s) {
		case 2:
			subtags[1+i] = strings.ToUpper(s)
		case 4:
			subtags[1+i] = strings.ToUpper(s[:1]) + s[1:]
		}
	}
	return strings.Join(subtags, "-")
}
