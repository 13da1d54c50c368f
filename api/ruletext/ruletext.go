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
	"net/url"
	"strconv"
	"strings"
	"unicode"

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
		return readQuery(key, value, valued)
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

// readQuery reads a condition on a parameter of the query, in whose name and value %XX is a byte.
func readQuery(key, value string, valued bool) (c client.Condition, err error) {
	if c.MatchKey, err = url.PathUnescape(key); err != nil {
		return c, err
	}
	switch {
	case !valued:
		c.Type = "valueless-query-param"
	case value == anyValue:
		c.Type = "any-value-query-param"
	default:
		c.Type = "query-param"
		c.MatchValue, err = url.PathUnescape(value)
	}
	return c, err
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
	name := queryPrefix + escaped(c.MatchKey, "=")
	switch value := escaped(c.MatchValue, ""); {
	case c.Type == "valueless-query-param":
		return name
	case c.Type == "any-value-query-param":
		return name + "=" + anyValue
	case c.Type == "query-param" && value == anyValue:
		return name + "=%2A"
	case c.Type == "query-param":
		return name + "=" + value
	}
	for _, n := range conditionNames {
		if n.kind == c.Type {
			return n.name + "=" + c.MatchValue
		}
	}
	return c.Type + "=" + c.MatchValue // of a newer server
}

// escaped returns text with %XX for each byte that a line cannot have in a name or a value: blanks, control bytes, %,
// and those in more.
func escaped(text, more string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '%' || strings.ContainsRune(more, r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ReadSplit reads each line as a weight and an address. An error is a LineError.
func ReadSplit(lines []string) (split []client.Share, err error) {
	for i, text := range lines {
		weight, address, found := strings.Cut(text, ":")
		n, err := strconv.Atoi(strings.TrimSpace(weight))
		if !found || err != nil {
			return nil, LineError{i, errors.New("must be WEIGHT:URL, such as 70:https://example.org/a")}
		}
		split = append(split, client.Share{URL: strings.TrimSpace(address), Weight: n})
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
