package span

import (
	"strings"
	"time"
)

// A Choice is a span that a visitor can choose by its name.
type Choice struct{ Name, Title string }

// The names of choices. Custom is in no list: it is two dates.
const (
	Today     = "today"
	Week      = "7d"
	Month     = "30d" // what is shown if nothing was chosen
	Quarter   = "90d"
	ThisMonth = "month"
	LastMonth = "last-month"
	All       = "all"
	Custom    = "custom"
)

var choices = []Choice{
	{Today, "Today"}, {Week, "7 days"}, {Month, "30 days"}, {Quarter, "90 days"},
	{ThisMonth, "This month"}, {LastMonth, "Last month"}, {All, "All"},
}

// lengths has the days of choices that end with today.
var lengths = map[string]int{Today: 1, Week: 7, Month: 30, Quarter: 90}

// formerly are names that pages had before, which are still in bookmarks.
var formerly = map[string]string{"24h": Today, "48h": Today, "400d": All}

// Asked is what a visitor asked for.
type Asked struct {
	Name     string // of a choice, or Custom
	From, To string // dates as typed, both included; of Custom only
}

// Ask returns what the parameters of an address ask for; the zero value if they ask for nothing. Dates are Custom
// whatever name is beside them.
func Ask(name, from, to string) Asked {
	if from != "" || to != "" {
		return Asked{Custom, from, to}
	}
	if now, old := formerly[name]; old {
		name = now
	}
	for _, c := range choices {
		if c.Name == name {
			return Asked{Name: name}
		}
	}
	return Asked{}
}

// separator stands between two dates in a text.
const separator = "_"

// Text returns a as text, for a cookie.
func (a Asked) Text() string {
	if a.Name == Custom {
		return a.From + separator + a.To
	}
	return a.Name
}

// ReadText reads what Text returns; the zero value for any other text.
func ReadText(text string) Asked {
	from, to, dates := strings.Cut(text, separator)
	if !dates {
		return Ask(text, "", "")
	}
	for _, date := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, date); date != "" && err != nil {
			return Asked{}
		}
	}
	return Ask("", from, to)
}
