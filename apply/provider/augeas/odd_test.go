package augeas

import "testing"

// With noop, a change of the mode in which augeas saves does not write files.
func TestSaveModeInChanges(t *testing.T) {
	s := newSite(t)
	params := sysctlLens + `"changes":["set a 7","set /augeas/save overwrite"]`
	if out := s.apply(true, params); out != "Augeas[x] noop returns(need_to_run -> 0)" {
		t.Error(out)
	}
	s.has("etc/sysctl.conf", sysctl)
	if out := s.apply(false, params); out != changed {
		t.Error(out)
	}
	s.has("etc/sysctl.conf", "a = 7\nb=2 # odd\n")
}
