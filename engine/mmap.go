package engine

import "errors"

// hugePageBytes is a huge page of amd64 and arm64.
const hugePageBytes = 2 << 20

// errNoMapping wraps the reason why a file cannot be mapped. Only the journal maps files.
var errNoMapping = errors.New("mapping a journal file")
