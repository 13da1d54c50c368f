package serve

import (
	"testing"
)

func TestAFileFromWindowsIsReadLikeAnyOther(t *testing.T) {
	p := settingsProbe{}
	path := writeFile(t, "shunt.toml", "\ufeff# settings\r\nlisten = \"127.0.0.1:1\"\r\npprof = true\r\n")
	if warnings, err := p.run(t, nil, "--config", path); err != nil || warnings != "" || p.data.Listen != "127.0.0.1:1" || !p.pprof {
		t.Errorf("got %+v, %v, %q", p, err, warnings)
	}
}

func TestAListInAFileIsArrayOrCommas(t *testing.T) {
	for _, text := range []string{`["10.0.0.0/8", "::1"]`, `"10.0.0.0/8,::1"`, `"10.0.0.0/8, ::1"`} {
		p := settingsProbe{}
		if _, err := p.run(t, nil, "--config", writeFile(t, "shunt.toml", "trusted-proxy = "+text)); err != nil || len(p.proxies) != 2 {
			t.Errorf("%s: got %v, %v, want two", text, p.proxies, err)
		}
	}
	p := settingsProbe{}
	if _, err := p.run(t, []string{"SHUNT_TRUSTED_PROXY=10.0.0.0/8,::1"}); err != nil || len(p.proxies) != 2 {
		t.Errorf("variable: got %v, %v, want two", p.proxies, err)
	}
	p = settingsProbe{}
	if _, err := p.run(t, nil, "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1"); err != nil || len(p.proxies) != 2 {
		t.Errorf("flags: got %v, %v, want two", p.proxies, err)
	}
}

func TestAMisspelledVariableIsWarnedOfWithTheRightName(t *testing.T) {
	for variable, want := range map[string]string{
		"SHUNT_LISTEM": "SHUNT_LISTEN", "SHUNT_listen": "SHUNT_LISTEN", "SHUNT_DATA_DIR": "SHUNT_DATA", "SHUNT_TRUSTED_PROXIES": "SHUNT_TRUSTED_PROXY",
	} {
		warnings, err := new(settingsProbe).run(t, []string{variable + "=x"})
		text := "shunt: warning: " + variable + " is ignored: there is no such setting; did you mean " + want + "?\n"
		if err != nil || warnings != text {
			t.Errorf("got %v and %q, want %q", err, warnings, text)
		}
	}
}
