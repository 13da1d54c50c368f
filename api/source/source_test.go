package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shunt/engine/expect"
)

// shown returns what a source has, and its summary.
func shown(s Source) string {
	var out strings.Builder
	for {
		r, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			sum := s.Summary()
			fmt.Fprintf(&out, "%s, status %d, hosts %v, lost %v\n", sum.Format, sum.Status, sum.Hosts, sum.Lost)
			if sum.Mended > 0 {
				fmt.Fprintf(&out, "mended %d\n", sum.Mended)
			}
			if sum.Clicks != nil {
				fmt.Fprintf(&out, "clicks %+v\n", *sum.Clicks)
			}
			return out.String()
		case err != nil:
			return out.String() + "error: " + err.Error() + "\n"
		case r.Refused != "":
			fmt.Fprintf(&out, "%d: refused: %s\n", r.Number, r.Refused)
			if r.Rest != nil {
				fmt.Fprintf(&out, "   kept: %s\n", r.Rest)
			}
		default:
			fmt.Fprintf(&out, "%d: %s\n", r.Number, r.Link)
		}
	}
}

// TestFilesOfOtherSystems reads each file of testdata/files, in the form in which its system writes it.
func TestFilesOfOtherSystems(t *testing.T) {
	read := make(map[string]bool)
	datadriven.RunTest(t, "testdata/files.txt", func(t *testing.T, d *datadriven.TestData) string {
		o := Options{Columns: make(map[string]string), Hosts: make(map[string]string)}
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "format":
				o.Format = arg.Vals[0]
			case "zone":
				var err error
				o.Zone, err = time.LoadLocation(arg.Vals[0])
				expect.OK(t, err)
			case "log": // days of a zone from a day on
				days, err := time.LoadLocation(arg.Vals[0])
				expect.OK(t, err)
				first, err := time.ParseInLocation(time.DateOnly, arg.Vals[1], days)
				expect.OK(t, err)
				o.Clicks = &ClickLog{Days: days, First: first, Now: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}
			case "logzone":
				var err error
				o.Clicks.Zone, err = time.LoadLocation(arg.Vals[0])
				expect.OK(t, err)
			case "table":
				o.Table = arg.Vals[0]
			case "host":
				o.Hosts[arg.Vals[0]] = arg.Vals[1]
			default:
				o.Columns[arg.Key] = arg.Vals[0]
			}
		}
		read[d.Cmd] = true
		text, err := os.ReadFile(filepath.Join("testdata/files", d.Cmd))
		expect.OK(t, err)
		s, err := Open(bytes.NewReader(text), int64(len(text)), o)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		return shown(s)
	})
	files, err := os.ReadDir("testdata/files")
	expect.OK(t, err)
	for _, file := range files {
		expect.That(t, read[file.Name()], "no case reads %s", file.Name())
	}
	expect.Slices(t, slices.Sorted(maps.Keys(read)), namesOf(files))
}

// A mark of an import that was cut has what String returns, also one of an earlier version.
func TestWhatAFileIsReadAsIsTheSameInAllVersions(t *testing.T) {
	for want, o := range map[string]Options{
		"map[] map[] UTCfalse":                   {Zone: time.UTC},
		"csvmap[url:Ziel] map[a:b] UTCc_urltrue": {Format: CSV, Columns: map[string]string{"url": "Ziel"}, Hosts: map[string]string{"a": "b"}, Zone: time.UTC, Table: "c_url", Clicks: &ClickLog{Zone: time.UTC}},
		"map[] map[] UTCtrueX":                   {Zone: time.UTC, Clicks: &ClickLog{Zone: time.FixedZone("X", 60)}},
	} {
		expect.Equal(t, o.String(), want)
	}
}

func namesOf(files []os.DirEntry) (all []string) {
	for _, file := range files {
		all = append(all, file.Name())
	}
	slices.Sort(all)
	return all
}

// Options of a reading in FuzzOpen, beside the format.
const (
	withLog = 1 << iota
	withColumns
	withHosts
	withTable
	withZone
	withNewest
	withAll = 1<<iota - 1
)

// fuzzedOptions returns options that are those of some bits.
func fuzzedOptions(format string, with byte) Options {
	o := Options{Format: format, Newest: with&withNewest != 0}
	if with&withLog != 0 {
		o.Clicks = &ClickLog{Now: time.Now(), Zone: time.FixedZone("X", -5*3600)}
	}
	if with&withColumns != 0 {
		o.Columns = map[string]string{"url": "Ziel", "code": "code", "created_at": "Angelegt"}
	}
	if with&withHosts != 0 {
		o.Hosts = map[string]string{"t.example": "brand.example", "brand.example": "", "bit.ly": "b.example"}
	}
	if with&withTable != 0 {
		o.Table = "p_url"
	}
	if with&withZone != 0 {
		o.Zone = time.FixedZone("Y", 9*3600)
	}
	return o
}

