package serve

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"shunt/api/brand"
	"shunt/api/words"
	"shunt/cmd/shunt/settings"
)

// brandSettings say what the public pages show of the operator.
type brandSettings struct {
	name, supportURL string
	logoFile         string
}

func addBrandSettings(fs *pflag.FlagSet, s *brandSettings) {
	settings.Var(fs, &s.name, "brand-name", "NAME", "", "name on the public pages (default: the host of the base URL)", brand.ParseName)
	fs.StringVar(&s.logoFile, "brand-logo", "",
		fmt.Sprintf("`FILE` of a logo for the public pages, SVG or PNG, at most %d KiB; read once, at start", brand.MaxLogoBytes>>10))
	settings.Var(fs, &s.supportURL, "support-url", "URL", "",
		"where the public pages send questions: an address of the web, or mailto:help@example.org", brand.ParseSupportURL)
}

// addLanguages adds the setting of the languages of the pages under /_/.
func addLanguages(fs *pflag.FlagSet, files *[]string) {
	fs.StringSliceVar(files, "language-file", nil,
		"`FILES` with the texts of the dashboard in more languages than English and German, one for each, with commas; read once, at start")
}

// readLanguages returns the languages of the program and of files. With an error it has those of the files that can be
// read.
func readLanguages(files []string) (_ *words.Languages, err error) {
	var read []*words.Catalog
	for _, file := range files {
		c, wrong := words.ReadFile(file)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("--language-file: %w", wrong))
			continue
		}
		read = append(read, c)
	}
	return words.New(read...), err
}

// read returns the brand, with the logo from its file. With an error it has no logo.
func (s *brandSettings) read() (b brand.Brand, err error) {
	b = brand.Brand{Name: s.name, SupportURL: s.supportURL}
	if s.logoFile != "" {
		if b.Logo, err = brand.ReadLogo(s.logoFile); err != nil {
			return b, fmt.Errorf("--brand-logo: %w", err) // b.Logo is nil
		}
	}
	return b, nil
}
