package dashboard

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"

	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/source"
	"shunt/engine"
)

// Limits of an import without script. maxImportBytes is of the whole form.
const (
	maxImportBytes  = 8 << 20
	maxUploadParts  = 8
	maxOwnerBytes   = 32
	maxRefusedShown = 1000
)

var (
	errOwner   = jsonbody.FieldError("owner", "range", "must be the number of a user")
	errNoFile  = jsonbody.FieldError("file", "required", "choose a file with links")
	errNotForm = problem.New(problem.BadRequest, "the form is not whole; send it again")
)

// An upload is the form with a file.
type upload struct {
	owner string
	text  []byte
}

// uploadedFile reads the form.
func (r *request) uploadedFile() (f upload, err error) {
	mediaType, parameters, err := mime.ParseMediaType(string(r.Ctx.Request.Header.ContentType()))
	if err != nil || mediaType != "multipart/form-data" {
		return f, errNotForm
	}
	form := multipart.NewReader(bytes.NewReader(r.Ctx.PostBody()), parameters["boundary"])
	for range maxUploadParts {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f, errNotForm
		}
		if err := f.read(part); err != nil {
			return f, errNotForm
		}
	}
	if len(bytes.TrimSpace(f.text)) == 0 {
		return f, errNoFile
	}
	return f, nil
}

func (f *upload) read(part *multipart.Part) (err error) {
	switch part.FormName() {
	case "owner":
		var owner []byte
		owner, err = io.ReadAll(io.LimitReader(part, maxOwnerBytes))
		f.owner = string(owner)
	case "file":
		f.text, err = io.ReadAll(part)
	}
	return err
}

// imported is the outcome of an import.
type imported struct {
	Created, Existing, Refused uint64
	Lines                      []refusedLine // at most maxRefusedShown, by number
	Stopped                    string        // why it did not come to the end of the file; empty: it did
	Before                     int           // the line that was read last, if it stopped
	Owner                      uint32        // of the links
}

type refusedLine struct {
	Line    int
	Problem string
}

// importLines imports the lines of a file from the last to the first, as many at once as one request of the API may have:
// exports have the newest link first, and the list shows the link that was made last first. If it cannot go on after some,
// the outcome says so.
func (r *request) importLines(f upload) (*imported, error) {
	guard, err := ownerOf(f)
	if err != nil {
		return nil, err
	}
	lines, err := source.Lines(bytes.NewReader(f.text), int64(len(f.text)), true)
	if err != nil {
		return nil, err
	}
	done, end := &imported{Owner: guard.Owner}, r.Now().Add(ops.Patience)
	for text, numbers := done.next(lines); len(numbers) > 0; text, numbers = done.next(lines) {
		if r.Now().After(end) {
			done.Stopped = "The rest takes too long for one request. Split the file, or use the command “shunt import”."
			break
		}
		results, err := r.Calls.Import(r.Caller, guard, ops.Bulk{
			Body: jsonbody.Body{MediaType: []byte(jsonbody.NDJSON[0]), Text: text},
			May:  func(n int) error { return r.Sessions.AllowMore(r.Ctx, r.Caller, n) },
		})
		if err != nil && done.Before == 0 {
			return nil, err
		}
		if err != nil {
			p, known := problem.Of(err)
			if !known {
				r.logCause("an import failed", err)
			}
			done.Stopped = visit.Sentence(p.Detail)
			break
		}
		r.add(done, results, numbers)
		done.Before = numbers[len(numbers)-1]
	}
	slices.SortFunc(done.Lines, func(a, b refusedLine) int { return a.Line - b.Line })
	return done, nil
}

// next returns the next lines, at most engine.MaxBulk, with their numbers; none if there are no more. It refuses those
// that are too long.
func (d *imported) next(lines source.Source) (text []byte, numbers []int) {
	for len(numbers) < engine.MaxBulk {
		record, err := lines.Next()
		if err != nil { // the end: the file is in memory
			break
		}
		if record.Refused != "" {
			d.refuse(int(record.Number), record.Refused)
			continue
		}
		numbers = append(numbers, int(record.Number))
		text = append(append(text, record.Link...), '\n')
	}
	return text, numbers
}

func (d *imported) refuse(line int, why string) {
	if d.Refused++; len(d.Lines) < maxRefusedShown {
		d.Lines = append(d.Lines, refusedLine{line, why})
	}
}

// add adds the results of a slice, whose items are of these lines.
func (r *request) add(done *imported, results ops.Results, lines []int) {
	for i := range results {
		switch {
		case results[i].Err != nil:
			p, known := problem.Of(results[i].Err)
			if !known {
				r.logCause("a link could not be imported", results[i].Err)
			}
			if p.Kind == problem.MalformedJSON {
				p.Detail = visit.NotALink
			}
			done.refuse(lines[i], p.Detail)
		case results[i].Existed:
			done.Existing++
		default:
			done.Created++
		}
	}
}
