package serve

import (
	"testing"

	"shunt/engine/expect"
)

func TestAFileFromWindowsIsReadLikeAnyOther(t *testing.T) {
	p := settingsProbe{}
	path := writeFile(t, "shunt.toml", "\ufeff# settings\r\nlisten = \"127.0.0.1:1\"\r\npprof = true\r\n")
	warnings, err := p.run(t, nil, "--config", path)
	expect.That(t, err == nil && warnings == "" && p.data.Listen == "127.0.0.1:1" && p.pprof, "got %+v, %v, %q", p, err, warnings)
}

func TestAListInAFileIsArrayOrCommas(t *testing.T) {
	for _, text := range []string{`["10.0.0.0/8", "::1"]`, `"10.0.0.0/8,::1"`, `"10.0.0.0/8, ::1"`} {
		p := settingsProbe{}
		_, err := p.run(t, nil, "--config", writeFile(t, "shunt.toml", "trusted-proxy = "+text))
		expect.That(t, err == nil && len(p.proxies) == 2, "%s: got %v, %v, want two", text, p.proxies, err)
	}
	p := settingsProbe{}
	_, err := p.run(t, []string{"SHUNT_TRUSTED_PROXY=10.0.0.0/8,::1"})
	expect.That(t, err == nil && len(p.proxies) == 2, "variable: got %v, %v, want two", p.proxies, err)
	p = settingsProbe{}
	_, err = p.run(t, nil, "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1")
	expect.That(t, err == nil && len(p.proxies) == 2, "flags: got %v, %v, want two", p.proxies, err)
}

func TestAMisspelledVariableIsWarnedOfWithTheRightName(t *testing.T) {
	for variable, want := range map[string]string{
		"SHUNT_LISTEM": "SHUNT_LISTEN", "SHUNT_listen": "SHUNT_LISTEN", "SHUNT_DATA_DIR": "SHUNT_DATA", "SHUNT_TRUSTED_PROXIES": "SHUNT_TRUSTED_PROXY",
	} {
		warnings, err := new(settingsProbe).run(t, []string{variable + "=x"})
		text := "shunt: warning: " + variable + " is ignored: there is no such setting; did you mean " + want + "?\n"
		expect.That(t, err == nil && warnings == text, "got %v and %q, want %q", err, warnings, text)
	}
}
