package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leaveStandby leaves a folder of standby rings in dir, as a killed server does, with the given
// number of hits in each of its two rings. It calls open before the server ends.
func leaveStandby(t *testing.T, dir, of string, hits uint64, open func(path string)) (path string) {
	t.Helper()
	in := NewFolders(checkedID, t.TempDir(), dir, of)
	j, standbyErr, err := createAllRings(in, Spec{Epoch: checkedEpoch, Rings: 2, Records: checkedSlots})
	if err = errors.Join(standbyErr, err); err != nil {
		t.Fatal(err)
	}
	for _, r := range j.Rings[2:] {
		for i := range hits {
			w := record(i).words()
			r.Append(&w)
		}
	}
	if open != nil {
		open(in.standby)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return in.standby
}

func removeLeft(t *testing.T, dir, path string, force bool, want error) LeftStandby {
	t.Helper()
	left, err := RemoveStandby(dir, path, force)
	if !errors.Is(err, want) {
		t.Errorf("removing %s with force %v: got %v, want %v", path, force, err, want)
	}
	if _, err := os.Lstat(path); want == nil && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", path, err)
	} else if want != nil && err != nil {
		t.Errorf("removing %s was refused, but it is gone: %v", path, err)
	}
	return left
}

func TestALeftFolderWithoutHitsIsRemoved(t *testing.T) {
	dir := t.TempDir()
	path := leaveStandby(t, dir, "/srv/gone", 0, nil)
	left := removeLeft(t, dir, path, false, nil)
	if left.Records != 0 || left.Of != "/srv/gone" || left.Bytes == 0 || left.Begun.IsZero() {
		t.Errorf("removed %+v", left)
	}
}

// A server that is killed while it makes or removes its rings leaves a folder with a note alone.
func TestALeftFolderWithoutRingsHasAnAge(t *testing.T) {
	dir := t.TempDir()
	path := leaveStandby(t, dir, "/srv/gone", 0, nil)
	rings, err := filepath.Glob(filepath.Join(path, "ring-*"))
	must(t, err)
	for _, ring := range rings {
		must(t, os.Remove(ring))
	}
	left, _ := LeftStandbyFolders(dir, 10, func(string) bool { return true })
	if len(left) != 1 || len(rings) == 0 || time.Since(left[0].Begun) > time.Hour {
		t.Fatalf("of a folder without its %d rings: %+v", len(rings), left)
	}
	if left := removeLeft(t, dir, path, false, nil); left.Of != "/srv/gone" || left.Bytes != 0 {
		t.Errorf("removed %+v", left)
	}
}

func TestALeftFolderWithHitsIsRemovedOnlyByForce(t *testing.T) {
	dir := t.TempDir()
	path := leaveStandby(t, dir, "/srv/gone", 5, nil)
	if left := removeLeft(t, dir, path, false, ErrUnreplayed); left.Records != 10 {
		t.Errorf("it has %d hits, want 10", left.Records)
	}
	if left := removeLeft(t, dir, path, true, nil); left.Records != 10 {
		t.Errorf("removed %d hits, want 10", left.Records)
	}
}

