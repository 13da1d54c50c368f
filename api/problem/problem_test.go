package problem

import (
	"errors"
	"fmt"
	"testing"
)

func TestErrorsIsFindsAProblem(t *testing.T) {
	refused := New(Forbidden, "owner needs the scope %s", "admin")
	wrapped := fmt.Errorf("listing: %w", refused)
	if !errors.Is(wrapped, refused) {
		t.Error("errors.Is does not find a problem that an error wraps")
	}
	for _, other := range []error{New(Forbidden, "another"), New(NotFound, "owner needs the scope admin"), errors.New("x")} {
		if errors.Is(wrapped, other) {
			t.Errorf("errors.Is takes it for %v", other)
		}
	}
}
