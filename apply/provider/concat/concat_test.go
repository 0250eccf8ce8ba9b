package concat

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	filetype "bolt/apply/provider/file"
	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/tidy"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// fileType writes the parameters of a File to a log.
type fileType struct{ log *[]string }

type fileItem struct {
	fileType
	r *resource.Resource
}

func (f fileType) New(r *resource.Resource) (resource.Item, error) { return fileItem{f, r}, nil }
func (fileItem) Read(context.Context, *resource.Host) error        { return nil }
func (f fileItem) Plan() ([]resource.Change, error) {
	params, err := f.r.Params.MarshalJSON()
	*f.log = append(*f.log, string(params)+strings.Join(f.r.Secrets, ""))
	return nil, err
}
func (fileItem) Do(context.Context, *resource.Host, *resource.Change) error { return nil }

func run(t *testing.T, h *resource.Host, resources ...string) (files []string, out string) {
	t.Helper()
	types := map[string]resource.Type{"Concat_file": File(), "Concat_fragment": Fragment(), "File": fileType{&files}}
	out = hosttest.Apply(t, h, types, false, resources...)
	return files, out
}

// content runs a concat_file and returns the content of its file.
func content(t *testing.T, params string, fragments ...string) string {
	t.Helper()
	files, out := run(t, hosttest.Host(t), append([]string{`Concat_file[/f] {` + params + `}`}, fragments...)...)
	if out != "" || len(files) != 1 {
		return "failed: " + out
	}
	v, err := ordered.ParseJSON([]byte(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := v.(*ordered.Map).Value("content").(string)
	return text
}

func frag(title, content, more string) string {
	return fmt.Sprintf(`Concat_fragment[%s] {"target":"/f","content":%q%s}`, title, content, more)
}

func TestPlain(t *testing.T) {
	list := []string{
		frag("b", "B", `,"order":"10"`), frag("a", "A", ""), frag("first", "1", `,"order":2`), frag("last", "9", `,"order":"x"`), frag("100", "h", `,"order":"100"`),
		`Concat_fragment[other] {"target":"/other","content":"no"}`,
	}
	if got := content(t, ``, list...); got != "1ABh9" {
		t.Errorf("numeric: %q", got)
	}
	if got := content(t, `"order":"alpha"`, list...); got != "ABh19" {
		t.Errorf("alpha: %q", got)
	}
	if got := content(t, `"ensure_newline":true`, frag("a", "A", ""), frag("b", "B\n", ""), frag("c", "", "")); got != "A\nB\n\n" {
		t.Errorf("newline: %q", got)
	}
	if got := content(t, `"tag":["t1","t2"]`, `Concat_fragment[a] {"tag":"t1","content":"A"}`, `Concat_fragment[b] {"tag":"t2","content":"B"}`, `Concat_fragment[c] {"tag":"t3","content":"C"}`); got != "AB" {
		t.Errorf("tags: %q", got)
	}
}

func TestData(t *testing.T) {
	for _, c := range []struct{ params, a, b, want string }{
		{`"format":"json"`, `{"a":{"x":1},"l":[1]}`, `{"a":{"y":2.0,"x":1},"l":[1,2],"s":"é</"}`, `{"a":{"x":1,"y":2.0},"l":[1,2],"s":"é</"}`},
		{`"format":"json-pretty"`, `{"a":{"x":[1,{}]},"e":[]}`, `{"b":{}}`, "{\n  \"a\": {\n    \"x\": [\n      1,\n      {}\n    ]\n  },\n  \"e\": [],\n  \"b\": {}\n}"},
		{`"format":"json-array"`, `{"a":1}`, `[2]`, `[{"a":1},[2]]`},
		{`"format":"json-array-pretty"`, `1`, `"x"`, "[\n  1,\n  \"x\"\n]"},
		{`"format":"yaml"`, "a:\n  x: 1\nl: [1]\n", "l: [2]\nz: 'yes'\n", "---\na:\n  x: 1\nl:\n- 1\n- 2\nz: 'yes'\n"},
		{`"format":"yaml"`, "- 1\n", "- 2\n", "---\n- 1\n- 2\n"},
		{`"format":"yaml"`, "", "", "--- {}\n"},
		{`"format":"json","force":true`, `{"a":1}`, `{"a":2}`, `{"a":1}`},
		{`"format":"json"`, `{"a":1}`, `{"a":2}`, `failed: Concat_file[/f] failed FAILED several fragments have the key "a" with different values: set force to true to keep the first one` + "\n"},
		{`"format":"json"`, `{"a":1}`, `[1]`, "failed: Concat_file[/f] failed FAILED the fragments must all be hashes, or all be lists\n"},
	} {
		if got := content(t, c.params, frag("a", c.a, ""), frag("b", c.b, "")); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.params, got, c.want)
		}
	}
	if got := content(t, `"format":"json"`, frag("a", "{", "")); !strings.HasPrefix(got, "failed: Concat_file[/f] failed FAILED the fragment a: ") {
		t.Error(got)
	}
}

