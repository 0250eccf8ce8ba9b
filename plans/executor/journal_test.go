package executor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bolt/plans"
	"bolt/puppet/value"
)

func TestParamsOf(t *testing.T) {
	p := &plans.Plan{Parameters: []plans.Parameter{{Name: "targets", TypeText: "TargetSpec"}, {Name: "pw", TypeText: "Optional[Sensitive]"}, {Name: "alias", TypeText: "Site::Secret"}}}
	text := func(s string) value.Value { return value.String(s) }
	h := value.NewHash(
		value.Entry{Key: text("targets"), Value: text("web1,bob:geheim@web2")},
		value.Entry{Key: text("pw"), Value: text("x")},
		value.Entry{Key: text("alias"), Value: value.NewSensitive(text("x"))},
		value.Entry{Key: text("repo"), Value: value.NewArray(text("https://bob:geheim@example.com/r.git"))},
		value.Entry{Key: text("site"), Value: text("https://bob@example.com:80/r.git")},
		value.Entry{Key: text("bytes"), Value: value.NewHash(value.Entry{Key: text("k"), Value: text("\xff")})},
		value.Entry{Key: text("note"), Value: text("at 10:30 to bob@example.com")})
	params, secrets := ParamsOf(p, h)
	if got := params.Keys(); !slices.Equal(got, []string{"site", "note"}) || !slices.Equal(secrets, []string{"targets", "pw", "alias", "repo", "bytes"}) {
		t.Errorf("recorded %v, secret %v", got, secrets)
	}
}

func TestTreeDigest(t *testing.T) {
	dir := t.TempDir()
	seen := make(map[string]string)
	for _, step := range []struct{ what, file, text string }{
		{"empty", "", ""}, {"a file", "a", "x"}, {"other content", "a", "y"}, {"a longer one", "a", "yz"}, {"another file", "b", "z"},
	} {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(dir, step.file), []byte(step.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := treeDigest(t.Context(), dir)
		if before, same := seen[d]; same {
			t.Errorf("%s has the digest of %s", step.what, before)
		}
		if seen[d] = step.what; d != treeDigest(t.Context(), dir) {
			t.Errorf("%s has two digests", step.what)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if treeDigest(t.Context(), link) != treeDigest(t.Context(), dir) || treeDigest(t.Context(), filepath.Join(dir, "none")) == treeDigest(t.Context(), dir) {
		t.Error("a link is something else, or nothing is something")
	}
}
