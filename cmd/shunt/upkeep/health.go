package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

const (
	// healthTimeout is less than what container engines give a check (Docker: 30 s), so that this
	// one says why.
	healthTimeout = 5 * time.Second

	maxHealthBytes = 16 << 10 // of an answer: a line, or each condition in JSON
)

func newHealth(stdout io.Writer) *cobra.Command {
	listen, live, asJSON := "", false, false
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server on this machine whether it is healthy",
		Long: `Ask the server at the admin address whether it answers redirects, and print its answer. Exit code 0:
it is ready; 1: it is loading or stopping, or does not answer within 5 s. With --live it is healthy as
soon as the process answers, even while it loads: use that where an unhealthy process is killed. With
--json it prints each condition that it knows by name, and whether it is met. This is for containers,
which have no curl:

  HEALTHCHECK CMD ["/shunt", "health"]`,
		Example: `  shunt health
  shunt health --json
  shunt health --live --admin-listen 127.0.0.1:9001`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := askHealth(cmd.Context(), listen, live, asJSON)
			if text != "" {
				if _, err := fmt.Fprintln(stdout, text); err != nil {
					return err
				}
			}
			if err != nil {
				return fmt.Errorf("health: %w", err)
			}
			return nil
		},
	}
	usage.AddConfig(cmd)
	settings.Var(cmd.Flags(), &listen, "admin-listen", "ADDRESS", core.DefaultAdminListen, "the server's admin address", settings.ParseListen)
	cmd.Flags().BoolVar(&live, "live", false, "ask only whether the process answers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each condition as JSON, also if the server is not ready")
	settings.MarkArguments(cmd.Flags(), "live", "json")
	return cmd
}

// askHealth returns what the server at the admin address says, or why it is not healthy; with asJSON
// both.
func askHealth(ctx context.Context, listen string, live, asJSON bool) (string, error) {
	address, err := dialable(listen)
	if err != nil {
		return "", err
	}
	path := "/readyz"
	if live {
		path = "/healthz"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", fmt.Errorf("%s (--admin-listen) is not an address", listen)
	}
	if asJSON {
		request.Header.Set("Accept", "application/json")
	}
	transport := &http.Transport{DisableKeepAlives: true} // and no proxy, whatever the environment says
	answer, err := transport.RoundTrip(request)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s (--admin-listen) does not answer within %v", address, healthTimeout)
	}
	if err != nil {
		return "", fmt.Errorf("%w (--admin-listen)", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealthBytes))
	said := console.Printable(strings.TrimSpace(string(text)))
	switch {
	case err != nil:
		return "", fmt.Errorf("the answer of %s (--admin-listen): %w", address, err)
	case asJSON && answer.StatusCode == http.StatusServiceUnavailable:
		return said, errors.New("the server is not ready")
	case answer.StatusCode == http.StatusServiceUnavailable:
		return "", fmt.Errorf("the server is not ready: %s", said)
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s (--admin-listen) answers %s: it is not the admin address of a shunt", address, answer.Status)
	}
	return said, nil
}

// dialable returns an address at which this machine reaches the listener: for "all addresses",
// loopback.
func dialable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err // ParseListen has let it through: cannot happen
	}
	if port == "0" {
		return "", settings.UsageErrorf("--admin-listen has port 0, so the server chose one; name that port, which its first lines show")
	}
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
		if host = "127.0.0.1"; err == nil && addr.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}
