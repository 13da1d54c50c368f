package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// Name is the file in the data folder.
const Name = "shunt.sock"

// maxPathBytes is what fits into sockaddr_un beside the final zero (unix(7)).
const maxPathBytes = 107

// Path returns the path of the socket of the server on dir.
func Path(dir string) (string, error) {
	path := filepath.Join(dir, Name)
	if len(path) > maxPathBytes {
		return "", fmt.Errorf("the path of the socket %s has %d bytes, but a socket's path may have at most %d: "+
			"use a folder with a shorter path (--data), or a path relative to the working directory", path, len(path), maxPathBytes)
	}
	return path, nil
}

const (
	// boundIn is that folder, and boundName the socket in it. Together they are shorter than Name,
	// so a path that is short enough for the one is for the other (Path).
	boundIn   = ".bind"
	boundName = "s"
)

// Listen listens at path, which only this user can open. The store's lock is held: a socket, or a
// folder to bind one in, that is there was left by a process that was killed.
func Listen(path string) (net.Listener, error) {
	ln, err := bindPrivately(path)
	if err != nil {
		return nil, fmt.Errorf("the socket for local commands: %w", err)
	}
	return ln, nil
}

func bindPrivately(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is in the way: it is not a socket; move it elsewhere", path)
	}
	private := filepath.Join(filepath.Dir(path), boundIn)
	if err := os.RemoveAll(private); err != nil {
		return nil, err
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer os.Remove(private) // by then it is empty, and one that stays does no harm
	return bindAndMove(filepath.Join(private, boundName), path)
}

// bindAndMove listens at bound, makes it this user's alone, and moves it to path.
func bindAndMove(bound, path string) (net.Listener, error) {
	ln, err := net.Listen("unix", bound)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false) // that would be where it was bound
	err = os.Chmod(bound, 0o600)
	if err == nil {
		err = os.Rename(bound, path)
	}
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &movedListener{ln, path}, nil
}

// A movedListener removes its socket where it was moved to.
type movedListener struct {
	net.Listener
	path string
}

// Close removes the socket before it stops listening, as net does: a socket that is found was not
// closed.
func (l *movedListener) Close() error {
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(l.Listener.Close(), err)
}
