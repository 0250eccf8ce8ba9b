package regexp

// kind is the kind of a node of the tree.
type kind uint8

const (
	kEmpty   kind = iota
	kLit          // runes, in a row; with fold: folded, whatever the case
	kSet          // one character of set
	kAny          // one character; without a newline unless multi
	kSeq          // subs, one after the other
	kAlt          // one of subs, the first that leads to a match
	kRepeat       // subs[0], min to max times
	kGroup        // subs[0], captured as group; 0: not captured
	kAtomic       // subs[0], without a way back into it
	kLook         // subs[0] matches here (behind: up to here), or does not (neg)
	kBackref      // the text that one of groups matched, the first in the list that fits
	kCall         // the pattern of group; 0: the whole
	kCond         // subs[0] if group has matched, else subs[1]
	kAssert       // a condition on the position, without a character
	kKeep         // the match begins here
)

// unlimited is a repeat's max without an upper bound.
const unlimited = -1

// assertion is a kind of kAssert.
type assertion uint8

const (
	beginLine assertion = iota
	endLine
	beginText
	endText
	endTextNewline // \Z: at the end, or before its newline
	searchStart    // \G
	wordBoundary
	notWordBoundary
	asciiBoundary // \b after (?a)
	notASCIIBoundary
)

// A node is a piece of a pattern. Trees are built by the parser, completed by
// check, and not changed afterwards.
type node struct {
	kind     kind
	fold     bool // kLit, kBackref: without case
	multi    bool // kAny
	greedy   bool // kRepeat
	neg      bool // kLook
	behind   bool // kLook
	assert   assertion
	min, max int // kRepeat
	group    int
	groups   []int
	runes    []rune
	set      *set
	subs     []*node
	pos      int    // its position in the pattern
	name     string // kGroup, kCall by name
	numbered bool   // kBackref, kCall, kCond: by number
	width    int    // kLit with fold: characters in the pattern; folding may make more runes

	// Set by check:
	least    int  // a lower bound of the characters that are matched
	captures bool // there are groups inside, other than in look-around
	size     int  // bytes of code in Onigmo, about
	tracked  bool // kGroup: loops look at it
	called   bool // kGroup
}

func seqOf(subs []*node) *node {
	switch len(subs) {
	case 0:
		return &node{kind: kEmpty}
	case 1:
		return subs[0]
	}
	return &node{kind: kSeq, subs: subs}
}

// single reports whether n matches exactly one character and nothing else.
func (n *node) single() bool {
	switch n.kind {
	case kSet, kAny:
		return true
	case kLit:
		return len(n.runes) == 1 && !n.fold
	}
	return false
}
