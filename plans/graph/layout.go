package graph

// These are distances in pixels.
const (
	gap      = 26 // between consecutive nodes
	aside    = 32 // between nodes side by side
	padding  = 10 // around the text of a node
	inset    = 18 // around the body of a frame
	turn     = 14 // from a node to the bend of its arrow
	maxText  = 330
	minWidth = 110
	stub     = 34 // of a branch without nodes
)

// A box is a part of the picture with positions for its contents. The arrow to
// it ends at its top edge, the arrow from it begins at its bottom edge, both mid
// pixels from its left edge.
type box struct {
	node   *Node // nil for a sequence
	lines  []line
	w, h   int
	mid    int
	open   bool    // an arrow leaves it
	text   int     // the height of a frame's or decision's own part
	kids   []child // the nodes of a sequence; otherwise the branches or the body
	labels []label
}

// A child is a box within another box, at a position relative to that box's top
// left corner.
type child struct {
	*box
	x, y int
	// fork is the height at which the arrow to an Aside begins; 0 for other
	// nodes.
	fork int
}

// A label is the label of a branch.
type label struct {
	text string
	x, y int
}

// sequenceBox returns a box with nodes below each other, and the Asides on their
// right.
func sequenceBox(list []*Node) *box {
	b := &box{open: true, kids: make([]child, len(list))}
	y, low := 0, 0
	for i, n := range list {
		k := &b.kids[i]
		k.box = nodeBox(n)
		if i > 0 {
			y += gap
		}
		if len(n.Waits) > 0 {
			y = max(y, low)
		}
		if k.y = y; n.Kind == Aside {
			k.fork = y + 1 // not 0
			k.y += turn
			low = max(low, k.y+k.h+gap)
			continue
		}
		b.mid = max(b.mid, k.mid)
		y += k.h
		b.open = k.open
	}
	b.h = y
	b.place()
	return b
}

// place sets the horizontal positions of a sequence's nodes. Asides that begin
// later are nearer, so that no arrow to an Aside crosses a box.
func (b *box) place() {
	ends := map[*Node]int{} // of Asides: the height at which a node waits for them
	for i := range b.kids {
		k := &b.kids[i]
		for _, n := range k.node.Waits {
			ends[n] = k.y + k.h
		}
		if k.fork == 0 {
			k.x = b.mid - k.mid
			b.w = max(b.w, k.x+k.w)
		}
	}
	for i := len(b.kids) - 1; i >= 0; i-- {
		k := &b.kids[i]
		if k.fork == 0 {
			continue
		}
		end := max(k.y+k.h, ends[k.node])
		for j := range b.kids {
			other := &b.kids[j]
			beside := other.y <= end && max(other.y+other.h, ends[other.node]) >= k.fork
			if beside && (other.fork == 0 || j > i) {
				k.x = max(k.x, other.x+other.w)
			}
		}
		k.x += aside
		b.w, b.h = max(b.w, k.x+k.w), max(b.h, k.y+k.h)
	}
}

func nodeBox(n *Node) *box {
	switch {
	case n.Kind == Decision:
		return decisionBox(n)
	case n.frame():
		return frameBox(n)
	}
	b := textBox(n, 2)
	b.w = max(b.w, minWidth)
	if n.ends || n.Kind == End {
		b.w = max(textsWidth(b.lines), 30) + 3*padding
	}
	b.mid = b.w / 2
	return b
}

// textBox returns a box for the text of a node. Long lines are broken.
func textBox(n *Node, most int) *box {
	b := &box{node: n, open: !n.ends}
	for _, l := range n.lines() {
		for _, text := range wrapped(l.text, l.tone == strong, maxText, most) {
			b.lines = append(b.lines, line{text, l.tone})
		}
	}
	b.w = textsWidth(b.lines) + 2*padding
	b.h = len(b.lines)*lineHeight + padding
	b.text = b.h
	return b
}

func textsWidth(list []line) int {
	w := 0
	for _, l := range list {
		w = max(w, textWidth(l.text, l.tone == strong))
	}
	return w
}

// frameBox returns a box with the text above the body. A loop has room for the
// arrow back.
func frameBox(n *Node) *box {
	b := textBox(n, 2)
	body := sequenceBox(n.Body)
	left := inset
	if n.Kind == Loop {
		left += turn
	}
	at := child{box: body, x: left, y: b.text + turn}
	if room := b.w - body.w - left - inset; room > 0 { // the text is wider
		at.x += room / 2
	}
	b.w = max(b.w, body.w+left+inset)
	b.mid = at.x + body.mid
	b.h = at.y + body.h + inset
	b.kids = []child{at}
	return b
}

// decisionBox returns a box with the branches side by side below the condition.
// If there are two branches, the first one goes straight down.
func decisionBox(n *Node) *box {
	b := textBox(n, 2)
	b.w += 2 * padding // the points of its shape
	head := b.w
	top := b.h + turn + lineHeight + turn
	x, bottom := 0, 0
	var mids []int
	for _, branch := range n.Branches {
		k := child{box: sequenceBox(branch.Body), x: x, y: top}
		if len(branch.Body) == 0 {
			k.w, k.mid = stub, stub/2
		}
		text := wrapped(branch.Label, false, maxText/2, 1)[0]
		mids = append(mids, x+k.mid)
		b.labels = append(b.labels, label{text, x + k.mid + 6, b.h + turn + lineHeight - 2})
		b.kids = append(b.kids, k)
		x += max(k.w, k.mid+6+textWidth(text, false)) + aside
		bottom = max(bottom, k.y+k.h)
	}
	b.mid = mids[0]
	if len(mids) > 2 {
		b.mid = (mids[0] + mids[len(mids)-1]) / 2
	}
	shift := max(head/2-b.mid, 0)
	for i := range b.kids {
		b.kids[i].x += shift
		b.labels[i].x += shift
	}
	b.mid += shift
	b.w = max(x-aside+shift, b.mid+head/2)
	b.h = bottom
	if b.open {
		b.h += turn
	}
	return b
}
