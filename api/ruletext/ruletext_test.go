package ruletext

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"shunt/api/client"
	"shunt/engine/expect"
)

func TestRulesAndSplitsAreReadAsTheyAreShown(t *testing.T) {
	for _, text := range []string{
		"device=ios -> https://example.org/app", "device=ios and language=de -> https://example.org/app", "query.utm_source=a=b -> https://a/?x->y",
		"query.x=* and query.y -> https://a/", "ip=10.0.0.0/8 and country=DE and browser=Samsung Internet -> https://a/",
		"before=2030-01-01 and after=2026-01-01T08:00:00Z -> https://a/", "query.x= -> https://a/", "query.a=b%20->%20c -> https://a/",
	} {
		rules, err := ReadRules([]string{text})
		expect.OK(t, err, text)
		sent, err := json.Marshal(rules)
		expect.OK(t, err)
		var read []client.Rule
		expect.OK(t, json.Unmarshal(sent, &read))
		expect.Slices(t, Rules(read), []string{text}, "shown")
	}
	split, err := ReadSplit([]string{"70:https://example.org:8080/a", " 30 : b "})
	expect.That(t, err == nil, "%v", err)
	expect.Slices(t, Split(split), []string{"70:https://example.org:8080/a", "30:b"}, "shown")
}

// TestAnyRuleIsReadAsItIsShown has names and values that JSON allows and a line has other meanings for.
func TestAnyRuleIsReadAsItIsShown(t *testing.T) {
	odd := []string{"a", "*", "a=b", " a ", "x and y", "a -> b", "%41", "a\nb", "ü\u00a0", "a=*", "-> https://b/"}
	for _, key := range odd {
		for _, value := range odd {
			rules := []client.Rule{{URL: "https://a/", Conditions: []client.Condition{
				{Type: "query-param", MatchKey: key, MatchValue: value}, {Type: "any-value-query-param", MatchKey: key}, {Type: "valueless-query-param", MatchKey: key},
			}}}
			again, err := ReadRules(strings.Split(strings.Join(Rules(rules), "\n"), "\n"))
			expect.That(t, err == nil && reflect.DeepEqual(again, rules), "%q=%q is shown as %q and read as %+v, %v", key, value, Rules(rules), again, err)
		}
	}
}

func TestWhatIsNoRuleSaysWhatOneIs(t *testing.T) {
	for text, want := range map[string]string{
		"device=ios": "'CONDITION -> URL'", "-> https://a/": "must be one of device=", "city=Berlin -> https://a/": `"city=Berlin"`, "device -> https://a/": `"device"`,
	} {
		_, err := ReadRules([]string{"device=ios -> https://a/", text})
		wrong, ok := err.(LineError)
		expect.That(t, ok && wrong.Line == 1 && strings.Contains(err.Error(), want), "%s: got %v, want %s", text, err, want)
	}
	for _, text := range []string{"https://a/", "70", "x:https://a/"} {
		_, err := ReadSplit([]string{text})
		wrong, ok := err.(LineError)
		expect.That(t, ok && wrong.Line == 0 && strings.Contains(err.Error(), "WEIGHT:URL"), "%s: got %v", text, err)
	}
}
