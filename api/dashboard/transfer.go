package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/source"
	"shunt/engine"
)

const transferPath = Root + "transfer"

// maxOwnerChoices is how many users the form lists; of more it asks for the number.
const maxOwnerChoices = 200

// transferView is what the page to import and export shows.
type transferView struct {
	Admin    bool
	Edits    bool                // the visitor may change links; else a viewer, who exports those of all
	Domains  *visit.DomainChoice // of an export; nil: there is only one
	Own      ownedLinks
	All      uint64         // links of all users
	Owners   []account.User // empty: too many to list
	Owner    string         // the number that is chosen
	Errors   map[string]string
	Error    string
	Imported *imported // nil: no file was sent
	MaxMiB   int
}

// transferPage is GET /_/transfer.
func (r *request) transferPage() error { return r.showTransfer(fasthttp.StatusOK, nil, nil) }

// showTransfer shows the page with the outcome of an import, or with why a file was not taken.
func (r *request) showTransfer(status int, done *imported, refused error) (err error) {
	view := transferView{Admin: r.Admin(), Edits: r.Edits(), Errors: map[string]string{}, Imported: done, MaxMiB: maxImportBytes >> 20}
	view.Domains = r.DomainsOfList("", false)
	if refused != nil {
		at, general, ok := visit.FieldErrors(refused, "owner", "file")
		if !ok {
			return refused
		}
		view.Errors, view.Error = visit.Sentences(at), visit.Sentence(general)
	}
	if view.Own, err = r.ownedBy(r.Caller.User.ID); err != nil {
		return err
	}
	if view.Admin {
		if err := r.addOwners(&view); err != nil {
			return err
		}
	}
	return r.Show(status, "transfer", "Move and export", view)
}

// addOwners adds what only admins see.
func (r *request) addOwners(view *transferView) error {
	view.All = r.Engine.Metrics().Links
	view.Owner = strconv.FormatUint(uint64(r.Caller.User.ID), 10)
	users, err := r.allUsers()
	if len(users) <= maxOwnerChoices {
		view.Owners = users
	}
	return err
}

// importFile is POST /_/transfer. It answers with the outcome and not with another page, because it
// does no harm to send the form again: links that are there already stay as they are.
func (r *request) importFile() error {
	f, err := r.uploadedFile()
	if err != nil {
		return r.showTransfer(visit.StatusOf(err), nil, err)
	}
	done, err := r.importLines(f)
	if err != nil {
		return r.showTransfer(visit.StatusOf(err), nil, err)
	}
	return r.showTransfer(fasthttp.StatusOK, done, nil)
}

// ownerOf returns whose links an import makes.
func ownerOf(f upload) (ops.Whose, error) {
	id, err := strconv.ParseUint(f.owner, 10, 32)
	if err != nil || id == 0 {
		return ops.Whose{}, errOwner
	}
	return ops.Whose{User: uint32(id)}, nil
}

// Limits of an import without script. maxImportBytes is of the whole form.
const (
	maxImportBytes  = 8 << 20
	maxRefusedShown = 1000
)

var (
	errOwner   = jsonbody.FieldError("owner", "range", "must be the number of a user")
	errNoFile  = jsonbody.FieldError("file", "required", "choose a file with links")
	errNotForm = problem.New(problem.BadRequest, "the form has no file; send it again")
)

// An upload is the form with a file.
type upload struct {
	owner   string
	domains bool // those that are not there are added
	text    []byte
}

// uploadedFile returns what the form has.
func (r *request) uploadedFile() (f upload, err error) {
	if !r.Uploads() {
		return f, errNotForm
	}
	if f = (upload{r.Sent("owner"), r.Sent("create_domains") != "", r.File()}); len(bytes.TrimSpace(f.text)) == 0 {
		return f, errNoFile
	}
	return f, nil
}

// imported is the outcome of an import.
type imported struct {
	Created, Existing, Refused uint64
	Lines                      []refusedLine // at most maxRefusedShown, by number
	Stopped                    string        // why it did not come to the end of the file; empty: it did
	Before                     int           // the line that was read last, if it stopped
	Owner                      uint32        // of the links
	Met                        source.Summary
	Hosts                      []string // at which the links were
	Lost                       []string // values that have no place here, by name
}

type refusedLine struct {
	Line    int
	Problem string
}

// maxUnpackedBytes bounds what a packed file may have in it.
const maxUnpackedBytes = 64 << 20

var errUnpacked = fmt.Errorf("has more than %d MiB in it; use the command “shunt import”", maxUnpackedBytes>>20)

// recordsOf returns the links of a file, which may be packed.
func recordsOf(text []byte) (source.Source, error) {
	if source.IsPacked(text) {
		unpacked, err := source.Unpack(text, bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(unpacked, maxUnpackedBytes+1))
			_ = unpacked.Close() // it was only read
		}
		if err == nil && len(text) > maxUnpackedBytes {
			err = errUnpacked
		}
		if err != nil {
			return nil, err
		}
	}
	return source.Open(bytes.NewReader(text), int64(len(text)), source.Options{Newest: true})
}

// importLines imports the links of a file, as many at once as one request of the API may have. If it cannot go on after
// some, the outcome says so.
func (r *request) importLines(f upload) (*imported, error) {
	guard, err := ownerOf(f)
	if err != nil {
		return nil, err
	}
	lines, err := recordsOf(f.text)
	if err != nil {
		return nil, jsonbody.FieldError("file", "format", err.Error())
	}
	done, end := &imported{Owner: guard.User}, r.Now().Add(ops.Patience)
	late := func() bool { return r.Now().After(end) }
	for text, numbers := done.next(lines, late); len(numbers) > 0; text, numbers = done.next(lines, late) {
		results, err := r.Calls.Import(r.Caller, guard, ops.Bulk{
			Body: jsonbody.Body{MediaType: []byte(jsonbody.NDJSON[0]), Text: text},
			May:  func(n int) error { return r.Sessions.AllowMore(r.Ctx, r.Caller, n) },

			CreateDomains: f.domains, Reusable: source.Reuses(lines.Summary().Format),
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
	done.Met = lines.Summary()
	done.Hosts, done.Lost = slices.Sorted(maps.Keys(done.Met.Hosts)), slices.Sorted(maps.Keys(done.Met.Lost))
	done.Hosts = slices.DeleteFunc(done.Hosts, func(host string) bool { return host == "" })
	slices.SortFunc(done.Lines, func(a, b refusedLine) int { return a.Line - b.Line })
	return done, nil
}

// next returns the next links, at most engine.MaxBulk, with the numbers of their records; none if there are no more, or
// if it is late. It counts those that the source refuses.
func (d *imported) next(lines source.Source, late func() bool) (text []byte, numbers []int) {
	for len(numbers) < engine.MaxBulk {
		if late() {
			d.Stopped = "The rest takes too long for one request. Split the file, or use the command “shunt import”."
			return nil, nil
		}
		record, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.Stopped = visit.Sentence(err.Error())
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
