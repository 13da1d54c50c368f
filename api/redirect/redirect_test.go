package redirect

import (
	"testing"

	"shunt/engine/expect"
)

func TestAPermanentRedirectIsCachedBrieflyAndNeverPastExpiry(t *testing.T) {
	const now = 1_800_000_000_000
	for name, c := range map[string]struct {
		expiresAt int64
		want      string
	}{
		"never expires":       {0, "private, max-age=90"},
		"expires late":        {now + 90_000, "private, max-age=90"},
		"expires soon":        {now + 89_999, "private, max-age=89"},
		"expires immediately": {now + 1, "private, max-age=0"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decision{maxAge: maxAge(c.expiresAt, now)}
			got := d.AppendCacheControl(nil)
			expect.Equal(t, string(got), c.want, "got %q", got)
		})
	}
}
