package orders

import (
	"errors"
	"fmt"
	"net/http"
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

// answered returns what the authority answered that an attempt failed of, nil if it answered nothing.
func answered(err error) *acme.Error {
	var denied *acme.AuthorizationError
	if errors.As(err, &denied) && len(denied.Errors) > 0 {
		err = denied.Errors[0]
	}
	var unmet *acme.OrderError
	if errors.As(err, &unmet) && unmet.Problem != nil {
		return unmet.Problem
	}
	var said *acme.Error
	errors.As(err, &said)
	return said
}

// maxAsked bounds what an authority may ask to wait: its longest limit is of a week.
const maxAsked = 7 * 24 * time.Hour

// asked returns how long the authority asks to wait, 0 if it does not.
func asked(err error) time.Duration {
	said := answered(err)
	if said == nil {
		return 0
	}
	limited := *said
	if said.StatusCode == http.StatusTooManyRequests || said.StatusCode == http.StatusServiceUnavailable {
		limited.ProblemType = "urn:ietf:params:acme:error:rateLimited" // RateLimit reads the header of no other
	}
	wait, _ := acme.RateLimit(&limited)
	return min(max(wait, 0), maxAsked)
}

// inAuthority says that an error is of the conversation with the authority.
func inAuthority(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", step, err)
}
