package resource

import "strings"

// Fields reads the parameters of a resource one after the other. Err is the first error, so a type checks it
// once, after it has read all parameters.
type Fields struct {
	R   *Resource
	Err error
}

func (f *Fields) note(err error) {
	if f.Err == nil {
		f.Err = err
	}
}

// Text returns a parameter as Resource.Text does, or without if it is not given.
func (f *Fields) Text(param, without string) string {
	text, given, err := f.R.Text(param)
	f.note(err)
	if !given {
		return without
	}
	return text
}

// Texts returns a parameter that is a string or a list of strings; nil if it is not given.
func (f *Fields) Texts(param string) []string {
	list, given, err := f.R.Texts(param)
	f.note(err)
	if given && list == nil {
		return []string{}
	}
	return list
}

// Bool returns a parameter as Resource.Bool does.
func (f *Fields) Bool(param string, without bool) bool {
	b, err := f.R.Bool(param, without)
	f.note(err)
	return b
}

// Refuse records a problem of a parameter.
func (f *Fields) Refuse(param, problem string) { f.note(&ParamError{param, problem}) }

// RefuseValue is Refuse for a problem of a value, which follows the problem unless the parameter is secret.
func (f *Fields) RefuseValue(param, problem, value string) {
	f.Refuse(param, problem+f.R.Shown(param, value))
}

// Word returns the value of a parameter that becomes an argument of a program; without stands for a value that is missing. The word must not
// begin with -, and must not have blanks or characters of others in it. It can be empty.
func (f *Fields) Word(param, without, others string) string {
	text := f.Text(param, without)
	if strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \t\r\n"+others) {
		f.RefuseValue(param, "must be a word that does not begin with -", text)
	}
	return text
}

// Name returns the name of a resource as Word does. It must not be empty.
func (f *Fields) Name(others string) string {
	text := f.Word("name", f.R.Title, others)
	if text == "" {
		f.Refuse("name", "must not be empty")
	}
	return text
}
