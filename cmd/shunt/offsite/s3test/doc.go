// Package s3test starts a real S3 server for tests, the program that SHUNTTEST_S3 names: make s3 builds it, of the
// module in server/.
package s3test
