package graph

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
)

// margin is the margin around the picture.
const margin = 20

// WriteSVG draws the graph as a self-contained picture: it has no scripts and no
// references, and its own background. The tooltip of each node contains all
// details. The error is w's.
//
// Source: SVG 1.1, second edition (W3C, 2011).
func (g *Graph) WriteSVG(w io.Writer) error {
	body := sequenceBox(g.Body)
	width, height := body.w+2*margin, body.h+2*margin
	c := &canvas{}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif" font-size="%d">`, width, height, width, height, fontSize)
	c.printf("<title>%s</title>", escaped("plan "+g.Plan))
	c.printf(`<rect width="%d" height="%d" rx="8" fill="#ffffff"/>`, width, height)
	c.sequence(body, margin, margin, margin)
	c.printf("</svg>")
	_, err := w.Write(c.buf.Bytes())
	return err
}

// A canvas contains the drawing. All positions are relative to the picture.
type canvas struct{ buf bytes.Buffer }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.buf, format+"\n", args...) }

// escaped returns a string in the form of XML.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer returns no errors
	return b.String()
}

// sequence draws nodes below each other. The arrow to the first node begins at
// the height from. It returns the height at which the arrow from the last node
// begins.
func (c *canvas) sequence(b *box, x, y, from int) int {
	mid := x + b.mid
	for i := range b.kids {
		k := &b.kids[i]
		left, top := x+k.x, y+k.y
		if k.fork > 0 {
			at := y + k.fork - 1
			c.line(arrows, "4 3", true, mid, at, left+k.mid, at, left+k.mid, top)
			c.printf(`<circle cx="%d" cy="%d" r="3" fill="%s"/>`, mid, at, arrows)
			c.draw(k.box, left, top)
			continue
		}
		if top > from {
			c.line(arrows, "", true, mid, from, mid, top)
		}
		c.draw(k.box, left, top)
		c.waits(b, k, x, y)
		from = top + k.h
	}
	return from
}

// waits draws the arrows to a node from the Asides that must end before it.
func (c *canvas) waits(b *box, k *child, x, y int) {
	if len(k.node.Waits) == 0 {
		return
	}
	for i := range b.kids {
		w := &b.kids[i]
		if !slices.Contains(k.node.Waits, w.node) {
			continue
		}
		from, at := x+w.x+w.mid, y+k.y+k.h/2
		c.line(arrows, "4 3", true, from, y+w.y+w.h, from, at, x+k.x+k.w, at)
	}
}

// draw draws a node and its contents.
func (c *canvas) draw(b *box, x, y int) {
	c.printf("<g><title>%s</title>", escaped(b.node.note()))
	switch {
	case b.node.frame():
		c.frame(b, x, y)
	case b.node.Kind == Decision:
		c.decision(b, x, y)
	default:
		c.leaf(b, x, y)
	}
}

// leaf draws a node that has only text. The nodes where a plan begins and ends
// are round.
func (c *canvas) leaf(b *box, x, y int) {
	l := looks(b.node.Kind)
	centre, radius, ink := 0, 5, "#1b2631"
	switch b.node.Kind {
	case Start:
		centre, radius, ink = b.mid, b.h/2, "#ffffff"
	case Return, Fail, Jump, End:
		centre, radius = b.mid, min(b.h/2, lineHeight)
	}
	c.printf(`<rect x="%d" y="%d" width="%d" height="%d" rx="%d" fill="%s" stroke="%s"/>`, x, y, b.w, b.h, radius, l.fill, l.stroke)
	c.text(b, x, y, centre, ink)
	c.printf("</g>")
}

