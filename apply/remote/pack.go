package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"

	"bolt/apply"
	"bolt/apply/bundle"
	"bolt/apply/frame"
	"bolt/catalog"
	"bolt/transport"
)

const (
	// maxSmall is the size up to which contents are sent with a catalog that the machine does not have. Larger
	// contents are offered first.
	maxSmall = 32 << 10
	// maxInput limits the compressed input, which is held in memory once for each machine. Further contents are
	// copied as files. It also limits the contents that are sent with a catalog.
	maxInput = 32 << 20
)

// A content is a file content that the catalog needs.
type content struct {
	bundle.Content
	size  int64  // -1 if the file cannot be read
	small bool   // sent with the catalog, without being asked for
	data  []byte // instead of a file
}

// A packed is a job in the form in which it is sent.
type packed struct {
	job      *Job
	text     []byte // of the catalog
	sum      string
	secret   bool
	contents []content // each once
	expected map[catalog.Ref]bool
	plugins  string // SHA-256 of Job.Plugins
}

func pack(job *Job) (*packed, error) {
	c := job.Catalog
	if c.Name != job.Node {
		return nil, fmt.Errorf("the catalog is for the node %q, and not for %q", c.Name, job.Node)
	}
	text, err := stripped(c).MarshalJSON() // json.Marshal would read and write the text once more
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	p := &packed{job: job, text: text, sum: hex.EncodeToString(sum[:]), secret: bundle.HasSecrets(c), expected: make(map[catalog.Ref]bool)}
	for _, r := range c.Resources() {
		if apply.Reported(r) {
			p.expected[r.Ref] = true
		}
	}
	seen := make(map[string]bool)
	var total int64
	for _, c := range bundle.Contents(c) {
		if seen[c.Sum] {
			continue
		}
		seen[c.Sum] = true
		size := int64(-1)
		if info, err := os.Stat(c.Source); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		small := size >= 0 && size <= min(maxSmall, maxInput-total)
		if small {
			total += size
		}
		p.contents = append(p.contents, content{c, size, small, nil})
	}
	if job.Plugins != nil {
		sum := sha256.Sum256(job.Plugins)
		p.plugins = hex.EncodeToString(sum[:])
		p.contents = append(p.contents, content{bundle.Content{Sum: p.plugins, Source: "the modules"}, int64(len(job.Plugins)), false, job.Plugins})
	}
	return p, nil
}

// stripped returns a catalog without values that change at each compilation, and without paths of this machine.
// So equal resources have the same digest.
func stripped(c *catalog.Catalog) *catalog.Catalog {
	out := *c
	out.UUID, out.Version, out.CodeID = "", "", ""
	strip := func(f *catalog.FileMeta) *catalog.FileMeta {
		g := *f
		g.Path = ""
		if g.Type != "file" {
			g.SumType, g.Sum = "", "" // the time of a directory
		}
		return &g
	}
	out.Files = maps.Clone(c.Files)
	for title, f := range out.Files {
		out.Files[title] = strip(f)
	}
	out.Trees = maps.Clone(c.Trees)
	for title, trees := range out.Trees {
		list := make([]catalog.Tree, len(trees))
		for i, t := range trees {
			list[i] = catalog.Tree{Source: t.Source, Files: make([]*catalog.FileMeta, len(t.Files))}
			for k, f := range t.Files {
				list[i].Files[k] = strip(f)
			}
		}
		out.Trees[title] = list
	}
	return &out
}

// first returns the input of the first run: nothing, or an offer of large contents. A catalog with secrets
// is not kept on the machine, so it is sent at once.
func (p *packed) first() ([]byte, error) {
	if p.secret {
		return p.whole()
	}
	if len(p.large()) == 0 {
		return nil, nil
	}
	f := frame.NewPacker()
	if err := f.Message(frame.TypeOffer, p.offer()); err != nil {
		return nil, err
	}
	return f.Pack()
}

func (p *packed) large() (list []content) {
	for _, c := range p.contents {
		if !c.small && c.data == nil {
			list = append(list, c)
		}
	}
	return list
}

func (p *packed) offer() *frame.Offer {
	o := new(frame.Offer)
	for _, c := range p.large() {
		o.Contents = append(o.Contents, frame.Offered{Sum: c.Sum, Path: c.Path})
	}
	return o
}

// whole returns the catalog with all small contents.
func (p *packed) whole() ([]byte, error) {
	f := frame.NewPacker()
	if err := p.addCatalog(f); err != nil {
		return nil, err
	}
	return f.Pack()
}

// addCatalog adds the catalog and all small contents.
func (p *packed) addCatalog(f *frame.Packer) error {
	if err := f.Raw(frame.TypeCatalog, p.text); err != nil {
		return err
	}
	for i := range p.contents {
		if c := &p.contents[i]; c.small {
			if err := p.add(f, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add reads a content into the input.
func (p *packed) add(f *frame.Packer, c *content) error {
	r, err := p.open(c)
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(bundle.Verify(r, c.Sum), frame.MaxContent+1))
	if err == nil && len(data) > frame.MaxContent {
		err = fmt.Errorf("it has grown")
	}
	if err != nil {
		return changed(c, err)
	}
	return f.Content(c.Sum, data)
}

// open opens a content, unverified.
func (p *packed) open(c *content) (io.ReadCloser, error) {
	if c.data != nil {
		return io.NopCloser(bytes.NewReader(c.data)), nil
	}
	if p.job.Open != nil {
		return p.job.Open(c.Content)
	}
	f, err := os.Open(c.Source)
	if err != nil {
		return nil, changed(c, err)
	}
	return f, nil
}

// changed returns the error for a content that does not have the digest of the catalog.
func changed(c *content, err error) error {
	return &transport.Error{Class: transport.ClassFile, Err: err,
		Msg:  fmt.Sprintf("The content of %s cannot be read from %s: %v", c.Path, c.Source, err),
		Hint: "The file may have changed since the catalog was compiled. Compile it again."}
}

// find returns the contents of a need.
func (p *packed) find(sums []string) ([]*content, error) {
	bySum := make(map[string]*content, len(p.contents))
	for i := range p.contents {
		bySum[p.contents[i].Sum] = &p.contents[i]
	}
	var list []*content
	for _, sum := range sums {
		c := bySum[sum]
		if c == nil {
			return nil, fmt.Errorf("it requests the content %q, which the catalog does not have", sum)
		}
		delete(bySum, sum) // no content is sent twice
		list = append(list, c)
	}
	return list, nil
}
