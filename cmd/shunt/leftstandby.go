package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/memory"
	"shunt/engine"
	"shunt/engine/plural"
)

// Folders in memory that killed servers have left (engine.LeftStandby) and whose data folders are
// gone: listed at start, and removed only by 'shunt check --remove-standby'.

// maxLeftSaid bounds the folders that a start looks into and names. Each takes some 8 MiB of memory, so there are not
// many.
const maxLeftSaid = 10

// sayLeft logs the folders that are left, in one line.
func sayLeft(dir string, log *slog.Logger) {
	left, more := engine.LeftStandbyFolders(dir, maxLeftSaid, isGone)
	if len(left) == 0 {
		return
	}
	var bytes, hits uint64
	for i := range left {
		bytes, hits = bytes+uint64(left[i].Bytes), hits+left[i].Records
	}
	const few = 3
	var first []string
	for _, l := range left[:min(few, len(left))] {
		first = append(first, fmt.Sprintf("%s (of %s, %s, %v old)", l.Path, cmp.Or(l.Of, "unknown"), hitsLeft(&l), time.Since(l.Begun).Round(time.Second)))
	}
	log.Warn("killed servers left parts of their hit journals in memory, and their data folders are missing; mount a folder again and "+
		"start a server on it, or remove its part", "folders", len(left)+more, "size", console.Size(bytes), "hits", hits,
		"first", strings.Join(first, "; "), "run", "shunt check --remove-standby "+console.Quote(left[0].Path))
}

// isGone reports whether there is no store in a data folder, as far as that can be told.
func isGone(data string) bool {
	if data == "" {
		return true
	}
	_, err := os.Stat(filepath.Join(data, "format"))
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// removeStandby removes one such folder.
func removeStandby(path string, force, asJSON bool, stdout io.Writer) error {
	left, err := engine.RemoveStandby(memory.Folder(), path, force)
	switch {
	case errors.Is(err, engine.ErrUnreplayed):
		return fmt.Errorf("check: %s: %w: %s. %s, or give them up with --force", path, engine.ErrUnreplayed, hitsLeft(&left), howToReplay(&left))
	case err != nil:
		return fmt.Errorf("check: %s: %w; nothing was removed", path, err)
	case asJSON:
		return console.PrintValue(stdout, map[string]any{"removed": left.Path, "data": left.Of, "bytes": left.Bytes, "hits": left.Records})
	}
	_, err = fmt.Fprintf(stdout, "removed %s: %s, %s\n", left.Path, console.Size(uint64(left.Bytes)), hitsLeft(&left))
	return err
}

func hitsLeft(left *engine.LeftStandby) string {
	text := plural.Of(left.Records, "hit", "hits")
	if left.Unread > 0 {
		text += fmt.Sprintf(", and files that cannot be read: %d", left.Unread)
	}
	return text
}

func howToReplay(left *engine.LeftStandby) string {
	if left.Of == "" {
		return "Start a server on its data folder, which counts them"
	}
	return fmt.Sprintf("Start a server on %s (--data), which counts them", left.Of)
}
