package settings

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"shunt/engine/expect"
)

func TestVariablesThatAreNoSettingsTakeALineOfEachKind(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.String("config", "", "")
	fs.String("listen", "", "")
	known := map[string]*pflag.Flag{"config": fs.Lookup("config"), "listen": fs.Lookup("listen")}
	services := []string{
		"SHUNT_SERVICE_HOST=10.0.0.1", "SHUNT_SERVICE_PORT=8080", "SHUNT_SERVICE_PORT_HTTP=8080", "SHUNT_PORT=tcp://10.0.0.1:8080",
		"SHUNT_PORT_8080_TCP=tcp://10.0.0.1:8080", "SHUNT_PORT_8080_TCP_PROTO=tcp", "SHUNT_PORT_8080_TCP_PORT=8080", "SHUNT_PORT_8080_TCP_ADDR=10.0.0.1",
		"SHUNT_ADMIN_SERVICE_HOST=10.0.0.2", "SHUNT_ADMIN_PORT_8081_TCP_ADDR=10.0.0.2",
	}
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"none":      {[]string{"SHUNT_LISTEN=:80", "PATH=/bin"}, `^$`},
		"one":       {[]string{"SHUNT_LISEN=:80"}, `^shunt: warning: SHUNT_LISEN is ignored: there is no such setting; did you mean SHUNT_LISTEN\?\n$`},
		"a port":    {[]string{"SHUNT_PORT=80"}, `^shunt: warning: SHUNT_PORT is ignored: there is no such setting; did you mean SHUNT_LISTEN\?\n$`},
		"several":   {[]string{"SHUNT_E=1", "SHUNT_D=1", "SHUNT_C=1", "SHUNT_LISEN=1", "SHUNT_A=1"}, `^shunt: warning: 5 variables are ignored, because there are no such settings: SHUNT_A, SHUNT_C, SHUNT_D and 2 more\n$`},
		"a service": {services[:1], `^shunt: warning: ignored: 1 variable of a service of Kubernetes, SHUNT_SERVICE_HOST \(enableServiceLinks: false leaves them out\)\n$`},
		"services":  {services, `^shunt: warning: ignored: 10 variables of a service of Kubernetes, SHUNT_ADMIN_PORT_8081_TCP_ADDR, SHUNT_ADMIN_SERVICE_HOST, SHUNT_PORT and 7 more .*\n$`},
		"both":      {append([]string{"SHUNT_X=1"}, services...), `^shunt: warning: SHUNT_X is ignored.*\nshunt: warning: ignored: 10 variables.*\n$`},
	} {
		var said strings.Builder
		expect.OK(t, Apply(fs, known, c.environ, &said), name)
		expect.That(t, regexp.MustCompile(c.want).MatchString(said.String()), "%s: got %q, want %q", name, said.String(), c.want)
	}
}
