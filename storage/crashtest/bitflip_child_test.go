package crashtest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage"
)

func init() { tasks["bitflip"] = flipChild }

// flipper flips bits in copies of one data folder: the store's copies are in memory, the journal's
// in files.
type flipper struct {
	dir     string // for journals
	files   map[string][]byte
	names   []string
	used    []int // of each file: its length up to the last byte that is not zero
	healthy map[string]string
}

// flipChild runs the task "FOLDER DIR SEED FROM TO": trials from ≤ i < to. It prints a line at the
// start and at the end of each trial.
func flipChild() {
	f := &flipper{dir: os.Args[2], files: map[string][]byte{}}
	seed, _ := strconv.ParseUint(os.Args[3], 10, 64)
	from, _ := strconv.ParseUint(os.Args[4], 10, 64)
	to, _ := strconv.ParseUint(os.Args[5], 10, 64)
	if err := f.load(os.Args[1]); err != nil {
		end("loading", err)
	}
	healthy, said, err := f.lookAt(f.files)
	if err != nil || said != "" {
		end("opening the healthy folder", fmt.Errorf("%w, %s", err, said))
	}
	f.healthy = healthy
	for i := from; i < to; i++ {
		f.trial(i, rand.New(rand.NewPCG(seed, i)))
	}
}

func (f *flipper) load(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			f.files[strings.TrimPrefix(path, folder+"/")] = data
			return err
		}
		name := strings.TrimPrefix(path, folder+"/")
		f.files[name] = data
		f.names = append(f.names, name)
		f.used = append(f.used, len(strings.TrimRight(string(data), "\x00")))
		return nil
	})
}

// draw draws a bit: either each file or each byte is equally likely. Mostly it leaves out the zeros
// at the end of a file.
func (f *flipper) draw(rng *rand.Rand) (name string, bit int) {
	i := rng.IntN(len(f.names))
	if rng.IntN(2) == 0 {
		total := 0
		for _, n := range f.used {
			total += n
		}
		at := rng.IntN(total)
		for i = 0; at >= f.used[i]; i++ {
			at -= f.used[i]
		}
	}
	size := f.used[i]
	if size == 0 || rng.IntN(10) == 0 {
		size = len(f.files[f.names[i]])
	}
	data := f.files[f.names[i]]
	bit = rng.IntN(8 * size)
	for tries := rng.IntN(2) * 100; tries > 0 && data[bit/8] == 0; tries-- { // bytes that have a meaning are rarely zero
		bit = rng.IntN(8 * size)
	}
	return f.names[i], bit
}

func (f *flipper) trial(i uint64, rng *rand.Rand) {
	name, bit := f.draw(rng)
	fmt.Printf("trial %d %s %d\n", i, name, bit)
	deadline := time.AfterFunc(childDeadline, func() {
		fmt.Printf("result !hangs\n")
		os.Exit(3)
	})
	defer deadline.Stop()
	files := make(map[string][]byte, len(f.files))
	for n, data := range f.files {
		files[n] = data
	}
	files[name] = slices.Clone(files[name])
	files[name][bit/8] ^= 1 << (bit % 8)
	seen, said, err := f.lookAt(files)
	if err != nil {
		fmt.Printf("result refused: %.200s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("result %s\n", f.judge(name, seen, said))
}

// judge compares what a folder shows with what the healthy folder shows.
func (f *flipper) judge(name string, seen map[string]string, said string) string {
	outcome := "harmless"
	for _, key := range slices.Sorted(maps.Keys(f.healthy)) {
		switch {
		case seen[key] == f.healthy[key]:
		case strings.HasPrefix(seen[key], "error: "):
			outcome = fmt.Sprintf("error on read: %.200s", strings.ReplaceAll(seen[key], "\n", " "))
		case !strings.HasPrefix(name, "journal/") || said == "":
			return fmt.Sprintf("!wrong: %s: %s; %.200q said", key, difference(seen[key], f.healthy[key]), said)
		default:
			outcome = "said: " + said
		}
	}
	if outcome == "harmless" && said != "" {
		return "harmless and said: " + said
	}
	return outcome
}

// lookAt opens files as a server does. It returns everything that they show, and what the server
// reported about the journal.
func (f *flipper) lookAt(files map[string][]byte) (seen map[string]string, said string, err error) {
	mem := vfs.NewMem()
	journal := filepath.Join(f.dir, "journal")
	_ = os.RemoveAll(journal)
	kept := map[string][]byte{}
	for name, data := range files {
		if rest, ok := strings.CutPrefix(name, "journal/"); ok {
			kept[rest] = data
		} else if err := writeMem(mem, "/"+name, data); err != nil {
			return nil, "", err
		}
	}
	if err := writeFiles(journal, kept); err != nil {
		return nil, "", err
	}
	var log bytes.Buffer
	s, err := openSession(setting{
		fs: mem, dir: "/data", journal: journal, now: func() time.Time { return folderEnd }, flushInterval: time.Hour,
		log: slog.New(slog.NewTextHandler(io.MultiWriter(&log, os.Stderr), &slog.HandlerOptions{Level: slog.LevelWarn})), floor: storage.Floor{Off: true},
	})
	if err != nil {
		return nil, "", err
	}
	m := s.e.Metrics()
	if m.JournalInvalid+m.JournalMissing+m.JournalNameless > 0 {
		said = fmt.Sprintf("%d slots, %d files, %d names", m.JournalInvalid, m.JournalMissing, m.JournalNameless)
	}
	if said == "" && log.Len() > 0 {
		said = "log: " + strings.SplitN(log.String(), "msg=", 2)[1]
		said = strings.SplitN(said, "\n", 2)[0]
	}
	seen = look(s)
	_ = s.close()
	return seen, said, nil
}

func writeMem(mem *vfs.MemFS, path string, data []byte) error {
	if err := mem.MkdirAll(mem.PathDir(path), 0o700); err != nil {
		return err
	}
	file, err := mem.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := file.Write(slices.Clone(data)); err != nil {
		return err
	}
	return file.Close()
}

// difference returns two texts from the place where they differ.
func difference(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	n = max(0, n-20)
	return fmt.Sprintf("…%.80q instead of …%.80q", a[n:], b[n:])
}
