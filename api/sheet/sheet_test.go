package sheet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// rowsOf returns the rows of a text as a person would note them.
func rowsOf(t *testing.T, text string) (rows []string) {
	t.Helper()
	s, err := Read(text, 1000)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Refused != "" {
			rows = append(rows, fmt.Sprintf("%d refused: %s", r.Line, r.Refused))
			continue
		}
		item, err := json.Marshal(r.Item(time.UTC))
		expect.OK(t, err)
		rows = append(rows, fmt.Sprintf("%d %s", r.Line, item))
	}
	return rows
}

func TestASheetIsReadAsPeopleMakeIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a list": {"https://a/x,y;z\r\n\r\n  b.example \n", []string{`1 {"url":"https://a/x,y;z"}`, `3 {"url":"b.example"}`}},
		"commas": {"url,alias,title,tags,expires_at,note\nhttps://a,one,\"A, \"\"b\"\"\",\"x, y\",2030-12-31,n\n", []string{
			`2 {"alias":"one","expires_at":"2030-12-31T23:59:59Z","note":"n","tags":["x","y"],"title":"A, \"b\"","url":"https://a"}`,
		}},
		"semicolons, a mark, CR LF": {"\ufeffTitle;URL\r\nOne, two;https://a/,\r\n", []string{`2 {"title":"One, two","url":"https://a/,"}`}},
		"a copied range":            {"Target\tCustom alias\nhttps://a\tone\nhttps://b\t\n", []string{`2 {"alias":"one","url":"https://a"}`, `3 {"url":"https://b"}`}},
		"one column":                {"url\nhttps://a/x,y\n\"https://a/\"\"\"\n", []string{`2 {"url":"https://a/x,y"}`, `3 {"url":"https://a/\""}`}},
		"a quote in a cell":         {"url,title\nhttps://a,5\" nail\nhttps://b,x\"\"y\nhttps://c,z", []string{`2 {"title":"5\" nail","url":"https://a"}`, `3 {"title":"x\"\"y","url":"https://b"}`, `4 {"title":"z","url":"https://c"}`}},
		"a cell of two lines":       {"url,note\nhttps://a,\"1\n2\"\nhttps://b,", []string{`2 {"note":"1\n2","url":"https://a"}`, `4 {"url":"https://b"}`}},
		"blank lines above":         {"\n \nurl,alias\n\n,\nhttps://a,x", []string{`6 {"alias":"x","url":"https://a"}`}},
		"no target":                 {"url,alias\n,x", []string{`2 {"alias":"x"}`}},
		"our own results":           {"code,short_url,url,error\nx,http://s/x,https://a,\n", []string{"error: the column “short_url” is not known: a sheet may have " + Names()}},
		"a column without a name":   {"url,,title\nhttps://a,b,c\n", []string{`2 {"title":"c","url":"https://a"}`}},
		"links to reuse": {"url,reuse\na.b,TRUE\na.b,x\na.b,no\na.b,maybe\na.b,", []string{
			`2 {"reuse":true,"url":"a.b"}`, `3 {"reuse":true,"url":"a.b"}`, `4 {"reuse":false,"url":"a.b"}`, `5 {"reuse":"maybe","url":"a.b"}`, `6 {"url":"a.b"}`,
		}},
		"a start":                    {"url;starts\na.b;2030-12-31", []string{`2 {"starts_at":"2030-12-31T00:00:00Z","url":"a.b"}`}},
		"local times":                {"url;expires\na.b;2030-12-31 18:00\na.b;tomorrow", []string{`2 {"expires_at":"2030-12-31T18:00:00Z","url":"a.b"}`, `3 {"expires_at":"tomorrow","url":"a.b"}`}},
		"an address with such words": {"https://a/x,tags\nb.example,title\n", []string{`1 {"url":"https://a/x,tags"}`, `2 {"url":"b.example,title"}`}},
		"too many cells":             {"url,alias\nhttps://a,x,,\nhttps://b,y,z", []string{`2 {"alias":"x","url":"https://a"}`, "3 refused: has more cells than there are headings: a cell with a separator needs quotation marks"}},
		"an open quotation mark": {"url,alias\nhttps://a,\"x\nhttps://b,y\n", []string{
			"2 refused: has a quotation mark that is never closed, so this row and all after it could not be read",
		}},
		"no UTF-8":         {"url,title\nhttps://a,\xff\nhttps://b,x", []string{"2 refused: must be UTF-8: save the sheet as “CSV UTF-8”", `3 {"title":"x","url":"https://b"}`}},
		"a long row":       {"url,title\nhttps://a," + strings.Repeat(",", 64<<10), []string{"2 refused: must be at most 65536 bytes"}},
		"an unknown head":  {"url,budget\nhttps://a,5", []string{"error: the column “budget” is not known: a sheet may have " + Names()}},
		"two of a column":  {"url,Target\nhttps://a,b", []string{"error: there are two columns url"}},
		"no column url":    {"alias;title\nx;y", []string{"error: the headings have no column url"}},
		"nothing":          {" \r\n\n", nil},
		"headings only":    {"url,alias", nil},
		"what is no sheet": {"\"", []string{`1 {"url":"\""}`}},
	} {
		expect.Slices(t, rowsOf(t, c.text), c.want, "%s", name)
	}
}

