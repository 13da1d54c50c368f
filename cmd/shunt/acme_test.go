package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestACertificateThatIsNotRenewedInTimeIsSaid(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		lifetime, left time.Duration
		overdue        bool
		wait           time.Duration
	}{
		"90 days, new":                  {90 * day, 90 * day, false, time.Hour},
		"90 days, to be renewed now":    {90 * day, 29 * day, false, time.Hour},
		"90 days, a week late":          {90 * day, 22 * day, true, time.Hour},
		"a year, to be renewed now":     {365 * day, 29 * day, false, time.Hour},
		"a day, to be renewed now":      {day, 7 * time.Hour, false, 48 * time.Minute},
		"a day, late":                   {day, 5 * time.Hour, true, 48 * time.Minute},
		"a day, over":                   {day, -time.Hour, true, 48 * time.Minute},
		"ten seconds, to be renewed":    {10 * time.Second, 3 * time.Second, false, time.Second},
		"half a minute, hardly renewed": {30 * time.Second, 7 * time.Second, true, time.Second},
	} {
		var log bytes.Buffer
		a := newACMESource(&httpsSettings{}, "sho.example", t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)))
		now := time.Now()
		a.current.Store(&tls.Certificate{Leaf: &x509.Certificate{NotBefore: now.Add(c.left - c.lifetime), NotAfter: now.Add(c.left)}})
		if wait := a.look(now); wait != c.wait || strings.Contains(log.String(), "has not been renewed") != c.overdue {
			t.Errorf("%s: looks again in %v, says %q; want %v, said: %v", name, wait, &log, c.wait, c.overdue)
		}
	}
}
