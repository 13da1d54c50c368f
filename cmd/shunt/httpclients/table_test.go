package httpclients

import (
	"fmt"
	"slices"
	"strings"
)

// A cell is what one client did with one target.
type cell struct {
	failed bool
	note   string // how it differs from Location, if it does
}

// A row is what one client did.
type row struct {
	client  client
	version string
	cells   []cell
}

type table []row

// whole reports whether all targets were tried with all clients.
func (rows table) whole() bool {
	return len(rows) == len(clients) && !slices.ContainsFunc(rows, func(r row) bool { return len(r.cells) != len(targets) })
}

// escaped makes text safe in a cell.
var escaped = strings.NewReplacer("|", `\|`)

// String returns the table as the file RESULTS.md has it.
func (rows table) String() string {
	var s, notes strings.Builder
	s.WriteString("# What clients ask for after a redirect\n\n`make http-clients` writes this file. Each cell is one redirect of the real binary, followed by a real client to a\n" +
		"server that records the request. \"as sent\": the client asked for exactly the bytes of `Location`, without the fragment.\n" +
		"\"as typed\": it asked for what it asks for if the long address itself is typed, and the page saw the same address.\n\n| client |")
	for _, g := range targets {
		fmt.Fprintf(&s, " %s |", escaped.Replace(g.name))
	}
	s.WriteString("\n|---|" + strings.Repeat("---|", len(targets)))
	numbers := make(map[string]int)
	for _, r := range rows {
		fmt.Fprintf(&s, "\n| %s |", r.client.name)
		for _, c := range r.cells {
			if c.note != "" && numbers[c.note] == 0 {
				numbers[c.note] = len(numbers) + 1
				fmt.Fprintf(&notes, "%d. %s\n", numbers[c.note], c.note)
			}
			fmt.Fprintf(&s, " %s |", c.text(r.client, numbers))
		}
	}
	s.WriteString("\n\n")
	if notes.Len() > 0 {
		s.WriteString("Notes; the test asserts exactly these differences:\n\n" + notes.String() + "\n")
	}
	s.WriteString("| target | as it is stored | request target of `Location` |\n|---|---|---|\n")
	for _, g := range targets {
		fmt.Fprintf(&s, "| %s | %s | %s |\n", escaped.Replace(g.name), code(g.host+g.rest), code(g.sentHost+g.sent+g.fragment))
	}
	s.WriteString("\n| client | version |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&s, "| %s | %s |\n", r.client.name, r.version)
	}
	return s.String()
}

// text returns what the table shows of a cell.
func (c cell) text(by client, numbers map[string]int) string {
	switch {
	case c.failed:
		return "**WRONG**"
	case c.note != "":
		return fmt.Sprintf("note %d", numbers[c.note])
	case by.browser:
		return "as typed"
	default:
		return "as sent"
	}
}

// code returns text, or its beginning, for a cell of a table.
func code(text string) string {
	if len(text) > 100 {
		text = text[:strings.Index(text, "/path-")] + "/path-… (8,000 bytes once it is sent)"
	}
	return "`` " + escaped.Replace(text) + " ``"
}
