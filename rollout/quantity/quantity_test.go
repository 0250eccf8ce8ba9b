package quantity

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
		form string
	}{
		{"0s", 0, "0s"},
		{"90s", 90 * time.Second, "1m30s"},
		{"30m", 30 * time.Minute, "30m"},
		{"1h0m0s", time.Hour, "1h"},
		{"2d", 48 * time.Hour, "2d"},
		{"1d12h", 36 * time.Hour, "1d12h"},
		{"36h", 36 * time.Hour, "1d12h"},
		{"1h0m5s", time.Hour + 5*time.Second, "1h0m5s"},
		{"10ms", 10 * time.Millisecond, "10ms"},
	} {
		d, err := ParseDuration(tt.text)
		if err != nil || time.Duration(d) != tt.want || d.String() != tt.form {
			t.Errorf("%s: got %v (%s), %v, want %v (%s)", tt.text, time.Duration(d), d, err, tt.want, tt.form)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%s: its form %s is read as %v, %v", tt.text, d, again, err)
		}
	}
	for _, bad := range []string{"", "5", "-5s", "+5s", "d", "1.5d", "99999999d", "1d-5s", "5x", "1d+5s"} {
		if d, err := ParseDuration(bad); err == nil {
			t.Errorf("%q is read as %s", bad, d)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		text     string
		whole    int
		up, down int
	}{
		{"10", 0, 0, 0},
		{"10", 1, 1, 0},
		{"10", 10, 1, 1},
		{"10%", 11, 2, 1},
		{"33.333", 1000, 334, 333},
		{"0.1", 1000, 1, 1},
		{"0.1", 1001, 2, 1},
		{"100%", 7, 7, 7},
		{"0.001%", 1_000_000, 10, 10},
	} {
		p, err := ParsePercent(tt.text)
		if err != nil || p.Up(tt.whole) != tt.up || p.Down(tt.whole) != tt.down {
			t.Errorf("%s of %d: got %d and %d, %v", tt.text, tt.whole, p.Up(tt.whole), p.Down(tt.whole), err)
		}
		if again, err := ParsePercent(p.String()); err != nil || again != p {
			t.Errorf("%s is read as %v, %v", p, again, err)
		}
	}
	for _, bad := range []string{"", "0", "0.0", "101", "100.001", "-5", "5.", ".5", "1.2345", "5%%", "x"} {
		if p, err := ParsePercent(bad); err == nil {
			t.Errorf("%q is read as %s", bad, p)
		}
	}
}

func TestAmount(t *testing.T) {
	for _, text := range []string{"0", "3", "5%", "0.5%"} {
		a, err := ParseAmount(text)
		if err != nil || a.String() != text {
			t.Errorf("%s: got %s, %v", text, a, err)
		}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back Amount
		if err := json.Unmarshal(data, &back); err != nil || back != a {
			t.Errorf("%s as JSON is %s, and is read as %s, %v", text, data, back, err)
		}
	}
	for _, bad := range []string{"", "-1", "0%", "1.5", "many"} {
		if a, err := ParseAmount(bad); err == nil {
			t.Errorf("%q is read as %s", bad, a)
		}
	}
	if a := (Amount{Count: 3}); a.Up(100) != 3 || a.Down(100) != 3 || a.IsZero() {
		t.Errorf("%+v", a)
	}
	if a := (Amount{Percent: 5000}); a.Up(30) != 2 || a.Down(30) != 1 {
		t.Errorf("%+v: %d, %d", a, a.Up(30), a.Down(30))
	}
}
