//go:build !linux

package main

// memoryFolder is for Linux.
func memoryFolder() string { return "" }
