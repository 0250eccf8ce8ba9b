package blkid

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "/dev/a: TYPE=\"ext4\"\n": "ext4", "/dev/a: PTTYPE=\"gpt\"\n": Partitions, "/dev/a: TYPE=\"vfat\" PTTYPE=\"dos\"\n": "vfat",
		"/dev/a: LABEL=\"TYPE\"\n": "", "\x00\xff": "",
	} {
		if got := parse(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/dev/vg/a: TYPE=\"ext4\" PTTYPE=\"dos\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if kind := parse(text); len(kind) > len(text)+len(Partitions) {
			t.Errorf("%q", kind)
		}
	})
}
