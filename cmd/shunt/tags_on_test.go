//go:build shuntinvariants

package main

const buildTags = "shuntinvariants"
