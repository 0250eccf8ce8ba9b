package graph

// arrows is the colour of the arrows between nodes.
const arrows = "#566573"

// colours are the colours of a node.
type colours struct{ fill, stroke string }

// looks returns the colours of a kind of nodes. Both formats use the stroke for
// the edge of frames.
func looks(k Kind) colours {
	switch k {
	case Start:
		return colours{"#34495e", "#34495e"}
	case Say, Jump:
		return colours{"#f6f6f6", "#a0a6ab"}
	case Decision:
		return colours{"#fdf3d8", "#c9a227"}
	case Return, End:
		return colours{"#e3f4e6", "#4f9d5d"}
	case Fail:
		return colours{"#fbe4e2", "#c0392b"}
	case Loop:
		return colours{"#fffdf6", "#c9a227"}
	case Catch:
		return colours{"#fef8f7", "#c0392b"}
	case Subplan:
		return colours{"#f7f9fa", "#34495e"}
	case Block:
		return colours{"#fcfcfc", "#a0a6ab"}
	case Parallel, Aside:
		return colours{"#f8fbfe", "#5b84b1"}
	}
	return colours{"#eaf2fa", "#5b84b1"}
}
