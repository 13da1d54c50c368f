package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"shunt/engine/plural"
)

// Quote returns text as one word of a POSIX shell.
func Quote(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Size returns n bytes as people read them, such as 1.5 GiB.
func Size(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return plural.Of(n, "byte", "bytes")
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}

// PrintValue prints v as indented JSON.
func PrintValue(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return PrintJSON(w, text)
}

// Printable shows a server's text as one line that does nothing to a terminal.
func Printable(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strings.Trim(strconv.Quote(text), `"`)
	}
	return text
}

// PrintTable prints rows of cells in columns, the head first.
func PrintTable(stdout io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Printable(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// Time returns t as all commands print it: RFC 3339 in UTC.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// TimeOrNever returns t as Time does, "never" for the zero time.
func TimeOrNever(t time.Time) string { return TimeOr(t, "never") }

// TimeOr returns a time as Time does, and instead of the zero time what stands for it.
func TimeOr(t time.Time, zero string) string {
	if t.IsZero() {
		return zero
	}
	return Time(t)
}

// PrintJSON prints an answer of the API as it came, indented.
func PrintJSON(stdout io.Writer, answer []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(answer), "", "  "); err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	_, err := fmt.Fprintln(stdout, text.String())
	return err
}
