package links

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/api/qrcode"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// maxQRPixels bounds the side of a picture, as the server's pages do.
const maxQRPixels = 4096

// How a QR code is printed.
const (
	qrText = "text"
	qrSVG  = "svg"
	qrPNG  = "png"
)

// qrAsked has the flags of qr.
type qrAsked struct {
	form, out string
	pixels    int
}

func newQR(stdout, stderr io.Writer) *cobra.Command {
	where, asked := reach.Target{Reads: true}, qrAsked{}
	cmd := &cobra.Command{
		Use:   "qr CODE",
		Short: "Print the QR code of a link",
		Long: `Print the QR code of a link's short address: at a terminal as text, else as SVG; --form and the end of
the name in --out say otherwise. It is also made for links that redirect nobody at present. CODE may be
the whole short address.
` + reach.WhereTokensAre,
		Example: `  shunt qr spring
  shunt qr spring --out spring.svg
  shunt qr spring --out spring.png --pixels 600`,
		Args: usage.Exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asked.complete(stdout); err != nil {
				return err
			}
			ctx := cmd.Context()
			return withLinks(ctx, &where, "qr", args, stderr, func(c *reach.Connection, l namedLink) error {
				link, err := c.Link(ctx, l.code, l.in()...)
				if err != nil {
					return err
				}
				return asked.print(&link, stdout)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	settings.WordVar(fs, &asked.form, "form", "FORM", "", "how: "+strings.Join([]string{qrText, qrSVG, qrPNG}, ", "), qrText, qrSVG, qrPNG)
	fs.StringVar(&asked.out, "out", "", "write it into `FILE`")
	fs.IntVar(&asked.pixels, "pixels", 512, "the side of a PNG, in `PIXELS`")
	settings.MarkArguments(fs, "form", "out", "pixels")
	return cmd
}

// complete finds out how the code is printed, if no flag says so.
func (a *qrAsked) complete(stdout io.Writer) error {
	if a.pixels < 1 || a.pixels > maxQRPixels {
		return settings.UsageErrorf("--pixels must be from 1 to %d", maxQRPixels)
	}
	if a.form != "" {
		return nil
	}
	a.form = qrSVG
	switch {
	case strings.HasSuffix(strings.ToLower(a.out), ".png"):
		a.form = qrPNG
	case strings.HasSuffix(strings.ToLower(a.out), ".txt"), a.out == "" && console.NewProgress(stdout).Person():
		a.form = qrText
	}
	return nil
}

func (a *qrAsked) print(l *client.Link, stdout io.Writer) (err error) {
	code, err := qrcode.Encode(l.ShortURL)
	if err != nil {
		return err
	}
	var picture []byte
	switch {
	case a.form == qrText:
		picture = append(code.Text(), l.ShortURL+"\n"...)
	case a.form == qrSVG:
		picture = code.SVG()
	case a.pixels < code.MinPixels():
		return errors.New("its code needs at least " + strconv.Itoa(code.MinPixels()) + " pixels")
	default:
		picture = code.PNG(a.pixels)
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
