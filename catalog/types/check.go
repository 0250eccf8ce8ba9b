package types

import (
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
)

// A ValueError is for a value that a parameter cannot have.
type ValueError struct {
	Resource *catalog.Resource
	Param    string
	Problem  string // such as: cannot be "x"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("The parameter %s of %s %s", e.Param, e.Resource.Ref, e.Problem)
}

// Check returns the values of a resource that its type refuses, in the order of the
// parameters. The value of a secret parameter is not in an error. A value that is
// computed on the target (Deferred) is not checked.
func Check(r *catalog.Resource) (errs []*ValueError) {
	bad := func(param, format string, a ...any) {
		errs = append(errs, &ValueError{r, param, fmt.Sprintf(format, a...)})
	}
	typ := strings.ToLower(r.Type)
	if typ == "file" || typ == "tidy" {
		if p := pathOf(r); !strings.HasPrefix(p, "/") {
			bad("path", "must be an absolute path, and is %q", p)
		}
	}
	for name, v := range r.Params.All() {
		allowed := values[typ][name]
		if allowed == nil {
			continue
		}
		text, is := word(v)
		switch {
		case !is || slices.Contains(allowed, text):
		case r.Secret(name):
			bad(name, "has a secret value that it cannot have: it can be %s", alternatives(allowed))
		default:
			bad(name, "cannot be %q: it can be %s", text, alternatives(allowed))
		}
	}
	return errs
}

// word is a value that can be compared with the words that a parameter can have.
func word(v any) (text string, is bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

const boolean = "true false"

// values are the words of the parameters that can have certain words only.
var values = map[string]map[string][]string{
	"cron":               words("ensure", "present absent"),
	"exec":               words("logoutput", "true false on_failure", "refreshonly", boolean),
	"file":               words("replace", boolean+" yes no", "force", boolean+" yes no", "purge", boolean+" yes no", "recurse", "true false remote", "links", "follow manage", "sourceselect", "first all", "checksum", "sha256 sha256lite md5 md5lite sha1 sha1lite sha512 sha384 sha224 mtime ctime none", "source_permissions", "use use_when_creating ignore"),
	"group":              words("ensure", "present absent"),
	"host":               words("ensure", "present absent"),
	"mount":              words("ensure", "defined present unmounted absent mounted"),
	"package":            words("mark", "hold none", "configfiles", "keep replace"),
	"schedule":           words("period", "hourly daily weekly monthly never", "periodmatch", "number distance"),
	"selmodule":          words("ensure", "present absent"),
	"service":            words("ensure", "stopped running true false", "enable", "true false manual mask delayed", "hasstatus", boolean, "hasrestart", boolean),
	"ssh_authorized_key": words("ensure", "present absent"),
	"sshkey":             words("ensure", "present absent"),
	"tidy":               words("type", "atime mtime ctime"),
	"user":               words("ensure", "present absent role", "membership", "inclusive minimum"),
	"yumrepo":            words("ensure", "present absent"),
}

// words makes a table of pairs of a parameter and its words.
func words(pairs ...string) map[string][]string {
	m := make(map[string][]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = strings.Fields(pairs[i+1])
	}
	return m
}
