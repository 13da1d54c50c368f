package visit

import (
	"strconv"

	"shunt/api/folder"
)

// A FolderChoice is the folders of a choice.
type FolderChoice struct {
	Options []Option // their numbers are the paths; empty: there are none, or too many
	Many    bool     // the choice is a field for a number
	Chosen  string   // the number of one
}

// listedFolders is the most folders that a choice lists.
const listedFolders = 100

// FoldersOfForm returns the folders into which the visitor may put links. The chosen one is among them, even if the
// visitor may not put any there any more.
func (r *Request) FoldersOfForm(chosen string) (FolderChoice, error) {
	return r.folders(chosen, r.Admin(), func(f *folder.Folder) bool { return r.Admin() || f.Right(r.Caller.User.ID) == folder.Edit })
}

// FoldersOfList returns the folders whose links the visitor may see.
func (r *Request) FoldersOfList(chosen string) (FolderChoice, error) {
	return r.folders(chosen, r.Caller.ReadsAll(), func(*folder.Folder) bool { return true })
}

func (r *Request) folders(chosen string, all bool, has func(*folder.Folder) bool) (c FolderChoice, err error) {
	found, err := r.Calls.Folders(r.Caller, all)
	if err != nil {
		return c, err
	}
	listed := chosen == ""
	var others []Option
	for _, f := range found {
		if !has(f) {
			continue
		}
		number := strconv.FormatUint(uint64(f.Number), 10)
		listed = listed || number == chosen
		if f.Owner == r.Caller.User.ID {
			c.Options = append(c.Options, Option{Name: f.Name, Path: number})
		} else { // nobody asks a member, and a name may be any
			others = append(others, Option{Name: f.Name + " (" + r.Language().Say("user") + " " + strconv.FormatUint(uint64(f.Owner), 10) + ")", Path: number})
		}
	}
	if c.Chosen = chosen; !listed {
		c.Options = append(c.Options, Option{Name: r.FolderName(chosen), Path: chosen})
	}
	if c.Many = len(c.Options) > listedFolders; c.Many {
		c.Options = nil
		return c, nil
	}
	c.Options = append(c.Options, others[:min(len(others), listedFolders-len(c.Options))]...) // others cannot take the choice away
	return c, nil
}

// MayPut reports whether the visitor may put links into the folder with that number.
func (r *Request) MayPut(number string) bool {
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return false
	}
	f, err := r.Calls.FolderFor(r.Caller, uint32(n))
	return err == nil && (r.Admin() || f.Right(r.Caller.User.ID) == folder.Edit)
}

// FolderName returns the name of the folder with that number, as far as the visitor may know it.
func (r *Request) FolderName(number string) string {
	if n, err := strconv.ParseUint(number, 10, 32); err == nil {
		if f, err := r.Calls.FolderFor(r.Caller, uint32(n)); err == nil {
			return f.Name
		}
	}
	return "folder " + number
}
