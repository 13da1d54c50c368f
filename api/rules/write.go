package rules

import (
	"slices"
	"strconv"

	"shunt/api/jsontext"
	"shunt/engine"
	"shunt/engine/extras"
)

// Append appends rules in JSON.
func Append(dst []byte, rules []extras.Rule) []byte {
	dst = append(dst, '[')
	for i := range rules {
		r := &rules[i]
		dst = jsontext.AppendString(append(dst, `{"url":`...), r.URL)
		dst = append(dst, `,"conditions":[`...)
		for j := range r.Conditions {
			dst = append(appendCondition(dst, &r.Conditions[j]), ',')
		}
		dst[len(dst)-1] = ']' // instead of a comma
		dst = strconv.AppendUint(append(dst, `,"target":`...), uint64(r.Target), 10)
		dst = append(dst, '}', ',')
	}
	return ended(dst)
}

func appendCondition(dst []byte, c *extras.Condition) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":`...), types[c.Kind])
	dst = append(dst, `,"match_key":`...)
	if c.Kind.HasKey() {
		dst = jsontext.AppendString(dst, c.Key)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"match_value":`...)
	if text, ok := ValueText(c); ok {
		dst = jsontext.AppendString(dst, text)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

// AppendSplit appends a split in JSON.
func AppendSplit(dst []byte, split []extras.Share) []byte {
	dst = append(dst, '[')
	for i := range split {
		s := &split[i]
		dst = jsontext.AppendString(append(dst, `{"url":`...), s.URL)
		dst = strconv.AppendUint(append(dst, `,"weight":`...), uint64(s.Weight), 10)
		dst = strconv.AppendUint(append(dst, `,"target":`...), uint64(s.Target), 10)
		dst = append(dst, '}', ',')
	}
	return ended(dst)
}

// ended ends an array of which each item has a comma after it.
func ended(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst = dst[:last]
	}
	return append(dst, ']')
}

// AppendWarnings appends warnings in JSON.
func AppendWarnings(dst []byte, warnings []engine.FieldError) []byte {
	dst = append(dst, '[')
	for _, w := range warnings {
		dst = jsontext.AppendString(append(dst, `{"field":`...), w.Field)
		dst = jsontext.AppendString(append(dst, `,"code":`...), w.Code)
		dst = jsontext.AppendString(append(dst, `,"message":`...), w.Message)
		dst = append(dst, '}', ',')
	}
	return ended(dst)
}

// Same reports whether a and b are the same rules, whatever numbers their targets have.
func Same(a, b []extras.Rule) bool {
	return slices.EqualFunc(a, b, func(a, b extras.Rule) bool { return a.URL == b.URL && slices.Equal(a.Conditions, b.Conditions) })
}

// SameSplit reports whether a and b are the same split, whatever numbers their targets have.
func SameSplit(a, b []extras.Share) bool {
	return slices.EqualFunc(a, b, func(a, b extras.Share) bool { return a.URL == b.URL && a.Weight == b.Weight })
}