func TestASheetEndsAfterOneRowTooMany(t *testing.T) {
	for _, head := range []string{"", "url\n", "url,title\n"} {
		s, err := Read(head+strings.Repeat("https://a/\n", 5000), 1000)
		expect.That(t, err == nil && len(s.Rows) == 1001, "%q: got %d rows, %v", head, len(s.Rows), err)
	}
}

func TestADateEndsWhereTheReaderIs(t *testing.T) {
	zone := time.FixedZone("", 9*3600)
	for cell, want := range map[string]string{
		"2030-12-31": "2030-12-31T14:59:59Z", "2030-12-31 18:00": "2030-12-31T09:00:00Z", "2030-12-31T18:00:00+01:00": "2030-12-31T17:00:00Z", "31.12.2030": "31.12.2030",
	} {
		expect.Equal(t, Expiry(cell, zone), want, "%s", cell)
	}
}

// FuzzRead checks that no row is lost or read twice: the rows of a sheet are parts of it, in its order.
func FuzzRead(f *testing.F) {
	f.Add("url,alias\nhttps://a,\"x\ny\"\n\n\"\"\"\",z\r\n")
	f.Add("\ufeffurl;note\n\"a\"b\";c\n")
	f.Add("url\n\"a")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read(text, 1000)
		if err != nil {
			return
		}
		rest, line := text, 0
		for i := range s.Rows {
			r := &s.Rows[i]
			at := strings.Index(rest, r.Text)
			expect.MustThat(t, at >= 0 && r.Line > line, "row %d on line %d: %q is not in %q", i, r.Line, r.Text, rest)
			rest, line = rest[at+len(r.Text):], r.Line
			item, err := json.Marshal(r.Item(time.UTC))
			expect.That(t, err == nil && (r.Refused == "" || len(r.cells) == 0), "got %s, %v, %q", item, err, r.Refused)
		}
	})
}

// TestNoCellIsAFormulaAndEachComesBack: what a spreadsheet would take for a formula gets an apostrophe, and so does
// what begins with one.
func TestNoCellIsAFormulaAndEachComesBack(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+49": "'+49", "-1": "'-1", "@a": "'@a", "\t=1": "'\t=1", "\r=1": "'\r=1", "'a": "''a", "'": "''", "''": "'''", "'=1": "''=1",
		"": "", "a=1": "a=1", " =1": " =1", "1-1": "1-1", "\n=1": "\n=1", "ä": "ä",
	} {
		expect.Equal(t, Harmless(cell), want, "%q", cell)
		expect.Equal(t, Unharmed(want), cell, "%q", want)
	}
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringOf(rapid.SampledFrom([]rune("'=+-@\t\r\na, \""))).Draw(t, "cell")
		harmless := Harmless(cell)
		expect.That(t, harmless == "" || !strings.ContainsAny(harmless[:1], "=+-@\t\r"), "%q is a formula", harmless)
		expect.Equal(t, Unharmed(harmless), cell)
	})
}
