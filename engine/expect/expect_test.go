package expect

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A recorder is a test that notes what is said of it.
type recorder struct{ said []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(f string, args ...any) {
	r.said = append(r.said, "error: "+fmt.Sprintf(f, args...))
}
func (r *recorder) Fatalf(f string, args ...any) {
	r.said = append(r.said, "fatal: "+fmt.Sprintf(f, args...))
}

func TestWhatIsAsExpectedIsNotReported(t *testing.T) {
	var r recorder
	wrapped := fmt.Errorf("it: %w", io.EOF)
	OK(&r, nil)
	NoError(&r, nil, "x")
	Equal(&r, 1, 1)
	MustEqual(&r, "a", "a", "%d", 1)
	Slices(&r, []int{}, nil)
	MustSlices(&r, []string{"a"}, []string{"a"})
	Contains(&r, "abc", "b")
	MustContains(&r, "abc", "")
	Error(&r, wrapped, io.EOF)
	MustError(&r, nil, nil)
	That(&r, true, "x")
	MustThat(&r, true, "%d", 1)
	if r.said != nil {
		t.Errorf("got %q", r.said)
	}
}

func TestWhatIsNotAsExpectedIsReported(t *testing.T) {
	var r recorder
	broken := errors.New("broken")
	OK(&r, Err(1, broken))
	NoError(&r, broken, "the %s", "disk")
	Equal(&r, 1, 2)
	MustEqual(&r, "a", "b", "50%")
	Slices(&r, []int{1}, []int{2})
	MustSlices(&r, []string{"a", ""}, nil, "x")
	Equal(&r, "a\nb", "c")
	Contains(&r, "abc", "d")
	MustContains(&r, "", "d", "%d", 7)
	Error(&r, nil, io.EOF)
	MustError(&r, broken, io.EOF, "x")
	That(&r, false, "it is %d", 1)
	MustThat(&r, false, "it is %d", 2)
	const want = `fatal: broken
error: the disk: broken
error: got 1, want 2
fatal: 50%: got "a", want "b"
error: got [1], want [2]
fatal: x: got ["a" ""], want []
error: got 
a
b, want "c"
error: got "abc", want "d" in it
fatal: 7: got "", want "d" in it
error: got error <nil>, want EOF
fatal: x: got error broken, want EOF
error: it is 1
fatal: it is 2`
	if got := strings.Join(r.said, "\n"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
