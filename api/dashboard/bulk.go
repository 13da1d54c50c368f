package dashboard

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
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
	return []LargeForm{{bulkPath, account.LinksWrite, 8 << 20}, {transferPath, account.Admin, maxImportBytes}}
}

const (
	// maxTypedAgain bounds the text that a page shows again for correction. In HTML it can grow to
	// five times its size.
	maxTypedAgain = 1 << 20

	// maxTagText bounds the text of the tags, which each line gets. All tags that a link may have are
	// shorter. Of a longer text the page shows the beginning.
	maxTagText   = 8 << 10
	maxTagsShown = 2 * maxTagText

	// maxShownLine bounds what the result shows of a line.
	maxShownLine = 300
)

// bulkView is what the page shows that creates several links.
type bulkView struct {
	Key       string
	Addresses string
	Tags      string
	Most      uint64 // lines
	TooLong   bool   // what was typed is too long to be shown again
	Error     string // of no field
	LineError string // of the addresses
	TagError  string
	Results   []bulkLine
	Made      uint64 // lines that have a link now
	Refused   uint64 // lines that have none
	Short     string // the short addresses, one on each line
}

// A bulkLine is the outcome of a line.
type bulkLine struct {
	Line  int // from 1 on
	Text  string
	Code  string
	Short string // address; empty: there is an error
	Error string
}

// newBulk is GET /_/links/bulk.
func (r *request) newBulk() error {
	return r.Show(fasthttp.StatusOK, "link-bulk", "Import many", r.bulkView())
}

// bulkView returns the page with what was typed.
func (r *request) bulkView() bulkView {
	v := bulkView{Key: r.FormKey(), Most: engine.MaxBulk}
	addresses, _ := r.Typed("addresses")
	v.Tags, _ = r.Typed("tags")
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
	lines := linesOf(r.Sent("addresses"))
	results, err := r.createLines(view.Key, lines, view.Tags)
	if err != nil {
		status, ok := view.refuse(err)
		if !ok {
			return err
		}
		r.retryAfter(err)
		return r.Show(status, "link-bulk", "Import many", view)
	}
	if text := tagError(results); text != "" {
		view.TagError = text
		return r.Show(fasthttp.StatusUnprocessableEntity, "link-bulk", "Import many", view)
	}
	view.take(lines, results)
	return r.Show(fasthttp.StatusOK, "link-bulk", "Import many", view)
}

// linesOf returns the lines of a text that are not blank, with their numbers: at most one more than
// a bulk may have.
func linesOf(text string) (lines []bulkLine) {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if lines = append(lines, bulkLine{Line: n, Text: line}); len(lines) > engine.MaxBulk {
			break
		}
	}
	return lines
}

var (
	errNoLine       = jsonbody.FieldError("addresses", "required", "must have at least one address")
	errTooManyLines = jsonbody.FieldError("addresses", "too_many", fmt.Sprintf("must have at most %d addresses at a time", engine.MaxBulk))
	errTagsTooLong  = jsonbody.FieldError("tags", "too_long", "must be shorter")
)

// createLines creates a link for each line.
func (r *request) createLines(key string, lines []bulkLine, tagText string) (ops.Results, error) {
	switch {
	case len(lines) == 0:
		return nil, errNoLine
	case len(lines) > engine.MaxBulk:
		return nil, errTooManyLines
	case len(tagText) > maxTagText:
		return nil, errTagsTooLong
	}
	body := jsonbody.Body{MediaType: []byte(jsonbody.NDJSON[0]), Text: itemsOf(lines, tagsValue(tagText))}
	asked, err := creationKey(key, body)
	if err != nil {
		return nil, err
	}
	return r.Calls.CreateBulk(r.Caller, asked, ops.Bulk{
		Body: body, May: func(n int) error { return r.Sessions.AllowMore(r.Ctx, r.Caller, n) },
	})
}

// itemsOf returns the lines as the items of a bulk. A line that is not UTF-8 becomes an item that
// is refused.
func itemsOf(lines []bulkLine, tags any) (text []byte) {
	for i := range lines {
		item := []byte{0xff}
		if utf8.ValidString(lines[i].Text) {
			fields := map[string]any{"url": lines[i].Text}
			if tags != nil {
				fields["tags"] = tags
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
	at, general, _ := visit.FieldErrors(err, "addresses", "tags")
	p, known := problem.Of(err)
	if !known {
		return 0, false
	}
	v.LineError, v.TagError, v.Error = visit.Sentence(at["addresses"]), visit.Sentence(at["tags"]), visit.Sentence(general)
	if len(p.Fields) == 0 {
		v.Error = formError(p)
	}
	return p.Kind.Status, true
}

// tagError returns the error that lines have because of the tags; "": none. A line that is not
// UTF-8 has another error only.
func tagError(results ops.Results) string {
	for i := range results {
		for _, e := range problemOf(&results[i]).Fields {
			if name, index, inList := strings.Cut(e.Field, "["); name == "tags" && inList {
				return "Tag " + ordinal(index) + ": " + e.Message + "."
			} else if name == "tags" {
				return visit.Sentence(e.Message)
			}
		}
	}
	return ""
}

func problemOf(result *ops.Result) problem.Problem {
	if result.Err == nil {
		return problem.Problem{}
	}
	p, _ := problem.Of(result.Err)
	return p
}

// take puts the outcomes of the lines into the view. The lines that were refused are in the form
// again, which is another form now.
func (v *bulkView) take(lines []bulkLine, results ops.Results) {
	var short, refused strings.Builder
	for i := range results {
		line, result := lines[i], &results[i]
		if result.Err == nil {
			v.Made++
			line.Code, line.Short = result.Link.Code, result.Link.ShortURL
			short.WriteString(line.Short + "\n")
		} else {
			v.Refused++
			line.Error = lineError(line.Text, problemOf(result))
			refused.WriteString(line.Text + "\n")
		}
		line.Text = shortened(line.Text)
		v.Results = append(v.Results, line)
	}
	v.Key, v.Short = rand.Text(), short.String()
	v.setAddresses(refused.String())
}

// lineError returns the error of a line for people.
func lineError(text string, p problem.Problem) string {
	switch {
	case !utf8.ValidString(text):
		return "Must be UTF-8."
	case len(p.Fields) > 0:
		return visit.Sentence(p.Fields[0].Message)
	}
	return visit.Sentence(p.Detail)
}

// shortened returns the beginning of a long line, and a short one whole.
func shortened(text string) string {
	if len(text) <= maxShownLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownLine], "") + "…"
}
