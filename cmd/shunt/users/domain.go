package users

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newDomain(stdout, stderr io.Writer) *cobra.Command {
	return usage.NewGroup("domain", "Manage domains: hosts with short links of their own",
		newDomainAdd(stdout, stderr), newDomainLs(stdout, stderr), newDomainShow(stdout, stderr), newDomainEdit(stdout, stderr), newDomainCheck(stdout, stderr), newDomainRm(stderr))
}

// domainTexts are the fields of a domain that are texts: the flag, the field of the API, and what the help says.
var domainTexts = []struct{ flag, field, value, usage string }{
	{"root-url", "root_url", "URL", "where / leads"},
	{"not-found-url", "not_found_url", "URL", "where an unknown code leads; {path} in it stands for the path that was asked for"},
	{"expired-url", "expired_url", "URL", "where a link leads that has expired, or has used up its hits"},
	{"short-url", "base_url", "URL", "what short addresses begin with (default: the host, as the server's own address is served)"},
	{"robots", "robots", "TEXT", "none: nothing is to be crawled; or the text of robots.txt"},
	{"certificate", "certificate", "FROM", "where the certificate comes from: acme (the server gets it), files (those of --tls-cert) or none (default: acme, if the server does so)"},
}

// domainChecks are the fields of a domain that are true or false.
var domainChecks = []struct{ flag, field, usage string }{
	{"trim", "trim", "ignore dots, brackets and blanks after an address (default true; --trim=false: do not)"},
	{"unicode-codes", "unicode_codes", "aliases may have letters of all scripts (--unicode-codes=false: not)"},
}

// domainDocuments are the fields of a domain that are JSON, from files.
var domainDocuments = []struct{ flag, field, usage string }{
	{"app-site-association", "apple_app_site_association", "JSON with which iOS opens links of the host in an app: what /.well-known/apple-app-site-association answers"},
	{"assetlinks", "assetlinks", "JSON with which Android does so: what /.well-known/assetlinks.json answers"},
}

// maxDocumentBytes stops a wrong file from being read whole. With spaces a document may be longer than the API has it.
const maxDocumentBytes = 1 << 20

// readDocument returns the JSON in a file; nil if path is empty.
func readDocument(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("must be a file that exists")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocumentBytes))
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // the API takes 64 KiB
	if json.Compact(&compact, text) != nil {
		return nil, errors.New("must be a file with JSON")
	}
	return compact.Bytes(), nil
}

// addDomainFlags gives add or edit the flags of the fields. Those that are given are put into given, as the API is to
// be sent them; an empty one is the default.
func addDomainFlags(fs *pflag.FlagSet, given map[string]any) {
	set := func(field string, value any, empty bool) {
		if given[field] = value; empty {
			given[field] = nil
		}
	}
	for _, f := range domainTexts {
		settings.Var(fs, new(string), f.flag, f.value, "", f.usage, func(text string) (string, error) {
			set(f.field, text, text == "")
			return text, nil
		})
		settings.MarkArguments(fs, f.flag)
	}
	settings.Var(fs, new(string), "status", "STATUS", "", "redirect status of new links that name none: 301, 302, 307 or 308", func(text string) (string, error) {
		status, err := strconv.Atoi(text)
		if err != nil && text != "" {
			return "", fmt.Errorf("must be 301, 302, 307 or 308")
		}
		set("redirect_status", status, text == "")
		return text, nil
	})
	settings.Var(fs, new(string), "alias", "HOSTS", "", "other hosts of the same domain, with commas between them", func(text string) (string, error) {
		set("aliases", strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), text == "")
		return text, nil
	})
	settings.Var(fs, new(string), "case", "HOW", "", "sensitive (default), or fold: codes may be typed in any case, and drawn ones have no upper-case letters", func(text string) (string, error) {
		set("case", text, text == "")
		return text, nil
	})
	for _, f := range domainChecks {
		settings.Var(fs, new(string), f.flag, "bool", "", f.usage, func(text string) (string, error) {
			yes, err := strconv.ParseBool(text)
			set(f.field, yes, text == "")
			if err != nil && text != "" {
				return "", fmt.Errorf("must be true or false")
			}
			return text, nil
		})
		settings.MarkArguments(fs, f.flag)
		fs.Lookup(f.flag).NoOptDefVal = "true"
	}
	for _, f := range domainDocuments {
		settings.Var(fs, new(string), f.flag, "FILE", "", f.usage, func(path string) (string, error) {
			document, err := readDocument(path)
			set(f.field, document, path == "")
			return path, err
		})
		settings.MarkArguments(fs, f.flag)
	}
	settings.CompleteWords(fs, "case", "sensitive", "fold")
	settings.MarkArguments(fs, "status", "alias", "case")
}

const domainsAreHosts = `
A domain is a host whose short links are its own: the same code may lead elsewhere than on others. DNS must lead
the host to the server; a server with --acme-domain gets the certificate by itself. An empty text unsets a field.
`

