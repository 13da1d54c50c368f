package serve

import (
	"fmt"
	"log/slog"
	"os"

	"shunt/api/accesslog"
	"shunt/api/admin"
	"shunt/api/blocklist"
	"shunt/api/visitor"
	"shunt/cmd/shunt/console"
)

// readCountries reads the file of --geoip. From then on it is read again when it changes. Without it,
// everything works but countries, so a bad file is a warning.
func (s *server) readCountries() {
	if s.cfg.geoIP != "" {
		s.countries = visitor.OpenCountryFile(s.cfg.geoIP, s.say.Log)
		s.parts.Run("countries", s.countries.Run)
	}
}

// countryFigures returns the state of the file of countries, nil if there is none.
func (s *server) countryFigures() func() admin.CountryFile {
	if s.countries == nil {
		return nil
	}
	return func() admin.CountryFile { return admin.CountryFile(s.countries.State()) }
}

// readTexts reads the files of --language-file. Pages without one are in English or German, so a bad file is a warning.
func (s *server) readTexts() {
	var err error
	if s.languages, err = readLanguages(s.cfg.languageFiles); err != nil {
		s.say.Log.Warn("a language of the pages is missing; its file is read once, at start", slog.Any("cause", err))
	}
}

// readBrand reads the file of --brand-logo. Pages without a logo have a name, so a bad file is a warning.
func (s *server) readBrand() {
	var err error
	if s.brand, err = s.cfg.brand.read(); err != nil {
		s.say.Log.Warn("the public pages have no logo; it is read once, at start", slog.Any("cause", err))
	}
}

// readBlocks reads the file of --block-list. From then on it is read again when it changes. A start
// without it is refused: links that it forbids would redirect, and nobody would see that.
func (s *server) readBlocks() (err error) {
	if s.cfg.blockList == "" {
		return nil
	}
	if s.blocks, err = blocklist.Open(s.cfg.blockList, s.say.Log); err != nil {
		return fmt.Errorf("--block-list: %w (without the list, links that it blocks would work; if it is to block nothing, make an empty file)", err)
	}
	s.parts.Run("block list", s.blocks.Run)
	return nil
}

// warnOfOpenFolder logs a warning if others can enter or read the data folder. The socket and the
// journal are not open to them, but a user who can write there can replace both.
func (s *server) warnOfOpenFolder() error {
	dir := s.cfg.data.Dir
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		s.say.Log.Warn("other users can enter the data folder; unless you want that, close it",
			"folder", dir, "mode", fmt.Sprintf("%04o", info.Mode().Perm()), "run", "chmod 700 "+console.Quote(dir))
	}
	return nil
}

// openAccessLog opens the access log and starts to write it, if there is one.
func (s *server) openAccessLog() (err error) {
	cfg := &s.cfg.logs
	if cfg.access == "" {
		return nil
	}
	s.access, err = accesslog.Open(accesslog.Options{
		Path: cfg.access, Combined: cfg.accessFormat == "combined", Sample: cfg.accessSample, Clients: cfg.accessClients, Logger: s.say.Log,
	})
	if err != nil {
		return fmt.Errorf("--access-log: %w", err)
	}
	s.parts.Run("access log", s.access.Run)
	return nil
}
