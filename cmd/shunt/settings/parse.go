package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes such as 512MiB.
func ParseSize(text string) (bytes uint64, ok bool) {
	number := strings.TrimRight(text, "KMGTiB")
	n, err := strconv.ParseUint(number, 10, 32)
	shift, known := sizeUnits[text[len(number):]]
	return n << shift, err == nil && known && n > 0 && n<<shift>>shift == n
}

// sizeUnits are what a size may end in, as powers of two.
var sizeUnits = map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}

var errEmpty = errors.New("must not be empty")

func ParseNotEmpty(text string) (string, error) {
	if text == "" {
		return "", errEmpty
	}
	return text, nil
}

func ParseListen(text string) (string, error) {
	_, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return "", errors.New("must be host:port, such as 127.0.0.1:8080 or :8080")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", fmt.Errorf("must have a port from 0 to 65535, not %q", port)
	}
	return text, nil
}

// ParseBool reads true or false in the words of Go, compose files and people.
func ParseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1", "t", "y":
		return true, nil
	case "false", "no", "off", "0", "f", "n":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// CountUpTo parses a number from 1 to most.
func CountUpTo(most int) func(text string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("must be a number from 1 to %d", most)
		}
		return n, nil
	}
}

// CountOr reads a number from 1 to most, or a word for a number outside that range.
func CountOr(word string, number, most int) func(text string) (int, error) {
	return func(text string) (int, error) {
		if text == word {
			return number, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("must be a number from 1 to %d, or %s", most, word)
		}
		return n, nil
	}
}

func ParseHeaderName(text string) (string, error) {
	for _, c := range []byte(text) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && c != '-' && c != '_' {
			return "", errors.New("must be the name of a header")
		}
	}
	return ParseNotEmpty(text)
}

func ParseLevel(text string) (level slog.Level, err error) {
	if level.UnmarshalText([]byte(text)) != nil {
		return 0, errors.New("must be debug, info, warn or error")
	}
	return level, nil
}
