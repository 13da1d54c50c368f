package target_test

import (
	"testing"

	"shunt/engine/expect"
	"shunt/engine/target"
)

func TestAnOriginIsRecognizedInEverySpelling(t *testing.T) {
	for _, c := range []struct {
		origin, address string
		want            bool
	}{
		{"https://sho.rt", "https://sho.rt/x", true},
		{"https://sho.rt", "http://SHO.RT./x", true},
		{"https://sho.rt", "HTTPS://sho.rt:443", true},
		{"http://127.0.0.1:8080", "http://localhost:8080/x", true},
		{"http://[::1]:8080", "http://127.0.0.1:8080/x", true},
		{"https://xn--bcher-kva.example", "https://Bücher.example/x", true},
		{"http://0.0.0.0:8080", "http://x.localhost:8080/x", true},
		{"http://192.168.1.5:8080", "http://3232235781:8080/x", true},
		{"http://192.168.1.5:8080", "http://localhost:8080/x", false}, // localhost is the machine of the client
		{"http://intranet:8080", "http://127.0.0.1:8080/x", false},
		{"http://localhost:8080", "http://192.168.1.5:8080/x", false},
		{"https://sho.rt", "https://sho.rt:8443/x", false},
		{"https://sho.rt", "https://sho.rt.example/x", false},
		{"https://sho.rt", "https://sho.rt@bit.ly/x", false},
		{"https://sho.rt", "ftp://sho.rt/x", false},
		{"https://sho.rt", "sho.rt/x", false},
		{"https://sho.rt", "", false},
		{"", "https://sho.rt/x", false},
	} {
		expect.Equal(t, target.SameOrigin(c.origin, c.address), c.want, "%q of %q", c.address, c.origin)
	}
}
