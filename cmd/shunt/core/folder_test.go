package core

import (
	"fmt"
	"io/fs"
	"regexp"
	"syscall"
	"testing"

	"shunt/engine/expect"
)

func TestAFolderWithoutPermissionIsAnErrorThatSaysSo(t *testing.T) {
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}:  `you may not open the data folder /.*/x; `,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}: `/x is not a folder; .*--data`,
	} {
		got := storeError("x", fmt.Errorf("storage: %w", err)).Error()
		expect.That(t, regexp.MustCompile(want).MatchString(got), "got %q, want %q", got, want)
	}
}
