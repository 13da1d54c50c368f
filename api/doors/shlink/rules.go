package shlink

import (
	"encoding/json"
	"slices"
	"strings"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/rules"
	"shunt/engine"
	"shunt/engine/extras"
)

// A Rule is a rule of a link as Shlink's clients read it: the same as ours, under other names.
type Rule struct {
	LongURL    string      `json:"longUrl"`
	Priority   int         `json:"priority"` // from 1 on
	Conditions []Condition `json:"conditions"`
}

// A Condition is one of a rule.
type Condition struct {
	Type       string  `json:"type"`
	MatchKey   *string `json:"matchKey"`
	MatchValue *string `json:"matchValue"`
}

// browserType is the type of conditions whose values are names of browsers, in small letters in Shlink.
const browserType = "browser"

func conditionOf(c *extras.Condition) Condition {
	shown := Condition{Type: rules.Types()[c.Kind-1]}
	if c.Kind.HasKey() {
		shown.MatchKey = &c.Key
	}
	if text, ok := rules.ValueText(c); ok {
		if shown.Type == browserType {
			text = strings.ToLower(text)
		}
		shown.MatchValue = &text
	}
	return shown
}

// showRules answers with the rules of a link.
func showRules(a *asked, l *ops.Link) error {
	all := make([]Rule, len(l.Rules))
	for i := range l.Rules {
		r := &l.Rules[i]
		all[i] = Rule{LongURL: r.URL, Priority: i + 1, Conditions: make([]Condition, len(r.Conditions))}
		for j := range r.Conditions {
			all[i].Conditions[j] = conditionOf(&r.Conditions[j])
		}
	}
	return show(a, map[string]any{"defaultLongUrl": l.Target, "redirectRules": all})
}

// readRules is GET /short-urls/{code}/redirect-rules.
func (d *Door) readRules(a *asked, caller account.Caller) error {
	l, err := d.readLink(a, caller)
	if err != nil {
		return err
	}
	return showRules(a, &l)
}

// setRules is POST /short-urls/{code}/redirect-rules: all rules of the link.
func (d *Door) setRules(a *asked, caller account.Caller) error {
	patch, err := rulesPatch(a.Ctx.PostBody())
	if err != nil {
		return err
	}
	l, err := d.update(a, caller, patch.body())
	if err != nil {
		return err
	}
	return showRules(a, &l)
}

// rulesPatch makes a patch of a body with rules. It renames fields; what they may hold is checked by package ops.
func rulesPatch(text []byte) (patch object, err error) {
	value, err := memberOf(text, "redirectRules")
	if err != nil {
		return patch, below("redirectRules", err)
	}
	all, err := items(value, extras.MaxRules, func(item json.RawMessage) (rule object, err error) {
		return renamed(item, "a rule", func(rule *object, name string, value json.RawMessage) error {
			switch name {
			case "longUrl":
				rule.member("url", value)
			case "conditions":
				conditions, err := items(value, extras.MaxConditions, readCondition)
				if err != nil {
					return err
				}
				rule.member("conditions", conditions)
			}
			return nil
		})
	})
	if err != nil {
		return patch, below("redirectRules", err)
	}
	patch.member("rules", all)
	return patch, nil
}

// readCondition renames the fields of a condition.
func readCondition(item json.RawMessage) (condition object, err error) {
	return renamed(item, "a condition", func(condition *object, name string, value json.RawMessage) error {
		ours := map[string]string{"type": "type", "matchKey": "match_key", "matchValue": "match_value"}[name]
		if ours != "" && !isNothing(value) {
			condition.member(ours, value)
		}
		return nil
	})
}

// memberOf returns the value of a member that an object must have.
func memberOf(text []byte, name string) (json.RawMessage, error) {
	members, err := jsonbody.Object(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(members, func(m jsonbody.Member) bool { return string(m.Name) == name })
	if i < 0 {
		return nil, jsonbody.FieldError(name, "required", "must be given")
	}
	return members[i].Value, nil
}

// items returns an array with what read makes of the items of value.
func items(value json.RawMessage, most int, read func(json.RawMessage) (object, error)) (json.RawMessage, error) {
	texts, err := jsonbody.Array(value, most)
	if err != nil {
		return nil, err
	}
	array := []byte{'['}
	for i, text := range texts {
		item, err := read(text)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, item.body().Text...)
	}
	return append(array, ']'), nil
}

// renamed returns an object with what take makes of the members of item.
func renamed(item json.RawMessage, what string, take func(to *object, name string, value json.RawMessage) error) (o object, err error) {
	if item[0] != '{' {
		return o, jsonbody.FieldError("", "type", what+" must be an object")
	}
	members, err := jsonbody.Object(item)
	if err != nil {
		return o, err
	}
	for _, m := range members {
		if err := take(&o, string(m.Name), m.Value); err != nil {
			return o, err
		}
	}
	return o, nil
}

// below returns the error of a part of a field as one of the field.
func below(field string, err error) error {
	if e, ok := err.(engine.FieldError); ok {
		e.Field = field
		return e
	}
	return err
}
