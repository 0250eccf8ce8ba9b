package resource

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
