package dashboard

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/qr"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/sheet"
	"shunt/api/tagtext"
	"shunt/engine"
)

// A LargeForm is a form whose body may be larger than usual, if it is sent with a session that has
// the scope.
type LargeForm struct {
	Path     string
	Scope    account.Scope
	MaxBytes int
}

// LargeForms returns the forms that may be large. They are sent with POST.
func LargeForms() []LargeForm {
	return []LargeForm{{bulkPath, account.LinksWrite, 8 << 20}, {resultsPath, account.LinksWrite, 8 << 20}, {transferPath, account.Admin, maxImportBytes}, {qr.Row, qr.FormScope, qr.MaxFormBytes}}
}

// resultsPath is where a page sends the results that it shows, to get them as a file.
const resultsPath = bulkPath + "/results"

const (
	// maxTypedAgain bounds the text that a page shows again for correction, and the results that it has for a file. In
	// HTML it can grow to five times its size.
	maxTypedAgain = 1 << 20

	// maxTagText bounds the text of the tags, which each row gets. All tags that a link may have are
	// shorter. Of a longer text the page shows the beginning.
	maxTagText   = 8 << 10
	maxTagsShown = 2 * maxTagText

	// maxShownLine bounds what the result shows of a line.
	maxShownLine = 300

	// maxLinesOpen is how many links the result shows without being asked to.
	maxLinesOpen = 10
)

// bulkView is what the page shows that creates several links.
type bulkView struct {
	Key       string
	Addresses string // a sheet, or addresses
	Tags      string
	UsedTags  []string // suggestions
	Domains   *visit.DomainChoice
	Columns   string // that a sheet may have
	Most      uint64 // rows
	TooLong   bool   // what was typed is too long to be shown again
	Error     string // of no field
	LineError string // of the addresses
	TagError  string
	Made      []bulkLine // rows that have a link now
	Refused   []bulkLine // rows that have none
	Short     string     // the short addresses, one on each line
	File      string     // all results as CSV; empty: they are too long for a page
}

// A bulkLine is the outcome of a row.
type bulkLine struct {
	Line  int // from 1 on
	Text  string
	Code  string
	Short string // address; empty: there is an error
	Path  string // of the link's page
	Error string
}

// Done reports whether the page shows results.
func (v *bulkView) Done() bool { return len(v.Made)+len(v.Refused) > 0 }

// MadeN and RefusedN are how many rows there are of each.
func (v *bulkView) MadeN() uint64    { return uint64(len(v.Made)) }
func (v *bulkView) RefusedN() uint64 { return uint64(len(v.Refused)) }

// Unfolded reports whether the links that were made are shown at once.
func (v *bulkView) Unfolded() bool { return len(v.Made) <= maxLinesOpen }

// newBulk is GET /_/links/bulk.
func (r *request) newBulk() error { return r.showBulk(fasthttp.StatusOK, r.bulkView()) }

func (r *request) showBulk(status int, view *bulkView) (err error) {
	if view.UsedTags, err = r.usedTags(); err != nil {
		return err
	}
	return r.Show(status, "link-bulk", "Import many", view)
}

// bulkView returns the page with what was typed.
func (r *request) bulkView() *bulkView {
	v := &bulkView{Key: r.FormKey(), Most: engine.MaxBulk, Columns: sheet.Names()}
	addresses, _ := r.Typed("addresses")
	v.Tags, _ = r.Typed("tags")
	host, typed := r.Typed("domain")
	if !typed {
		host = r.Query("domain")
	}
	v.Domains = r.DomainsOfForm(host)
	v.Tags = v.Tags[:min(len(v.Tags), maxTagsShown)]
	v.setAddresses(addresses)
	return v
}

// setAddresses puts text into the field again, unless it is too long.
func (v *bulkView) setAddresses(text string) {
	v.Addresses, v.TooLong = text, len(text) > maxTypedAgain
	if v.TooLong {
		v.Addresses = ""
	}
}