// FuzzOpen reads any bytes, as what they seem to be and as each format: the reading ends, no link lacks a code or a
// target, what is refused can be kept, and a second reading is the same.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/files/*")
	expect.OK(f, err)
	formats := append(Formats(), "")
	for _, path := range files {
		text, err := os.ReadFile(path)
		expect.OK(f, err)
		for _, with := range []byte{0, withLog | withZone, withColumns, withHosts, withTable, withNewest, withAll} {
			f.Add(text, byte(len(formats)-1), with)
		}
	}
	for i := range formats {
		f.Add([]byte("url,code\nhttps://a.example/,one\n"), byte(i), byte(0))
	}
	f.Add([]byte("INSERT INTO p_log (click_id,click_time,shorturl) VALUES (1,'2024-01-05 10:11:12','a');INSERT INTO p_url (keyword,url,clicks) VALUES ('a','https://a.example/',1);"), byte(len(formats)-1), byte(withLog|withTable))
	f.Fuzz(func(t *testing.T, text []byte, format, with byte) {
		o := fuzzedOptions(formats[int(format)%len(formats)], with)
		read := func() string {
			s, err := Open(bytes.NewReader(text), int64(len(text)), o)
			if err != nil {
				return err.Error()
			}
			var all strings.Builder
			for n := 0; ; n++ {
				expect.MustThat(t, n <= 2*len(text)+2, "%d records of %d bytes", n, len(text))
				r, err := s.Next()
				if err != nil {
					expect.That(t, errors.Is(err, io.EOF), "got %v", err)
					expect.That(t, s.Passed() <= int64(len(text)), "%d bytes were read of %d", s.Passed(), len(text))
					return all.String()
				}
				expect.That(t, (r.Refused == "") == (r.Link != nil), "record %+v", r)
				if r.Refused != "" {
					wantRejected(t, r)
				}
				if r.Link != nil && s.Summary().Format != Shunt {
					var l link
					expect.That(t, json.Unmarshal(r.Link, &l) == nil && l.Code != "" && l.URL != "", "link %q", r.Link)
				}
				fmt.Fprintln(&all, r.Number, r.Refused, string(r.Link))
			}
		}
		expect.Equal(t, read(), read(), "a second reading")
	})
}

// The memory of an import does not depend on the length of its file: a table of rows that never end.
func TestATableTakesLittleMemory(t *testing.T) {
	for name, row := range map[string]string{"rows": "https://a.example/,x\n", "an open quotation mark": "\"https://a.example/", "a long line": strings.Repeat("x", 1000)} {
		text := "url,code\n" + strings.Repeat(row, 2<<20/len(row))
		s, err := Open(strings.NewReader(text), int64(len(text)), Options{Format: CSV})
		expect.OK(t, err)
		from := s.(*foreign).rows.(*table)
		for err == nil {
			_, err = s.Next()
			expect.MustThat(t, len(from.text) <= maxRowBytes+chunkBytes, "%s: %d bytes are held", name, len(from.text))
		}
		expect.Error(t, err, io.EOF, name)
		expect.Equal(t, s.Passed(), int64(len(text)), name)
	}
}

func BenchmarkOpen(b *testing.B) {
	dump := "CREATE TABLE `yourls_url` (`keyword` varchar(100), `url` text, `title` text, `timestamp` timestamp, `ip` varchar(41), `clicks` int);\nINSERT INTO `yourls_url` VALUES " +
		strings.Repeat("('abcdefgh','https://example.org/a/b/c?id=abcdefgh','A title of some words','2024-01-02 03:04:05','192.0.2.1',12),\n", 10_000) + "('x','https://a.example/','','2024-01-02 03:04:05','',0);\n"
	table := "url,code,title,created,hits\n" + strings.Repeat("https://example.org/a/b/c?id=abcdefgh,abcdefgh,A title of some words,2024-01-02 03:04:05,12\n", 10_000)
	for name, text := range map[string]string{"sql": dump, "csv": table} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := Open(strings.NewReader(text), int64(len(text)), Options{})
				expect.OK(b, err)
				for err == nil {
					_, err = s.Next()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/link")
		})
	}
}
