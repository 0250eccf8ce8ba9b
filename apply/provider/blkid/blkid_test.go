package blkid

import "testing"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, want string
		understood bool
	}{
		{"", "", true}, // a partition without a file system
		{"/dev/a:\n", "", true},
		{"/dev/a: TYPE=\"ext4\"\n", "ext4", true},
		{"/dev/a: PTTYPE=\"gpt\"\n", Partitions, true},
		{"/dev/a: TYPE=\"vfat\" PTTYPE=\"dos\"\n", "vfat", true},
		{"/dev/a: LABEL=\"TYPE\"\n", "", false},
		{"\x00\xff", "", false},
	} {
		if got, understood := parse(c.text); got != c.want || understood != c.understood {
			t.Errorf("%q: %q %v", c.text, got, understood)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/dev/vg/a: TYPE=\"ext4\" PTTYPE=\"dos\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if kind, _ := parse(text); len(kind) > len(text)+len(Partitions) {
			t.Errorf("%q", kind)
		}
	})
}
