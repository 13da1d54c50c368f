package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shunt/engine"
	"shunt/engine/extras"
)

// Warnings says which rules of a link send nobody anywhere: those with a condition that no request meets at present,
// those with two that no request meets together, and those that come after a rule which matches everybody whom they
// match. Their messages count rules and conditions from 1, as people do. countries reports whether the server knows
// where requests come from.
//
// Conditions on languages and on the query exclude nothing: a request may want several languages, and have several
// parameters of one name. Not looked at is that some browsers run on some systems only, and what several earlier rules
// match together.
func Warnings(rules []extras.Rule, countries bool, now time.Time) (warnings []engine.FieldError) {
	nowMs := now.UnixMilli()
	for i := range rules {
		conditions, field := rules[i].Conditions, fmt.Sprintf("rules[%d]", i)
		before := len(warnings)
		for j := range conditions {
			if code, message := warningOf(conditions[:j+1], countries, nowMs); code != "" {
				warnings = append(warnings, engine.FieldError{Field: fmt.Sprintf("%s.conditions[%d]", field, j), Code: code, Message: message})
			}
		}
		if len(warnings) > before {
			continue
		}
		takesAll := func(r extras.Rule) bool { return covers(r.Conditions, conditions, nowMs) }
		if first := slices.IndexFunc(rules[:i], takesAll); first >= 0 {
			warnings = append(warnings, engine.FieldError{
				Field: field, Code: "unreachable", Message: fmt.Sprintf("is never reached: rule %d matches everybody whom this rule matches", first+1),
			})
		}
	}
	return warnings
}

// warningOf says why no request meets the last of conditions at present together with those before; empty: some may.
func warningOf(conditions []extras.Condition, countries bool, nowMs int64) (code, message string) {
	last := len(conditions) - 1
	c := &conditions[last]
	switch {
	case c.Kind == extras.InCountry && !countries:
		return "no_countries", "matches nobody: the server does not know countries without --geoip or --country-header"
	case c.Kind == extras.Before && momentIn(c) <= nowMs:
		return "past", "matches nobody any more: that time has passed"
	}
	for i := range conditions[:last] {
		if exclude(&conditions[i], c) {
			return "contradiction", fmt.Sprintf("matches nobody who meets condition %d of the rule", i+1)
		}
	}
	return "", ""
}

// covers reports whether every request that meets all of others from now on meets all of conditions.
func covers(conditions, others []extras.Condition, nowMs int64) bool {
	for i := range conditions {
		c := &conditions[i]
		implied := func(other extras.Condition) bool { return implies(&other, c) }
		if met := c.Kind == extras.After && momentIn(c) <= nowMs; !met && !slices.ContainsFunc(others, implied) {
			return false
		}
	}
	return true
}

// exclude reports whether no request meets both a and b.
func exclude(a, b *extras.Condition) bool {
	switch {
	case a.Kind == extras.Before && b.Kind == extras.After:
		return momentIn(a) <= momentIn(b)
	case a.Kind == extras.After && b.Kind == extras.Before:
		return momentIn(b) <= momentIn(a)
	case a.Kind != b.Kind:
		return false
	}
	switch a.Kind {
	case extras.OnDevice: // a device is in at most one group
		return !implies(a, b) && !implies(b, a)
	case extras.InBrowser, extras.InCountry:
		return a.Value != b.Value
	case extras.FromNetwork:
		return networksApart(a.Value, b.Value)
	}
	return false
}

// implies reports whether every request that meets a meets b.
func implies(a, b *extras.Condition) bool {
	if *a == *b {
		return true
	}
	if a.Kind.HasKey() && b.Kind.HasKey() {
		return a.Key == b.Key && (b.Kind == extras.WithAnyQuery || isEmptyValue(a) && isEmptyValue(b))
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case extras.OnDevice:
		return groupOf(extras.Device(a.Value[0])) == extras.Device(b.Value[0])
	case extras.InLanguage: // one without subtags has all its variants
		return !strings.Contains(b.Value, "-") && strings.HasPrefix(a.Value, b.Value+"-")
	case extras.FromNetwork:
		return networkWithin(a.Value, b.Value)
	case extras.Before:
		return momentIn(a) <= momentIn(b)
	case extras.After:
		return momentIn(a) >= momentIn(b)
	}
	return false
}

// isEmptyValue reports whether c asks for a parameter that is empty.
func isEmptyValue(c *extras.Condition) bool {
	return c.Kind == extras.WithValuelessQuery || c.Kind == extras.WithQuery && c.Value == ""
}

// groupOf returns the group of a device; 0: it is a group itself.
func groupOf(d extras.Device) extras.Device {
	switch d {
	case extras.Android, extras.IOS:
		return extras.Mobile
	case extras.Windows, extras.MacOS, extras.Linux, extras.ChromeOS:
		return extras.Desktop
	}
	return 0
}
