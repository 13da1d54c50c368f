// Package invalid describes errors in the fields of a request: one error for each field, and all
// errors together. It knows nothing of ours. All code that checks a field returns them, and the API
// shows them to clients word for word. Outside the engine they are engine.FieldError and
// engine.InvalidError.
package invalid
