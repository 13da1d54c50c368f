package settings

import (
	"fmt"
)

// A UsageError is a mistake of the caller: exit 2.
type UsageError struct{ cause error }

func (e UsageError) Error() string { return e.cause.Error() }

func (e UsageError) Unwrap() error { return e.cause }

// UsageErrorf returns a UsageError.
// UsageErrorf returns a UsageError.
func UsageErrorf(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
