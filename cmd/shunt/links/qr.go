package links

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/api/qrcode"
	"shunt/api/qrorder"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine"
)

// qrText prints a QR code as characters; the other forms are those of package qrorder.
const qrText = "text"

// qrForms are all forms.
var qrForms = slices.Concat([]string{qrText}, qrorder.Formats)

// qrAsked has the flags of qr.
type qrAsked struct {
	form, out, logo string
	untracked       bool
	values          map[string]*string // of the flags of qrFlags
}

// qrFlags are the flags that are parameters of the API, by their names there.
var qrFlags = []struct{ parameter, flag, what string }{
	{"color", "color", "the `COLOR` of the modules, such as #1d3557 (default: black)"},
	{"background", "background", "the `COLOR` behind them, or transparent (default: white)"},
	{"margin", "margin", "the margin, in `MODULES` (default: 4, which scanners need)"},
	{"level", "level", "how much may be damaged, a `LETTER`: L, M, Q or H for 7, 15, 25 or 30 % (default: M, with a logo H)"},
	{"mm", "mm", "the side on paper, with the margin, in `MM`"},
	{"dpi", "dpi", "`DOTS` per inch of a PNG (default: 300, with --mm)"},
	{"size", "pixels", "the side of a PNG, in `PIXELS`, instead of --mm (default: 512)"},
}

func newQR(stdout, stderr io.Writer) *cobra.Command {
	where, asked := reach.Target{Reads: true}, qrAsked{values: make(map[string]*string)}
	cmd := &cobra.Command{
		Use:   "qr CODE",
		Short: "Print the QR code of a link",
		Long: `Print the QR code of a link's short address: at a terminal as text, else as SVG; --form and the end of
the name in --out say otherwise. It is also made for links that redirect nobody at present. CODE may be
the whole short address. The address in the code has the parameter _qr at its end, by which scans are
counted apart from clicks; no target gets it.
` + reach.WhereTokensAre,
		Example: `  shunt qr spring
  shunt qr spring --out spring.svg
  shunt qr spring --out spring.pdf --mm 30 --color '#1d3557' --logo logo.png
  shunt qr spring --out spring.png --mm 30 --dpi 600`,
		Args: usage.Exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := asked.order(stdout)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return withLinks(ctx, &where, "qr", args, stderr, func(c *reach.Connection, l namedLink) error {
				link, err := c.Link(ctx, l.code, l.in()...)
				if err != nil {
					return err
				}
				return asked.print(&link, order, stdout)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	settings.WordVar(fs, &asked.form, "form", "FORM", "", "how: "+strings.Join(qrForms, ", "), qrForms...)
	fs.StringVar(&asked.out, "out", "", "write it into `FILE`")
	for _, f := range qrFlags {
		asked.values[f.parameter] = fs.String(f.flag, "", f.what)
	}
	fs.StringVar(&asked.logo, "logo", "", "put the picture in `FILE`, a PNG or JPEG, into the middle")
	fs.BoolVar(&asked.untracked, "untracked", false, "the code has the short address alone, so a scan counts as a click")
	settings.MarkArguments(fs, "form", "out", "color", "background", "margin", "level", "mm", "dpi", "pixels", "logo", "untracked")
	return cmd
}

// order reads what the flags ask for.
func (a *qrAsked) order(stdout io.Writer) (*qrorder.Order, error) {
	a.complete(stdout)
	o := qrorder.New()
	if a.form != qrText {
		o.Format = qrorder.Format(a.form)
	}
	o.Bare = a.untracked
	for _, f := range qrFlags {
		if v := *a.values[f.parameter]; v != "" {
			if err := qrorder.Parameters[f.parameter](o, v); err != nil {
				return nil, qrUsage(f.parameter, err)
			}
		}
	}
	if err := a.addLogo(o); err != nil {
		return nil, err
	}
	return o, qrUsage("", o.Check())
}

// addLogo reads the file of the logo.
func (a *qrAsked) addLogo(o *qrorder.Order) error {
	if a.logo == "" {
		return nil
	}
	f, err := os.Open(a.logo)
	if err != nil {
		return fmt.Errorf("reading the logo: %w", err)
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, qrcode.MaxLogoBytes+1))
	if err != nil {
		return fmt.Errorf("reading the logo: %w", err)
	}
	return qrUsage("logo", o.AddLogo(file))
}

// qrUsage returns the error of a parameter as that of its flag.
func qrUsage(parameter string, err error) error {
	var one engine.FieldError
	var all engine.InvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &all) && len(all) > 0:
		one = all[0]
	case !errors.As(err, &one):
		return err
	}
	if one.Field != "" {
		parameter = one.Field
	}
	for _, f := range qrFlags {
		if f.parameter == parameter {
			parameter = f.flag
		}
	}
	return settings.UsageErrorf("--%s %s", parameter, one.Message)
}

// complete finds out how the code is printed, if no flag says so.
func (a *qrAsked) complete(stdout io.Writer) {
	if a.form != "" {
		return
	}
	a.form = string(qrorder.SVG)
	name := strings.ToLower(a.out)
	for _, f := range qrorder.Formats {
		if strings.HasSuffix(name, "."+f) {
			a.form = f
		}
	}
	if strings.HasSuffix(name, ".txt") || a.out == "" && console.NewProgress(stdout).Person() {
		a.form = qrText
	}
}

func (a *qrAsked) print(l *client.Link, o *qrorder.Order, stdout io.Writer) (err error) {
	picture, err := a.draw(l, o)
	if err != nil {
		return err
	}
	if a.out != "" {
		if err := os.WriteFile(a.out, picture, 0o644); err != nil {
			return fmt.Errorf("writing the picture: %w", err)
		}
		return nil
	}
	_, err = stdout.Write(picture)
	return err
}

func (a *qrAsked) draw(l *client.Link, o *qrorder.Order) ([]byte, error) {
	if a.form != qrText {
		picture, err := o.Draw(l.ShortURL)
		return picture, qrUsage("", err)
	}
	code, err := qrcode.Encode(o.Address(l.ShortURL), qrcode.Usual)
	if err != nil {
		return nil, err
	}
	return append(code.Text(), l.ShortURL+"\n"...), nil
}
