package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

// In the tests of waits the clock is a bubble's, so they take no time and can be exact.

func TestOnlySafeCallsAreRepeated(t *testing.T) {
	type call func(context.Context, *client.Client) error
	const all = 3
	for name, c := range map[string]struct {
		answer   answer
		call     call
		attempts int
	}{
		"429 of a read":                    {refuses(429, "rate_limited"), reads, all},
		"429 of a creation":                {refuses(429, "rate_limited"), creates, all},
		"429 of a token":                   {refuses(429, "rate_limited"), issues, all},
		"429 of a proxy":                   {says(429, "slow down"), issues, all},
		"503 of a token":                   {refuses(503, "overloaded"), issues, all},
		"503 of an edit":                   {refuses(503, "read_only"), edits, all},
		"an unknown outcome of a creation": {refuses(503, "outcome_unknown"), creates, all},
		"an unknown outcome of an edit":    {refuses(503, "outcome_unknown"), edits, all},
		"an unknown outcome of a deletion": {refuses(503, "outcome_unknown"), deletes, all},
		"an unknown outcome of a token":    {refuses(503, "outcome_unknown"), issues, 1},
		"an unknown outcome without a key": {refuses(503, "outcome_unknown"), createsWithoutKey, 1},
		"503 of a proxy to a read":         {says(503, "<h1>no</h1>"), reads, all},
		"503 of a proxy to a token":        {says(503, "<h1>no</h1>"), issues, 1},
		"a cut connection of a read":       {cuts, reads, all},
		"a cut connection of a creation":   {cuts, creates, all},
		"a cut connection of a token":      {cuts, issues, 1},
		"a cut connection without a key":   {cuts, createsWithoutKey, 1},
		"a hanging server":                 {hangs, reads, all},
		"a success that is no JSON":        {says(200, "<h1>hello</h1>"), reads, 1},
		"a success that is empty":          {says(200, ""), reads, 1},
		"a redirect":                       {says(302, "", "Location: https://elsewhere.example/"), reads, 1},
		"400":                              {refuses(400, "bad_request"), reads, 1},
		"401":                              {refuses(401, "unauthorized"), reads, 1},
		"403":                              {refuses(403, "forbidden"), reads, 1},
		"404":                              {refuses(404, "not_found"), reads, 1},
		"408":                              {refuses(408, "timeout"), reads, 1},
		"409":                              {refuses(409, "alias_taken"), creates, 1},
		"412":                              {refuses(412, "precondition_failed"), edits, 1},
		"413":                              {refuses(413, "body_too_large"), creates, 1},
		"415":                              {refuses(415, "unsupported_media_type"), creates, 1},
		"422":                              {refuses(422, "invalid"), creates, 1},
		"500":                              {refuses(500, "internal"), reads, 1},
		"502 of a proxy":                   {says(502, ""), reads, 1},
		"404 that says when to come again": {refuses(404, "not_found", "Retry-After: 1"), reads, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, script := scripted(t, client.Retry{Attempts: all}, c.answer)
				expect.That(t, c.call(t.Context(), caller) != nil, "got no error")
				expect.Equal(t, len(script.seen), c.attempts, "attempts")
			})
		})
	}
}

func TestARepeatIsTheSameRequestWithTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, script := scripted(t, client.Retry{}, cuts, refuses(503, "outcome_unknown"), says(201, someLink))
		expect.OK(t, creates(t.Context(), c))
		first := script.seen[0]
		key := first.Header.Get("Idempotency-Key")
		expect.That(t, len(key) >= 20 && first.body == `{"url":"https://example.org"}`, "got key %q and body %s", key, first.body)
		for _, s := range script.seen[1:] {
			expect.That(t, s.body == first.body && s.Header.Get("Idempotency-Key") == first.Header.Get("Idempotency-Key"),
				"the repeat is %v %s, want %v %s", s.Header, s.body, first.Header, first.body)
		}
		expect.OK(t, creates(t.Context(), c))
		expect.That(t, script.seen[3].Header.Get("Idempotency-Key") != first.Header.Get("Idempotency-Key"), "another call has the same key")
	})
}

