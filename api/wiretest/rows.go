// Package wiretest has raw requests, for tests of everything that reads them: requests that could
// be read in two ways, and requests that are unusual but valid. The server must refuse or answer
// them, proxies in front of it forward some, and fuzz tests start from them.
package wiretest

import (
	_ "embed"
	"strconv"
	"strings"
)

// A Row is a request, with the section of RFC 9110 (H:) or RFC 9112 (M:) that applies to it.
type Row struct {
	Name, Section, Raw string
	Want               []int // the statuses that are allowed
}

// Smuggled is a request that is hidden after others. Its link is requested in no other way, so a
// hit of it shows that it was read as a request.
const Smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

// The files have a line for each request: its section, its statuses, its name and its bytes, which are texts as in Go,
// each repeated if * and a number follow. A request with § is a pattern: it stands for the indented lines that follow,
// each with what is to be put in its place. Lines from # on are comments.
var (
	//go:embed refused.txt
	refused string
	//go:embed accepted.txt
	accepted string
)

// Refused returns requests that are refused and after which the connection is closed. /keep is a
// link that redirects every method, so that a request which is accepted by mistake shows in the counts.
func Refused() []Row { return rowsIn(refused) }

// Accepted returns requests that are unusual but valid. Each is answered, and the connection stays
// open. /once is a link that redirects GET and HEAD.
func Accepted() []Row { return rowsIn(accepted) }

func rowsIn(file string) (rows []Row) {
	var pattern Row
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if variant, indented := strings.CutPrefix(line, "\t"); indented {
			text := textOf(variant)
			rows = append(rows, Row{pattern.Name + " " + shown(text), pattern.Section, strings.Replace(pattern.Raw, "§", text, 1), pattern.Want})
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		name, _ := strconv.QuotedPrefix(fields[2])
		row := Row{Name: textOf(name), Section: fields[0], Raw: textOf(fields[2][len(name):])}
		for status := range strings.SplitSeq(fields[1], ",") {
			n, _ := strconv.Atoi(status)
			row.Want = append(row.Want, n)
		}
		if pattern = row; !strings.Contains(row.Raw, "§") {
			rows = append(rows, row)
		}
	}
	return rows
}

// textOf returns the text of quoted parts. It panics if one is not quoted.
func textOf(parts string) string {
	var text strings.Builder
	for parts = strings.TrimSpace(parts); parts != ""; {
		quoted, err := strconv.QuotedPrefix(parts)
		if err != nil {
			panic("wiretest: not quoted: " + parts)
		}
		part, _ := strconv.Unquote(quoted)
		times, rest, _ := strings.Cut(parts[len(quoted):], " ")
		n := 1
		if count, repeated := strings.CutPrefix(times, "*"); repeated {
			n, _ = strconv.Atoi(count)
		}
		text.WriteString(strings.Repeat(part, n))
		parts = rest
	}
	return text.String()
}

// shown returns v in a form for the name of a test.
func shown(v string) string {
	if len(v) > 40 {
		v = v[:30] + "…"
	}
	return strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(v), `"`), "/", "∕")
}
