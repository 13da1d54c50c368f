package offsite

import (
	"errors"
	"regexp"
	"strings"
)

// scheme begins the address of a place.
const scheme = "s3://"

// maxPrefix bounds a prefix, in bytes. The name of an object has at most 1,024.
const maxPrefix = 500

// A Place is where backups are: a bucket, and a prefix that is empty or ends in a slash.
type Place struct{ Bucket, Prefix string }

// IsPlace reports whether text is meant as the address of a place, and not as a folder.
func IsPlace(text string) bool { return strings.HasPrefix(text, scheme) }

// bucketName is what all servers accept as the name of a bucket.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// prefixName is a prefix whose objects have the same names everywhere.
var prefixName = regexp.MustCompile(`^[A-Za-z0-9!_.*'()=+@-]+(/[A-Za-z0-9!_.*'()=+@-]+)*$`)

// ParsePlace reads an address such as s3://bucket/prefix.
func ParsePlace(text string) (Place, error) {
	rest, found := strings.CutPrefix(text, scheme)
	if !found {
		return Place{}, errors.New("must be the address of a bucket, such as s3://bucket/shunt")
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	prefix = strings.TrimSuffix(prefix, "/")
	switch {
	case !bucketName.MatchString(bucket) || strings.Contains(bucket, ".."):
		return Place{}, errors.New("must have the name of a bucket after s3://: 3 to 63 of a-z, 0-9, dots and hyphens")
	case prefix == "":
		return Place{Bucket: bucket}, nil
	case len(prefix) > maxPrefix || !prefixName.MatchString(prefix) || dotted(prefix):
		return Place{}, errors.New("must have a prefix of letters, digits and -_.=+@ with single slashes, such as s3://bucket/shunt")
	}
	return Place{Bucket: bucket, Prefix: prefix + "/"}, nil
}

// dotted reports whether a part of prefix is . or .., which some servers resolve.
func dotted(prefix string) bool {
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// String returns the address of the place.
func (p Place) String() string {
	return strings.TrimSuffix(scheme+p.Bucket+"/"+p.Prefix, "/")
}
