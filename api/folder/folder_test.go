package folder

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/api/account"
	"shunt/api/table/tabletest"
	"shunt/engine"
	"shunt/engine/expect"
)

// now is the time of the tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func begun(t testing.TB, rows *tabletest.Memory) *Folders {
	t.Helper()
	f := New(rows, func() time.Time { return now })
	expect.OK(t, f.Changed())
	return f
}

func code(err error) string {
	var field engine.FieldError
	if errors.As(err, &field) {
		return field.Code
	}
	return ""
}

func wantHealthy(t interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, rows *tabletest.Memory) {
	t.Helper()
	faults := new(engine.Faults)
	expect.OK(t, Check(rows, faults))
	found, n := faults.Found()
	expect.Equal(t, n, 0, "faults: %v", found)
}

func TestANameIsKeptInOneFormOrRefused(t *testing.T) {
	rows := tabletest.New()
	f := begun(t, rows)
	for name, want := range map[string]string{
		"": "required", "  \u3000": "required", "a\x00b": "characters", "a\nb": "characters", "\x7f": "characters", "a\u0085b": "characters", "\xff": "characters",
		"a\u202eb": "characters", strings.Repeat("x", 101): "too_long", strings.Repeat("é", 51): "too_long", strings.Repeat("e\u0301", 34): "too_long",
	} {
		_, err := f.Add(account.Caller{}, Folder{Name: name, Owner: 1})
		expect.Equal(t, code(err), want, "%q: got %v", name, err)
	}
	for name, want := range map[string]string{
		" Spring ": "Spring", "Frühling": "Frühling", "Fru\u0308hjahr": "Frühjahr", "a b/c": "a b/c", "<b>": "<b>", "春": "春", strings.Repeat("x", 100): strings.Repeat("x", 100),
	} {
		made, err := f.Add(account.Caller{}, Folder{Name: name, Owner: 1})
		expect.OK(t, err)
		expect.Equal(t, made.Name, want)
		_, err = f.Add(account.Caller{}, Folder{Name: strings.ToUpper(name), Owner: 1})
		expect.Equal(t, code(err), "taken", "%q again: got %v", name, err)
		expect.OK(t, expect.Err(f.Add(account.Caller{}, Folder{Name: name, Owner: 2})), "another owner")
	}
	wantHealthy(t, rows)
}

func TestMembersAreUsersWithARight(t *testing.T) {
	f := begun(t, tabletest.New())
	many := make([]Member, MaxMembers+1)
	for i := range many {
		many[i] = Member{uint32(i + 2), Read}
	}
	for name, c := range map[string]struct {
		members []Member
		want    string
	}{
		"nobody": {[]Member{{0, Read}}, "unknown"}, "no number of a user": {[]Member{{engine.MaxUser + 1, Read}}, "unknown"}, "no right": {[]Member{{2, None}}, "range"},
		"another right": {[]Member{{2, "manage"}}, "range"}, "somebody twice": {[]Member{{2, Read}, {3, Read}, {2, Edit}}, "duplicate"}, "too many": {many, "too_many"},
	} {
		_, err := f.Add(account.Caller{}, Folder{Name: name, Owner: 1, Members: c.members})
		expect.Equal(t, code(err), c.want, "%s: got %v", name, err)
	}
	made, err := f.Add(account.Caller{}, Folder{Name: "n", Owner: 1, Members: []Member{{9, Edit}, {1, Read}, {2, Read}}})
	expect.OK(t, err)
	expect.Equal(t, fmt.Sprint(made.Members), "[{2 read} {9 edit}]", "the owner is no member")
	for user, want := range map[uint32]Right{0: None, 1: Edit, 2: Read, 3: None, 9: Edit} {
		expect.Equal(t, f.Right(made.Number, user), want, "user %d", user)
	}
	expect.That(t, f.Right(99, 1) == None && (*Folders)(nil).Right(1, 1) == None && (*Folder)(nil).Right(1) == None, "a folder that is not there gives a right")
}

func TestFoldersAreLimited(t *testing.T) {
	rows := tabletest.New()
	for n := range uint32(MaxFolders - 1) {
		one := Folder{Number: n + 1, Name: fmt.Sprint("f", n), Owner: 1 + n/MaxOwned, CreatedAt: now, Version: 1}
		rows.Rows[string(folderKey(one.Number))] = string(encodeFolder(&one))
	}
	last := MaxFolders
	rows.Rows[string(lastKey)] = string([]byte{0, 0, byte(last >> 8), byte(last)})
	f := begun(t, rows)
	_, err := f.Add(account.Caller{}, Folder{Name: "n", Owner: 1})
	expect.Equal(t, code(err), "too_many", "of one owner: got %v", err)
	made, err := f.Add(account.Caller{}, Folder{Name: "n", Owner: 77})
	expect.OK(t, err)
	_, err = f.Add(account.Caller{}, Folder{Name: "another", Owner: 77})
	expect.Equal(t, code(err), "too_many", "of all: got %v", err)
	given, err := f.Edit(account.Caller{}, made.Number, func(f *Folder) error { f.Owner = 78; return nil })
	expect.That(t, err == nil && given.Owner == 78, "given to somebody else: %+v, %v", given, err)
	_, err = f.Edit(account.Caller{}, made.Number, func(f *Folder) error { f.Owner = 1; return nil })
	expect.Equal(t, code(err), "too_many", "given to somebody who has too many: got %v", err)
	expect.OK(t, f.Remove(account.Caller{}, made.Number, func(*Folder) error { return nil }))
	again, err := f.Add(account.Caller{}, Folder{Name: "n", Owner: 77})
	expect.That(t, err == nil && again.Number == made.Number+1, "a number was given twice: %+v, %v", again, err)
}

