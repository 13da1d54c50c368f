// An S3 server for tests of backups in a bucket: the S3 gateway of Versity over a folder. It checks signatures,
// checksums and the order of parts as S3 does. It is a module of its own, so that it is no dependency of the program,
// and its version is pinned here.
//
// Its arguments are the address to listen on and a folder, in which each folder is a bucket. The keys are those of the
// environment, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	about := filepath.Join(dir, "about") // attributes of objects, which not every file system keeps
	data := filepath.Join(dir, "data")
	for _, folder := range []string{about, data} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	attributes, err := meta.NewSideCar(about)
	if err != nil {
		return err
	}
	store, err := posix.New(data, attributes, posix.PosixOpts{SideCarDir: about, ForceNoTmpFile: true, Concurrency: 64})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, store, &embedgw.Config{
		RootUserAccess: os.Getenv("AWS_ACCESS_KEY_ID"), RootUserSecret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Ports: []string{address}, MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10_000,
		KeepAlive: true, HealthPath: "/health", Quiet: true,
	})
}
