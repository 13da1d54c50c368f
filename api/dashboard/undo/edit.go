package undo

import (
	"errors"
	"math"
	"strconv"

	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// maxPatchBytes bounds what a notice keeps of a link before its edit: a form has as much room. An edit of more can be
// taken back in the history only.
const maxPatchBytes = 32 << 10

// OfDeletion is what a notice offers after a version of a link was deleted.
func OfDeletion(code, version string, whose visit.Whose) visit.Undo {
	fields := append(whose.Given(), visit.Parameter{Name: "code", Value: code}, visit.Parameter{Name: "version", Value: version})
	return visit.Undo{Path: RestorePath, Fields: fields}
}

// EditPath is where a form is sent that gives fields of a link the values that they had.
func EditPath(code string) string { return linkPath(code, visit.Whose{}) + "/undo" }

// Edit updates a link as ops.Calls.Update does, and returns what a notice offers: to give it the values back that it
// had. There is none if nothing was changed, and if others have changed the link at the same time; a password cannot be
// given back.
func Edit(
	r *visit.Request, code string, w ops.Whose, whose visit.Whose, versions []uint64, body jsonbody.Body,
) (l ops.Link, u visit.Undo, err error) {
	before, err := r.Calls.Read(r.Caller, code, w)
	if err == nil {
		l, err = r.Calls.Update(r.Caller, code, w, versions, body)
	}
	if err != nil || before.Version+1 != l.Version {
		return l, u, err
	}
	patch := ops.Undoing(&before, &l)
	if patch == nil || len(patch) > maxPatchBytes {
		return l, u, nil
	}
	u.Path = EditPath(code)
	u.Fields = append(whose.Given(), visit.Parameter{Name: "version", Value: strconv.FormatUint(l.Version, 10)}, visit.Parameter{Name: "patch", Value: string(patch)})
	return l, u, nil
}

// TakeBack is POST /_/link/{code}/undo: it gives a link a value back that it had before an edit, which an entry of the
// audit log has, or else the values of the form. With a version, nobody must have changed the link since.
func TakeBack(r *visit.Request) error {
	whose := r.SentWhose()
	w, err := r.Asked(whose)
	if err != nil {
		return err
	}
	code, err := ops.ParseCode(r.Segment("code"))
	if err != nil {
		return err
	}
	patch := []byte(r.Sent("patch"))
	if entry := r.Sent("entry"); entry != "" {
		if patch, err = formerValue(r, code, w, entry); err != nil {
			return err
		}
	}
	var versions []uint64
	if r.Sent("version") != "" {
		versions = []uint64{r.SentVersion()}
	}
	_, u, err := Edit(r, code, w, whose, versions, jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: patch})
	return said(r, u, err, linkPath(code, whose))
}

// formerValue returns the patch that gives a link the value back that a field had before an entry of the audit log.
func formerValue(r *visit.Request, code string, w ops.Whose, entry string) ([]byte, error) {
	if !r.Admin() {
		return nil, r.Missing()
	}
	id, err := strconv.ParseUint(entry, 10, 64)
	if err != nil || id == math.MaxUint64 {
		return nil, errNoEntry
	}
	var page ops.AuditPage
	err = r.Heavily(func() (err error) {
		page, err = r.Calls.Audit(r.Caller, ops.AuditQuery{Code: code, Domain: w.Domain, Before: id + 1, Limit: 1})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range page.Data {
		if patch := ops.Restorable(e.Before, r.Sent("field")); patch != nil && e.ID == entry && e.Action == "link.edited" {
			return patch, nil
		}
	}
	return nil, errNoEntry
}

var errNoEntry = problem.New(problem.NotFound, "the audit log has no such value of the link")

// said says what has come of an edit that took something back, and goes to the link.
func said(r *visit.Request, u visit.Undo, err error, page string) error {
	switch p, known := problem.Of(err); {
	case errors.Is(err, engine.ErrVersion):
		r.Say("warning", "Nothing was undone, because the link was changed again meanwhile. Look at it first.")
	case err != nil && (!known || len(p.Fields) == 0):
		return err
	case err != nil:
		r.Say("error", "Nothing was undone: "+visit.Label(p.Fields[0].Field)+": "+p.Fields[0].Message+".")
	case u.Path == "":
		r.Say("info", "Nothing was changed: the link is so already.")
	default:
		r.SayUndo("done", "The link has the former values again.", u)
	}
	return r.SeeOther(page)
}
