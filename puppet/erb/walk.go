package erb

// walk visits a node and then its parts, in the order of the template. The parser limits how deep nodes are
// nested.
func (s *surveyor) walk(n node) {
	if n == nil || !s.visit(n) {
		return
	}
	switch n := n.(type) {
	case *strNode:
		s.walkAll(n.parts)
	case *regexNode:
		s.walkAll(n.parts)
	case *arrayNode:
		s.walkAll(n.elems)
	case *hashNode:
		for _, p := range n.pairs {
			s.walk(p.key)
			s.walk(p.value)
		}
	case *rangeNode:
		s.walk(n.lo)
		s.walk(n.hi)
	case *callNode:
		s.walk(n.recv)
		s.walkAll(n.args)
		s.walkBlock(n)
	case *splatNode:
		s.walk(n.x)
	case *blockNode:
		s.walkParams(n.params)
		s.walk(n.body)
	case *assignNode:
		s.target(n.target)
		s.walk(n.value)
	case *multiNode:
		for _, t := range n.targets {
			s.target(t)
		}
		s.walk(n.value)
	case *yieldNode:
		s.walkAll(n.args)
	case *insertNode:
		s.walk(n.x)
	case *seqNode:
		s.walkAll(n.list)
	default:
		s.walkControl(n)
	}
}

func (s *surveyor) walkControl(n node) {
	switch n := n.(type) {
	case *logicNode:
		s.walk(n.x)
		s.walk(n.y)
	case *notNode:
		s.walk(n.x)
	case *definedNode:
		s.walk(n.x)
	case *ifNode:
		s.walk(n.cond)
		s.walk(n.then)
		s.walk(n.other)
	case *whileNode:
		s.walk(n.cond)
		s.walk(n.body)
	case *forNode:
		s.target(n.target)
		s.walk(n.list)
		s.walk(n.body)
	case *caseNode:
		s.walk(n.subject)
		for _, w := range n.whens {
			s.walkAll(w.tests)
			s.walk(w.body)
		}
		s.walk(n.other)
	case *beginNode:
		s.walk(n.body)
		for _, r := range n.rescues {
			s.walkAll(r.classes)
			s.walk(r.body)
		}
		s.walk(n.other)
		s.walk(n.ensure)
	case *defNode:
		s.walkParams(n.params)
		s.walk(n.body)
	case *jumpNode:
		s.walk(n.value)
	}
}

func (s *surveyor) walkAll(list []node) {
	for _, n := range list {
		s.walk(n)
	}
}

// walkBlock visits the block of a call.
func (s *surveyor) walkBlock(n *callNode) {
	s.walk(n.pass)
	if n.block != nil {
		s.walk(n.block)
	}
}

func (s *surveyor) walkParams(list []param) {
	for _, p := range list {
		s.walk(p.value)
		s.walkParams(p.sub)
	}
}

// target visits the parts of a target of an assignment that are evaluated. A variable that is set is not read.
func (s *surveyor) target(n node) {
	switch n := n.(type) {
	case *ivarNode:
		s.set[n.name] = true
	case *callNode:
		s.walk(n.recv)
		s.walkAll(n.args)
	case *multiNode:
		for _, t := range n.targets {
			s.target(t)
		}
	case *splatNode:
		s.target(n.x)
	}
}
