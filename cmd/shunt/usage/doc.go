// Package usage is what all commands share: how many arguments they take, where the values of their settings come from,
// and what a person reads whose call was refused. It knows no command.
package usage
