package fieldtext

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"shunt/api/ops"
	"shunt/api/tagtext"
)

// Folder returns the number of the folder of a link.
func Folder(l *ops.Link) string {
	if l.Folder == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(l.Folder), 10)
}

// MaxHits returns the cap of a link.
func MaxHits(l *ops.Link) string {
	if l.MaxHits == 0 {
		return ""
	}
	return strconv.FormatUint(l.MaxHits, 10)
}

// The form of a time in a field datetime-local.
const (
	minuteForm = "2006-01-02T15:04"
	secondForm = "2006-01-02T15:04:05"
)

// Time returns a time in UTC; to the minute if it has no seconds.
func Time(t time.Time) string {
	switch t = t.UTC(); {
	case t.IsZero():
		return ""
	case t.Second() == 0:
		return t.Format(minuteForm)
	}
	return t.Format(secondForm)
}

// Check returns the text of a box that is ticked, or not.
func Check(on bool) string {
	if on {
		return "on"
	}
	return ""
}

// TextValue takes a text as it is.
func TextValue(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// NumberValue returns text that is not a number as it is, so that the call refuses it.
func NumberValue(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return TextValue(text)
}

// TimeValue takes a time without a zone as UTC.
func TimeValue(text string) any {
	for _, form := range []string{minuteForm, secondForm} {
		if t, err := time.Parse(form, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return TextValue(text)
}

// hiddenPassword stands for the password of a link, of which there is only a hash. A form that shows it keeps the
// password unless something else is typed, and takes it away if it is deleted.
const hiddenPassword = "••••••••"

// Password returns what stands for the password of a link.
func Password(l *ops.Link) string {
	if l.Lock == 0 {
		return ""
	}
	return hiddenPassword
}

// PasswordValue refuses what has been typed beside the hidden password, and that of a link that is copied.
func PasswordValue(text string) any {
	if strings.Contains(text, "•") {
		return errors.New("must be typed again: the server does not know the one that the link has")
	}
	return TextValue(text)
}

// CheckValue takes a box.
func CheckValue(text string) any { return text != "" }

// TagsValue takes tags with commas between them.
func TagsValue(text string) any {
	if tags := tagtext.Split(text); len(tags) > 0 {
		return tags
	}
	return nil
}