func newDomainAdd(stdout, stderr io.Writer) *cobra.Command {
	where, given, asJSON := reach.Target{}, map[string]any{}, false
	cmd := &cobra.Command{
		Use:   "add HOST",
		Short: "Add a domain",
		Long:  "Add a domain, and print the host as it is kept.\n" + domainsAreHosts + reach.WhereUsersAre,
		Example: `  shunt domain add go.example
  shunt domain add go.example --alias www.go.example --root-url https://example.com/
  shunt add https://example.com/spring --alias spring --domain go.example`,
		Args: usage.Exactly("HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			given["host"] = args[0]
			return changeDomain(cmd.Context(), &where, "domain add", "POST", "/domains", given, asJSON, stdout, stderr)
		},
	}
	return withDomainFlags(cmd, &where, given, &asJSON)
}

func newDomainEdit(stdout, stderr io.Writer) *cobra.Command {
	where, given, asJSON := reach.Target{}, map[string]any{}, false
	cmd := &cobra.Command{
		Use:   "edit HOST",
		Short: "Change a domain",
		Long:  "Change a domain. Its links stay as they are, also if it gets another host.\n" + domainsAreHosts + reach.WhereUsersAre,
		Example: `  shunt domain edit go.example --not-found-url 'https://example.com/search?q={path}'
  shunt domain edit go.example --host get.example --alias go.example
  shunt domain edit go.example --app-site-association apple.json --assetlinks android.json`,
		Args: usage.Exactly("HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(given) == 0 {
				return settings.UsageErrorf("name what is to change; see 'shunt domain edit --help'")
			}
			return changeDomain(cmd.Context(), &where, "domain edit "+args[0], "PATCH", domainPath(args[0]), given, asJSON, stdout, stderr)
		},
	}
	settings.Var(cmd.Flags(), new(string), "host", "HOST", "", "another host", func(text string) (string, error) {
		given["host"] = text
		return text, nil
	})
	settings.MarkArguments(cmd.Flags(), "host")
	return withDomainFlags(cmd, &where, given, &asJSON)
}

