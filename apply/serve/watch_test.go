package serve

import (
	"io"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/frame"
	"bolt/catalog"
)

// TestSilence checks that a watch ends if its controller is silent, and goes on if the controller sends keepalives.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &attached{gone: make(chan struct{}), stop: &stopper{stop: make(chan struct{})}}
		left := func() bool {
			synctest.Wait()
			select {
			case <-a.gone:
				return true
			default:
				return false
			}
		}
		in, out := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			a.listen(in)
		}()
		alive := frame.NewWriter(out)
		for range 100 {
			time.Sleep(maxSilence - time.Second)
			if err := alive.Raw(frame.TypeAlive); err != nil {
				t.Fatal(err)
			}
		}
		if left() {
			t.Fatal("the watch has ended")
		}
		time.Sleep(maxSilence + time.Second)
		if !left() {
			t.Error("the watch goes on")
		}
		out.Close()
		<-done
	})
}

// TestUnknownFrame ends a watch whose input does not come from bolt.
func TestUnknownFrame(t *testing.T) {
	for _, text := range []string{"\x00\x00\x00\x00D", "\xff\xff\xff\xffP", "garbage that is not a frame", "\x00\x00"} {
		a := &attached{gone: make(chan struct{}), stop: &stopper{stop: make(chan struct{})}}
		in, out := io.Pipe()
		go func() {
			_, _ = io.WriteString(out, text) // it can end early
			out.Close()
		}()
		a.listen(in)
		in.Close()
		select {
		case <-a.gone:
		default:
			t.Errorf("%q: the watch goes on", text)
		}
	}
}

// TestDiffering compares catalogs.
func TestDiffering(t *testing.T) {
	parse := func(resources string) *catalog.Catalog {
		c, err := catalog.Parse([]byte(`{"name":"n1","resources":[` + resources + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := parse(`{"type":"File","title":"/a","line":1,"parameters":{"content":"1"}},{"type":"File","title":"/b","parameters":{"content":"1"}},
		{"type":"Concat_file","title":"/c"},{"type":"File","title":"/gone"}`)
	now := parse(`{"type":"File","title":"/a","line":7,"parameters":{"content":"1"}},{"type":"File","title":"/b","parameters":{"content":"2"}},
		{"type":"Concat_file","title":"/c"},{"type":"File","title":"/new"}`)
	var got []string
	for ref := range maps.Keys(differing(before, now)) {
		got = append(got, ref.String())
	}
	slices.Sort(got)
	if want := []string{"Concat_file[/c]", "File[/b]", "File[/new]"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
