package days

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"shunt/api/jsonbody"
	"shunt/engine"
	"shunt/engine/daily"
)

// maxHits is the most hits that a day may have: every JSON reader can hold whole numbers up to 2^53 exactly.
const maxHits = 1 << 53

// dayFields are those of an item.
var dayFields = jsonbody.NewFields(map[string]jsonbody.Reader[askedDay]{
	"day": func(a *askedDay, value json.RawMessage) error {
		text, err := jsonbody.String(value)
		if err != nil {
			return err
		}
		var ok bool
		if a.day, ok = daily.ParseDay(text); !ok {
			return jsonbody.FieldError("", "format", "must be a day after 1970-01-01, such as 2026-03-01")
		}
		return nil
	},
	"hits": func(a *askedDay, value json.RawMessage) error {
		n, err := jsonbody.Int(value)
		if err == nil && (n < 0 || n > maxHits) {
			err = jsonbody.FieldError("", "range", "must be a number from 0 to 9,007,199,254,740,992")
		}
		a.hits = uint64(n)
		return err
	},
})

// An askedDay is an item of hits by day.
type askedDay struct {
	day  uint32
	hits uint64
}

// Read reads hits by day, in any order, none of them after today. Days without hits are left out. The error is a
// jsonbody.FieldError of the value or of an item of it.
func Read(value json.RawMessage, today uint32) (daily.Packed, error) {
	items, err := jsonbody.Array(value, daily.Max+1)
	if err != nil {
		return "", err
	}
	if len(items) > daily.Max {
		return "", jsonbody.FieldError("", "too_many", "must be at most "+strconv.Itoa(daily.Max)+" days")
	}
	days := make([]daily.Hits, 0, len(items))
	for i, item := range items {
		day, err := readDay(item, today)
		if err != nil {
			return "", fieldIn("daily["+strconv.Itoa(i)+"]", err)
		}
		if day.Hits > 0 {
			days = append(days, day)
		}
	}
	slices.SortFunc(days, func(x, y daily.Hits) int { return cmp.Compare(x.Day, y.Day) })
	for i := range days[:max(0, len(days)-1)] {
		if days[i].Day == days[i+1].Day {
			return "", jsonbody.FieldError("", "duplicate", "has "+string(daily.AppendDay(nil, days[i].Day))+" twice")
		}
	}
	return daily.Pack(days), nil
}

// readDay reads an item of hits by day.
func readDay(item []byte, today uint32) (day daily.Hits, err error) {
	members, err := jsonbody.Object(item)
	if err != nil {
		return day, jsonbody.FieldError("", "type", `must be an object with "day" and "hits"`)
	}
	var asked askedDay
	sent, null, invalid := jsonbody.Read(members, &asked, dayFields)
	switch {
	case len(invalid) > 0:
		return day, invalid[0]
	case len(sent) != 2 || len(null) > 0:
		return day, jsonbody.FieldError("", "required", `must have "day" and "hits"`)
	case asked.day > today:
		return day, jsonbody.FieldError("day", "in_future", "must not be in the future")
	}
	return daily.Hits{Day: asked.day, Hits: asked.hits}, nil
}

// fieldIn returns the error of a field of an item as one of the item.
func fieldIn(item string, err error) error {
	wrong, ok := err.(engine.FieldError)
	if !ok {
		return err
	}
	if wrong.Field != "" {
		item += "." + wrong.Field
	}
	wrong.Field = item
	return wrong
}

// Append appends hits by day in JSON.
func Append(dst []byte, days []daily.Hits) []byte {
	dst = append(dst, '[')
	for i, d := range days {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = daily.AppendDay(append(dst, `{"day":"`...), d.Day)
		dst = append(strconv.AppendUint(append(dst, `","hits":`...), d.Hits, 10), '}')
	}
	return append(dst, ']')
}
