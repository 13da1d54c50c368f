package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// The socket of local commands. Whoever can open it acts as any user, so it is never open to others, not even for the moment between
// its making and a chmod: it is bound in a folder that only this user can enter, and then moved into the data folder, which
// others may be able to enter.

const (
	// boundIn is that folder, and boundName the socket in it. Together they are shorter than socketName, so a path that is short enough
	// for the one is for the other (socketPath).
	boundIn   = ".bind"
	boundName = "s"
)

// listenSocket listens at path, which only this user can open. The store's lock is held: a socket, or a folder to bind one in, that
// is there was left by a process that was killed.
func listenSocket(path string) (net.Listener, error) {
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
		return nil, fmt.Errorf("%s is in the way: it is not a socket; move it away", path)
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

// Close removes the socket before it stops listening, as net does: a socket that is found was not closed.
func (l *movedListener) Close() error {
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(l.Listener.Close(), err)
}

// warnOfOpenFolder says that others can enter the data folder, or read what is in it. The socket and the journal are not open to
// them, and whoever may write there can replace them.
func (s *server) warnOfOpenFolder() error {
	dir := s.cfg.data.dataDir
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		s.say.log.Warn("the data folder lets other users in; unless that is what you want, close it",
			"folder", dir, "mode", fmt.Sprintf("%04o", info.Mode().Perm()), "run", "chmod 700 "+shellQuote(dir))
	}
	return nil
}
