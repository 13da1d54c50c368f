package targets

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"shunt/api/ops"
	"shunt/api/rules"
	"shunt/api/ruletext"
)

// Rules returns the rules of a link, a line each.
func Rules(l *ops.Link) string { return lines(rules.Append(nil, l.Rules), ruletext.Rules) }

// Split returns the split of a link, a line each.
func Split(l *ops.Link) string { return lines(rules.AppendSplit(nil, l.Split), ruletext.Split) }

// lines returns the lines of items in JSON.
func lines[T any](items []byte, show func([]T) []string) string {
	var list []T
	if err := json.Unmarshal(items, &list); err != nil {
		panic(err) // we have written it
	}
	return strings.Join(show(list), "\n")
}

// RulesValue returns what the API is sent for lines that were typed; nil: no rules; an error: a line is not one.
func RulesValue(text string) any { return value(text, ruletext.ReadRules) }

// SplitValue is RulesValue for a split.
func SplitValue(text string) any { return value(text, ruletext.ReadSplit) }

func value[T any](text string, read func(lines []string) ([]T, error)) any {
	typed := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(typed) == 0 {
		return nil
	}
	items, err := read(typed)
	if wrong, ok := err.(ruletext.LineError); ok {
		return fmt.Errorf("line %d: %w", wrong.Line+1, wrong.Err)
	}
	return items
}
