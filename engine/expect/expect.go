package expect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// T is a test: of package testing, or of rapid. Helper is called only by a test that fails, since a *testing.F refuses
// it within a fuzz target.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Long skips a test that takes seconds where -short is given: make quick and make race do without it, make test does
// not. The race detector finds nothing in a test of one goroutine.
func Long(t testing.TB) {
	if testing.Short() {
		t.Helper()
		t.Skip("it takes seconds, so -short leaves it out")
	}
}

// OK ends the test if err is an error.
func OK(t T, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Fatalf("%s%v", prefix(what), err)
	}
}

// NoError does what OK does, but the test goes on.
func NoError(t T, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Errorf("%s%v", prefix(what), err)
	}
}

// Err returns the error of a call whose value a test has no use for.
func Err[V any](_ V, err error) error { return err }

// Equal checks that got is want.
func Equal[V comparable](t T, got, want V, what ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%sgot %s, want %s", prefix(what), show(got), show(want))
	}
}

// MustEqual does what Equal does, and ends the test.
func MustEqual[V comparable](t T, got, want V, what ...any) {
	if got != want {
		t.Helper()
		t.Fatalf("%sgot %s, want %s", prefix(what), show(got), show(want))
	}
}

// Slices checks that got has the elements of want. nil and empty are the same.
func Slices[S ~[]V, V comparable](t T, got, want S, what ...any) {
	if !slices.Equal(got, want) {
		t.Helper()
		t.Errorf("%sgot %s, want %s", prefix(what), show(got), show(want))
	}
}

// MustSlices does what Slices does, and ends the test.
func MustSlices[S ~[]V, V comparable](t T, got, want S, what ...any) {
	if !slices.Equal(got, want) {
		t.Helper()
		t.Fatalf("%sgot %s, want %s", prefix(what), show(got), show(want))
	}
}

// Contains checks that text has part in it.
func Contains(t T, text, part string, what ...any) {
	if !strings.Contains(text, part) {
		t.Helper()
		t.Errorf("%sgot %q, want %q in it", prefix(what), text, part)
	}
}

// MustContains does what Contains does, and ends the test.
func MustContains(t T, text, part string, what ...any) {
	if !strings.Contains(text, part) {
		t.Helper()
		t.Fatalf("%sgot %q, want %q in it", prefix(what), text, part)
	}
}

// Error checks that err is want, or wraps it.
func Error(t T, err, want error, what ...any) {
	if !errors.Is(err, want) {
		t.Helper()
		t.Errorf("%sgot error %v, want %v", prefix(what), err, want)
	}
}

// MustError does what Error does, and ends the test.
func MustError(t T, err, want error, what ...any) {
	if !errors.Is(err, want) {
		t.Helper()
		t.Fatalf("%sgot error %v, want %v", prefix(what), err, want)
	}
}

// That checks that right is true. format says what is wrong if it is not.
func That(t T, right bool, format string, args ...any) {
	if !right {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// MustThat does what That does, and ends the test.
func MustThat(t T, right bool, format string, args ...any) {
	if !right {
		t.Helper()
		t.Fatalf(format, args...)
	}
}

// prefix returns what the values are, and a colon.
func prefix(what []any) string {
	if len(what) == 0 {
		return ""
	}
	text := fmt.Sprint(what[0])
	if len(what) > 1 {
		text = fmt.Sprintf(text, what[1:]...)
	}
	return text + ": "
}

// show returns a value as a reader tells it from others: texts of one line in quotes, others on lines of their own.
func show(v any) string {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "\n") {
			return "\n" + v
		}
		return strconv.Quote(v)
	case []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}
