//go:build cgo

package main

const blocksOnHeap = false
