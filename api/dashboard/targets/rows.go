package targets

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"shunt/api/ops"
)

// A Row has the figures of a target of a link.
type Row struct {
	Number uint8
	URL    string // empty: the link no longer has this target
	When   string // who gets it
	Hits   uint64
	Unique *uint64 // nil: not known
	Share  string  // of the visitors of all targets, with its standard error; empty: not known
}

// Rows returns a row for each target of a link, in the order in which they are tried, and then those that it has no
// longer and that were hit. It returns none if there is only the one target, which all hits went to.
func Rows(l *ops.Link, figures []ops.TargetFigures) (rows []Row) {
	of := make(map[uint8]ops.TargetFigures, len(figures))
	var visitors uint64
	for _, f := range figures {
		of[f.Target] = f
		if f.Unique != nil {
			visitors += *f.Unique
		}
	}
	add := func(number uint8, url, when string) {
		f := of[number]
		delete(of, number)
		rows = append(rows, Row{number, url, when, f.Hits, f.Unique, share(f.Unique, visitors)})
	}
	conditions := strings.Split(Rules(l), "\n")
	for i, rule := range l.Rules {
		when, _, _ := strings.Cut(conditions[i], " -> ")
		add(rule.Target, rule.URL, when)
	}
	weights := 0
	for _, part := range l.Split {
		weights += int(part.Weight)
	}
	for _, part := range l.Split {
		add(part.Target, part.URL, "weight "+strconv.Itoa(int(part.Weight))+" of "+strconv.Itoa(weights))
	}
	if l.Number != 0 {
		add(l.Number, l.Target, ownWhen(l))
	}
	for _, f := range figures {
		if _, left := of[f.Target]; !left || f.Hits == 0 {
			continue
		}
		if f.Target == 0 {
			add(0, "", "while the link had one target, or imported")
		} else {
			add(f.Target, "", "former target "+strconv.Itoa(int(f.Target)))
		}
	}
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Number != 0 }) {
		return nil
	}
	return rows
}

// ownWhen says who gets the own address of a link that has others.
func ownWhen(l *ops.Link) string {
	if len(l.Split) > 0 {
		return "bots"
	}
	return "everybody else"
}

// share returns the part of all visitors in percent, with its standard error.
func share(unique *uint64, visitors uint64) string {
	if unique == nil || visitors == 0 {
		return ""
	}
	p := float64(*unique) / float64(visitors)
	text := strconv.FormatFloat(100*p, 'f', 1, 64)
	if e := 100 * math.Sqrt(p*(1-p)/float64(visitors)); e > 0 {
		text += " ± " + strconv.FormatFloat(e, 'f', 1, 64)
	}
	return text + " %"
}
