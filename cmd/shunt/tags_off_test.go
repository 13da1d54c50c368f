//go:build !shuntinvariants

package main

const buildTags = ""
