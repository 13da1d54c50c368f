package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// User is who owns a folder, or runs this process.
type User struct{ UID, GID int }

// Self returns who runs this process.
func Self() User { return User{os.Geteuid(), os.Getegid()} }

// String returns the user as people and commands name it: by name if it has one, otherwise by number.
func (u User) String() string {
	if named, err := user.LookupId(strconv.Itoa(u.UID)); err == nil {
		return named.Username
	}
	return "#" + strconv.Itoa(u.UID)
}

// Numbers returns the user and the group as chown takes them.
func (u User) Numbers() string { return fmt.Sprintf("%d:%d", u.UID, u.GID) }

// of returns the owner of a file.
func of(info fs.FileInfo) (User, bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return User{}, false
	}
	return User{int(stat.Uid), int(stat.Gid)}, true
}

// OwnerOf returns the owner of dir, or of the nearest folder above it that exists.
func OwnerOf(dir string) (User, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return User{}, err
	}
	for {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
			path = filepath.Dir(path)
			continue
		}
		if err != nil {
			return User{}, err
		}
		owner, known := of(info)
		if !known {
			return Self(), nil
		}
		return owner, nil
	}
}

// Become makes this process, if it is root's, one of the user who owns part, a file or folder of dir;
// without it, of the owner of dir, or of the nearest folder above it. The process stays that user's.
// It must not have opened anything that this user may not use. became is false if nothing changed.
func Become(dir, part string) (became bool, err error) {
	if os.Geteuid() != 0 {
		return false, nil
	}
	owner, err := ownerOfData(dir, part)
	if err != nil || owner.UID == 0 {
		return false, err
	}
	groups := []int{owner.GID}
	if named, err := user.LookupId(strconv.Itoa(owner.UID)); err == nil {
		ids, _ := named.GroupIds() // none: the folder's group is enough
		for _, id := range ids {
			if gid, err := strconv.Atoi(id); err == nil && !slices.Contains(groups, gid) {
				groups = append(groups, gid)
			}
		}
	}
	err = syscall.Setgroups(groups)
	if err == nil {
		err = syscall.Setgid(owner.GID)
	}
	if err == nil {
		err = syscall.Setuid(owner.UID)
	}
	if err != nil {
		return false, fmt.Errorf("%s belongs to the user %v (%s), and this command cannot work as that user: %w; run it as that user",
			dir, owner, owner.Numbers(), err)
	}
	return true, nil
}

func ownerOfData(dir, part string) (User, error) {
	if _, err := os.Stat(filepath.Join(dir, part)); err == nil {
		return OwnerOf(filepath.Join(dir, part))
	}
	return OwnerOf(dir)
}

// Foreign returns the owner of part, a file or folder of dir, if this process is root's, the owner is
// another user, and files that are made in dir would be root's: on some file systems they are not,
// such as on NFS. It makes such a file, and removes it.
func Foreign(dir, part string) (owner User, foreign bool) {
	path := filepath.Join(dir, part)
	if os.Geteuid() != 0 {
		return User{}, false
	}
	if _, err := os.Stat(path); err != nil {
		return User{}, false
	}
	owner, err := OwnerOf(path)
	if err != nil || owner.UID == 0 {
		return User{}, false
	}
	probe, err := os.CreateTemp(dir, ".owner-")
	if err != nil {
		return User{}, false // whoever opens it finds out
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	info, err := probe.Stat()
	if err != nil {
		return User{}, false
	}
	made, known := of(info)
	return owner, known && made.UID != owner.UID
}
