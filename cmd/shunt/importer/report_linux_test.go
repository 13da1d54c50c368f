package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// openTerminal opens a pseudo-terminal: the end that a program writes to, and the person's.
func openTerminal(t *testing.T) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	expect.OK(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	expect.OK(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	expect.OK(t, err)
	return program, person
}

// evenFile writes n links into a file, each as long as the others.
func evenFile(t *testing.T, n int) (path string) {
	t.Helper()
	var text bytes.Buffer
	for i := range n {
		fmt.Fprintf(&text, `{"code":"c%08d","url":"https://example.org/"}`+"\n", i)
	}
	path = filepath.Join(t.TempDir(), "links.ndjson")
	expect.OK(t, os.WriteFile(path, text.Bytes(), 0o600))
	return path
}

// watch imports a file into g, which takes 2 s for each batch, and returns what the import writes
// into one end of a terminal or pipe. It closes both ends.
func (g *target) watch(t *testing.T, path string, resume bool, write, read *os.File) string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g.takes = 2 * time.Second
		x := &Import{File: path, Stderr: write, Resume: resume, To: "https://sho.rt", Send: g.importAll}
		_, _, err := x.Run(t.Context())
		expect.OK(t, errors.Join(err, write.Close()))
	})
	text, err := io.ReadAll(read)
	if err != nil && !errors.Is(err, syscall.EIO) { // the end of a terminal that the program has closed
		t.Fatal(err)
	}
	expect.OK(t, read.Close())
	return string(text)
}

func TestAPersonSeesShareLinesRateAndTimeLeft(t *testing.T) {
	program, person := openTerminal(t)
	got := newTarget().watch(t, evenFile(t, 4_000), false, program, person)
	want := "\r25%, 1000 lines, 500/s, 6s left" +
		"\r50%, 2000 lines, 500/s, 4s left" +
		"\r75%, 3000 lines, 500/s, 2s left" +
		"\r100%, 4000 lines, 500/s, 0s left" +
		"\r" + strings.Repeat(" ", len("100%, 4000 lines, 500/s, 0s left")) +
		"\r4000 lines in 8s, 500/s\r\n"
	expect.Equal(t, got, want)
}

// The lines before the mark took no time of this run, but the batch that is sent again did.
func TestRateAndTimeLeftOfAResumedImportAreThoseOfItsOwnLines(t *testing.T) {
	path, g := evenFile(t, 16_000), newTarget()
	g.cutAt = 12
	_, resumable, _, err := g.run(t, path, false)
	expect.MustThat(t, errors.Is(err, errCut) && resumable, "got resumable %v, %v", resumable, err)
	g.cutAt = 0
	program, person := openTerminal(t)
	got := regexp.MustCompile(`\d+%|\d+ lines|\d+/s|\S+ left`).FindAllString(g.watch(t, path, true, program, person), -1)
	want := []string{
		"81%", "2000 lines", "500/s", "6s left", "87%", "3000 lines", "500/s", "4s left",
		"93%", "4000 lines", "500/s", "2s left", "100%", "5000 lines", "500/s", "0s left", "5000 lines", "500/s",
	}
	expect.Slices(t, got, want)
}

func TestAPipeGetsNoProgressOfAnImport(t *testing.T) {
	read, write, err := os.Pipe()
	expect.OK(t, err)
	expect.Equal(t, newTarget().watch(t, evenFile(t, 4_000), false, write, read), "")
}
