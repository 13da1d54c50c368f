package main

import (
	"fmt"
)

// usageError is a mistake of the caller's: exit 2.
type usageError struct{ cause error }

func (e usageError) Error() string { return e.cause.Error() }

func (e usageError) Unwrap() error { return e.cause }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