// text draws the lines of a node, from its left edge or centred around centre.
func (c *canvas) text(b *box, x, y, centre int, ink string) {
	at, anchor := x+padding, ""
	if centre > 0 {
		at, anchor = x+centre, ` text-anchor="middle"`
	}
	for i, l := range b.lines {
		fill, weight := ink, ""
		switch l.tone {
		case strong:
			weight = ` font-weight="bold"`
		case faint:
			fill = "#5d6d7e"
		}
		c.printf(`<text x="%d" y="%d" fill="%s"%s%s>%s</text>`, at, y+padding/2+lineHeight*(i+1)-4, fill, weight, anchor, escaped(l.text))
	}
}

// frame draws a node with a body. A frame whose body runs concurrently for many
// elements has a second edge. A loop has an arrow back to its beginning.
func (c *canvas) frame(b *box, x, y int) {
	kind := b.node.Kind
	l, dash := looks(kind), ""
	rect := func(x, y int) {
		c.printf(`<rect x="%d" y="%d" width="%d" height="%d" rx="8" fill="%s" stroke="%s"%s/>`, x, y, b.w, b.h, l.fill, l.stroke, dash)
	}
	switch kind {
	case Aside:
		dash = ` stroke-dasharray="5 3"`
	case Parallel:
		rect(x+5, y+5)
	}
	rect(x, y)
	c.text(b, x, y, 0, "#1b2631")
	c.printf("</g>")
	body := &b.kids[0]
	begin, mid := y+b.text, x+b.mid
	end := c.sequence(body.box, x+body.x, y+body.y, begin)
	if !body.open {
		return
	}
	c.line(arrows, "", false, mid, end, mid, y+b.h)
	if kind == Loop {
		back, low := x+inset-4, y+b.h-inset/2
		c.line(l.stroke, "", true, mid, low, back, low, back, begin+4, mid, begin+4)
	}
}

// decision draws the condition, and the branches below it.
func (c *canvas) decision(b *box, x, y int) {
	l := looks(b.node.Kind)
	head, mid := textsWidth(b.lines)+4*padding, x+b.mid
	left, right, half := mid-head/2, mid+head/2, y+b.text/2
	c.printf(`<polygon points="%d,%d %d,%d %d,%d %d,%d %d,%d %d,%d" fill="%s" stroke="%s"/>`,
		left, half, left+2*padding-6, y, right-2*padding+6, y, right, half, right-2*padding+6, y+b.text, left+2*padding-6, y+b.text, l.fill, l.stroke)
	c.text(b, x, y, b.mid, "#1b2631")
	c.printf("</g>")
	fork, join := y+b.text+turn, y+b.h
	for i := range b.kids {
		k := &b.kids[i]
		at := x + k.x + k.mid
		c.line(arrows, "", false, mid, y+b.text, mid, fork, at, fork)
		end := c.sequence(k.box, x+k.x, y+k.y, fork)
		if k.open {
			c.line(arrows, "", false, at, end, at, join, mid, join)
		}
		c.printf(`<text x="%d" y="%d" font-size="12" fill="#7d6608">%s</text>`, x+b.labels[i].x, y+b.labels[i].y, escaped(b.labels[i].text))
	}
}

// line draws a line through points (x and y alternate), and an arrowhead at its
// end.
func (c *canvas) line(colour, dash string, head bool, points ...int) {
	if dash != "" {
		dash = ` stroke-dasharray="` + dash + `"`
	}
	c.printf(`<polyline points="%s" fill="none" stroke="%s"%s/>`, joined(points), colour, dash)
	if !head {
		return
	}
	n := len(points)
	x, y := points[n-2], points[n-1]
	dx, dy := sign(x-points[n-4]), sign(y-points[n-3])
	c.printf(`<polygon points="%s" fill="%s"/>`, joined([]int{x, y, x - 7*dx - 4*dy, y - 7*dy - 4*dx, x - 7*dx + 4*dy, y - 7*dy + 4*dx}), colour)
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func joined(points []int) string {
	var b bytes.Buffer
	for i := 0; i+1 < len(points); i += 2 {
		fmt.Fprintf(&b, "%d,%d ", points[i], points[i+1])
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
