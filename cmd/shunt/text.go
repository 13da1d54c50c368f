package main

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

// shellQuote returns text as one word of a POSIX shell.
func shellQuote(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// byteText is a size as people read it.
func byteText(n uint64) string {
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

func printValue(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return printJSON(w, text)
}

// printable shows a server's text as one line that does nothing to a terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strings.Trim(strconv.Quote(text), `"`)
	}
	return text
}

// printTable prints rows of cells in columns, the head first.
func printTable(stdout io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// printJSON prints an answer of the API as it came, indented.
func printJSON(stdout io.Writer, answer []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(answer), "", "  "); err != nil {
		return fmt.Errorf("the server's answer is no JSON: %w", err)
	}
	_, err := fmt.Fprintln(stdout, text.String())
	return err
}