func TestWaitsDoubleAndAreRandom(t *testing.T) {
	const base, most, attempts = 100 * time.Millisecond, 350 * time.Millisecond, 6
	limits := []time.Duration{base, 2 * base, most, most, most}
	distinct := map[time.Duration]bool{}
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			c, script := scripted(t, client.Retry{Attempts: attempts, BaseWait: base, MaxWait: most}, refuses(503, "overloaded"))
			expect.Error(t, reads(t.Context(), c), client.ErrOverloaded)
			waits := script.waits()
			expect.MustEqual(t, len(waits), len(limits), "got waits %v", waits)
			for i, wait := range waits {
				expect.That(t, wait >= 0 && wait <= limits[i], "wait %d was %v, want at most %v", i, wait, limits[i])
				distinct[wait] = true
			}
		})
	}
	expect.That(t, len(distinct) >= 50, "of 100 waits %d are distinct; they are to be random", len(distinct))
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	const base = 10 * time.Millisecond
	for name, c := range map[string]struct {
		lines []string
		want  time.Duration
	}{
		"seconds":                          {[]string{"Retry-After: 3"}, 3 * time.Second},
		"a date by the server's clock":     {[]string{"Retry-After: Fri, 02 Jan 2026 03:04:09 GMT", "Date: Fri, 02 Jan 2026 03:04:05 GMT"}, 4 * time.Second},
		"a date by ours, a bubble's":       {[]string{"Retry-After: Sat, 01 Jan 2000 00:00:02 GMT"}, 2 * time.Second},
		"a date that has gone by":          {[]string{"Retry-After: Fri, 31 Dec 1999 00:00:00 GMT"}, 0},
		"nothing that has a meaning":       {[]string{"Retry-After: soon"}, 0},
		"a negative number, which is none": {[]string{"Retry-After: -5"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, script := scripted(t, client.Retry{BaseWait: base}, refuses(429, "rate_limited", c.lines...), says(200, someLink))
				expect.OK(t, reads(t.Context(), caller))
				got := script.waits()
				expect.That(t, len(got) == 1 && got[0] >= c.want && got[0] <= c.want+base, "got waits %v, want one of %v and at most %v more", got, c.want, base)
			})
		})
	}
}

func TestAWaitThatIsTooLongIsNotBegun(t *testing.T) {
	for name, c := range map[string]struct {
		retryAfter string
		timeout    time.Duration // of the context
		want       time.Duration
	}{
		"beyond the longest wait":      {"21", time.Hour, 21 * time.Second},
		"beyond what a number holds":   {"9223372036854775807", time.Hour, 365 * 24 * time.Hour},
		"beyond the context's end":     {"3", 3 * time.Second, 3 * time.Second},
		"longer than all time there's": {"20", time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				begun := time.Now()
				caller, script := scripted(t, client.Retry{}, refuses(429, "rate_limited", "Retry-After: "+c.retryAfter))
				err := reads(ctx, caller)
				var problem *client.Problem
				expect.That(t, errors.As(err, &problem) && problem.Kind == client.ErrRateLimited && problem.RetryAfter == c.want,
					"got %#v, want rate_limited and to be told %v", err, c.want)
				took := time.Since(begun)
				expect.That(t, took == 0 && len(script.seen) == 1, "it took %v and %d attempts, want it told at once", took, len(script.seen))
			})
		})
	}
}

func TestTheEndOfTheContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("somebody has had enough")
		time.AfterFunc(time.Second, func() { cancel(why) })
		begun := time.Now()
		c, script := scripted(t, client.Retry{}, refuses(503, "read_only", "Retry-After: 10"))
		err := reads(ctx, c)
		expect.That(t, errors.Is(err, context.Canceled) && errors.Is(err, why) && errors.Is(err, client.ErrReadOnly),
			"got %v, want why it ended and what it waited after", err)
		took := time.Since(begun)
		expect.That(t, took == time.Second && len(script.seen) == 1, "it took %v and %d attempts, want a second and one", took, len(script.seen))
	})
}

func TestAServerThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c, script := scripted(t, client.Retry{Attempts: 2, BaseWait: 1}, hangs)
		err := reads(t.Context(), c)
		late := net.Error(nil)
		expect.That(t, errors.As(err, &late) && late.Timeout(), "got %v, want a timeout", err)
		took := time.Since(begun).Round(time.Millisecond)
		expect.That(t, took == time.Minute && len(script.seen) == 2, "it took %v and %d attempts, want 30 s each of 2", took, len(script.seen))
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		begun := time.Now()
		c, script := scripted(t, client.Retry{}, hangs)
		expect.Error(t, creates(ctx, c), context.DeadlineExceeded)
		took := time.Since(begun)
		expect.That(t, took == 7*time.Second && len(script.seen) == 1, "it took %v and %d attempts, want 7 s and 1", took, len(script.seen))
	})
}

func TestTheErrorOfARepeatMentionsTheUnknownOutcome(t *testing.T) {
	type call func(context.Context, *client.Client) error
	for name, c := range map[string]struct {
		call    call
		answers []answer
		want    []error
		doubt   bool
	}{
		"a deletion whose repeat finds nothing":    {deletes, []answer{cuts, refuses(404, "not_found")}, []error{client.ErrNotFound, errCut}, true},
		"a deletion that finds nothing":            {deletes, []answer{refuses(404, "not_found")}, []error{client.ErrNotFound}, false},
		"an edit whose repeat finds a new version": {edits, []answer{refuses(503, "outcome_unknown"), refuses(412, "precondition_failed")}, []error{client.ErrPreconditionFailed, client.ErrOutcomeUnknown}, true},
		"an edit that is refused twice":            {edits, []answer{refuses(503, "overloaded"), refuses(404, "not_found")}, []error{client.ErrNotFound}, false},
		"a read whose repeat finds nothing":        {reads, []answer{cuts, refuses(404, "not_found")}, []error{client.ErrNotFound}, false},
		"an edit of which nothing is heard":        {edits, []answer{cuts}, []error{errCut}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, _ := scripted(t, client.Retry{}, c.answers...)
				err := c.call(t.Context(), caller)
				for _, want := range c.want {
					expect.Error(t, err, want, "in it")
				}
				joined, ok := err.(interface{ Unwrap() []error })
				expect.That(t, ok == c.doubt, "got %v (%v), want doubt: %v", err, joined, c.doubt)
			})
		})
	}
}

func TestOptionsLimitRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := client.Retry{If: func(err error) bool { return !errors.Is(err, client.ErrReadOnly) }}
		c, script := scripted(t, retry, refuses(503, "loading"), refuses(503, "read_only"))
		err := reads(t.Context(), c)
		expect.That(t, errors.Is(err, client.ErrReadOnly) && len(script.seen) == 2, "got %v after %d attempts, want read_only after 2", err, len(script.seen))
	})
}

func TestAStreamIsRepeatedUntilItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, script := scripted(t, client.Retry{}, refuses(503, "loading", "Retry-After: 1"), cuts, says(200, someLink+"\n"+someLink+"\n"))
		var codes []string
		for link, err := range c.Export(t.Context(), client.ExportQuery{}) {
			expect.OK(t, err)
			codes = append(codes, link.Code)
		}
		expect.That(t, slices.Equal(codes, []string{"a", "a"}) && len(script.seen) == 3 && script.seen[0].Method == http.MethodGet,
			"got %v by %d attempts, want two links by the third", codes, len(script.seen))
	})
}
