package powershell

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"bolt/transport/archive"
)

func plain(t testing.TB, pieces ...string) string {
	var b bytes.Buffer
	p := &plainErrors{w: &b}
	for _, piece := range pieces {
		if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("%d of %d: %v", n, len(piece), err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const objs = `<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">`

func TestCLIXML(t *testing.T) {
	doc := "#< CLIXML\r\n" + objs +
		`<Obj S="progress" RefId="0"><TN RefId="0"><T>System.Object</T></TN><MS><I64 N="SourceId">1</I64><PR N="Record"><AV>Preparing</AV><S S="x">no</S></PR></MS></Obj>` +
		`<S S="Error">At line:1_x000D__x000A_</S><S S="warning">it_x0027_s &lt;odd&gt; _xD83D__xDE00_ _x00zz_ _x_</S></Objs>`
	want := "At line:1\nit's <odd> 😀 _x00zz_ _x_"
	for _, c := range []struct{ name, said, want string }{
		{"text", "plain\r\n", "plain\r\n"},
		{"nothing", "", ""},
		{"the beginning of the mark", "#< C", "#< C"},
		{"a document", doc, want},
		{"text behind it", doc + "\r\nand text\n", want + "and text\n"},
		{"two documents", doc + doc, want + want},
		{"cut off", "#< CLIXML\r\n" + objs + `<S S="Error">half_x000D__x000A_</S><S S="Err`, "half\n"},
		{"no XML", "#< CLIXML\r\n<<<<", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plain(t, c.said); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := plain(t, strings.Split(c.said, "")...); got != c.want {
				t.Errorf("byte by byte: got %q, want %q", got, c.want)
			}
		})
	}
	if got := plain(t, "#< CLIXML\r\n", objs, strings.Repeat(`<S S="Error">x</S>`, 1<<20)); len(got) == 0 || len(got) > maxCLIXML {
		t.Errorf("%d bytes of a document without an end", len(got))
	}
}

func FuzzCLIXML(f *testing.F) {
	f.Add([]byte("#< CLIXML\r\n" + objs + `<S S="Error">a_x000A_</S></Objs>#< CLIXML`))
	f.Add([]byte("#< CLIXML<a></a></a><Objs"))
	f.Fuzz(func(t *testing.T, said []byte) {
		got := plain(t, string(said))
		if !bytes.HasPrefix(said, []byte(clixmlMark)) && got != string(said) {
			t.Errorf("%q became %q", said, got)
		}
		if len(got) > len(said)+3 {
			t.Errorf("%d bytes of %d", len(got), len(said))
		}
	})
}

func TestUntree(t *testing.T) {
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc"
	file := "file 1\nfsize 1\n3"
	for _, c := range []struct{ name, frames, want string }{
		{"a file", file + "data 2\nabdata 1\ncsum 64\n" + sum + "end 0\n", ""},
		{"an empty directory", "dir 1\ndend 0\n", ""},
		{"its own words", "dir 1\ndfile 3\nd/fsize 1\n3error 9\nno access", "no access"},
		{"no sum", file + "data 3\nabcend 0\n", "did not arrive"},
		{"a wrong sum", file + "data 3\nabdsum 64\n" + sum, "did not arrive"},
		{"too much data", file + "data 4\nabcd", "unexpected frames"},
		{"no size", "file 1\nfdata 3\nabc", "without a size"},
		{"a negative size", "file 1\nfsize 2\n-1", "without a size"},
		{"no end", "dir 1\nd", "unexpected EOF"},
		{"half a frame", "dir 10\nd", "unexpected EOF"},
		{"a large frame", "dir 99999999\n", "a frame of"},
		{"a large size", "dir 99999999999999999999\n", "header of a frame"},
		{"unknown", "link 1\nx", "unknown frame"},
		{"no frames", "hello\nyou", "header of a frame"},
		{"a head without an end", strings.Repeat("x", 10_000), "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := untree(bufio.NewReader(strings.NewReader(c.frames)), archive.NewWriter(&out, time.Unix(0, 0)))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestTreeRoundTrip checks that frames are converted back to the same tar
// stream.
func TestTreeRoundTrip(t *testing.T) {
	var in, frames, out bytes.Buffer
	a := archive.NewWriter(&in, time.Unix(0, 0))
	for _, err := range []error{a.Dir("d", 0o755), a.File("d/f", 0o644, 200_000, strings.NewReader(strings.Repeat("x", 200_000))), a.File("d/e", 0o644, 0, nil), a.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := (&framer{w: &frames}).tree(bytes.NewReader(in.Bytes())); err != nil {
		t.Fatal(err)
	}
	// The machine also sends the size of a file.
	back := bytes.Replace(frames.Bytes(), []byte("file 3\nd/f"), []byte("file 3\nd/fsize 6\n200000"), 1)
	back = bytes.Replace(back, []byte("file 3\nd/e"), []byte("file 3\nd/esize 1\n0"), 1)
	if err := untree(bufio.NewReader(bytes.NewReader(back)), archive.NewWriter(&out, time.Unix(0, 0))); err != nil || !bytes.Equal(in.Bytes(), out.Bytes()) {
		t.Errorf("%d bytes became %d: %v", in.Len(), out.Len(), err)
	}
}

func TestTreeNames(t *testing.T) {
	for _, name := range []string{`a\b`, "a:b", `..\x`} {
		var in bytes.Buffer
		a := archive.NewWriter(&in, time.Now())
		if err := errors.Join(a.File("d/"+name, 0o644, 0, nil), a.Close()); err != nil {
			t.Fatal(err)
		}
		if err := (&framer{w: io.Discard}).tree(&in); err == nil || !strings.Contains(err.Error(), "on Windows") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzUntree(f *testing.F) {
	f.Add([]byte("dir 1\ndfile 3\nd/fsize 1\n0sum 64\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855end 0\n"))
	f.Add([]byte("file 1\nfsize 1\n3data 2\nabdata 1\ncsum 64\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015adend 0\n"))
	f.Fuzz(func(t *testing.T, frames []byte) {
		var out bytes.Buffer
		if err := untree(bufio.NewReader(bytes.NewReader(frames)), archive.NewWriter(&out, time.Now())); err != nil {
			return
		}
		tr := tar.NewReader(&out)
		for {
			if _, err := tr.Next(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("%q became no tar stream: %v", frames, err)
			}
		}
	})
}

// FuzzAnswer tests any first line of the program.
func FuzzAnswer(f *testing.F) {
	f.Add("m ok \nrest")
	f.Add("\ufeffm TMPDIR_ERROR bm8=\n")
	f.Add("'powershell.exe' is not recognized\r\n")
	f.Fuzz(func(t *testing.T, said string) {
		var out bytes.Buffer
		a := &answer{x: &exchange{what: "command", host: "h", mark: "m"}, w: &out}
		_, err := a.Write([]byte(said))
		if (err != nil) != (a.err != nil) || a.begun && err != nil {
			t.Errorf("%q: %v %v", said, err, a.err)
		}
		if err != nil && (len(err.Error()) > 4*maxReason || strings.ContainsAny(err.Error(), "\x00\x1b")) {
			t.Errorf("%q", err)
		}
	})
}
