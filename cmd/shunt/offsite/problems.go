package offsite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// advice says what to do about an answer of the server, by its code.
var advice = map[string]string{
	"NoSuchBucket":                 "there is no bucket of that name; make it first, or correct the address (and --s3-endpoint, --s3-region)",
	"InvalidBucketName":            "the server refuses the name of the bucket",
	"InvalidAccessKeyId":           "the server does not know the key id; look at " + idVariable + " or the file of --s3-credentials, and at --s3-endpoint",
	"XAdminUserNotFound":           "the server does not know the key id; look at " + idVariable + " or the file of --s3-credentials, and at --s3-endpoint",
	"SignatureDoesNotMatch":        "the secret key is not that of the key id; look at " + secretVariable + " or the file of --s3-credentials",
	"AccessDenied":                 "the credentials may not do that; a backup needs s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads",
	"AllAccessDisabled":            "the bucket is closed",
	"ExpiredToken":                 "the credentials have expired; get new ones",
	"InvalidToken":                 "the session token is wrong; look at " + sessionVariable,
	"RequestTimeTooSkewed":         "the clock of this machine is more than 15 minutes off the server's; set it (timedatectl set-ntp true)",
	"RequestExpired":               "the clock of this machine is off the server's; set it (timedatectl set-ntp true)",
	"PermanentRedirect":            "the bucket is in another region; set --s3-region, or --s3-endpoint to the server of its region",
	"AuthorizationHeaderMalformed": "the bucket is in another region; set --s3-region",
	"IllegalLocationConstraint":    "the bucket is in another region; set --s3-region",
	"QuotaExceeded":                "the bucket is full; remove something, or keep fewer backups",
	"XMinioStorageFull":            "the S3 server has no room left",
	"InsufficientStorage":          "the S3 server has no room left",
	"BadDigest":                    "what arrived was not what was sent; the network or memory of one of both machines is faulty",
	"SlowDown":                     "the server asks for fewer requests; try again later",
	"NoSuchKey":                    "the object is missing",
	"MethodNotAllowed":             "that is not an S3 server; look at --s3-endpoint",
}

// statusAdvice is for answers without a code that advice has.
var statusAdvice = map[int]string{
	http.StatusInsufficientStorage: advice["InsufficientStorage"],
	http.StatusMovedPermanently:    advice["PermanentRedirect"],
	http.StatusForbidden:           advice["AccessDenied"],
}

// A refusal is an answer of the server, in words.
type refusal struct {
	text  string
	cause error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.cause }

// explain says what went wrong at a place, and what to do.
func explain(ctx context.Context, place Place, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if done := (*refusal)(nil); errors.As(err, &done) {
		return err
	}
	if errors.As(err, new(*fs.PathError)) || errors.Is(err, errChanged) {
		return err // of a file here, and not of the server
	}
	answer := minio.ErrorResponse{}
	if !errors.As(err, &answer) {
		if strings.Contains(err.Error(), "HTTP response to HTTPS client") {
			return &refusal{"the S3 server speaks plain HTTP; write http:// in --s3-endpoint", err}
		}
		return &refusal{fmt.Sprintf("%s: the S3 server cannot be reached (--s3-endpoint): %v", place, plainCause(err)), err}
	}
	text, known := advice[answer.Code]
	if !known {
		text, known = statusAdvice[answer.StatusCode]
	}
	if !known {
		text = strings.TrimSuffix(answer.Message, ".")
	}
	return &refusal{fmt.Sprintf("%s: %s (%s, status %d)", place, text, answer.Code, answer.StatusCode), err}
}

// missing reports whether err says that an object does not exist.
func missing(err error) bool {
	answer := minio.ErrorResponse{}
	return errors.As(err, &answer) && (answer.Code == "NoSuchKey" || answer.StatusCode == http.StatusNotFound && answer.Code != "NoSuchBucket")
}

// conflict reports whether err says that others were at the same names at that time.
func conflict(err error) bool {
	answer := minio.ErrorResponse{}
	return errors.As(err, &answer) && answer.StatusCode == http.StatusConflict
}
