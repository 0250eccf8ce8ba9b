package ini

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Ini_setting": Setting(), "Ini_subsetting": Subsetting()}

func apply(t *testing.T, h *resource.Host, path, typ string, noop bool, params ...string) string {
	t.Helper()
	var list []string
	for i, p := range params {
		list = append(list, fmt.Sprintf(`%s[%d] {"path":%q,%s}`, typ, i+1, path, p))
	}
	return hosttest.Apply(t, h, types, noop, list...)
}

// The results are those of Puppet 7.23 with the module inifile 5.2.
func TestSettings(t *testing.T) {
	const start = "; comment\n[main]\nkey = old\n  ind=1\n;cm = x\n# z=1\n\n\n[one]\nk=1\n[two]\nk=1\n\n[three]\n# c\nk=1\n[last]\nnonl=1"
	for _, c := range []struct {
		name, start string
		params      []string
		out, want   string
	}{
		{"many", start, []string{
			`"section":"one","setting":"k","ensure":"absent"`, `"section":"two","setting":"k","ensure":"absent"`, `"section":"three","setting":"k","ensure":"absent"`,
			`"section":"main","setting":"cm","value":"y"`, `"section":"main","setting":" new ","value":" y "`, `"section":"main","setting":"ind","value":2`,
			`"section":"last","setting":"b","value":true`, `"section":"","setting":"glob","value":1`, `"section":"onlysec"`, `"section":"nosec","setting":"x","value":"y","force_new_section_creation":false`,
			`"section":"nosec","setting":"x","ensure":"absent"`,
		}, `Ini_setting[1] changed ini_setting_removed
Ini_setting[2] changed ini_setting_removed
Ini_setting[3] changed ini_setting_removed
Ini_setting[4] changed ini_setting_created
Ini_setting[5] changed ini_setting_created
Ini_setting[6] changed value(1 -> 2)
Ini_setting[7] changed ini_setting_created
Ini_setting[8] changed ini_setting_created
Ini_setting[9] changed ini_setting_created
`, "; comment\nglob = 1\n[main]\nkey = old\n  ind=2\n;cm = x\ncm = y\n# z=1\nnew = y\n\n\n[two]\n\n[three]\n# c\n[last]\nnonl=1\nb = true\n\n[onlysec]\n"},
		{"new section", "g=1\n", []string{`"section":"n","setting":"x","value":"y"`}, "Ini_setting[1] changed ini_setting_created\n", "g=1\n\n[n]\nx = y\n"},
		{"before the first section", "[s]\na=1\n", []string{`"setting":"x","value":"y"`}, "Ini_setting[1] changed ini_setting_created\n", "x = y\n\n[s]\na=1\n"},
		{"new file", "", []string{`"section":"s","setting":"x","value":"y","key_val_separator":":"`, `"section":"s","setting":"z","value":["1","2"],"key_val_separator":":"`},
			"Ini_setting[1] changed ini_setting_created\nIni_setting[2] changed ini_setting_created\n", "[s]\nx:y\nz:1\nz:2\n"},
		{"indentation", "[s]\n\ta=1\n", []string{`"section":"s","setting":"x","value":"y","indent_char":"\t"`, `"section":"s","setting":"z","value":"y","indent_width":2,"indent_char":" "`},
			"Ini_setting[1] changed ini_setting_created\nIni_setting[2] changed ini_setting_created\n", "[s]\n\ta=1\n\tx = y\n  z = y\n"},
		{"carriage returns", "[s]\r\na=1\r\n", []string{`"section":"s","setting":"a","value":"1"`, `"section":"s","setting":"a","value":"2","name":"b"`}, "Ini_setting[2] changed value(1 -> 2)\n", "[s]\r\na=2\r\n"},
		{"several lines become one", "[s]\na=1\nb=1\na=2\n", []string{`"section":"s","setting":"a","value":"2"`}, "Ini_setting[1] changed value(1, 2 -> 2)\n", "[s]\nb=1\na=2\n"},
		{"several values", "[s]\na=1\nb=1\n", []string{`"section":"s","setting":"a","value":["1","2"]`}, "Ini_setting[1] changed value(1 -> 1, 2)\n", "[s]\na=1\na=2\nb=1\n"},
		{"two sections of a name", "[s]\na=1\n[t]\n[s]\nb=1\n", []string{`"section":"s","setting":"b","value":"2"`}, "Ini_setting[1] changed value(1 -> 2)\n", "[s]\na=1\n[t]\n[s]\nb=2\n"},
		{"other signs", "<<s>>\na = 1\n", []string{`"section":"s","setting":"a","value":"2","section_prefix":"<<","section_suffix":">>"`}, "Ini_setting[1] changed value(1 -> 2)\n", "<<s>>\na = 2\n"},
		{"blanks as separator", "[s]\na   1\n", []string{`"section":"s","setting":"a","value":"2","key_val_separator":" "`, `"section":"s","setting":"b","value":"2","key_val_separator":" "`},
			"Ini_setting[1] changed value(1 -> 2)\nIni_setting[2] changed ini_setting_created\n", "[s]\na   2\nb 2\n"},
		{"special characters", "[s.*]\na.b+1 = (\n", []string{`"section":"s.*","setting":"a.b+1","value":")"`, `"section":"sxx","setting":"a","value":"1","ensure":"absent"`}, "Ini_setting[1] changed value(( -> ))\n", "[s.*]\na.b+1 = )\n"},
		{"hidden values", "[s]\na=1\n", []string{`"section":"s","setting":"a","value":"2","show_diff":"md5"`, `"section":"s","setting":"a","value":"3","show_diff":false`, `"section":"s","setting":"a","value":{"sensitive":"4"}`},
			"Ini_setting[1] changed value({md5}c4ca4238a0b923820dcc509a6f75849b -> {md5}c81e728d9d4c2f636f067f89cc14862c)\nIni_setting[2] changed value([redacted] -> [redacted])\nIni_setting[3] changed value([redacted] -> [redacted])\n", "[s]\na=4\n"},
		{"refreshonly", "[s]\na=1\n", []string{`"section":"s","setting":"a","value":"2","refreshonly":true`}, "", "[s]\na=1\n"},
		{"refreshed", "[s]\na=1\nb=1\n", []string{
			`"section":"s","setting":"b","value":"2","notify":["Ini_setting[2]","Ini_setting[3]"]`, `"section":"s","setting":"a","value":"2","refreshonly":true`, `"section":"s","setting":"b","ensure":"absent","refreshonly":true`,
		}, "Ini_setting[1] changed value(1 -> 2)\nIni_setting[2] changed refresh\nIni_setting[3] changed refresh\n", "[s]\na=2\n"},
		{"no value", "[s]\n", []string{`"section":"s","setting":"a"`}, "Ini_setting[1] failed FAILED change of ensure from absent to present failed: The parameter value is needed for a new setting\n", "[s]\n"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, "Ini_setting", c.start, c.params, c.out, c.want) })
	}
}

