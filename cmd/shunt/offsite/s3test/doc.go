// Package s3test starts a real S3 server for tests: that of the module in server/, which is built at the first use, or
// the program that SHUNTTEST_S3 names.
package s3test
