package edge

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"shunt/api/edges"
	"shunt/engine/expect"
)

// TestAnEdgeSaysWhatAnAnswerMeans: a clock that is far off is told once, and lost hits each time.
func TestAnEdgeSaysWhatAnAnswerMeans(t *testing.T) {
	out := new(logs)
	s := &source{log: slog.New(slog.NewTextHandler(out, nil))}
	now := time.Now().UnixMilli()
	off := 2 * maxClockOffset.Milliseconds()
	for _, a := range []edges.Answer{{}, {NowMs: now}, {NowMs: now + off}, {NowMs: now + off, Lost: 3}, {NowMs: now}, {NowMs: now - off}} {
		s.heed(t.Context(), &a)
	}
	count := func(text string) int { return strings.Count(out.text.String(), text) }
	expect.That(t, count("are apart") == 2 && count("agree again") == 1 && count("are lost") == 1, "said: %s", &out.text)
	began := time.Now()
	s.heed(t.Context(), &edges.Answer{Busy: true})
	expect.That(t, time.Since(began) >= leastPause, "a busy writer is asked again after %v", time.Since(began))
}
