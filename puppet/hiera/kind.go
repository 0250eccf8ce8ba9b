package hiera

// LanguageKind is the kind that the error has as one of a program, be it of the
// function lookup or of data for a class: "lookup-data".
func (e *Error) LanguageKind() string { return "lookup-" + e.Kind }
