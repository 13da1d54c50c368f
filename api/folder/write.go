package folder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/engine"
)

// Add makes a folder, of which its name, its owner and its members are used. Errors: engine.FieldError;
// those of a write.
func (f *Folders) Add(by account.Caller, one Folder) (*Folder, error) {
	lock, err := f.table.Lock()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if err := f.check(&one); err != nil {
		return nil, err
	}
	if err := f.full(one.Owner); err != nil {
		return nil, err
	}
	value, err := f.table.Get(lastKey)
	if err != nil {
		return nil, fmt.Errorf("read the last folder's number: %w", err)
	}
	last, err := decodeLast(value)
	if err != nil || last == math.MaxUint32 {
		return nil, errors.Join(err, fmt.Errorf("no number is left after folder %d", last))
	}
	one.Number, one.CreatedAt, one.Version = last+1, f.now().UTC().Truncate(time.Millisecond), 1
	lock.Entry = f.entry(by, engine.FolderAdded, &Folder{Number: one.Number}, &one)
	sets := [][2][]byte{{folderKey(one.Number), encodeFolder(&one)}, {lastKey, binary.BigEndian.AppendUint32(nil, one.Number)}}
	if err := lock.Write(sets, nil, f.written(one.Number, &one)); err != nil {
		return nil, err
	}
	return &one, nil
}

// full returns an error if there are as many folders as there may be, of all users or of one.
func (f *Folders) full(owner uint32) error {
	if len(f.All()) >= MaxFolders {
		return fieldError("name", "too_many", fmt.Sprintf("there are %d folders already, which is the limit", MaxFolders))
	}
	return f.fullOf(owner)
}

// fullOf returns an error if a user has as many folders as there may be of one.
func (f *Folders) fullOf(owner uint32) error {
	owned := 0
	for _, one := range f.All() {
		if one.Owner == owner {
			owned++
		}
	}
	if owned >= MaxOwned {
		return fieldError("name", "too_many", fmt.Sprintf("there are %d folders of this owner already, which is the limit", MaxOwned))
	}
	return nil
}

// check normalises one, and refuses a name that another folder of its owner has.
func (f *Folders) check(one *Folder) error {
	if err := one.normalise(); err != nil {
		return err
	}
	for _, other := range f.All() {
		if other.Owner == one.Owner && other.Number != one.Number && sameName(other.Name, one.Name) {
			return fieldError("name", "taken", "is the name of another folder of this owner")
		}
	}
	return nil
}

// Edit changes a folder, which gets the next version if something differs. change gets a copy, and may refuse. Errors:
// ErrNoFolder; that of change; those of Add.
func (f *Folders) Edit(by account.Caller, n uint32, change func(*Folder) error) (*Folder, error) {
	lock, err := f.table.Lock()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	before := f.Numbered(n)
	if before == nil {
		return nil, ErrNoFolder
	}
	after := *before
	after.Members = slices.Clone(before.Members)
	if err := change(&after); err != nil {
		return nil, err
	}
	after.Number, after.CreatedAt, after.Version = before.Number, before.CreatedAt, before.Version+1
	if err := f.check(&after); err != nil {
		return nil, err
	}
	if after.Owner != before.Owner {
		if err := f.fullOf(after.Owner); err != nil {
			return nil, err
		}
	}
	if after.Name == before.Name && after.Owner == before.Owner && slices.Equal(after.Members, before.Members) {
		return before, nil
	}
	lock.Entry = f.entry(by, engine.FolderEdited, before, &after)
	if err := lock.Write([][2][]byte{{folderKey(n), encodeFolder(&after)}}, nil, f.written(n, &after)); err != nil {
		return nil, err
	}
	return &after, nil
}

// TakeOut takes a member out of a folder, and leaves the others as they are at that moment. Errors: ErrNoFolder;
// ErrNoMember; those of a write.
func (f *Folders) TakeOut(by account.Caller, n, user uint32) error {
	_, err := f.Edit(by, n, func(f *Folder) error {
		if !f.IsMember(user) {
			return ErrNoMember
		}
		f.drop(user)
		return nil
	})
	return err
}

