package serve

import (
	"testing"
	"time"

	"shunt/api/admin"
	"shunt/cmd/shunt/certs"
	"shunt/engine/expect"
)

// fixedState is a source of which only the state is asked.
type fixedState struct {
	certs.Source
	state certs.State
}

func (s fixedState) State() certs.State { return s.state }

func TestACertificateIsWaitingValidOrFailing(t *testing.T) {
	day := time.Unix(86400, 0)
	for want, state := range map[admin.Certificate]certs.State{
		{ACME: true, State: admin.ACMEWaiting}:                             {ACME: true},
		{ACME: true, State: admin.ACMEValid, NotAfter: day}:                {ACME: true, NotAfter: day},
		{ACME: true, State: admin.ACMEFailing, Failures: 2}:                {ACME: true, Failing: true, Failures: 2},
		{ACME: true, State: admin.ACMEFailing, Failures: 1, NotAfter: day}: {ACME: true, Failing: true, Failures: 1, NotAfter: day},
		{State: admin.ACMEValid, NotAfter: day}:                            {NotAfter: day},
	} {
		expect.Equal(t, certificateFigures(fixedState{state: state})(), want, "%+v", state)
	}
}
