package target

import (
	"testing"

	"shunt/engine/expect"
)

// machineSpellings are hosts that lead every client to its own machine.
var machineSpellings = []string{
	"localhost", "LocalHost", "localhost.", "x.localhost", "a.b.LOCALHOST.", "ｌocalhost", "localhost.localdomain", "x.localhost.localdomain",
	"localhost4", "localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback", "IPv6-Localhost",
	"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "2130706433", "017700000001", "0177.0.0.1", "0x7f.1", "0X7F000001", "１２７.0.0.1",
	"0.0.0.0", "0", "0x0", "00.0", "0.0", "0000",
	"[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::]", "[0::0]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[::ffff:0.0.0.0]", "[::127.0.0.1]",
	"[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fe80::5efe:127.0.0.1]",
}

func TestEverySpellingOfThisMachineAtOurPortIsOurOwn(t *testing.T) {
	for _, origin := range []string{
		"http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080", "http://0.0.0.0:8080", "http://192.168.1.5:8080",
		"http://[fd00::5]:8080", "http://169.254.7.7:8080", "http://intranet:8080", "https://127.0.0.1:08080",
	} {
		p := Policy{OwnOrigins: ParseOrigins("https://sho.rt", origin)}
		for _, host := range machineSpellings {
			for _, scheme := range []string{"http", "HTTPS"} {
				_, err := p.Parse(scheme + "://" + host + ":8080/x")
				expect.Equal(t, fieldCode(err), "own_origin", "%s, at %s: got %v", host, origin, err)
				if _, err := p.Parse(scheme + "://" + host + ":8081/x"); err != nil {
					t.Errorf("another port of %s, at %s: got %v, want it taken", host, origin, err)
				}
			}
		}
	}
}

// A client that follows a link of a public server to localhost reaches its own machine, not the
// server's.
func TestAPublicServerAcceptsTargetsOnItsVisitorsMachines(t *testing.T) {
	p := Policy{OwnOrigins: ParseOrigins("https://sho.rt", "https://8.8.8.8", "http://[2620::1]:8080")}
	for _, host := range machineSpellings {
		for _, port := range []string{"", ":443", ":8080"} {
			_, err := p.Parse("http://" + host + port + "/x")
			expect.That(t, err == nil, "%s%s: got %v, want it taken", host, port, err)
		}
	}
}
