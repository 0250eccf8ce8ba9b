package resource

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"bolt/apply/report"
)

// Text returns a parameter as a string. Numbers and booleans are written as Puppet writes them. given
// is false if the parameter has no value.
func (r *Resource) Text(param string) (text string, given bool, err error) {
	v, given := r.Params.Get(param)
	if !given || v == nil {
		return "", false, nil
	}
	text, err = r.scalar(param, v)
	return text, true, err
}

func (r *Resource) scalar(param string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int64, *big.Int:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", &ParamError{param, "must be a string"}
}

// Texts returns a parameter that is a string or a list of strings.
func (r *Resource) Texts(param string) (texts []string, given bool, err error) {
	v, given := r.Params.Get(param)
	if !given || v == nil {
		return nil, false, nil
	}
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	for _, x := range list {
		t, err := r.scalar(param, x)
		if err != nil {
			return nil, true, err
		}
		texts = append(texts, t)
	}
	return texts, true, nil
}

// Bool returns a parameter that is true, false, or one of these words. without is its value if it is not given.
func (r *Resource) Bool(param string, without bool) (bool, error) {
	text, given, err := r.Text(param)
	switch {
	case err != nil:
		return false, err
	case !given:
		return without, nil
	}
	switch text {
	case "true", "yes":
		return true, nil
	case "false", "no":
		return false, nil
	}
	return false, &ParamError{param, "must be true or false" + r.Shown(param, text)}
}

// Int returns a parameter that is a whole number, also as a string.
func (r *Resource) Int(param string, without int64) (int64, error) {
	text, given, err := r.Text(param)
	switch {
	case err != nil:
		return 0, err
	case !given:
		return without, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, &ParamError{param, "must be a whole number" + r.Shown(param, text)}
	}
	return n, nil
}

// LogLevel returns the level of the parameter loglevel; Notice if it is not given.
func (r *Resource) LogLevel() (report.Level, error) {
	word, given, err := r.Text("loglevel")
	switch {
	case err != nil || !given:
		return report.Notice, err
	case word == "verbose":
		return report.Info, nil
	case word == "alert" || word == "emerg" || word == "crit":
		return report.Err, nil
	}
	level := report.Level(word)
	switch level {
	case report.Debug, report.Info, report.Notice, report.Warning, report.Err:
		return level, nil
	}
	return "", &ParamError{"loglevel", "must be debug, info, notice, warning, err, alert, emerg, crit or verbose" + r.Shown("loglevel", word)}
}

// Shown returns the end of a problem: the value, unless it is secret.
func (r *Resource) Shown(param, text string) string {
	if r.Secret(param) {
		return ""
	}
	return fmt.Sprintf(", and is %q", text)
}
