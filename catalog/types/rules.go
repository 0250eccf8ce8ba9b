package types

import (
	"strings"
	"sync"

	"bolt/catalog"
)

// A rule checks the parameters of a resource together. It returns the first problem and one of the
// parameters; problem is "" if there is none. A parameter whose value is computed on the target is
// a given parameter.
type rule func(r *catalog.Resource) (param, problem string)

// rules are the rules of the types that have rules.
var rules = sync.OnceValue(func() map[string]rule {
	return map[string]rule{
		"alternatives": func(r *catalog.Resource) (param, problem string) {
			switch mode := r.Params.Value("mode"); {
			case mode == "auto" && given(r, "path"):
				return "mode", "cannot be auto, because path is given"
			case mode == "manual" && !given(r, "path"):
				return "mode", "cannot be manual without path"
			}
			return "", ""
		},
		"apt_key": func(r *catalog.Resource) (param, problem string) {
			switch {
			case given(r, "content") && given(r, "source"):
				return "source", "cannot be used together with content"
			case isTrue(r, "refresh") && r.Params.Value("ensure") == "absent":
				return "refresh", "cannot be used with ensure => absent"
			}
			return "", ""
		},
		"archive": func(r *catalog.Resource) (param, problem string) {
			if given(r, "source") && given(r, "url") {
				return "url", "cannot be used together with source"
			}
			return "", ""
		},
		"augeas": func(r *catalog.Resource) (param, problem string) {
			switch {
			case given(r, "incl") && !given(r, "lens"):
				return "incl", "cannot be used without lens"
			case given(r, "lens") && !given(r, "incl"):
				return "lens", "cannot be used without incl"
			}
			return "", ""
		},
		"concat_fragment": fragment,
		"cron": func(r *catalog.Resource) (param, problem string) {
			if !given(r, "special") || r.Params.Value("special") == "absent" {
				return "", ""
			}
			for _, field := range strings.Fields("minute hour weekday month monthday") {
				if given(r, field) && r.Params.Value(field) != "absent" {
					return "special", "cannot be used together with " + field
				}
			}
			return "", ""
		},
		"debconf": func(r *catalog.Resource) (param, problem string) {
			if !given(r, "type") && r.Params.Value("ensure") != "absent" {
				return "type", "must be given"
			}
			return "", ""
		},
		"exec": qualified,
		"file": func(r *catalog.Resource) (param, problem string) {
			var both []string
			for _, name := range []string{"content", "source", "target"} {
				if given(r, name) {
					both = append(both, name)
				}
			}
			switch {
			case len(both) > 1:
				return both[0], "cannot be used together with " + both[1]
			case r.Params.Value("recurse") == "remote" && !given(r, "source"):
				return "recurse", "cannot be remote without source"
			}
			return "", ""
		},
		"file_line": func(r *catalog.Resource) (param, problem string) {
			switch {
			case !given(r, "path"):
				return "path", "must be given"
			case !given(r, "line") && !(r.Params.Value("ensure") == "absent" && isTrue(r, "match_for_absence") && given(r, "match")):
				return "line", "must be given, unless lines that match are made absent"
			}
			return "", ""
		},
		"package": func(r *catalog.Resource) (param, problem string) {
			if ensure := r.Params.Value("ensure"); given(r, "mark") && (ensure == "absent" || ensure == "purged") {
				return "mark", "cannot be used for a package that is removed"
			}
			return "", ""
		},
		"ssh_authorized_key": func(r *catalog.Resource) (param, problem string) {
			if !given(r, "user") && !given(r, "target") {
				return "user", "must be given, or target"
			}
			return "", ""
		},
		"tidy": func(r *catalog.Resource) (param, problem string) {
			recurse, _ := scalar(r.Params.Value("recurse"))
			if given(r, "matches") && (recurse == "" || recurse == "0" || recurse == "false") {
				return "matches", "cannot be used without recurse"
			}
			return "", ""
		},
	}
})

func given(r *catalog.Resource, param string) bool { return r.Params.Value(param) != nil }

func isTrue(r *catalog.Resource, param string) bool {
	text, _ := word(r.Params.Value(param))
	return text == "true"
}

func fragment(r *catalog.Resource) (param, problem string) {
	switch content, source := given(r, "content"), given(r, "source"); {
	case !given(r, "target") && !given(r, "tag"):
		return "target", "must be given, or tag"
	case content && source:
		return "source", "cannot be used together with content"
	case !content && !source:
		return "content", "must be given, or source"
	}
	return "", ""
}

// qualified is the rule for commands without a search path: their program must be an absolute path.
func qualified(r *catalog.Resource) (param, problem string) {
	if provider := r.Params.Value("provider"); given(r, "path") || provider != nil && provider != "posix" {
		return "", ""
	}
	if !given(r, "command") && !absoluteProgram(r.Title) {
		return "command", "must begin with an absolute path, because path is not given"
	}
	for _, param := range []string{"command", "unless", "onlyif", "refresh"} {
		lines, is := r.Params.Value(param).([]any)
		if !is {
			lines = []any{r.Params.Value(param)}
		} else if param == "command" && len(lines) > 1 {
			lines = lines[:1]
		}
		for _, line := range lines {
			if words, is := line.([]any); is && len(words) > 0 {
				line = words[0]
			}
			if text, is := line.(string); is && !absoluteProgram(text) {
				return param, "must begin with an absolute path, because path is not given"
			}
		}
	}
	return "", ""
}

// absoluteProgram reports whether the first word of a command line, or the text in quotes at
// its beginning, is an absolute path.
func absoluteProgram(line string) bool {
	line = strings.TrimLeft(line, `"'`)
	return absolutePath().MatchString(line)
}
