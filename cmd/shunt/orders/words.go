package orders

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
)

// maxReasonBytes bounds what an authority says of a failure, as it is kept.
const maxReasonBytes = 500

// reason returns why an attempt failed, in words for those who look after the domain.
func reason(err error) string {
	var denied *acme.AuthorizationError
	var said *acme.Error
	text := err.Error()
	if errors.As(err, &denied) && len(denied.Errors) > 0 {
		err = denied.Errors[0]
		text = err.Error()
	}
	var unmet *acme.OrderError
	if errors.As(err, &unmet) && unmet.Problem != nil {
		err = unmet.Problem
	}
	if errors.As(err, &said) && said.Detail != "" {
		text = "the authority says: " + said.Detail
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReasonBytes {
		text = strings.ToValidUTF8(text[:maxReasonBytes], "") + "…"
	}
	return text
}

// asked returns how long the authority asks to wait, 0 if it does not.
func asked(err error) time.Duration {
	wait, limited := acme.RateLimit(err)
	if !limited {
		return 0
	}
	return wait
}

// inAuthority says that an error is of the conversation with the authority.
func inAuthority(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", step, err)
}
