package orders

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
)

// maxReasonBytes bounds what an authority says of a failure, as it is kept.
const maxReasonBytes = 500

// A sentence is an error that says to those who look after a domain what is wrong with it. It has nothing of this
// server's insides: all members of a team may read it.
type sentence string

func (s sentence) Error() string { return string(s) }

func sentencef(format string, args ...any) error { return sentence(fmt.Sprintf(format, args...)) }

// errStore means that the store does not take a write.
var errStore = errors.New("this server could not keep it")

// inStore says that an error is of a write.
func inStore(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errStore, err)
}

// reason returns why an attempt failed, in words for those who look after the domain: a sentence of this program, or
// what the authority says. Any other error may have addresses and paths of this server: it is for the log only.
func reason(err error) string {
	var own sentence
	said := answered(err)
	text := "the authority could not be reached"
	switch {
	case errors.As(err, &own):
		text = string(own)
	case errors.Is(err, errStore):
		text = errStore.Error()
	case said != nil && said.ProblemType == "" && said.StatusCode != 0: // its detail may be a page of a proxy
		text = fmt.Sprintf("the authority answered with status %d", said.StatusCode)
	case said != nil && said.Detail != "":
		text = "the authority says: " + said.Detail
	case said != nil || errors.As(err, new(*acme.AuthorizationError)) || errors.As(err, new(*acme.OrderError)):
		text = "the authority refused, and does not say why"
	case errors.Is(err, context.DeadlineExceeded):
		text = "the authority did not answer in time"
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