func TestAnUnreadableLeftFolderIsRemovedOnlyByForce(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"without a header":   func([]byte) []byte { return nil },
		"with a torn header": func(b []byte) []byte { return append(b[:40:40], make([]byte, len(b)-40)...) },
		"of a newer format":  func(b []byte) []byte { b[8]++; return b },
		"cut off":            func(b []byte) []byte { return b[:len(b)-slotBytes] },
	} {
		dir := t.TempDir()
		path := leaveStandby(t, dir, "", 0, nil)
		ring := filepath.Join(path, ringName(checkedID, checkedEpoch, 2))
		b, err := os.ReadFile(ring)
		if err == nil {
			err = os.WriteFile(ring, spoil(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if left := removeLeft(t, dir, path, false, ErrUnreplayed); left.Unread != 1 {
			t.Errorf("%s: %+v, want one ring unread", name, left)
		}
		removeLeft(t, dir, path, true, nil)
	}
}

func TestAFolderInUseIsNotRemoved(t *testing.T) {
	dir := t.TempDir()
	path := leaveStandby(t, dir, "", 0, func(path string) {
		removeLeft(t, dir, path, false, ErrStandbyInUse)
		removeLeft(t, dir, path, true, ErrStandbyInUse)
		if left, more := LeftStandbyFolders(dir, 10, func(string) bool { return true }); len(left)+more > 0 {
			t.Errorf("listed as left: %v and %d", left, more)
		}
	})
	removeLeft(t, dir, path, false, nil)
}

func TestAFolderThatNoServerLeftIsNotRemoved(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir, path string) (asked string){
		"with a foreign file": func(t *testing.T, _, path string) string {
			must(t, os.WriteFile(filepath.Join(path, "notes"), nil, 0o600))
			return path
		},
		"with a link instead of a ring": func(t *testing.T, _, path string) string {
			ring := filepath.Join(path, ringName(checkedID, checkedEpoch, 3))
			must(t, os.Rename(ring, path+".moved"))
			must(t, os.Symlink(path+".moved", ring))
			return path
		},
		"with a ring of another store": func(t *testing.T, _, path string) string {
			must(t, os.WriteFile(filepath.Join(path, ringName([16]byte{9}, checkedEpoch, 2)), nil, 0o600))
			return path
		},
		"open to others": func(t *testing.T, _, path string) string {
			must(t, os.Chmod(path, 0o750))
			return path
		},
		"reached through a link": func(t *testing.T, dir, path string) string {
			link := filepath.Join(dir, "shunt-0123456789abcdef")
			must(t, os.Symlink(path, link))
			return link
		},
		"of another name": func(t *testing.T, dir, path string) string {
			other := filepath.Join(dir, "shunt-mine")
			must(t, os.Rename(path, other))
			return other
		},
		"elsewhere": func(t *testing.T, dir, path string) string {
			must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
			moved := filepath.Join(dir, "sub", filepath.Base(path))
			must(t, os.Rename(path, moved))
			return moved
		},
		"the parent folder itself": func(_ *testing.T, dir, _ string) string { return dir },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := change(t, dir, leaveStandby(t, dir, "", 0, nil))
			removeLeft(t, dir, path, false, ErrNotStandby)
			removeLeft(t, dir, path, true, ErrNotStandby)
			left, _ := LeftStandbyFolders(dir, 10, func(string) bool { return true })
			for _, l := range left {
				if l.Path == path {
					t.Errorf("listed as left: %+v", l)
				}
			}
		})
	}
}

func TestTheFolderOfAnotherUserIsNotTouched(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away; CI is root")
	}
	dir := t.TempDir()
	path := leaveStandby(t, dir, "", 0, nil)
	must(t, os.Chown(path, 65534, -1))
	removeLeft(t, dir, path, true, ErrNotStandby)
	if left, more := LeftStandbyFolders(dir, 10, func(string) bool { return true }); len(left)+more > 0 {
		t.Errorf("listed as left: %v and %d", left, more)
	}
}

func TestLeftFoldersAreListedUpToALimit(t *testing.T) {
	dir := t.TempDir()
	path := leaveStandby(t, dir, "/srv/gone", 3, nil)
	for _, id := range []string{"0000000000000001", "0000000000000002", "ffffffffffffffff"} { // without rings
		must(t, os.Mkdir(filepath.Join(dir, standbyPrefix+id), 0o700))
	}
	left, more := LeftStandbyFolders(dir, 3, func(string) bool { return true })
	if len(left) != 3 || more != 1 || left[2].Path != path || left[2].Records != 6 || left[2].Of != "/srv/gone" {
		t.Errorf("got %+v and %d more", left, more)
	}
	left, more = LeftStandbyFolders(dir, 3, func(of string) bool { return strings.HasSuffix(of, "gone") })
	if len(left) != 1 || more != 0 {
		t.Errorf("of one data folder: got %+v and %d more", left, more)
	}
	if left, more := LeftStandbyFolders("", 3, func(string) bool { return true }); len(left)+more > 0 {
		t.Errorf("where no folder is in memory: %v and %d", left, more)
	}
}
