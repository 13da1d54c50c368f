package dashboard

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/engine"
)

const transferPath = Root + "transfer"

// maxOwnerChoices is how many users the form lists; of more it asks for the number.
const maxOwnerChoices = 200

// transferView is what the page to import and export shows.
type transferView struct {
	Admin    bool
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
	view := transferView{Admin: r.Admin(), Errors: map[string]string{}, Imported: done, MaxMiB: maxImportBytes >> 20}
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
func ownerOf(f upload) (engine.Guard, error) {
	id, err := strconv.ParseUint(f.owner, 10, 32)
	if err != nil || id == 0 {
		return engine.Guard{}, errOwner
	}
	return engine.Guard{Owner: uint32(id)}, nil
}
