package ops

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"time"

	"shunt/api/sheet"
)

// figuresHeader names the columns of figures as CSV. All parts of an answer are in one table, so that a spreadsheet
// filters by the first column: total, series, bots, scans, the lists, targets, top (whose value is the host of a link
// in another domain than the default one), and, of several links, the code of each.
var figuresHeader = []string{"part", "code", "from", "to", "value", "hits", "unique"}

// CSV returns f as CSV (RFC 4180), with what JSON has of it. A cell that a spreadsheet would take for a formula begins
// with an apostrophe, because anybody can send a Referer.
func (f *Figures) CSV() []byte { return f.CSVIn(time.UTC, nil, nil) }

// CSVIn returns what CSV returns, with times of a place. then is of an earlier time, and part of the part of f that is
// compared with it: of both there are rows "before" and "compared". nil: then nothing is compared, or the whole of f.
func (f *Figures) CSVIn(place *time.Location, part, then *Figures) []byte {
	var b bytes.Buffer
	w := figuresWriter{csv.NewWriter(&b), place}
	w.row(figuresHeader...)
	w.figures("", f)
	for i := range f.Links {
		w.figures(f.Links[i].Code, &f.Links[i].Figures)
	}
	if part != nil && then != nil {
		w.totals("compared", part)
	}
	if then != nil {
		w.totals("before", then)
	}
	w.csv.Flush()
	return b.Bytes()
}

// CSVIn returns f as CSV, as CSVIn of Figures does. The column "value" is name in the rows "chosen" and "series", in
// those of links and in those of the period before; their hits are those with the chosen value.
func (f *Filtered) CSVIn(place *time.Location, name string, part, then *Filtered) []byte {
	var b bytes.Buffer
	w := figuresWriter{csv.NewWriter(&b), place}
	w.row(figuresHeader...)
	w.total("total", "", &f.Figures)
	w.chosen("chosen", name, f)
	for i, b := range f.Series {
		w.row("series", "", w.time(b.From), w.time(f.bucketEnd(i)), name, csvNumber(b.Hits), "")
	}
	for _, v := range f.Values {
		w.row("values", "", "", "", v.Value, csvNumber(v.Hits), "")
	}
	for _, l := range f.Links {
		w.row("top", l.Code, "", "", name, csvNumber(l.Chosen), "")
		w.row("top", l.Code, "", "", "", csvNumber(l.Hits), "")
	}
	if part != nil && then != nil {
		w.chosen("compared", name, part)
	}
	if then != nil {
		w.chosen("before", name, then)
	}
	w.csv.Flush()
	return b.Bytes()
}

func (w *figuresWriter) chosen(part, name string, f *Filtered) {
	w.row(part, "", w.time(f.From), w.time(f.To), name, csvNumber(f.Chosen), "")
}

// bucketEnd returns the end of a bucket of the series.
func (f *Figures) bucketEnd(i int) time.Time {
	if i+1 < len(f.Series) {
		return f.Series[i+1].From
	}
	return f.To
}

type figuresWriter struct {
	csv   *csv.Writer
	place *time.Location
}

// totals writes the totals of f, and those of its links.
func (w *figuresWriter) totals(name string, f *Figures) {
	w.total(name, "", f)
	for i := range f.Links {
		w.total(name, f.Links[i].Code, &f.Links[i].Figures)
	}
}

func (w *figuresWriter) total(name, code string, f *Figures) {
	w.row(name, code, w.time(f.From), w.time(f.To), "", csvNumber(f.Hits), csvNumber(f.Unique))
}

func (w *figuresWriter) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = sheet.Harmless(cell)
	}
	_ = w.csv.Write(cells) // into memory
}

func (w *figuresWriter) figures(code string, f *Figures) {
	w.total("total", code, f)
	if f.Imported > 0 {
		w.row("imported", code, "", "", "", csvNumber(f.Imported), "")
	}
	for i, b := range f.Series {
		w.row("series", code, w.time(b.From), w.time(f.bucketEnd(i)), "", csvNumber(b.Hits), csvNumber(b.Unique))
	}
	if f.Bots != nil {
		w.row("bots", code, "", "", "bots", csvNumber(f.Bots.Bots), "")
		w.row("bots", code, "", "", "prefetches", csvNumber(f.Bots.Prefetches), "")
		w.row("bots", code, "", "", "heads", csvNumber(f.Bots.Heads), "")
	}
	if f.Scans != nil {
		w.row("scans", code, "", "", "", csvNumber(*f.Scans), "")
	}
	for d, list := range [len(listNames)][]ValueFigures{f.Referrers, f.Countries, f.Devices, f.Browsers} {
		for _, v := range list {
			w.row(listNames[d], code, "", "", v.Value, csvNumber(v.Hits), "")
		}
	}
	for i := range f.Targets {
		w.target(code, &f.Targets[i])
	}
	for _, l := range f.Top {
		w.row("top", l.Code, "", "", l.Host, csvNumber(l.Hits), csvNumber(l.Unique))
	}
}

// target writes the row of a target: its value is the number, because two may have one address, and then the address.
func (w *figuresWriter) target(code string, t *TargetFigures) {
	value, unique := strconv.Itoa(int(t.Target)), ""
	if t.URL != "" {
		value += " " + t.URL
	}
	if t.Unique != nil {
		unique = csvNumber(*t.Unique)
	}
	w.row("targets", code, "", "", value, csvNumber(t.Hits), unique)
}

func csvNumber(n uint64) string { return strconv.FormatUint(n, 10) }

func (w *figuresWriter) time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(w.place).Format(time.RFC3339)
}