// TestTheLastOfManyMembersIsChanged has more members than an entry of the audit log has room for.
func TestTheLastOfManyMembersIsChanged(t *testing.T) {
	rows := tabletest.New()
	f := begun(t, rows)
	members := make([]Member, MaxMembers)
	for i := range members {
		members[i] = Member{uint32(10_000 + i), Edit}
	}
	made, err := f.Add(account.Caller{}, Folder{Name: "n", Owner: 1, Members: members})
	expect.OK(t, err)
	last := members[MaxMembers-1].User
	edited, err := f.Edit(account.Caller{}, made.Number, func(f *Folder) error { f.Members[MaxMembers-1].May = Read; return nil })
	expect.OK(t, err)
	expect.That(t, edited.Version == 2 && f.Right(made.Number, last) == Read, "the right: %+v", edited)
	expect.OK(t, f.TakeOut(account.Caller{}, made.Number, last))
	expect.That(t, f.Numbered(made.Number).Version == 3 && f.Right(made.Number, last) == None, "%+v", f.Numbered(made.Number))
	expect.That(t, errors.Is(f.TakeOut(account.Caller{}, made.Number, last), ErrNoMember), "taken out twice")
	for i, want := range []string{"10099 edit to 10099 read", "10099 read to "} {
		changes := rows.Entries[i+1].Changes
		expect.That(t, len(changes) == 2 && changes[1].Before+" to "+changes[1].After == want, "entry %d: %+v", i+1, changes)
	}
	same, err := f.Edit(account.Caller{}, made.Number, func(*Folder) error { return nil })
	expect.That(t, err == nil && same.Version == 3 && len(rows.Entries) == 3, "no change: %+v, %v", same, err)
	wantHealthy(t, rows)
}

// TestFoldersAreWhatWasWritten makes random changes, and compares what memory, another reader of the rows, and a map
// say.
func TestFoldersAreWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := tabletest.New()
		f := begun(t, rows)
		want := map[uint32]Folder{}
		by := account.CallerOf(account.User{ID: 5, Name: "x@y.z", Role: account.RoleMember})
		users := rapid.Uint32Range(1, 4)
		members := rapid.Custom(func(rt *rapid.T) (all []Member) {
			for user := uint32(1); user <= 4; user++ {
				if right := rapid.SampledFrom([]Right{None, Read, Edit}).Draw(rt, "right"); right != None {
					all = append(all, Member{user, right})
				}
			}
			return all
		})
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			n, entries := rapid.Uint32Range(1, 6).Draw(rt, "folder"), len(rows.Entries)
			one := Folder{Name: rapid.SampledFrom([]string{"a", "b", "B"}).Draw(rt, "name"), Owner: users.Draw(rt, "owner"), Members: members.Draw(rt, "members")}
			if rapid.IntRange(0, 5).Draw(rt, "fails") == 0 {
				rows.Fails = errors.New("the disk is full")
			}
			was := want[n]
			var err error
			switch rapid.SampledFrom([]string{"add", "edit", "remove", "take out", "drop"}).Draw(rt, "what") {
			case "add":
				var made *Folder
				if made, err = f.Add(by, one); err == nil {
					want[made.Number] = *made
					expect.MustEqual(rt, made.Version, 1, "the first version")
				}
			case "edit":
				var edited *Folder
				edited, err = f.Edit(by, n, func(f *Folder) error { f.Name, f.Owner, f.Members = one.Name, one.Owner, one.Members; return nil })
				if err == nil {
					want[n] = *edited
					same := fmt.Sprint(was.Name, was.Owner, was.Members) == fmt.Sprint(edited.Name, edited.Owner, edited.Members)
					expect.MustEqual(rt, edited.Version == was.Version, same, "%+v became %+v", was, edited)
					expect.MustThat(rt, same || edited.Version == was.Version+1, "%+v became %+v", was, edited)
				}
				expect.MustEqual(rt, errors.Is(err, ErrNoFolder), was.Number == 0, "folder %d: got %v", n, err)
			case "remove":
				refused := rapid.Bool().Draw(rt, "refused")
				err = f.Remove(by, n, func(*Folder) error {
					if refused {
						return ErrInUse
					}
					return nil
				})
				if err == nil {
					delete(want, n)
				}
			case "take out":
				user := users.Draw(rt, "member")
				if err = f.TakeOut(by, n, user); err == nil {
					was.Members = slices.DeleteFunc(slices.Clone(was.Members), func(m Member) bool { return m.User == user })
					was.Version++
					want[n] = was
				}
				expect.MustEqual(rt, errors.Is(err, ErrNoFolder), was.Number == 0, "folder %d: got %v", n, err)
				expect.MustThat(rt, err != nil || len(f.Numbered(n).Members) == len(was.Members), "user %d of %+v", user, was)
			case "drop":
				if rows.Fails == nil { // it is several writes
					user, heir := users.Draw(rt, "user"), rapid.SampledFrom([]uint32{0, 9}).Draw(rt, "heir")
					taken := f.DropUser(by, user, heir)
					expect.MustThat(rt, taken == nil || strings.Contains(taken.Error(), "another folder of this owner"), "got %v", taken)
					for n := range want {
						now := f.Numbered(n)
						expect.MustThat(rt, now.Owner == user && (heir == 0 || taken != nil) || now.Right(user) == None, "user %d is left in %+v", user, now)
						want[n] = *now
					}
				}
			}
			if err != nil {
				expect.MustEqual(rt, len(rows.Entries), entries, "a change that failed has an entry")
			}
			rows.Fails = nil
			other := begun(t, rows)
			for _, read := range []*Folders{f, other} {
				got := map[uint32]Folder{}
				for _, one := range read.All() {
					got[one.Number] = *one
				}
				expect.MustEqual(rt, fmt.Sprint(slices.Sorted(maps.Keys(got))), fmt.Sprint(slices.Sorted(maps.Keys(want))), "folders")
				for n, one := range want {
					expect.MustEqual(rt, fmt.Sprint(got[n]), fmt.Sprint(one), "folder %d", n)
				}
			}
			wantHealthy(rt, rows)
		}
		for _, e := range rows.Entries {
			expect.MustThat(rt, e.By.User == 5 && len(e.Changes) > 0 && e.Changes[0].Field == "folder", "entry %+v", e)
		}
	})
}

