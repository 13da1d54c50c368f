package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"shunt/api/client"
	"shunt/api/sheet"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/engine/plural"
)

// Limits of a sheet.
const (
	maxSheetBytes = 64 << 20
	maxSheetRows  = 100_000
	rowsAtOnce    = 1000    // of a request
	bytesAtOnce   = 4 << 20 // the texts of its rows, about
	maxReported   = 100     // refused rows on standard error
)

// addSheet makes a link of each row of a file, and prints results as CSV.
func addSheet(ctx context.Context, where *reach.Target, file string, given map[string]any, stdin io.Reader, stdout, stderr io.Writer) error {
	text, err := readSheet(file, stdin)
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	asked, err := sheet.Read(text, maxSheetRows)
	switch {
	case err != nil:
		return fmt.Errorf("add: %s: %w", console.Printable(file), err)
	case len(asked.Rows) == 0:
		return fmt.Errorf("add: %s has no row", console.Printable(file))
	case len(asked.Rows) > maxSheetRows:
		return fmt.Errorf("add: %s has more than %d rows; split it", console.Printable(file), maxSheetRows)
	}
	a := sheetAdding{given: given, out: sheet.NewResults(stdout), stderr: stderr}
	err = where.Do(ctx, "add", stderr, func(c *reach.Connection) error { return a.add(ctx, c, asked.Rows) })
	if err = errors.Join(err, a.out.End()); err == nil && a.refused > 0 {
		err = fmt.Errorf("add: refused: %d of %s", a.refused, plural.Of(uint64(len(asked.Rows)), "row", "rows"))
	}
	return err
}

func readSheet(file string, stdin io.Reader) (text string, err error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer opened.Close()
		from = opened
	}
	b, err := io.ReadAll(io.LimitReader(from, maxSheetBytes+1))
	if err == nil && len(b) > maxSheetBytes {
		err = fmt.Errorf("%s is larger than %d MiB; split it", console.Printable(file), maxSheetBytes>>20)
	}
	return string(b), err
}

// A sheetAdding makes the links of a sheet.
type sheetAdding struct {
	given   map[string]any // by flags, for all rows
	out     *sheet.Results
	stderr  io.Writer
	refused int
}

// add makes the links in as many requests as they need. It stops at the first that fails.
func (a *sheetAdding) add(ctx context.Context, c *reach.Connection, rows []sheet.Row) error {
	for len(rows) > 0 {
		n, size, items := 0, 0, []any(nil)
		for n < len(rows) && n < rowsAtOnce && size < bytesAtOnce {
			size += len(rows[n].Text)
			items = append(items, a.item(&rows[n]))
			n++
		}
		var answer client.BulkResult
		if err := c.Do(ctx, http.MethodPost, "/shorten/bulk", items, &answer, c.OnceOptions()...); err != nil {
			return err
		}
		if len(answer.Results) != n {
			return errors.New("the server's answer has not one result for each row")
		}
		for i := range answer.Results {
			a.tell(&rows[i], &answer.Results[i])
		}
		rows = rows[n:]
	}
	return nil
}

// item returns a row as an item of a bulk. One that could not be read becomes an item that is refused.
func (a *sheetAdding) item(row *sheet.Row) any {
	if row.Refused != "" {
		return nil
	}
	item := row.Item(time.Local)
	for name, value := range a.given {
		more, _ := value.([]string)
		own, both := item[name].([]string)
		switch _, has := item[name]; {
		case both:
			item[name] = slices.Concat(own, more)
		case !has:
			item[name] = value
		}
	}
	return item
}

// tell prints the result of a row.
func (a *sheetAdding) tell(row *sheet.Row, result *client.BulkItem) {
	if result.Link != nil {
		a.out.Made(result.Link.Code, result.Link.ShortURL, result.Link.URL)
		return
	}
	why := row.Refused
	if why == "" && result.Problem != nil {
		why = result.Problem.Detail
	}
	a.out.Refused(row, why)
	if a.refused++; a.refused <= maxReported {
		fmt.Fprintf(a.stderr, "shunt: line %d: %s\n", row.Line, console.Printable(why))
	} else if a.refused == maxReported+1 {
		fmt.Fprintln(a.stderr, "shunt: more rows were refused: the results have them all")
	}
}
