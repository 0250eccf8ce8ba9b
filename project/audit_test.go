package project

import "testing"

func TestAudit(t *testing.T) {
	const system, user, own = "system/bolt-defaults.yaml", "home/.puppetlabs/etc/bolt/bolt-defaults.yaml", "cwd/bolt-project.yaml"
	for _, c := range []struct {
		name     string
		files    map[string]string
		path     string
		required bool
		warned   int
	}{
		{"nobody", map[string]string{own: "{}"}, "", false, 0},
		{"of the project", map[string]string{own: "audit: {path: log/audit.jsonl}"}, "cwd/log/audit.jsonl", false, 0},
		{"of the home", map[string]string{own: "audit: {path: ~/audit.jsonl, required: true}"}, "home/audit.jsonl", true, 0},
		{"the project requires the user's", map[string]string{user: "audit: {path: ~/a}", own: "audit: {required: true}"}, "home/a", true, 0},
		{"the project has another", map[string]string{system: "audit: {path: ~/a}", own: "audit: {path: b}"}, "cwd/b", false, 0},
		{"enforced", map[string]string{system: "audit: {path: /log/a, required: true}", user: "audit: {path: ~/b}", own: "audit: {path: c, required: false}"}, "/log/a", true, 2},
		{"enforced, and nobody says anything", map[string]string{system: "audit: {path: /log/a, required: true}"}, "/log/a", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.files)
			got, ids, err := w.load(w.sources(), nil)
			if err != nil || len(ids) != c.warned {
				t.Fatal(err, ids)
			}
			if path := w.strip(got.Audit.Path); path != c.path || got.Audit.Required != c.required {
				t.Errorf("got %s, %v", path, got.Audit.Required)
			}
		})
	}
	for _, text := range []string{"audit: {required: true}", "audit: {path: ''}"} {
		w := newWorld(t, map[string]string{own: text})
		_, _, err := w.load(w.sources(), nil)
		w.wantError(err, "bolt/validation-error", "cwd/bolt-project.yaml", "needs a 'path'")
	}
	w := newWorld(t, map[string]string{own: "audit: {pth: a}"})
	_, _, err := w.load(w.sources(), nil)
	w.wantError(err, "bolt/validation-error", "needs a 'path'", "does not know 'pth'. Did you mean 'path'?")
	for _, path := range []string{"~/a", "log/a"} {
		w := newWorld(t, map[string]string{system: "audit: {required: true, path: " + path + "}"})
		_, _, err := w.load(w.sources(), nil)
		w.wantError(err, "bolt/validation-error", "must be absolute", path)
	}
	w = newWorld(t, map[string]string{own: "audit: {path: 3, reqired: 1}"})
	_, _, err = w.load(w.sources(), nil)
	w.wantError(err, "bolt/validation-error", "audit.path")
}
