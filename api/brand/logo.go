package brand

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"os"
)

// MaxLogoBytes is how large the file of a logo may be. Every page's visitor loads it.
const MaxLogoBytes = 64 << 10

// maxLogoPixels is the limit of a PNG's width, and of its height: 64 KiB can be an image of
// gigabytes. At this limit an image takes at most 32 MiB in a browser.
const maxLogoPixels = 2048

// A Logo is an image. It is read-only.
type Logo struct {
	Bytes []byte
	Type  string // image/svg+xml or image/png
}

// ReadLogo reads the file of a logo. Later changes of the file do not matter.
func ReadLogo(path string) (*Logo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxLogoBytes+1))
	if err != nil {
		return nil, err
	}
	logo, err := ParseLogo(data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return logo, nil
}

// ParseLogo checks the bytes of a logo and keeps them. Its errors continue a sentence that begins
// with the name of the file.
func ParseLogo(data []byte) (*Logo, error) {
	if len(data) > MaxLogoBytes {
		return nil, fmt.Errorf("is larger than %d KiB", MaxLogoBytes>>10)
	}
	if bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
		if err := checkPNG(data); err != nil {
			return nil, err
		}
		return &Logo{data, "image/png"}, nil
	}
	if err := checkSVG(data); err != nil {
		return nil, err
	}
	return &Logo{data, "image/svg+xml"}, nil
}

// checkPNG looks at the dimensions first, so that no large image is unpacked.
func checkPNG(data []byte) error {
	size, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("is a damaged PNG image: %w", err)
	}
	if size.Width > maxLogoPixels || size.Height > maxLogoPixels {
		return fmt.Errorf("is %d by %d pixels; a logo has at most %d by %[3]d", size.Width, size.Height, maxLogoPixels)
	}
	if _, err := png.Decode(bytes.NewReader(data)); err != nil {
		return fmt.Errorf("is a damaged PNG image: %w", err)
	}
	return nil
}
