package folder

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"shunt/engine"
)

// Limits of folders.
const (
	MaxFolders   = 10_000 // of all users
	MaxOwned     = 1_000  // of one
	MaxMembers   = 100
	MaxNameBytes = 100
)

// A Right is what a user may do with the links in a folder.
type Right string

const (
	None Right = ""
	Read Right = "read" // see them, and their figures
	Edit Right = "edit" // also change, disable and delete them, and put others there
)

// A Member is a user who has a right.
type Member struct {
	User uint32 `json:"user"`
	May  Right  `json:"may"`
}

// A Folder is a folder of links.
type Folder struct {
	Number    uint32
	Name      string
	Owner     uint32   // a user's number
	Members   []Member // by user, each once, without the owner
	CreatedAt time.Time
	Version   uint64 // 1 at first; each change adds 1
}

// Right returns what a user may do with the links in f, nil being a folder that is not there.
func (f *Folder) Right(user uint32) Right {
	switch {
	case f == nil || user == 0:
		return None
	case f.Owner == user:
		return Edit
	}
	if i, found := slices.BinarySearchFunc(f.Members, user, byUser); found {
		return f.Members[i].May
	}
	return None
}

// IsMember reports whether a user is a member of f. Its owner is not.
func (f *Folder) IsMember(user uint32) bool { return f.Owner != user && f.Right(user) != None }

func byUser(m Member, user uint32) int { return int(int64(m.User) - int64(user)) }

func fieldError(field, code, message string) engine.FieldError {
	return engine.FieldError{Field: field, Code: code, Message: message}
}

// normalise puts f into the form in which it is kept, and returns an engine.FieldError if it cannot be.
func (f *Folder) normalise() error {
	name := strings.TrimSpace(f.Name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unwritten):
		return fieldError("name", "characters", "must be text without control characters")
	case name == "":
		return fieldError("name", "required", "must not be empty")
	case len(name) > MaxNameBytes:
		return errLongName
	}
	if f.Name = norm.NFC.String(name); len(f.Name) > MaxNameBytes {
		return errLongName
	}
	members := slices.Clone(f.Members)
	slices.SortStableFunc(members, func(a, b Member) int { return byUser(a, b.User) })
	for i, m := range members {
		switch {
		case m.User == 0 || m.User > engine.MaxUser:
			return fieldError("members", "unknown", "must be users")
		case m.May != Read && m.May != Edit:
			return fieldError("members", "range", "must each have read or edit as what they may do")
		case i > 0 && members[i-1].User == m.User:
			return fieldError("members", "duplicate", "must not have a user twice")
		}
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.User == f.Owner })
	if len(members) > MaxMembers {
		return fieldError("members", "too_many", fmt.Sprintf("must be at most %d", MaxMembers))
	}
	if f.Members = members; len(members) == 0 {
		f.Members = nil
	}
	return nil
}

var errLongName = fieldError("name", "too_long", fmt.Sprintf("must be at most %d bytes", MaxNameBytes))

// unwritten reports whether a character has no place in a name: it controls, or it changes the direction of what is
// around it, so that another name could be shown.
func unwritten(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// sameName reports whether two names are the same for people.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
