package fileline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"File_line": Type()}

func TestLines(t *testing.T) {
	const created, removed = "created", "removed"
	for _, c := range []struct {
		name, params, start string
		event, want         string // event "" for unchanged
	}{
		{"there", `"line":"two"`, "one\ntwo\n", "", ""},
		{"added", `"line":"three"`, "one\ntwo\n", created, "one\ntwo\nthree\n"},
		{"no newline at the end", `"line":"next"`, "last", created, "last\nnext\n"},
		{"empty file", `"line":"x"`, "", created, "x\n"},
		{"carriage returns", `"line":"two"`, "one\r\ntwo\r\n", "", ""},
		{"match", `"line":"x=9","match":"^x="`, "x=1\ny=2\n", created, "x=9\ny=2\n"},
		{"match and there", `"line":"x=9","match":"^x="`, "x=1\nx=9\n", "", ""},
		{"match none", `"line":"z=3","match":"^z="`, "x=1\n", created, "x=1\nz=3\n"},
		{"match none, no append", `"line":"z=3","match":"^z=","append_on_no_match":false`, "x=1\n", "", ""},
		{"match several", `"line":"x=9","match":"^x="`, "x=1\nx=2\n", "2 lines match ^x=", ""},
		{"multiple", `"line":"x=9","match":"^x=","multiple":true`, "x=1\na\nx=2", created, "x=9\na\nx=9\n"},
		{"replace false", `"line":"x=9","match":"^x=","replace":false`, "x=1\n", "", ""},
		{"replace false, match none", `"line":"x=9","match":"^x=","replace":false`, "y=1\n", created, "y=1\nx=9\n"},
		{"all that differ", `"line":"x=9","match":"^x=","replace_all_matches_not_matching_line":true,"multiple":true`, "x=1\nx=9\nx=2\n", created, "x=9\nx=9\nx=9\n"},
		{"all that differ: none", `"line":"x=9","match":"^x=","replace_all_matches_not_matching_line":true,"multiple":true`, "x=9\nx=9\n", "", ""},
		{"after", `"line":"new","after":"^a$"`, "a\nb\n", created, "a\nnew\nb\n"},
		{"after none", `"line":"new","after":"^c$"`, "a\nb\n", created, "a\nb\nnew\n"},
		{"after several", `"line":"new","after":"^a"`, "a1\na2\n", "2 lines match ^a", ""},
		{"after all", `"line":"new","after":"^a","multiple":true`, "a1\nb\na2", created, "a1\nnew\nb\na2\nnew\n"},
		{"match none, after", `"line":"k=1","match":"^k=","after":"^a","multiple":true`, "a1\na2\n", created, "a1\nk=1\na2\n"},
		{"match, after", `"line":"k=1","match":"^k=","after":"^a"`, "a1\nk=0\n", created, "a1\nk=1\n"},
		{"absent", `"ensure":"absent","line":"gone"`, "gone\nx\ngone\n", removed, "x\n"},
		{"absent, not there", `"ensure":"absent","line":"gone"`, "x\n", "", ""},
		{"absent by match", `"ensure":"absent","match":"^r","match_for_absence":true`, "r1\nx\n", removed, "x\n"},
		{"absent by several matches", `"ensure":"absent","match":"^r","match_for_absence":true`, "r1\nr2\n", "2 lines match ^r", ""},
		{"absent by all matches", `"ensure":"absent","match":"^r","match_for_absence":true,"multiple":true,"line":"x"`, "r1\nx\nr2\n", removed, "x\n"},
		{"absent with match that does not count", `"ensure":"absent","match":"^r","line":"x"`, "r1\nx\n", removed, "r1\n"},
		{"absent with match, only the match is there", `"ensure":"absent","match":"^r","line":"x"`, "r1\n", "", ""},
		{"Ruby's expressions", `"line":"port=1","match":"^(?<k>port)(?!s)\\h*=\\h+$"`, "ports=a\nport=ff\n", created, "ports=a\nport=1\n"},
		{"the end of a line", `"line":"a","match":"b\\Z"`, "b\nbc\n", created, "a\nbc\n"},
		{"bytes that are not UTF-8", `"line":"x"`, "\xff\xfe\n", created, "\xff\xfe\nx\n"},
		{"latin1", `"line":"caf\u00e9","match":"^caf\u00e8$","encoding":"ISO-8859-1"`, "caf\xe8\n\xff\n", created, "caf\xe9\n\xff\n"},
		{"latin1 is there", `"line":"caf\u00e9","encoding":"iso-8859-1"`, "caf\xe9\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Host(t)
			path := filepath.Join(h.Root, "f")
			if err := os.WriteFile(path, []byte(c.start), 0o604); err != nil {
				t.Fatal(err)
			}
			r := fmt.Sprintf(`File_line[x] {"path":%q,%s}`, path, c.params)
			noop := hosttest.Apply(t, h, types, true, r)
			if (noop != "") != (c.event != "") || noop != "" && !strings.HasPrefix(noop, "File_line[x] noop file_line_") {
				t.Errorf("noop: %s", noop)
			}
			out := hosttest.Apply(t, h, types, false, r)
			switch {
			case c.event == "" && out == "":
			case c.want == "" && strings.HasPrefix(out, "File_line[x] failed") && strings.Contains(out, c.event):
			case c.want != "" && out == "File_line[x] changed file_line_"+c.event+"\n":
			default:
				t.Errorf("got %q", out)
			}
			want := c.want
			if want == "" {
				want = c.start
			}
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("file is %q, want %q", got, want)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o604 {
				t.Errorf("mode is %v", info.Mode())
			}
			if again := hosttest.Apply(t, h, types, false, r); c.want != "" && again != "" {
				t.Errorf("the second time: %s", again)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	h := hosttest.Host(t)
	path := filepath.Join(h.Root, "none")
	for _, params := range []string{`"line":"x"`, `"line":"x","ensure":"absent"`} {
		r := fmt.Sprintf(`File_line[x] {"path":%q,%s}`, path, params)
		if out := hosttest.Apply(t, h, types, false, r); !strings.Contains(out, "File_line[x] failed FAILED") || !strings.Contains(out, "does not exist") {
			t.Errorf("%s: %s", params, out)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was made")
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`File_line[x] {"line":"x"}`:                                                                                       "The parameter path is needed",
		`File_line[x] {"path":"/x"}`:                                                                                      "The parameter line is needed",
		`File_line[x] {"path":"/x","ensure":"absent","match":"x"}`:                                                        "The parameter line is needed",
		`File_line[x] {"path":"/x","line":"x","match":"("}`:                                                               "The parameter match must be a regular expression",
		`File_line[x] {"path":"/x","line":"x","after":"["}`:                                                               "The parameter after must be a regular expression",
		`File_line[x] {"path":"/x","line":"x","encoding":"EBCDIC"}`:                                                       "The parameter encoding",
		`File_line[x] {"path":"/x","line":"\u20ac","encoding":"ISO-8859-1"}`:                                              "The parameter line has characters",
		`File_line[x] {"path":"/x","line":"x","replace":false,"match":"x","replace_all_matches_not_matching_line":true}`:  "The parameter replace must be true",
		`File_line[x] {"path":"/x","line":"x","multiple":false,"match":"x","replace_all_matches_not_matching_line":true}`: "The parameter multiple must be true",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types, false, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
