package edge

import (
	"testing"

	"shunt/engine/expect"
)

func TestAnEdgeSpeaksPlainHTTPWithAnotherMachineOnlyIfAllowed(t *testing.T) {
	for of, alone := range map[string]bool{
		"https://origin.sho.rt": true, "http://origin.sho.rt": false, "http://192.0.2.1:8080": false,
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost": true,
	} {
		s := Settings{Of: of, TokenFile: "token"}
		err := s.Check(false)
		expect.That(t, (err == nil) == alone, "%s: %v", of, err)
		expect.NoError(t, s.Check(true), "%s with --allow-http", of)
	}
}
