//go:build shuntinvariants

package e2e

const buildTags = "shuntinvariants"
