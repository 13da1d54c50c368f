package core

import (
	"fmt"
	"io/fs"
	"regexp"
	"syscall"
	"testing"
)

func TestAFolderWithoutPermissionIsAnErrorThatSaysSo(t *testing.T) {
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}:  `you may not open the data folder /.*/x; `,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}: `/x is not a folder; .*--data`,
	} {
		if got := storeError("x", fmt.Errorf("storage: %w", err)).Error(); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
