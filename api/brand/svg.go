package brand

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const svgNamespace = "http://www.w3.org/2000/svg"

var errNoImage = errors.New("is neither an SVG nor a PNG image")

// checkSVG checks that data is one well-formed element svg with a size, as a browser needs it to
// show the image.
func checkSVG(data []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(data))
	depth, roots := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && roots > 0 {
			return nil
		}
		if err != nil && roots == 0 {
			return errNoImage
		}
		if err != nil {
			return fmt.Errorf("is not a well-formed SVG image: %w", err)
		}
		switch token := token.(type) {
		case xml.Directive:
			if bytes.Contains(token, []byte("<!ENTITY")) {
				return errors.New("declares entities, which a logo must not; save it as plain SVG")
			}
		case xml.StartElement:
			if depth++; depth > 1 {
				continue
			}
			if roots++; roots > 1 {
				return errors.New("is not a well-formed SVG image: it has more than one root")
			}
			if err := checkRoot(token); err != nil {
				return err
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(bytes.TrimPrefix(token, []byte("\uFEFF")))) > 0 {
				return errNoImage
			}
		}
	}
}

// checkRoot checks the element svg: its namespace, without which browsers show no image, and its
// size, without which they cannot scale it.
func checkRoot(root xml.StartElement) error {
	if root.Name.Local != "svg" {
		return errNoImage
	}
	if root.Name.Space != svgNamespace {
		return fmt.Errorf("is not an SVG image: its root lacks xmlns=%q", svgNamespace)
	}
	var viewBox, width, height string
	for _, a := range root.Attr {
		switch a.Name {
		case xml.Name{Local: "viewBox"}:
			viewBox = a.Value
		case xml.Name{Local: "width"}:
			width = a.Value
		case xml.Name{Local: "height"}:
			height = a.Value
		}
	}
	if viewBox == "" {
		if width == "" || height == "" {
			return errors.New("has no size: its root svg needs a viewBox, or width and height")
		}
		return nil
	}
	numbers := strings.FieldsFunc(viewBox, func(r rune) bool { return r == ',' || r <= ' ' })
	if len(numbers) == 4 && positive(numbers[2]) && positive(numbers[3]) {
		return nil
	}
	return fmt.Errorf("has the viewBox %q, which is not four numbers with a width and a height", viewBox)
}

func positive(text string) bool {
	n, err := strconv.ParseFloat(text, 64)
	return err == nil && n > 0 && n < 1e6
}
