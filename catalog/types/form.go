package types

import (
	"fmt"
	"regexp"
	"sync"

	"bolt/internal/lazyregexp"
)

// A form is the required form of the values of a parameter. If the value is a list, each element
// must have it.
type form struct {
	pattern func() *regexp.Regexp
	must    string // such as: be a number
}

// problem describes the first element of a value that does not have the form. It returns "" if all
// elements have the form.
func (f form) problem(v any, secret bool) string {
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	for _, x := range list {
		text, is := scalar(x)
		switch {
		case !is || f.pattern().MatchString(text):
		case secret:
			return "must " + f.must + "; its value is secret"
		default:
			return fmt.Sprintf("must %s, and is %q", f.must, text)
		}
	}
	return ""
}

// formed makes a table of rows: a parameter, the pattern of its values, and the form in words.
func formed(rows ...[3]string) map[string]form {
	m := make(map[string]form, len(rows))
	for _, row := range rows {
		m[row[0]] = form{lazyregexp.New(row[1]), row[2]}
	}
	return m
}

// each makes rows for several parameters with the same form.
func each(pattern, must string, params ...string) (rows [][3]string) {
	for _, name := range params {
		rows = append(rows, [3]string{name, pattern, must})
	}
	return rows
}

// scalar returns the text of a value that can be compared with a form.
func scalar(v any) (text string, is bool) {
	switch v := v.(type) {
	case string, bool, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// Patterns that several types have in common.
const (
	// A path of Windows is possible, because the catalog can be for such a node.
	somePath = `^(/|[A-Za-z]:[/\\]|\\\\)`
	digitsOf = `^[0-9]+$`
	switched = `^(true|false|yes|no)$`
	noSpace  = `^\S+$`
	byteOf   = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	octal    = `^0?[0-7]{1,4}$`
	// Puppet's type archive looks for one of these words anywhere.
	fetched = `puppet|http|ftp|file|s3|gs|` + somePath
	// The key names of the types of OpenSSH, and the short forms.
	keyTypes = `^(dsa|rsa|ed25519|ecdsa-sk|ed25519-sk|ssh-dss|ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|sk-(ecdsa-sha2-nistp256|ssh-ed25519)@openssh\.com)$`
)

var absolutePath = lazyregexp.New(somePath)

// between returns the pattern of a field of a cron job: a number, a range or a step, as in Puppet's type
// cron.
func between(numbers, names string) string {
	if names != "" {
		numbers += "|(?i:" + names + ")"
	}
	return `^(absent|\*|(\*|[0-9]+-[0-9]+)/[0-9]+|[0-9]+-[0-9]+|` + numbers + `)$`
}

// forms are the forms of the parameters that cannot have every value, by types.
var forms = sync.OnceValue(func() map[string]map[string]form {
	return map[string]map[string]form{
		"alternative_entry": formed(
			[3]string{"altlink", somePath, "be an absolute path"},
			[3]string{"priority", `^[-+]?[0-9][0-9_a-fA-Fx]*$`, "be a whole number"},
		),
		"apt_key": formed(
			[3]string{"id", `^(0x)?([0-9a-fA-F]{8}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})$`, "have 8, 16 or 40 hexadecimal digits"},
			[3]string{"source", `^(https?://|ftp://|/\w)`, "be an absolute path, or a URL with http, https or ftp"},
		),
		"archive": formed(append(each(fetched, "be a URL or an absolute path", "source", "url", "checksum_url", "digest_url"),
			append(each(somePath, "be an absolute path", "extract_path", "target", "temp_dir"),
				[3]string{"checksum", `^(|true|false|undef|.*\b[0-9a-f]{5,128}\b.*)$`, "be a hexadecimal digest, true or false"},
				[3]string{"digest_string", `\b[0-9a-f]{5,128}\b`, "be a hexadecimal digest"})...)...),
		"augeas":          formed(append(each(switched, "be true or false", "show_diff"), each(`^(true|false)$`, "be true or false", "type_check")...)...),
		"concat_fragment": formed([3]string{"order", `^[^/:\n]*$`, "have no slash, colon or end of line"}),
		"cron": formed(
			[3]string{"minute", between("0?[0-9]|[1-5][0-9]", ""), "be a minute from 0 to 59, a range, a step such as */5, or a list of these"},
			[3]string{"hour", between("0?[0-9]|1[0-9]|2[0-3]", ""), "be an hour from 0 to 23, a range, a step such as */2, or a list of these"},
			[3]string{"monthday", between("0?[1-9]|[12][0-9]|3[01]", ""), "be a day from 1 to 31, a range, a step, or a list of these"},
			[3]string{"month", between("0?[1-9]|1[0-2]", "jan[a-z]*|feb[a-z]*|mar[a-z]*|apr[a-z]*|may|jun[a-z]*|jul[a-z]*|aug[a-z]*|sep[a-z]*|oct[a-z]*|nov[a-z]*|dec[a-z]*"), "be a month from 1 to 12, its name, a range, a step, or a list of these"},
			[3]string{"weekday", between("0?[0-7]", "(sun|mon|tue|wed|thu|fri|sat)[a-z]*"), "be a day of the week from 0 to 7, its name, a range, a step, or a list of these"},
			[3]string{"special", `^(absent|reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)$`, "be reboot, yearly, annually, monthly, weekly, daily, midnight, hourly or absent"},
			[3]string{"environment", `^\s*$|^absent$|^\s*\w+\s*=`, "have the form NAME=VALUE"},
		),
		"debconf": formed(
			[3]string{"item", `^[a-z0-9][a-z0-9:.+-]+/[a-zA-Z0-9/_.+-]+$`, "be a package and a question, such as tzdata/Areas"},
			[3]string{"package", `^[a-z0-9][a-z0-9:.+-]+$`, "be the name of a package"},
		),
		"exec": formed(append(each(somePath, "be an absolute path", "cwd", "creates"),
			[3]string{"timeout", `^\s*[-+]?[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*$`, "be a number of seconds"},
			[3]string{"tries", `^\s*\+?0*[1-9][0-9_]*\s*$`, "be an integer of at least 1"},
			[3]string{"try_sleep", `^\s*\+?[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*$`, "be a number of seconds that is not negative"},
			[3]string{"umask", octal, "be an octal number"},
			[3]string{"environment", `\w+=`, "have the form NAME=VALUE"})...),
		"file": formed(
			[3]string{"mode", `^(0?[0-7]{1,4}|[ugoa]*[-=+][-=+rstwxXugo]*(,[ugoa]*[-=+][-=+rstwxXugo]*)*)$`, "be an octal number, or symbolic such as u=rw,go=r"},
			[3]string{"recurselimit", digitsOf, "be a number"},
			[3]string{"max_files", `^([0-9]+|-1)$`, "be a number, or -1"},
			[3]string{"source", `^(puppet|file|https?):|` + somePath, "be an absolute path, or a URL with puppet, file, http or https"},
		),
		"http_check": formed(append(each(`^[1-9][0-9]*$`, "be a number of at least 1", "timeout", "tries"),
			[3]string{"try_sleep", digitsOf, "be a number of seconds"},
			[3]string{"url", `^https?://.`, "be a URL with http or https"},
			[3]string{"status", `^[1-5][0-9]{2}$`, "be a status from 100 to 599"},
			[3]string{"cacert", `^/`, "be an absolute path"})...),
		"htgroup": formed(
			[3]string{"name", `^[^:#\s]([^:\r\n]*[^:\s])?$`, "be a group without colons, and without # and blanks at its ends"},
			[3]string{"users", noSpace, "be names without blanks"},
			[3]string{"target", `^/`, "be an absolute path"},
		),
		"htpasswd": formed(
			[3]string{"username", `^[^:#\s]([^:\r\n]*[^:\s])?$`, "be a user name without colons, and without # and blanks at its ends"},
			[3]string{"cryptpasswd", `^\S(.*\S)?$`, "be a hash on one line, without blanks at its ends"},
			[3]string{"target", `^/`, "be an absolute path"},
		),
		"password":   formed([3]string{"length", `^[1-9][0-9]{0,4}$`, "be a number from 1 to 65535"}),
		"timer":      formed([3]string{"interval", `^[1-9][0-9]{0,9}$`, "be a number of seconds"}),
		"filebucket": formed([3]string{"path", `^false$|` + somePath, "be an absolute path, or false"}),
		"firewall": formed(append(each(`^(! ?)?[0-9]+([:-][0-9]+)?$`, "be a port or a range of ports, such as 80 or 80-90", "sport", "dport"),
			[3]string{"name", `^[0-9]+([ \t_-]\S+)+$`, "be a number and words, such as 100 allow ssh"})...),
		"firewallchain": formed([3]string{"name", `^\S+:(nat|mangle|filter|raw|rawpost|broute|security):(IP(v[46])?|ethernet)$`, "have the form CHAIN:TABLE:PROTOCOL, such as INPUT:filter:IPv4"}),
		"group":         formed([3]string{"gid", `^([-0-9]+|absent)$`, "be a number"}),
		"dhparam":       formed(fileMode, [3]string{"size", `^[1-9][0-9]*$`, "be a positive number"}),
		"host": formed(
			[3]string{"ip", `^\s*(` + byteOf + `(\.` + byteOf + `){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%.+)?)\s*$`, "be an IP address"},
			[3]string{"name", `^[^\s.]+(\.[^\s.]+)*$`, "be a host name"},
			[3]string{"host_aliases", noSpace, "be names without spaces"},
			[3]string{"comment", `^[^\n]*$`, "be one line"},
		),
		"ini_subsetting": formed([3]string{"quote_char", `^["']?$`, `be empty, ' or "`}),
		"logical_volume": formed(append(each(`^[0-9]+(\.[0-9]+)?[KMGTPEkmgtpe]`, "be a size such as 500M or 1.5G", "size", "initial_size", "poolmetadatasize"),
			append(each(digitsOf, "be a number", "stripes", "stripesize", "region_size"), [3]string{"extents", `^\d+(%(?i:vg|pvs|free|origin)?)?$`, "be a number, or a percentage such as 100%FREE"})...)...),
		"mongodb_conn_validator": formed(each(digitsOf, "be a whole number", "port", "timeout")...),
		"mongodb_database":       formed([3]string{"name", `^[\w-]+$`, "have only letters, digits, _ and -"}, [3]string{"tries", digitsOf, "be a whole number"}),
		"mongodb_user": formed(
			[3]string{"database", `^[\w-]+$`, "have only letters, digits, _ and -"},
			[3]string{"roles", `^\w+(@[\w-]+)?$`, "be roles such as read or read@database"},
			[3]string{"password_hash", `^\w+$`, "be a hash, as mongodb_password() returns it"},
			[3]string{"tries", digitsOf, "be a whole number"},
		),
		"mount": formed(append(each(noSpace, "have no spaces, and not be empty", "options", "fstype"),
			[3]string{"atboot", switched, "be true or false"},
			[3]string{"remounts", `^(true|false)$`, "be true or false"},
			[3]string{"dump", `[01]`, "be 0 or 1"})...),
		"notify":          formed([3]string{"withpath", `^(true|false)$`, "be true or false"}),
		"package":         formed([3]string{"ensure", `.`, "not be empty"}),
		"physical_volume": formed([3]string{"name", `^/`, "be an absolute path"}),
		"resources": formed(
			[3]string{"purge", switched, "be true or false"},
			[3]string{"unless_system_user", `^(true|false|[0-9]+)$`, "be true, false or a number"},
			[3]string{"unless_uid", `^\s*-?[0-9]+\s*$`, "be a number, or a list of numbers"},
		),
		"schedule": formed(
			[3]string{"repeat", digitsOf, "be a number"},
			[3]string{"range", clock + `\s*-\s*` + clock, "be a range of times, such as 2:00 - 4:00"},
			[3]string{"weekday", `^([0-6]|(?i:(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?))$`, "be a day of the week from 0 to 6, or its name"},
		),
		"selboolean":                   formed([3]string{"value", `^(on|off|true|false)$`, "be on or off"}),
		"selinux_fcontext":             formed([3]string{"file_type", `^[abcdflps]$`, "be a, b, c, d, f, l, p or s"}),
		"selinux_fcontext_equivalence": formed(each(`^/`, "be an absolute path", "path", "target")...),
		"selinux_port":                 formed(each(`^[1-9][0-9]{0,4}$`, "be a number from 1 to 65535", "low_port", "high_port")...),
		"ssh_authorized_key": formed(
			[3]string{"type", keyTypes, "be a type of keys, such as ssh-ed25519"},
			[3]string{"key", `^\S*$`, "have no spaces: it is only the middle part of a line of a public key"},
			[3]string{"options", `^[-a-z0-9A-Z_]+(=".*?")?$`, `be a list of options, each of the form NAME or NAME="VALUE"`},
		),
		"sshkey": formed(
			[3]string{"type", keyTypes, "be a type of keys, such as ssh-ed25519"},
			[3]string{"name", `^[^\s,]+$`, "have no spaces and no commas"},
			[3]string{"host_aliases", `^[^\s,]*$`, "be names without spaces and commas"},
		),
		"swap_file": formed([3]string{"file", somePath, "be an absolute path"}),
		"ssl_pkey":  formed(fileMode, [3]string{"size", digitsOf, "be a number"}),
		"tidy": formed(
			[3]string{"age", `^[0-9]+([smhdwSMHDW]\w*)?$`, "be a number of days, or a number with a unit such as 2w"},
			[3]string{"size", `^[0-9]+([bkmgtBKMGT]\w*)?$`, "be a number of kilobytes, or a number with a unit such as 2m"},
			[3]string{"recurse", `^(true|false|inf|[0-9]+)$`, "be true, false, inf or a number"},
			[3]string{"rmdirs", switched, "be true or false"},
			[3]string{"max_files", digitsOf, "be a number"},
		),
		"user": formed(append(each(`^-?[0-9]+$|^absent$`, "be a number of days", "password_min_age", "password_max_age", "password_warn_days"),
			append(each(switched, "be true or false", "system", "managehome", "allowdupe", "forcelocal"),
				[3]string{"expiry", `^(absent|[0-9]{4}-[0-9]{2}-[0-9]{2})$`, "be a date of the form YYYY-MM-DD, or absent"},
				[3]string{"groups", `^[^,]*[^,0-9][^,]*$`, "be a list of names"},
				[3]string{"password", `^[^:]*$`, "have no colon"},
				[3]string{"purge_ssh_keys", `^(true|false)$|^(~|%h)/|` + somePath, "be true, false or absolute paths"})...)...),
		"vcsrepo": formed(
			[3]string{"revision", noSpace, "have no spaces, and not be empty"},
			[3]string{"includes", `^[^/]`, "be a relative path"},
			[3]string{"compression", `^[0-6]$`, "be a number from 0 to 6"},
			[3]string{"umask", octal, "be an octal number"},
		),
		"x509_cert":    formed(append(each(somePath, "be an absolute path", "private_key", "template"), fileMode, [3]string{"days", digitsOf, "be a number"})...),
		"x509_request": formed(append(each(somePath, "be an absolute path", "private_key", "template"), fileMode)...),
		"yumrepo":      yumrepo(),
	}
})

// fileMode is the row for the mode of a file of the module openssl.
var fileMode = [3]string{"mode", `^0[0-9]{3}$`, "be an octal number such as 0644"}

// clock is the pattern of a time of day.
const clock = `\b([01]?[0-9]|2[0-3])(:[0-5]?[0-9]){0,2}`

func yumrepo() map[string]form {
	const none = `^absent$|`
	url := none + `^(file|https?|ftp)://`
	urls := none + `^\s*(file|https?|ftp)://\S*(\s+(file|https?|ftp)://\S*)*\s*$`
	number := none + digitsOf
	var rows [][3]string
	add := func(pattern, must string, params ...string) { rows = append(rows, each(pattern, must, params...)...) }
	add(none+`^(true|false|0|1|no|yes)$`, "be 1, 0, true, false, yes, no or absent", "enabled", "gpgcheck", "payload_gpgcheck", "repo_gpgcheck", "enablegroups", "keepalive", "protect",
		"s3_enabled", "skip_if_unavailable", "sslverify", "assumeyes", "module_hotfixes")
	add(number, "be a number, or absent", "cost", "timeout", "retries", "mirrorlist_expire", "minrate", "deltarpm_percentage", "deltarpm_metadata_percentage")
	add(url, "be a URL with file, http, https or ftp", "mirrorlist", "include", "metalink")
	add(urls, "be URLs with file, http, https or ftp", "baseurl", "gpgkey", "gpgcakey")
	add(none+`^_none_$|^$|^(file|https?|ftp)://`, "be a URL, _none_ or absent", "proxy")
	add(none+`^roundrobin|priority$`, "be roundrobin, priority or absent", "failovermethod")
	add(none+`^(packages|all|none)$`, "be packages, all, none or absent", "http_caching")
	add(none+`^([0-9]+[dhm]?|never)$`, "be a time such as 6h, never or absent", "metadata_expire")
	add(none+`^-?[0-9]+$`, "be a number, or absent", "priority")
	add(none+`^[0-9]+[kMG%]?$`, "be a number with k, M, G or %, or absent", "throttle")
	add(none+`^[0-9]+[kMG]?$`, "be a number with k, M or G, or absent", "bandwidth")
	return formed(rows...)
}
