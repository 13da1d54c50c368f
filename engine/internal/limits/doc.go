// Package limits is the limits of a link's fields, which rooms of the engine share. It knows
// nothing; everybody outside the engine has them as engine.MaxCodeBytes and so on.
package limits