func withDomainFlags(cmd *cobra.Command, where *reach.Target, given map[string]any, asJSON *bool) *cobra.Command {
	reach.AddUserSettings(cmd, where)
	addDomainFlags(cmd.Flags(), given)
	cmd.Flags().BoolVar(asJSON, "json", false, "print the domain object")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func changeDomain(
	ctx context.Context, where *reach.Target, verb, method, path string, given map[string]any, asJSON bool, stdout, stderr io.Writer,
) error {
	var d client.Domain
	if err := where.Do(ctx, verb, stderr, func(c *reach.Connection) error { return c.Do(ctx, method, path, given, &d) }); err != nil {
		return err
	}
	if asJSON {
		return console.PrintJSON(stdout, d.Raw)
	}
	_, err := fmt.Fprintln(stdout, console.Printable(d.Host))
	return err
}

func domainPath(host string) string { return "/domains/" + strings.ReplaceAll(host, "/", "%2F") }

func newDomainLs(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{Reads: true}, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the domains",
		Long:  "List the domains: the default one first, which is that of the server's own address, and of all hosts that nobody has added.\n" + reach.WhereUsersAre,
		Args:  usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listInto(cmd.Context(), &where, "/domains", asJSON, domainsTable, stdout, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func domainsTable(domains []client.Domain) [][]string {
	rows := [][]string{{"HOST", "ALIASES", "SHORT URL", "ROOT", "NOT FOUND", "EXPIRED"}}
	secure := slices.ContainsFunc(domains, func(d client.Domain) bool { return d.CertificateState != nil })
	if secure {
		rows[0] = append(rows[0], "CERTIFICATE")
	}
	for _, d := range domains {
		row := []string{d.Host, orDash(strings.Join(d.Aliases, " ")), d.BaseURL, orDash(d.RootURL), orDash(d.NotFoundURL), orDash(d.ExpiredURL)}
		if secure {
			row = append(row, certificateText(d.CertificateState))
		}
		rows = append(rows, row)
	}
	return rows
}

// certificateText says how a certificate is.
func certificateText(c *client.Certificate) string {
	switch {
	case c == nil || c.State == "none":
		return "-"
	case c.Error != "":
		return "failing: " + c.Error
	case c.ExpiresAt.IsZero():
		return c.State
	}
	return c.State + " until " + console.Time(c.ExpiresAt)
}

func newDomainShow(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{Reads: true}, false
	cmd := &cobra.Command{
		Use:   "show HOST",
		Short: "Print a domain",
		Long:  "Print a domain: one line per field.\n" + reach.WhereUsersAre,
		Args:  usage.Exactly("HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var d client.Domain
			err := where.Do(cmd.Context(), "domain show "+args[0], stderr, func(c *reach.Connection) (err error) {
				d, err = c.Domain(cmd.Context(), args[0])
				return err
			})
			switch {
			case err != nil:
				return err
			case asJSON:
				return console.PrintJSON(stdout, d.Raw)
			}
			return console.PrintTable(stdout, domainText(&d))
		},
	}
	reach.AddUserSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the domain object")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func domainText(d *client.Domain) [][]string {
	status, created := "302", "-"
	if d.RedirectStatus != 0 {
		status = strconv.Itoa(d.RedirectStatus)
	}
	if !d.CreatedAt.IsZero() {
		created = console.Time(d.CreatedAt)
	}
	var certificate [][]string
	if c := d.CertificateState; c != nil {
		certificate = append(certificate, []string{"certificate", certificateText(c)})
		if !c.NextAttemptAt.IsZero() {
			certificate = append(certificate, []string{"next attempt", console.Time(c.NextAttemptAt)})
		}
	} else if d.Certificate != "" {
		certificate = append(certificate, []string{"certificate", d.Certificate})
	}
	return append([][]string{
		{"host", d.Host}, {"aliases", orDash(strings.Join(d.Aliases, " "))}, {"short-url", d.BaseURL}, {"root-url", orDash(d.RootURL)},
		{"not-found-url", orDash(d.NotFoundURL)}, {"expired-url", orDash(d.ExpiredURL)}, {"status", status},
		{"case", d.Case}, {"trim", strconv.FormatBool(d.Trim)}, {"unicode-codes", strconv.FormatBool(d.UnicodeCodes)},
		{"robots", orDash(strings.Join(strings.Fields(d.Robots), " "))}, {"app-site-association", sizeText(d.AppSiteAssociation)},
		{"assetlinks", sizeText(d.AssetLinks)}, {"created", created},
	}, certificate...)
}

// sizeText says how long a document is, which may have hundreds of lines.
func sizeText(document json.RawMessage) string {
	if len(document) == 0 {
		return "-"
	}
	return strconv.Itoa(len(document)) + " bytes, which --json prints"
}

func newDomainCheck(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{}, false
	cmd := &cobra.Command{
		Use:   "check HOST",
		Short: "Check that a domain leads to the server",
		Long: "Check that a domain leads to the server: the server asks each host over its name, as visitors do. The exit code is 1 if\n" +
			"anything is wrong. A certificate that failed is tried again at once if its host leads to the server now.\n" + reach.WhereUsersAre,
		Args: usage.Exactly("HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var found struct{ Data []client.HostCheck }
			var raw json.RawMessage
			var d client.Domain
			err := where.Do(cmd.Context(), "domain check "+args[0], stderr, func(c *reach.Connection) (err error) {
				if err = c.Do(cmd.Context(), "POST", domainPath(args[0])+"/check", nil, &raw); err == nil {
					d, err = c.Domain(cmd.Context(), args[0])
				}
				return err
			})
			if err != nil {
				return err
			}
			if err = json.Unmarshal(raw, &found); err == nil && asJSON {
				err = console.PrintJSON(stdout, raw)
			} else if err == nil {
				err = console.PrintTable(stdout, checkText(found.Data, d.CertificateState))
			}
			return errors.Join(err, wrongIn(found.Data))
		},
	}
	reach.AddUserSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func checkText(found []client.HostCheck, c *client.Certificate) (rows [][]string) {
	for _, h := range found {
		rows = append(rows, []string{"host", h.Host}, []string{"addresses", orDash(strings.Join(h.Addresses, " "))},
			[]string{"dns", h.DNS}, []string{"http", h.HTTP}, []string{"https", h.HTTPS})
	}
	if c != nil {
		rows = append(rows, []string{"certificate", certificateText(c)})
		if !c.NextAttemptAt.IsZero() {
			rows = append(rows, []string{"next attempt", console.Time(c.NextAttemptAt)})
		}
	}
	return rows
}

// wrongIn returns an error if a host does not lead to the server.
func wrongIn(found []client.HostCheck) error {
	for _, h := range found {
		if h.DNS != "ok" {
			return fmt.Errorf("%s does not lead to this server", console.Printable(h.Host))
		}
	}
	return nil
}

func newDomainRm(stderr io.Writer) *cobra.Command {
	where := reach.Target{}
	cmd := &cobra.Command{
		Use:   "rm HOST",
		Short: "Remove a domain that has no links",
		Long:  "Remove a domain that has no links: its host is one of the default domain from then on. Its figures stay.\n" + reach.WhereUsersAre,
		Args:  usage.Exactly("HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return where.Do(cmd.Context(), "domain rm "+args[0], stderr, func(c *reach.Connection) error {
				return c.RemoveDomain(cmd.Context(), args[0])
			})
		},
	}
	reach.AddUserSettings(cmd, &where)
	return cmd
}