// createBulk is POST /_/links/bulk. It answers with the result itself: if the page is loaded again,
// the same form comes again, with the same key, and gets the same links. A result that is kept for
// another page would take megabytes for each session.
func (r *request) createBulk() error {
	view := r.bulkView()
	asked, err := r.askedSheet()
	var results ops.Results
	if err == nil {
		results, err = r.createRows(view, asked.Rows)
	}
	if err != nil {
		status, ok := view.refuse(err)
		if !ok {
			return err
		}
		r.retryAfter(err)
		return r.showBulk(status, view)
	}
	if text := tagError(asked.Rows, results); text != "" {
		view.TagError = text
		return r.showBulk(fasthttp.StatusUnprocessableEntity, view)
	}
	view.take(&asked, results)
	return r.showBulk(fasthttp.StatusOK, view)
}

var (
	errNoLine       = jsonbody.FieldError("addresses", "required", "must have at least one address")
	errTooManyLines = jsonbody.FieldError("addresses", "too_many", fmt.Sprintf("must have at most %d addresses at a time", engine.MaxBulk))
	errBothGiven    = jsonbody.FieldError("addresses", "both", "must be empty if a file is sent: only one of them is taken")
	errTagsTooLong  = jsonbody.FieldError("tags", "too_long", "must be shorter")
)

// askedSheet reads the file, or else what was pasted.
func (r *request) askedSheet() (s sheet.Sheet, err error) {
	text, file := r.Sent("addresses"), string(r.File())
	if strings.TrimSpace(file) != "" {
		if strings.TrimSpace(text) != "" {
			return s, errBothGiven
		}
		text = file
	}
	s, err = sheet.Read(text, engine.MaxBulk)
	switch {
	case err != nil:
		return s, jsonbody.FieldError("addresses", "headings", err.Error())
	case len(s.Rows) == 0:
		return s, errNoLine
	case len(s.Rows) > engine.MaxBulk:
		return s, errTooManyLines
	}
	return s, nil
}

// createRows creates a link for each row.
func (r *request) createRows(view *bulkView, rows []sheet.Row) (ops.Results, error) {
	if len(view.Tags) > maxTagText {
		return nil, errTagsTooLong
	}
	host := strings.TrimSpace(r.Sent("domain"))
	if _, err := r.Asked(visit.Whose{Domain: host}); err != nil {
		return nil, err
	}
	body := jsonbody.Body{MediaType: []byte(jsonbody.NDJSON[0]), Text: itemsOf(rows, tagtext.Split(view.Tags), host)}
	asked, err := creationKey(view.Key, body)
	if err != nil {
		return nil, err
	}
	return r.Calls.CreateBulk(r.Caller, asked, ops.Bulk{
		Body: body, May: func(n int) error { return r.Sessions.AllowMore(r.Ctx, r.Caller, n) },
	})
}

// itemsOf returns the rows as the items of a bulk, each with tags beside its own. Those that name no domain are in that
// of a host; empty: the default one. A row that could not be read becomes an item that is refused.
func itemsOf(rows []sheet.Row, tags []string, host string) (text []byte) {
	for i := range rows {
		item := []byte{0xff}
		if rows[i].Refused == "" {
			fields := rows[i].Item(time.UTC)
			if own, _ := fields["tags"].([]string); len(own)+len(tags) > 0 {
				fields["tags"] = append(own[:len(own):len(own)], tags...)
			}
			if host != "" && fields["domain"] == nil {
				fields["domain"] = host
			}
			item, _ = json.Marshal(fields) // texts: it cannot fail
		}
		text = append(append(text, item...), '\n')
	}
	return text
}