func check(t *testing.T, typ, start string, params []string, out, want string) {
	t.Helper()
	h := hosttest.Host(t)
	path := filepath.Join(h.Root, "f.ini")
	if start != "" {
		if err := os.WriteFile(path, []byte(start), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, h, path, typ, true, params...)
	if got, _ := os.ReadFile(path); string(got) != start {
		t.Errorf("noop has written %q", got)
	}
	if got := apply(t, h, path, typ, false, params...); got != out {
		t.Errorf("got\n%s, want\n%s", got, out)
	}
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("file is\n%q, want\n%q", got, want)
	}
	if len(params) > 1 && strings.Contains(out, "redacted") || strings.Contains(out, "value(1 -> 2)") && strings.Contains(params[0], "notify") || strings.Contains(t.Name(), "carriage") {
		return // several resources are about one setting
	}
	if again := apply(t, h, path, typ, false, params...); strings.Contains(again, "changed") {
		t.Errorf("the second time: %s", again)
	}
	if info, _ := os.Stat(path); start != "" && info.Mode().Perm() != 0o640 || start == "" && info.Mode().Perm() != 0o644 {
		t.Errorf("mode is %o", info.Mode().Perm())
	}
}

func TestSubsettings(t *testing.T) {
	const start = "[s]\nx = a b c\nq = \"-Xms1 -Xmx2\"\n"
	for _, c := range []struct {
		name   string
		params []string
		out    string
		want   string
	}{
		{"as Puppet", []string{
			`"section":"s","setting":"x","subsetting":"b","ensure":"absent"`, `"section":"s","setting":"q","subsetting":"-Xmx","value":"9"`, `"section":"s","setting":"q","subsetting":"-Xss","value":"1"`,
			`"section":"s","setting":"new","subsetting":"-Xss","value":"1","quote_char":"\""`, `"section":"s","setting":"new","subsetting":"-Xsa","value":"1","insert_type":"start"`,
		}, "Ini_subsetting[1] changed ini_subsetting_removed\nIni_subsetting[2] changed value(2 -> 9)\nIni_subsetting[3] changed ini_subsetting_created\nIni_subsetting[4] changed ini_subsetting_created\nIni_subsetting[5] changed ini_subsetting_created\n",
			"[s]\nx = a c\nq = \"-Xms1 -Xmx9 -Xss1\"\nnew = \"-Xsa1 -Xss1\"\n"},
		{"places", []string{
			`"section":"s","setting":"x","subsetting":"1","insert_type":"before","insert_value":"b"`, `"section":"s","setting":"x","subsetting":"2","insert_type":"after","insert_value":"b"`, `"section":"s","setting":"x","subsetting":"3","insert_type":"index","insert_value":1`,
			`"section":"s","setting":"x","subsetting":"4","insert_type":"index","insert_value":"99"`, `"section":"s","setting":"x","subsetting":"5","insert_type":"after","insert_value":"none"`,
		}, strings.ReplaceAll("Ini_subsetting[1] Cini_subsetting_created\nIni_subsetting[2] Cini_subsetting_created\nIni_subsetting[3] Cini_subsetting_created\nIni_subsetting[4] Cini_subsetting_created\nIni_subsetting[5] Cini_subsetting_created\n", "C", "changed "),
			"[s]\nx = a 3 1 b 2 c 4 5\nq = \"-Xms1 -Xmx2\"\n"},
		{"exact", []string{`"section":"s","setting":"q","subsetting":"-Xms","use_exact_match":true`, `"section":"s","setting":"q","subsetting":"-Xmx2","use_exact_match":true`}, "Ini_subsetting[1] changed ini_subsetting_created\n", "[s]\nx = a b c\nq = \"-Xms1 -Xmx2 -Xms\"\n"},
		{"separators", []string{`"section":"s","setting":"l","subsetting":"a","value":"1","subsetting_separator":",","subsetting_key_val_separator":":"`, `"section":"s","setting":"l","subsetting":"b","value":"2","subsetting_separator":",","subsetting_key_val_separator":":"`},
			"Ini_subsetting[1] changed ini_subsetting_created\nIni_subsetting[2] changed ini_subsetting_created\n", start + "l = a:1,b:2\n"},
		{"the last word", []string{`"section":"s","setting":"x","subsetting":"a","ensure":"absent"`, `"section":"s","setting":"x","subsetting":"b","ensure":"absent"`, `"section":"s","setting":"x","subsetting":"c","ensure":"absent"`},
			"Ini_subsetting[1] changed ini_subsetting_removed\nIni_subsetting[2] changed ini_subsetting_removed\nIni_subsetting[3] changed ini_subsetting_removed\n", "[s]\nq = \"-Xms1 -Xmx2\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, "Ini_subsetting", start, c.params, c.out, c.want) })
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`Ini_setting[x] {"section":"s"}`:                                                                          "The parameter path is needed",
		`Ini_setting[x] {"path":"/x","value":"a\nb"}`:                                                             "The parameter value must be one line",
		`Ini_setting[x] {"path":"/x","indent_width":"x"}`:                                                         "The parameter indent_width",
		`Ini_setting[x] {"path":"/x","section":"a\nb"}`:                                                           "The parameter section must be one line",
		`Ini_subsetting[x] {"path":"/x","subsetting":"x"}`:                                                        "The parameter setting is needed",
		`Ini_subsetting[x] {"path":"/x","setting":"x"}`:                                                           "The parameter subsetting is needed",
		`Ini_subsetting[x] {"path":"/x","setting":"x","subsetting":"y","quote_char":"x"}`:                         "The parameter quote_char",
		`Ini_subsetting[x] {"path":"/x","setting":"x","subsetting":"y","insert_type":"index","insert_value":"x"}`: "The parameter insert_value",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types, false, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A file is its text until it is changed, a setting has the values that it was given, and removing it leaves no line of it.
func FuzzFile(f *testing.F) {
	f.Add("; c\n[main]\nkey = old\n;new = 1\n\n[x]\n", "main", "new", "v", " = ")
	f.Add("a=1\r\n[s]\r\n", "s", "a", "", ":")
	f.Add("[a]\n[a]\nb", "", "b", "c", " ")
	f.Fuzz(func(t *testing.T, text, section, setting, value, separator string) {
		if !utf8.ValidString(separator) || strings.ContainsAny(section+setting+value+separator, "\r\n") { // New refuses them
			return
		}
		s := syntax{separator: separator, prefix: "[", suffix: "]", indentChar: " ", indentWidth: -1}
		s.compile()
		file := parse(text, &s)
		if file.String() != text {
			t.Fatalf("%q became %q", text, file)
		}
		n := strings.Count(text, "\n")
		file.set(section, setting, []string{value})
		if lines := strings.Count(file.String(), "\n"); lines > n+5 {
			t.Errorf("%d lines became %d", n, lines)
		}
		// Names that the syntax has no way to write are not found again.
		plain := func(s string) bool {
			return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-.") == ""
		}
		if !plain(section) || !plain(setting) || !plain(value) || strings.TrimSpace(separator) != "=" && strings.TrimSpace(separator) != ":" || strings.ContainsAny(separator, "\r\n\v\f") {
			return
		}
		again := parse(file.String(), &s)
		if got := again.values(section, setting); !slices.Equal(got, []string{value}) {
			t.Errorf("%q: values are %q", again, got)
		}
		again.remove(section, setting)
		if got := parse(again.String(), &s).values(section, setting); len(got) > 0 && strings.Count(text, "["+section+"]") < 2 {
			t.Errorf("%q still has %q", again, got)
		}
	})
}