// drop takes a user out of the members of f, which nobody else has.
func (f *Folder) drop(user uint32) {
	f.Members = slices.DeleteFunc(f.Members, func(m Member) bool { return m.User == user })
}

// Remove removes a folder unless mayGo, which is called last, returns an error. Links that come into it meanwhile stay
// in none: its number is never given again. Errors: ErrNoFolder; that of mayGo; those of a write.
func (f *Folders) Remove(by account.Caller, n uint32, mayGo func(*Folder) error) error {
	lock, err := f.table.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	one := f.Numbered(n)
	if one == nil {
		return ErrNoFolder
	}
	if err := mayGo(one); err != nil {
		return err
	}
	lock.Entry = f.entry(by, engine.FolderDeleted, one, &Folder{Number: n})
	return lock.Write(nil, [][]byte{folderKey(n)}, f.written(n, nil))
}

// DropUser removes a user who was deleted from all folders, one write for each. Those of the user are heir's from then
// on; if heir is 0, has a folder of that name, or as many folders as one may have, they stay under the number of the
// user, and admins manage them. It may be called again.
func (f *Folders) DropUser(by account.Caller, user, heir uint32) (failed error) {
	for _, one := range f.Of(user) {
		_, err := f.Edit(by, one.Number, func(f *Folder) error {
			if f.Owner == user && heir != 0 {
				f.Owner = heir
			}
			f.drop(user)
			return nil
		})
		if err != nil && !errors.Is(err, ErrNoFolder) {
			failed = errors.Join(failed, fmt.Errorf("folder %d: %w", one.Number, err))
		}
	}
	return failed
}

// written returns what is called at the end of the write of a folder: memory has what was written. nil: it is gone.
func (f *Folders) written(n uint32, now *Folder) func(written bool) {
	return func(written bool) {
		if !written {
			return
		}
		f.changing.Lock()
		defer f.changing.Unlock()
		all := slices.DeleteFunc(slices.Clone(f.All()), func(one *Folder) bool { return one.Number == n })
		if now != nil {
			all = append(all, now)
		}
		f.known.Store(newKnown(all))
	}
}

// entry returns the entry of the audit log for a change. Its first change is the number, whether it changed or not.
func (f *Folders) entry(by account.Caller, action engine.AuditAction, before, after *Folder) *engine.AuditEntry {
	number := strconv.FormatUint(uint64(after.Number), 10)
	e := &engine.AuditEntry{Action: action, By: by.By(f.now()), User: after.Owner, Changes: []engine.AuditChange{{Field: "folder", Before: number, After: number}}}
	switch action {
	case engine.FolderAdded:
		e.Changes[0].Before = ""
	case engine.FolderDeleted:
		e.Changes[0].After, e.User = "", before.Owner
	}
	add := func(field, was, is string) {
		if was != is {
			e.Changes = append(e.Changes, engine.AuditChange{Field: field, Before: was, After: is})
		}
	}
	add("name", before.Name, after.Name)
	add("owner", ownerText(before.Owner), ownerText(after.Owner))
	if was, is := audited(before.Members), audited(after.Members); was != is {
		add("members", was, is)
	} else { // or they differ where the texts are cut
		add("members", audited(without(before.Members, after.Members)), audited(without(after.Members, before.Members)))
	}
	return e
}

// without returns the members that others does not have, with the same right.
func without(members, others []Member) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return slices.Contains(others, m) })
}

func ownerText(owner uint32) string {
	if owner == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(owner), 10)
}

// audited returns members as an entry of the audit log has them: as much as it takes.
func audited(members []Member) string {
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = strconv.FormatUint(uint64(m.User), 10) + " " + string(m.May)
	}
	const more = "…"
	text := strings.Join(texts, ", ")
	if len(text) > engine.MaxAuditTextBytes {
		text = text[:engine.MaxAuditTextBytes-len(more)] + more
	}
	return text
}
