package settings

import (
	"fmt"
)

// UsageError is a mistake of the caller's: exit 2.
type UsageError struct{ cause error }

func (e UsageError) Error() string { return e.cause.Error() }

func (e UsageError) Unwrap() error { return e.cause }

func UsageErrorf(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
