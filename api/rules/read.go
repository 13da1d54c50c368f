package rules

import (
	"encoding/json"
	"slices"
	"strconv"

	"shunt/api/jsonbody"
	"shunt/engine"
	"shunt/engine/extras"
)

// A Policy returns an address as it is stored, or the error of the field url.
type Policy func(raw string) (string, error)

// Read reads the rules of a link: an array of objects. The numbers of targets that a link object has are not read.
func Read(value json.RawMessage, policy Policy) ([]extras.Rule, error) {
	read := func(item json.RawMessage) (extras.Rule, error) {
		a := askedRule{policy: policy}
		err := readObject(item, &a, ruleFields, "url", "conditions")
		return a.rule, err
	}
	rules, err := readArray(value, extras.MaxRules, read)
	f := extras.Fields{Rules: rules}
	return rules, below("rules", fits(err, &f))
}

// ReadSplit reads the split of a link, as Read does its rules.
func ReadSplit(value json.RawMessage, policy Policy) ([]extras.Share, error) {
	read := func(item json.RawMessage) (extras.Share, error) {
		a := askedShare{policy: policy}
		err := readObject(item, &a, shareFields, "url", "weight")
		return a.share, err
	}
	split, err := readArray(value, extras.MaxShares, read)
	if err == nil && 0 < len(split) && len(split) < extras.MinShares {
		err = jsonbody.FieldError("", "range", "must have 2 to 10 parts")
	}
	f := extras.Fields{Split: split}
	return split, below("split", fits(err, &f))
}

// fits returns err, or the error of rules or a split that are too long.
func fits(err error, f *extras.Fields) error {
	if err == nil {
		if _, malformed := extras.ReadUnnumbered(f.Append(nil)); malformed != nil {
			err = jsonbody.FieldError("", "too_long", "must be shorter: addresses and conditions may take "+strconv.Itoa(extras.MaxDecidingBytes)+" bytes together")
		}
	}
	return err
}

type askedRule struct {
	rule   extras.Rule
	policy Policy
}

type askedShare struct {
	share  extras.Share
	policy Policy
}

var ruleFields = jsonbody.NewFields(map[string]jsonbody.Reader[askedRule]{
	"url": func(a *askedRule, value json.RawMessage) (err error) {
		a.rule.URL, err = readURL(value, a.policy)
		return err
	},
	"conditions": func(a *askedRule, value json.RawMessage) (err error) {
		a.rule.Conditions, err = readArray(value, extras.MaxConditions, readCondition)
		if err == nil && len(a.rule.Conditions) == 0 {
			err = jsonbody.FieldError("", "required", "must have at least one condition")
		}
		return below("conditions", err)
	},
	"target": func(*askedRule, json.RawMessage) error { return nil },
})

var shareFields = jsonbody.NewFields(map[string]jsonbody.Reader[askedShare]{
	"url": func(a *askedShare, value json.RawMessage) (err error) {
		a.share.URL, err = readURL(value, a.policy)
		return err
	},
	"weight": func(a *askedShare, value json.RawMessage) error {
		n, err := jsonbody.Int(value)
		if err == nil && (n < 1 || n > extras.MaxWeight) {
			err = jsonbody.FieldError("", "range", "must be a number from 1 to 1000")
		}
		a.share.Weight = uint16(n)
		return err
	},
	"target": func(*askedShare, json.RawMessage) error { return nil },
})

func readURL(value json.RawMessage, policy Policy) (string, error) {
	raw, err := jsonbody.String(value)
	if err != nil {
		return "", err
	}
	return policy(raw)
}

// An askedCondition is a condition as it was sent. It is known what its texts mean once all have come.
type askedCondition struct{ kind, key, value string }

var conditionFields = jsonbody.NewFields(map[string]jsonbody.Reader[askedCondition]{
	"type": func(a *askedCondition, value json.RawMessage) (err error) {
		a.kind, err = jsonbody.String(value)
		return err
	},
	"match_key": func(a *askedCondition, value json.RawMessage) (err error) {
		a.key, err = jsonbody.String(value)
		return err
	},
	"match_value": func(a *askedCondition, value json.RawMessage) (err error) {
		a.value, err = jsonbody.String(value)
		return err
	},
})

func readCondition(item json.RawMessage) (extras.Condition, error) {
	var a askedCondition
	if err := readObject(item, &a, conditionFields, "type"); err != nil {
		return extras.Condition{}, err
	}
	return Parse(a.kind, a.key, a.value)
}

// readArray reads at most limit items. An error of one names it.
func readArray[T any](value json.RawMessage, limit int, read func(json.RawMessage) (T, error)) (items []T, err error) {
	texts, err := jsonbody.Array(value, limit)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		item, err := read(text)
		if err != nil {
			return nil, below("["+strconv.Itoa(i)+"]", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// below returns the error of a part as one of the whole.
func below(part string, err error) error {
	e, ok := err.(engine.FieldError)
	if !ok {
		return err
	}
	if e.Field != "" && e.Field[0] != '[' {
		part += "."
	}
	e.Field = part + e.Field
	return e
}

// readObject reads an object that must have the fields required. It returns the error of the first field that is wrong.
func readObject[T any](item json.RawMessage, a *T, fields jsonbody.Fields[T], required ...string) error {
	if item[0] != '{' {
		return jsonbody.FieldError("", "type", "must be an object")
	}
	members, err := jsonbody.Object(item)
	if err != nil {
		return err
	}
	sent, _, invalid := jsonbody.Read(members, a, fields)
	if len(invalid) > 0 {
		return invalid[0]
	}
	for _, name := range required {
		if !slices.Contains(sent, name) {
			return jsonbody.FieldError(name, "required", "must be given")
		}
	}
	return nil
}
