// Package ruletext has rules and splits as people type and read them, in flags of the command and in forms: a line
// each. What the words mean is the server's: here they only get the types of the API. The package knows api/client,
// whose types it makes.
//
//	device=ios and language=de -> https://example.org/app
//	70:https://example.org/a
package ruletext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"shunt/api/client"
)

// conditionNames are the names of conditions beside query.NAME, and their types in the API.
var conditionNames = [...]struct{ name, kind string }{
	{"device", "device"}, {"browser", "browser"}, {"language", "language"}, {"country", "geolocation-country-code"},
	{"ip", "ip-address"}, {"before", "before-date"}, {"after", "after-date"},
}

const (
	queryPrefix  = "query."
	anyValue     = "*"
	ruleArrow    = "->"
	conditionAnd = " and "
)

// A LineError is an error of one of several lines, from 0 on.
type LineError struct {
	Line int
	Err  error
}

func (e LineError) Error() string { return e.Err.Error() }

// ReadRules reads each line as a rule. An error is a LineError.
func ReadRules(lines []string) (rules []client.Rule, err error) {
	for i, text := range lines {
		rule, err := readRule(text)
		if err != nil {
			return nil, LineError{i, err}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func readRule(text string) (rule client.Rule, err error) {
	arrow := strings.LastIndex(text, ruleArrow+" ") // an address has no space; a value may have an arrow
	if arrow < 0 {
		return rule, errors.New("must be 'CONDITION -> URL', such as 'device=ios -> https://example.org/app'")
	}
	rule.URL = strings.TrimSpace(text[arrow+len(ruleArrow):])
	for part := range strings.SplitSeq(text[:arrow], conditionAnd) {
		c, err := readCondition(strings.TrimSpace(part))
		if err != nil {
			return rule, err
		}
		rule.Conditions = append(rule.Conditions, c)
	}
	return rule, nil
}

func readCondition(text string) (c client.Condition, err error) {
	name, value, valued := strings.Cut(text, "=")
	if key, ok := strings.CutPrefix(name, queryPrefix); ok {
		switch {
		case !valued:
			return client.Condition{Type: "valueless-query-param", MatchKey: key}, nil
		case value == anyValue:
			return client.Condition{Type: "any-value-query-param", MatchKey: key}, nil
		}
		return client.Condition{Type: "query-param", MatchKey: key, MatchValue: value}, nil
	}
	for _, n := range conditionNames {
		if n.name == name && valued {
			return client.Condition{Type: n.kind, MatchValue: value}, nil
		}
	}
	var names []string
	for _, n := range conditionNames {
		names = append(names, n.name+"=…")
	}
	return c, fmt.Errorf("the condition %q must be one of %s, query.NAME=…", text, strings.Join(names, ", "))
}

// Rules returns the line of each rule, as ReadRules takes it.
func Rules(rules []client.Rule) []string {
	lines := make([]string, len(rules))
	for i, rule := range rules {
		conditions := make([]string, len(rule.Conditions))
		for j, c := range rule.Conditions {
			conditions[j] = showCondition(c)
		}
		lines[i] = strings.Join(conditions, conditionAnd) + " " + ruleArrow + " " + rule.URL
	}
	return lines
}

func showCondition(c client.Condition) string {
	switch c.Type {
	case "valueless-query-param":
		return queryPrefix + c.MatchKey
	case "any-value-query-param":
		return queryPrefix + c.MatchKey + "=" + anyValue
	case "query-param":
		return queryPrefix + c.MatchKey + "=" + c.MatchValue
	}
	for _, n := range conditionNames {
		if n.kind == c.Type {
			return n.name + "=" + c.MatchValue
		}
	}
	return c.Type + "=" + c.MatchValue // of a newer server
}

// ReadSplit reads each line as a weight and an address. An error is a LineError.
func ReadSplit(lines []string) (split []client.Share, err error) {
	for i, text := range lines {
		weight, url, found := strings.Cut(text, ":")
		n, err := strconv.Atoi(strings.TrimSpace(weight))
		if !found || err != nil {
			return nil, LineError{i, errors.New("must be WEIGHT:URL, such as 70:https://example.org/a")}
		}
		split = append(split, client.Share{URL: strings.TrimSpace(url), Weight: n})
	}
	return split, nil
}

// Split returns the line of each share, as ReadSplit takes it.
func Split(split []client.Share) []string {
	lines := make([]string, len(split))
	for i, s := range split {
		lines[i] = strconv.Itoa(s.Weight) + ":" + s.URL
	}
	return lines
}
