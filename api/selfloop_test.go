package api

import (
	"strconv"
	"testing"

	"shunt/api/domain"
	"shunt/engine/expect"
)

// thisMachineAt returns some of the engine's spellings of this machine.
var thisMachineAt = []string{
	"127.0.0.1", "127.1", "2130706433", "0177.0.0.1", "0x7f000001", "127.9.9.9", "0.0.0.0", "0", "[::]", "[::1]", "[::ffff:127.0.0.1]",
	"localhost", "LOCALHOST.", "x.localhost", "localhost.localdomain", "ip6-localhost",
}

func TestEveryWayInRefusesLinksToThisServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base          string
		listens       []string
		ports, others []string // of this machine: ours, and those of other servers
		more          []string // targets that lead to us, too
	}{
		"on loopback": {
			"http://127.0.0.1:8080", []string{"127.0.0.1:8080"}, []string{":8080", ":08080"}, []string{"", ":8081"}, nil,
		},
		"on a private address": {
			"http://192.168.1.5:8080", []string{"[::]:8080"}, []string{":8080"}, []string{":80", ":8081"},
			[]string{"http://3232235781:8080/x", "http://[::ffff:192.168.1.5]:8080/x"},
		},
		"behind a proxy of an intranet": {
			"https://intranet", []string{":8080"}, []string{"", ":443", ":8080"}, []string{":8081"}, []string{"http://Intranet./x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newSite(t, func(o *Options) { o.BaseURL, o.Listens, o.AllowHTTP = c.base, c.listens, true })
			st.shorten(`{"url":"http://192.168.1.6:8080/","alias":"victim"}`)
			st.addDomain(domain.Domain{Host: "victim.example"})
			loops, fine := c.more, []string{"http://192.168.1.6:8080/x", "http://localhost.example:8080/x"}
			for _, host := range thisMachineAt {
				for _, port := range c.ports {
					loops = append(loops, "http://"+host+port+"/x")
				}
				for _, port := range c.others {
					fine = append(fine, "http://"+host+port+"/x")
				}
			}
			st.wantByEveryWayIn(loops, "own_origin")
			st.wantByEveryWayIn(fine, "")
		})
	}
}

// wantByEveryWayIn checks that every way in refuses targets with that code, or accepts them if it
// is empty.
func (st *site) wantByEveryWayIn(targets []string, code string) {
	st.t.Helper()
	for way, send := range waysIn {
		for i, target := range targets {
			r := send(st, jsonText(target), code+strconv.Itoa(i))
			got := refusalCode(r)
			expect.That(st.t, got == code && (r.status >= 400) == (code != ""), "%s by %s: got %d %q, want %q", target, way, r.status, got, code)
		}
	}
}
