package powershell

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// clixmlMark is the beginning of PowerShell's standard error if PowerShell
// assumes that the other side is another PowerShell (MS-PSRP section 2.2.5
// describes the format).
const clixmlMark = "#< CLIXML"

// maxCLIXML limits the data that is held back for decoding; further data is
// lost.
const maxCLIXML = 1 << 20

// A plainErrors is a writer for standard error. It converts CLIXML to text at
// the end, and passes on other data unchanged.
type plainErrors struct {
	w    io.Writer
	held []byte
	raw  bool // the data is not CLIXML
}

func (p *plainErrors) Write(b []byte) (int, error) {
	if p.raw {
		return p.w.Write(b)
	}
	p.held = append(p.held, b[:min(len(b), maxCLIXML-len(p.held))]...)
	n := min(len(p.held), len(clixmlMark))
	if string(p.held[:n]) == clixmlMark[:n] {
		return len(b), nil
	}
	p.raw = true
	held := p.held
	p.held = nil
	if _, err := p.w.Write(held); err != nil {
		return 0, err
	}
	return len(b), nil
}

// end writes the data that was held back.
func (p *plainErrors) end() error {
	if len(p.held) == 0 {
		return nil
	}
	text := p.held
	if rest, ok := bytes.CutPrefix(p.held, []byte(clixmlMark)); ok {
		text = decodeCLIXML(rest)
	}
	p.held = nil
	if len(text) == 0 {
		return nil
	}
	_, err := p.w.Write(text)
	return err
}

// decodeCLIXML returns the text in all streams of a CLIXML document except
// progress, as far as it can be parsed. Data after a document is text or
// another document.
func decodeCLIXML(doc []byte) []byte {
	var out []byte
	for len(doc) > 0 {
		d := xml.NewDecoder(bytes.NewReader(doc))
		d.Strict = false
		text, ok := readCLIXML(d)
		out = append(out, text...)
		if !ok {
			break
		}
		doc = bytes.TrimLeft(doc[d.InputOffset():], "\r\n")
		if rest, more := bytes.CutPrefix(doc, []byte(clixmlMark)); more {
			doc = rest
			continue
		}
		if !bytes.HasPrefix(doc, []byte("<Objs")) {
			return append(out, doc...)
		}
	}
	return out
}

// readCLIXML reads one document and reports whether it is complete.
func readCLIXML(d *xml.Decoder) (text []byte, ok bool) {
	depth, in := 0, 0 // in: the depth of an element whose text is output
	for {
		t, err := d.RawToken()
		if err != nil {
			return text, false
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			if in == 0 && depth == 2 && t.Name.Local == "S" && stream(t) != "progress" {
				in = depth
			}
		case xml.EndElement:
			if in == depth {
				in = 0
			}
			if depth--; depth <= 0 {
				return text, true
			}
		case xml.CharData:
			if in != 0 {
				text = append(text, unescapeCLIXML(string(t))...)
			}
		}
	}
}

// stream returns the name of the PowerShell stream of an element.
func stream(t xml.StartElement) string {
	for _, a := range t.Attr {
		if a.Name.Local == "S" {
			return strings.ToLower(a.Value)
		}
	}
	return ""
}

// unescapeCLIXML decodes _xHHHH_, which is a code unit of UTF-16 (MS-PSRP
// section 2.2.5.3.2).
func unescapeCLIXML(s string) string {
	var b strings.Builder
	var units []uint16
	flush := func() {
		b.WriteString(string(utf16.Decode(units)))
		units = units[:0]
	}
	for s != "" {
		if len(s) >= 7 && s[:2] == "_x" && s[6] == '_' {
			if u, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
				units = append(units, uint16(u))
				s = s[7:]
				continue
			}
		}
		flush()
		i := strings.Index(s[1:], "_x") + 1
		if i == 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		s = s[i:]
	}
	flush()
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}