func TestEachFaultIsFound(t *testing.T) {
	one := Folder{Number: 1, Name: "a", Owner: 1, CreatedAt: now, Version: 1}
	twin := Folder{Number: 2, Name: "A", Owner: 1, CreatedAt: now, Version: 1}
	bad := Folder{Number: 1, Name: " a", Owner: 1, CreatedAt: now, Version: 1, Members: []Member{{3, Read}, {2, Read}}}
	for name, c := range map[string]struct {
		key, value []byte
		want       string
	}{
		"another key":      {folderKey(2), encodeFolder(&one), "is under the key"},
		"not JSON":         {folderKey(1), []byte("x"), "no row of a folder"},
		"another version":  {folderKey(1), []byte(`{"v":2,"number":1,"name":"a","owner":1,"created_ms":0,"version":1}`), "no row of a folder"},
		"no version":       {folderKey(1), []byte(`{"v":1,"number":1,"name":"a","owner":1,"created_ms":0}`), "has no version"},
		"another form":     {folderKey(1), append([]byte(" "), encodeFolder(&one)...), "no row of a folder"},
		"another order":    {folderKey(1), encodeFolder(&bad), "is not as folders are kept"},
		"a name twice":     {folderKey(2), encodeFolder(&twin), "has the same name"},
		"a higher number":  {folderKey(3), encodeFolder(&Folder{Number: 3, Name: "c", Owner: 1, CreatedAt: now, Version: 1}), "the last number is 2"},
		"a wrong last one": {lastKey, []byte{1}, "has 1 bytes"},
		"no key":           {[]byte("zz"), []byte("{}"), "no row of a folder"},
	} {
		rows := tabletest.New()
		f := begun(t, rows)
		expect.OK(t, expect.Err(f.Add(account.Caller{}, Folder{Name: "a", Owner: 1})))
		expect.OK(t, expect.Err(f.Add(account.Caller{}, Folder{Name: "b", Owner: 1})))
		rows.Rows[string(c.key)] = string(c.value)
		faults := new(engine.Faults)
		expect.OK(t, Check(rows, faults))
		found, _ := faults.Found()
		expect.Contains(t, fmt.Sprint(found), c.want)
		_ = name
	}
}

func FuzzDecodeFolder(f *testing.F) {
	f.Add(folderKey(1), encodeFolder(&Folder{Number: 1, Name: "a", Owner: 1, CreatedAt: now, Version: 1, Members: []Member{{2, Edit}}}))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		one, err := decodeFolder(key, value)
		if err != nil {
			return
		}
		again, err := decodeFolder(key, encodeFolder(&one))
		expect.That(t, err == nil && fmt.Sprint(again) == fmt.Sprint(one), "%q became %+v, and that %+v, %v", value, one, again, err)
	})
}
