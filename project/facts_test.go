package project

import (
	"testing"
	"time"
)

func TestFactAge(t *testing.T) {
	const user, own = "home/.puppetlabs/etc/bolt/bolt-defaults.yaml", "cwd/bolt-project.yaml"
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		files map[string]string
		want  time.Duration
	}{
		"default":           {nil, 7 * day},
		"seconds":           {map[string]string{own: "fact-cache: {max-age: 90}"}, 90 * time.Second},
		"days":              {map[string]string{own: "fact-cache: {max-age: 30d}"}, 30 * day},
		"of the user":       {map[string]string{user: "fact-cache: {max-age: 2w}"}, 14 * day},
		"above the user's":  {map[string]string{user: "fact-cache: {max-age: 2w}", own: "fact-cache: {max-age: 1d}"}, day},
		"beside the user's": {map[string]string{user: "fact-cache: {max-age: 2w}", own: "fact-cache: {}"}, 14 * day},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.files)
			got, ids, err := w.load(w.sources(), nil)
			if err != nil || ids != nil {
				t.Fatal(err, ids)
			}
			if got.FactMaxAge != c.want {
				t.Errorf("got %v, want %v", got.FactMaxAge, c.want)
			}
		})
	}
	for _, text := range []string{"soon", "0s", "''", "1h30", "-1d"} {
		w := newWorld(t, map[string]string{own: "fact-cache: {max-age: " + text + "}"})
		_, _, err := w.load(w.sources(), nil)
		w.wantError(err, "bolt/validation-error", "fact-cache.max-age", "bolt-project.yaml", "12h, 7d")
	}
	w := newWorld(t, map[string]string{own: "fact-cache: {max-age: 0}"})
	_, _, err := w.load(w.sources(), nil)
	w.wantError(err, "bolt/validation-error", "'fact-cache.max-age' must be a minimum of 1")
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "90s": 90 * time.Second, "5m": 5 * time.Minute, "1d12h": 36 * time.Hour, "1w": 168 * time.Hour, "106751d": 106751 * 24 * time.Hour,
	} {
		if got, err := ParseAge(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "-1", "+1s", "1 d", "1y", "d1", "1dd", "1ä", "9223372036854775807", "106752d", "106751d1w", "99999999999999999999s"} {
		if got, err := ParseAge(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestUserCache(t *testing.T) {
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/bolt/git"}, {"", "/h", "/h/.cache/bolt/git"}, {"relative", "/h", "/h/.cache/bolt/git"}, {"", "", ""},
	} {
		if got := UserCache(tt.xdg, tt.home, "git"); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.xdg, tt.home, got, tt.want)
		}
	}
}
