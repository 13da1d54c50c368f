package accesslog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
)

// anEntry has every field.
var anEntry = Entry{
	NowMs: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli(), Method: []byte("GET"), Path: []byte("/a?code=secret"),
	Status: 302, Bytes: 17, Took: 1500 * time.Microsecond, RequestID: []byte("a-b_c"),
	Client: netip.MustParseAddr("192.0.2.7"), UserAgent: []byte(`a "b" \`), Referrer: []byte("https://b.example/c?key=secret"),
}

func TestALineHasTheClientOnlyIfAsked(t *testing.T) {
	for _, c := range []struct {
		combined, clients bool
		want              string
	}{
		{false, false, `{"time":"2026-01-02T03:04:05.678Z","method":"GET","path":"/a","status":302,"bytes":17,"seconds":0.001500,"request_id":"a-b_c"}`},
		{false, true, `{"time":"2026-01-02T03:04:05.678Z","method":"GET","path":"/a","status":302,"bytes":17,"seconds":0.001500,"request_id":"a-b_c",` +
			`"client":"192.0.2.7","user_agent":"a \"b\" \\","referrer":"https://b.example/c"}`},
		{true, false, `- - - [02/Jan/2026:03:04:05 +0000] "GET /a HTTP/1.1" 302 17 "-" "-"`},
		{true, true, `192.0.2.7 - - [02/Jan/2026:03:04:05 +0000] "GET /a HTTP/1.1" 302 17 "https://b.example/c" "a \"b\" \\"`},
	} {
		l := &Log{o: Options{Combined: c.combined, Clients: c.clients}}
		expect.Equal(t, string(l.appendLine(nil, &anEntry)), c.want+"\n", "got want %s", c.want)
	}
}

func TestSecretsInAddressesAreCutOff(t *testing.T) {
	for path, want := range map[string]string{
		"/_/setup?code=secret": "/_/setup", "/shunt_secret": "/shunt_", "/a/shunt_secret/b": "/a/shunt_", "/a#secret": "/a",
		"/%73hunt_secret": "/", "/a/shun%54_x": "/a/shun%54_x", "/a/shunt%5Fsecret": "/a/shunt", "/%73%68%75%6e%74%5f%73ecret": "/",
		"/%2573hunt_secret": "/", "/%252573hunt_secret": "/", "/%2%35%37%33hunt_secret": "/", "/shunt%2%35%35%66secret": "/shunt",
		"/_/setup%3Fcode=secret": "/_/setup", "/_/setup/secret": "/_/setup", "/_/set%75p%3fcode=secret": "/_/set", "/a%3Fkey=secret": "/a",
		"/a%23secret": "/a", "/my%5Flink%20": "/my%5Flink%20", "/100%": "/100%", "/%zz%4": "/%zz%4",
		"/" + strings.Repeat("%25", 20) + "73":            "/" + strings.Repeat("%25", 20) + "73",
		"/%" + strings.Repeat("25", 20) + "73hunt_secret": "/",
	} {
		expect.Equal(t, string(pathOf([]byte(path))), want, path)
	}
	for referrer, want := range map[string]string{
		"https://a.example/b?key=secret": "https://a.example/b", "https://secret:secret@a.example/": "", "": "",
		"https://a.example/shunt_secret": "https://a.example/shunt_", "https://a.example/%73hunt_secret": "https://a.example/",
		"https://a.example/_/setup%3Fcode=secret": "https://a.example/_/setup",
	} {
		expect.Equal(t, string(referrerOf([]byte(referrer))), want, referrer)
	}
}

// A token may stand anywhere in a request; no field of a line has it.
func TestATokenIsInNoFieldOfALine(t *testing.T) {
	for _, text := range []string{"shunt_secret", "%73hunt_secret", "shunt%5fsecret", "%2573hunt%255Fsecret"} {
		sent := []byte(text)
		e := Entry{Method: sent, Path: append([]byte("/a/"), sent...), UserAgent: sent, Referrer: append([]byte("https://a.example/"), sent...)}
		for _, combined := range []bool{false, true} {
			l := &Log{o: Options{Combined: combined, Clients: true}}
			line := string(l.appendLine(nil, &e))
			expect.That(t, !strings.Contains(line, "secret"), "%s: got %s", text, line)
		}
	}
}

// Whatever clients send, an entry is one line of printable text, and a parser gets back what is
// printable of it.
func FuzzAnEntryIsOneLine(f *testing.F) {
	f.Add([]byte("GET"), []byte("/a\x00\n\xff"), []byte("\"\\\r\n{"), []byte("\x1b[31m\u2028"))
	f.Fuzz(func(t *testing.T, method, path, agent, referrer []byte) {
		e := Entry{Method: method, Path: path, Client: netip.MustParseAddr("2001:db8::7"), UserAgent: agent, Referrer: referrer, Status: 404, Bytes: -1}
		for _, combined := range []bool{false, true} {
			l := &Log{o: Options{Combined: combined, Clients: true}}
			line := l.appendLine(nil, &e)
			expect.MustThat(t, len(line) <= maxLine, "a line has %d bytes, more than %d", len(line), maxLine)
			for i, c := range line {
				expect.MustThat(t, (c >= ' ' && (!combined || c <= '~') || i == len(line)-1) && (c == '\n' || i != len(line)-1),
					"byte %d of %q", i, line)
			}
			var got struct{ Path string }
			err := json.Unmarshal(line, &got)
			expect.MustThat(t, combined || err == nil, "%q: %v", line, err)
		}
	})
}

// run runs l until the test ends or the returned function is called.
func run(t *testing.T, l *Log) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func open(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	expect.OK(t, err)
	return l
}

func TestEveryLineIsWrittenBeforeRunReturns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, Options{Path: path})
	stop := run(t, l)
	const writers, each = 8, 500
	var notes sync.WaitGroup
	for range writers {
		notes.Go(func() {
			for range each {
				l.Note(&anEntry)
			}
		})
	}
	notes.Wait()
	stop()
	text, err := os.ReadFile(path)
	got := strings.Count(string(text), "\n") + int(l.Dropped())
	expect.That(t, err == nil && got == writers*each, "got %d lines and %d dropped, %v, want %d in all", strings.Count(string(text), "\n"), l.Dropped(), err, writers*each)
}

func TestNoteAllocatesNothing(t *testing.T) {
	for _, combined := range []bool{false, true} {
		l := open(t, Options{Path: filepath.Join(t.TempDir(), "log"), Combined: combined, Clients: true})
		t.Cleanup(l.closeFile)
		e := anEntry
		if n := testing.AllocsPerRun(100, func() { l.Note(&e) }); n != 0 {
			t.Errorf("combined=%v: got %v allocations", combined, n)
		}
	}
}

// stuckFile is a file whose disk does not answer until it is let go.
type stuckFile struct {
	reached, letGo chan struct{}
	bytes.Buffer
}

func (s *stuckFile) Write(p []byte) (int, error) {
	select {
	case s.reached <- struct{}{}:
	default:
	}
	<-s.letGo
	return s.Buffer.Write(p)
}

func TestAStuckDiskStopsNobodyAndIsCounted(t *testing.T) {
	l := open(t, Options{Path: Stdout})
	stuck := &stuckFile{reached: make(chan struct{}, 1), letGo: make(chan struct{})}
	l.out = stuck
	stop := run(t, l)
	l.Note(&anEntry)
	<-stuck.reached // from here on Run is held
	const more = 50_000
	for range more { // returns, although nothing is written
		l.Note(&anEntry)
	}
	dropped := l.Dropped()
	expect.That(t, dropped != 0, "more lines were kept than there is room for")
	close(stuck.letGo)
	stop()
	expect.Equal(t, uint64(strings.Count(stuck.String(), "\n"))+l.Dropped(), more+1, "lines, written or dropped")
}

// fullDisk takes a number of bytes.
type fullDisk struct {
	room int
	bytes.Buffer
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n, err := len(p), error(nil)
	if n > f.room {
		n, err = f.room, errors.New("no space left")
	}
	f.room -= n
	f.Buffer.Write(p[:n])
	return n, err
}

func TestAFullDiskLosesCountedLinesAndSplitsNone(t *testing.T) {
	l := open(t, Options{Path: Stdout})
	disk := &fullDisk{room: 10}
	l.out = disk
	l.writeLines([]byte("first line\nsecond\n"))
	l.writeLines([]byte("third\n"))
	disk.room = 100
	l.writeLines([]byte("fourth\n"))
	got, want := disk.String(), "first line\nfourth\n"
	expect.That(t, got == want && l.Dropped() == 3, "got %q and %d dropped, want %q and 3", got, l.Dropped(), want)
}

func TestAMovedFileIsOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "log"), filepath.Join(dir, "log.1")
	l := open(t, Options{Path: path})
	l.Note(&anEntry)
	l.writeAll()
	expect.OK(t, os.Rename(path, moved))
	l.openAgain()
	l.Note(&anEntry)
	l.Note(&anEntry)
	l.writeAll()
	l.closeFile()
	for file, want := range map[string]int{moved: 1, path: 2} {
		text, err := os.ReadFile(file)
		got := strings.Count(string(text), "\n")
		expect.That(t, err == nil && got == want, "%s: got %d lines, %v, want %d", filepath.Base(file), got, err, want)
	}
}

func TestAFileThatCannotBeOpenedAgainStaysInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	expect.OK(t, os.Mkdir(dir, 0o700))
	l := open(t, Options{Path: filepath.Join(dir, "log")})
	old := l.file
	expect.OK(t, os.RemoveAll(dir))
	l.openAgain()
	_, err := io.WriteString(l.out, "x\n")
	expect.That(t, l.file == old && err == nil, "the old file is gone: %v", err)
	l.closeFile()
	expect.Error(t, expect.Err(Open(Options{Path: filepath.Join(dir, "log")})), os.ErrNotExist, "a start")
}

func TestASampleIsOneInN(t *testing.T) {
	l := open(t, Options{Path: Stdout, Sample: 10, Combined: true})
	const n = 10_000
	got := 0
	for range n {
		if l.Due() {
			l.Note(&anEntry)
		}
		got += bytes.Count(l.takeAll(), []byte{'\n'})
	}
	if got < 800 || got > 1200 { // 6.7 standard deviations
		t.Errorf("got %d of %d", got, n)
	}
}

// takeAll returns the lines that were noted, instead of writing them.
func (l *Log) takeAll() (lines []byte) {
	for i := range l.shards {
		lines = append(lines, l.shards[i].lines...)
		l.shards[i].lines = l.shards[i].lines[:0]
	}
	return lines
}

func BenchmarkNote(b *testing.B) {
	for _, combined := range []bool{false, true} {
		for _, clients := range []bool{false, true} {
			b.Run(fmt.Sprintf("combined=%v/clients=%v", combined, clients), func(b *testing.B) {
				l, err := Open(Options{Path: Stdout, Combined: combined, Clients: clients})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					l.Note(&anEntry)
					for i := range l.shards {
						l.shards[i].lines = l.shards[i].lines[:0]
					}
				}
			})
		}
	}
}

func TestALineIsWrittenAQuarterOfASecondAfterTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "access.log")
		l, err := Open(Options{Path: path})
		expect.OK(t, err)
		go func() { _ = l.Run(t.Context()) }()
		written := func() int {
			synctest.Wait()
			text, err := os.ReadFile(path)
			expect.OK(t, err)
			return bytes.Count(text, []byte{'\n'})
		}
		for _, rest := range []time.Duration{time.Second, time.Hour} {
			time.Sleep(rest)
			before := written()
			for range 5 {
				l.Note(&Entry{Method: []byte("GET"), Path: []byte("/a")})
				time.Sleep(interval / 5)
			}
			expect.Equal(t, written()-before, 5, "after a rest of %v of 5 lines were written in time", rest)
		}
	})
}
