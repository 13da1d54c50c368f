package linkflags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"shunt/api/client"
)

// Rules and splits as people type and read them. What the words mean is the server's: here they only get their types.

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

// readRules reads each text as a rule. An empty one alone resets the field.
func readRules(texts []string) (any, error) {
	if len(texts) == 1 && strings.TrimSpace(texts[0]) == "" {
		return nil, nil
	}
	var rules []client.Rule
	for _, text := range texts {
		rule, err := readRule(text)
		if err != nil {
			return nil, err
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

// showRules returns rules as --rule takes them, one after the other.
func showRules(l *client.Link) string {
	if len(l.Rules) == 0 {
		return "-"
	}
	lines := make([]string, len(l.Rules))
	for i, rule := range l.Rules {
		conditions := make([]string, len(rule.Conditions))
		for j, c := range rule.Conditions {
			conditions[j] = showCondition(c)
		}
		lines[i] = strings.Join(conditions, conditionAnd) + " " + ruleArrow + " " + rule.URL
	}
	return strings.Join(lines, "; ")
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

// readSplit reads each text as a weight and an address. An empty one alone resets the field.
func readSplit(texts []string) (any, error) {
	if len(texts) == 1 && strings.TrimSpace(texts[0]) == "" {
		return nil, nil
	}
	var split []client.Share
	for _, text := range texts {
		weight, url, found := strings.Cut(text, ":")
		n, err := strconv.Atoi(strings.TrimSpace(weight))
		if !found || err != nil {
			return nil, errors.New("must be WEIGHT:URL, such as 70:https://example.org/a")
		}
		split = append(split, client.Share{URL: strings.TrimSpace(url), Weight: n})
	}
	return split, nil
}

func showSplit(l *client.Link) string {
	if len(l.Split) == 0 {
		return "-"
	}
	parts := make([]string, len(l.Split))
	for i, s := range l.Split {
		parts[i] = strconv.Itoa(s.Weight) + ":" + s.URL
	}
	return strings.Join(parts, "; ")
}
