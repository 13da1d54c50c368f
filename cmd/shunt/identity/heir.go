package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// An Heir is who gets the files that a process of root makes in a folder: its owner, or, if the folder
// does not exist yet, the owner of the nearest one above. The zero value gets nothing.
type Heir struct {
	owner  User
	exists string   // the nearest folder that exists
	absent []string // dir, and the folders above it that do not exist: those further up last
}

// HeirOf returns who gets what is about to be made in dir.
func HeirOf(dir string) (Heir, error) {
	if os.Geteuid() != 0 {
		return Heir{}, nil
	}
	owner, err := OwnerOf(dir)
	if err != nil {
		return Heir{}, err
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return Heir{}, err
	}
	h := Heir{owner: owner}
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		h.absent = append(h.absent, path)
	}
	h.exists = path
	return h, nil
}

// Owner returns who gets the files, unless they stay this user's.
func (h *Heir) Owner() (owner User, other bool) { return h.owner, h.owner.UID != 0 }

// Give gives the owner the folders above dir that were made since HeirOf, and everything in paths, which are
// below dir, that is root's. It skips files with several names: they are not new, such as the tables
// of a store that a backup shares. It never leaves the folder that existed, whatever links are in it.
func (h *Heir) Give(paths ...string) error {
	if h.owner.UID == 0 {
		return nil
	}
	root, err := os.OpenRoot(h.exists)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, made := range h.absent {
		if err := h.giveOne(root, made); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if err := h.giveAll(root, path); err != nil {
			return err
		}
	}
	return nil
}

func (h *Heir) giveAll(root *os.Root, path string) error {
	rel, err := h.within(path)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), rel, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return h.give(root, name)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (h *Heir) giveOne(root *os.Root, path string) error {
	rel, err := h.within(path)
	if err == nil {
		err = h.give(root, rel)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (h *Heir) within(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.Rel(h.exists, path)
}

func (h *Heir) give(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || stat.Uid != 0 || stat.Nlink > 1 && !info.IsDir() {
		return nil
	}
	return root.Lchown(name, h.owner.UID, h.owner.GID)
}
