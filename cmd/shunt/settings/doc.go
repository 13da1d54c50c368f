// Package settings finds the value of each setting: in its flag, its environment variable, the file
// of --config, or its default. It knows flags and how their texts are parsed. It knows no command,
// and nothing of what a setting is for. The commands declare their flags with it and call Apply
// before they run.
//
// The flags of the commands are the only schema. The values of the environment and of the file are
// given to each flag that the command line has not set, so that one parser checks a value wherever
// it comes from.
//
// The file is TOML without tables. Every mistake in it is named with its line and column, all of
// them at once.
//
// A mistake of the caller is a UsageError, of which the program makes exit code 2.
package settings