func TestFile(t *testing.T) {
	h := hosttest.Host(t)
	for _, c := range []struct{ params, fragment, want string }{
		{`"owner":"root","mode":"0600","validate_cmd":"/bin/v %","backup":".bak","noop":false,"notify":"File[/x]"`, `"content":"A"`, `{"path":"/f","owner":"root","mode":"0600","backup":".bak","validate_cmd":"/bin/v %","noop":false,"content":"A","ensure":"file"}`},
		{`"ensure":"absent"`, `"content":"A"`, `{"path":"/f","ensure":"absent"}`},
		{`"create_empty_file":false`, `"content":""`, `{"path":"/f","ensure":"absent"}`},
		{``, `"content":{"sensitive":"s3cret"}`, `{"path":"/f","content":"s3cret","ensure":"file"}content`},
	} {
		files, out := run(t, h, `Concat_file[/f] {`+c.params+`}`, `Concat_fragment[a] {"target":"/f",`+c.fragment+`}`, `File[/x] {}`)
		if len(files) != 2 || files[0] != c.want || out != "" {
			t.Errorf("%s: %v %s", c.params, files, out)
		}
	}
	// Nothing of a secret fragment is in an error.
	_, out := run(t, h, `Concat_file[/f] {"format":"json"}`, `Concat_fragment[a] {"target":"/f","content":{"sensitive":"s3cret"}}`)
	if strings.Contains(out, "s3cret") || !strings.Contains(out, "the fragments cannot be merged") {
		t.Error(out)
	}
}

func TestSource(t *testing.T) {
	h := hosttest.Host(t)
	path := filepath.Join(h.Root, "source")
	if err := os.WriteFile(path, []byte("from a file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, out := run(t, h, `Concat_file[/f] {}`, `Concat_fragment[a] {"target":"/f","source":["/none/at/all","`+path+`"]}`)
	if out != "" || len(files) != 1 || !strings.Contains(files[0], `"content":"from a file\n"`) {
		t.Error(files, out)
	}
	if _, out = run(t, h, `Concat_file[/f] {}`, `Concat_fragment[a] {"target":"/f","source":"/none/at/all"}`); !strings.Contains(out, "Concat_file[/f] failed FAILED Concat_fragment[a]: read /none/at/all: file does not exist") {
		t.Error(out)
	}
	h.Content = func(sum string) (io.ReadCloser, error) {
		if sum != "abc" {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader("from the catalog")), nil
	}
	r := &resource.Resource{Ref: catalog.Ref{Type: "Concat_fragment", Title: "a"}, Params: ordered.Of("source", "puppet:///modules/m/f"), File: &catalog.FileMeta{Sum: "{sha256}abc"}}
	if text, err := read(t.Context(), h, r); text != "from the catalog" || err != nil {
		t.Error(text, err)
	}
	r.File.Sum = "{sha256}abd"
	if _, err := read(t.Context(), h, r); err == nil {
		t.Error("a content that was not sent was read")
	}
}

func TestRefused(t *testing.T) {
	types := map[string]resource.Type{"Concat_file": File(), "Concat_fragment": Fragment()}
	for text, want := range map[string]string{
		`Concat_file[f] {}`:                                                     "must be an absolute path",
		`Concat_fragment[a] {"content":"x"}`:                                    "one of the parameters target and tag is needed",
		`Concat_fragment[a] {"target":"x"}`:                                     "one of the parameters content and source is needed",
		`Concat_fragment[a] {"target":"x","content":"x","source":"/x"}`:         "cannot be used together with content",
		`Concat_fragment[a] {"target":"x","content":1}`:                         "The parameter content must be a string",
		`Concat_fragment[a] {"target":"x","content":"x","order":"a/b"}`:         "The parameter order cannot have",
		`Concat_fragment[a] {"target":"x","source":"puppet:///modules/none/f"}`: "The parameter source must be a file of a module or an absolute path",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types, false, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestPurged checks that neither a purge of the directory nor tidy removes the file of a concat_file, whose title is
// not its path.
func TestPurged(t *testing.T) {
	dir := t.TempDir()
	types := map[string]resource.Type{"Concat_file": File(), "Concat_fragment": Fragment(), "File": filetype.New(), "Tidy": &tidy.Type{}}
	list := []string{
		`File[` + dir + `] {"ensure":"directory","recurse":true,"purge":true}`,
		`Concat_file[25-site.conf] {"path":"` + dir + `/25-site.conf"}`,
		`Concat_fragment[a] {"target":"25-site.conf","content":"A"}`,
		`Tidy[` + dir + `] {"recurse":true,"matches":"*.conf"}`,
	}
	if out := hosttest.Apply(t, hosttest.Host(t), types, false, list...); !strings.Contains(out, "25-site.conf] changed") {
		t.Error(out)
	}
	if out := hosttest.Apply(t, hosttest.Host(t), types, false, list...); out != "" {
		t.Error("again:", out)
	}
}