// refuse puts the errors of err at their fields, and returns the status of the answer. ok == false:
// the error is internal.
func (v *bulkView) refuse(err error) (status int, ok bool) {
	at, general, _ := visit.FieldErrors(err, "addresses", "tags", "domain")
	p, known := problem.Of(err)
	if !known {
		return 0, false
	}
	if text := visit.Sentence(at["domain"]); v.Domains != nil {
		v.Domains.Error = text
	} else if text != "" {
		general = "the domain " + at["domain"]
	}
	v.LineError, v.TagError, v.Error = visit.Sentence(at["addresses"]), visit.Sentence(at["tags"]), visit.Sentence(general)
	if len(p.Fields) == 0 {
		v.Error = formError(p)
	}
	return p.Kind.Status, true
}

// tagError returns the error that all rows have because of the tags for all of them; "": none. A row with tags of its
// own is refused because of those.
func tagError(rows []sheet.Row, results ops.Results) string {
	for i := range results {
		if rows[i].Has("tags") {
			continue
		}
		for _, e := range problemOf(&results[i]).Fields {
			if name, _, _ := strings.Cut(e.Field, "["); name == "tags" {
				return fieldText(e)
			}
		}
	}
	return ""
}

// fieldText returns the error of a field as a sentence. In a list it names the place.
func fieldText(e engine.FieldError) string {
	if name, index, inList := strings.Cut(e.Field, "["); inList && name == "tags" {
		return "Tag " + ordinal(index) + ": " + e.Message + "."
	}
	return visit.Sentence(e.Message)
}

func problemOf(result *ops.Result) problem.Problem {
	if result.Err == nil {
		return problem.Problem{}
	}
	p, _ := problem.Of(result.Err)
	return p
}

// take puts the outcomes of the rows into the view. The rows that were refused are in the form
// again, which is another form now.
func (v *bulkView) take(s *sheet.Sheet, results ops.Results) {
	var short, refused, file strings.Builder
	file.WriteString("\ufeff") // without it, spreadsheets take the file for one of an older encoding
	out := sheet.NewResults(&file)
	if s.Head != "" {
		refused.WriteString(s.Head + "\n")
	}
	for i := range results {
		row, result := &s.Rows[i], &results[i]
		line := bulkLine{Line: row.Line, Text: shortened(row.URL())}
		if result.Err == nil {
			line.Code, line.Short, line.Path = result.Link.Code, result.Link.ShortURL, linkPath(result.Link.Code, visit.Whose{Domain: result.Link.Host})
			short.WriteString(line.Short + "\n")
			out.Made(line.Code, line.Short, result.Link.Target)
			v.Made = append(v.Made, line)
			continue
		}
		line.Error = rowError(s, row, problemOf(result))
		refused.WriteString(row.Text + "\n")
		out.Refused(row, line.Error)
		v.Refused = append(v.Refused, line)
	}
	_ = out.End() // a Builder takes everything
	if v.File = file.String(); len(v.File) > maxTypedAgain {
		v.File = ""
	}
	v.Key, v.Short = rand.Text(), short.String()
	if v.setAddresses(""); len(v.Refused) > 0 {
		v.setAddresses(refused.String())
	}
}

// rowError returns the error of a row for people. In a sheet it names the column.
func rowError(s *sheet.Sheet, row *sheet.Row, p problem.Problem) string {
	switch {
	case row.Refused != "":
		return visit.Sentence(row.Refused)
	case len(p.Fields) == 0:
		return visit.Sentence(p.Detail)
	}
	e := p.Fields[0]
	name, _, inList := strings.Cut(e.Field, "[")
	if s.Head == "" || inList {
		return fieldText(e)
	}
	return name + ": " + e.Message + "."
}

// bulkResults is POST /_/links/bulk/results: it answers with the results that a page has, as a file.
func (r *request) bulkResults() error {
	r.sendCSV("short-links.csv", []byte(r.Sent("results")))
	return nil
}

// shortened returns the beginning of a long line, and a short one whole.
func shortened(text string) string {
	if len(text) <= maxShownLine {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:maxShownLine], "") + "…"
}
