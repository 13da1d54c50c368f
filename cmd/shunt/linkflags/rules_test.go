package linkflags

import (
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/client"
	"shunt/engine/expect"
)

func TestRulesAndSplitsAreReadAsTheyAreShown(t *testing.T) {
	for _, text := range []string{
		"device=ios -> https://example.org/app", "device=ios and language=de -> https://example.org/app", "query.utm_source=a=b -> https://a/?x->y",
		"query.x=* and query.y -> https://a/", "ip=10.0.0.0/8 and country=DE and browser=Samsung Internet -> https://a/",
		"before=2030-01-01 and after=2026-01-01T08:00:00Z -> https://a/", "query.x= -> https://a/", "query.a=b -> c -> https://a/",
	} {
		value, err := readRules([]string{text})
		expect.OK(t, err, text)
		sent, err := json.Marshal(map[string]any{"rules": value})
		expect.OK(t, err)
		var l client.Link
		expect.OK(t, json.Unmarshal(sent, &l))
		expect.Equal(t, showRules(&l), text)
	}
	value, err := readSplit([]string{"70:https://example.org:8080/a", " 30 : b "})
	split, _ := value.([]client.Share)
	expect.That(t, err == nil, "%v", err)
	expect.Equal(t, showSplit(&client.Link{Split: split}), "70:https://example.org:8080/a; 30:b")
}

func TestWhatIsNoRuleSaysWhatOneIs(t *testing.T) {
	for text, want := range map[string]string{
		"device=ios": "'CONDITION -> URL'", "-> https://a/": "must be one of device=", "city=Berlin -> https://a/": `"city=Berlin"`, "device -> https://a/": `"device"`,
	} {
		_, err := readRules([]string{text})
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v, want %s", text, err, want)
	}
	for _, text := range []string{"https://a/", "70", "x:https://a/"} {
		_, err := readSplit([]string{text})
		expect.That(t, err != nil && strings.Contains(err.Error(), "WEIGHT:URL"), "%s: got %v", text, err)
	}
	for _, read := range []func([]string) (any, error){readRules, readSplit} {
		value, err := read([]string{""})
		expect.That(t, value == nil && err == nil, "empty: got %v, %v", value, err)
	}
}
