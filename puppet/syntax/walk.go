package syntax

// Walk calls f for n. If f returns true, it calls f for the parts of n, in the
// order of the source, and then for nil. Entries, attributes, parameters,
// options of a case and bodies of resources are nodes, too; f gets pointers to
// them.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	switch n := n.(type) {
	case *Concat:
		walkExprs(n.Parts, f)
	case *Text:
		walkExpr(n.X, f)
	case *Heredoc:
		walkExpr(n.Text, f)
	case *List:
		walkExprs(n.Items, f)
	case *Hash:
		walkEntries(n.Entries, f)
	case *Entry:
		walkExpr(n.Key, f)
		walkExpr(n.Value, f)
	case *Not:
		walkExpr(n.X, f)
	case *Neg:
		walkExpr(n.X, f)
	case *Splat:
		walkExpr(n.X, f)
	case *Paren:
		walkExpr(n.X, f)
	case *Binary:
		walkExpr(n.X, f)
		walkExpr(n.Y, f)
	case *Assign:
		walkExpr(n.X, f)
		walkExpr(n.Y, f)
	case *Relation:
		walkExpr(n.X, f)
		walkExpr(n.Y, f)
	case *Index:
		walkExpr(n.X, f)
		walkExprs(n.Keys, f)
	case *Call:
		walkExpr(n.Func, f)
		walkExprs(n.Args, f)
		walkLambda(n.Lambda, f)
	case *Method:
		walkExpr(n.X, f)
		walkExpr(n.Func, f)
		walkExprs(n.Args, f)
		walkLambda(n.Lambda, f)
	case *Lambda:
		walkParams(n.Params, f)
		walkExpr(n.Returns, f)
		walkBlock(n.Body, f)
	case *Param:
		walkExpr(n.Type, f)
		walkExpr(n.Value, f)
	case *If:
		walkExpr(n.Cond, f)
		walkBlock(n.Then, f)
		walkExpr(n.Else, f)
	case *Unless:
		walkExpr(n.Cond, f)
		walkBlock(n.Then, f)
		walkExpr(n.Else, f)
	case *Case:
		walkExpr(n.X, f)
		for _, o := range n.Options {
			Walk(o, f)
		}
	case *CaseOption:
		walkExprs(n.Values, f)
		walkBlock(n.Then, f)
	case *Selector:
		walkExpr(n.X, f)
		walkEntries(n.Options, f)
	case *Resource:
		walkExpr(n.Type, f)
		for _, b := range n.Bodies {
			Walk(b, f)
		}
	case *ResourceBody:
		walkExpr(n.Title, f)
		walkAttrs(n.Attrs, f)
	case *Attr:
		walkExpr(n.Value, f)
	case *Defaults:
		walkExpr(n.Type, f)
		walkAttrs(n.Attrs, f)
	case *Override:
		walkExpr(n.X, f)
		walkAttrs(n.Attrs, f)
	case *Collect:
		walkExpr(n.Type, f)
		walkExpr(n.Query, f)
		walkAttrs(n.Attrs, f)
	case *Class:
		walkParams(n.Params, f)
		walkBlock(n.Body, f)
	case *Define:
		walkParams(n.Params, f)
		walkBlock(n.Body, f)
	case *NodeDef:
		walkExprs(n.Matches, f)
		walkExpr(n.Parent, f)
		walkBlock(n.Body, f)
	case *Function:
		walkParams(n.Params, f)
		walkExpr(n.Returns, f)
		walkBlock(n.Body, f)
	case *Plan:
		walkParams(n.Params, f)
		walkBlock(n.Body, f)
	case *TypeAlias:
		walkExpr(n.Value, f)
	case *TypeMapping:
		walkExpr(n.Type, f)
		walkExpr(n.Value, f)
	case *TypeDef:
		walkExpr(n.Body, f)
	case *Apply:
		walkExprs(n.Args, f)
		walkBlock(n.Body, f)
	case *Block:
		walkExprs(n.Exprs, f)
	case *EPP:
		walkParams(n.Params, f)
		walkBlock(n.Body, f)
	case *Render:
		walkExpr(n.X, f)
	}
	f(nil)
}

func walkExpr(x Expr, f func(Node) bool) {
	if x != nil {
		Walk(x, f)
	}
}

func walkExprs(list []Expr, f func(Node) bool) {
	for _, x := range list {
		walkExpr(x, f)
	}
}

func walkEntries(list []Entry, f func(Node) bool) {
	for i := range list {
		Walk(&list[i], f)
	}
}

func walkAttrs(list []Attr, f func(Node) bool) {
	for i := range list {
		Walk(&list[i], f)
	}
}

func walkParams(list []*Param, f func(Node) bool) {
	for _, x := range list {
		Walk(x, f)
	}
}

func walkBlock(b *Block, f func(Node) bool) {
	if b != nil {
		Walk(b, f)
	}
}

func walkLambda(l *Lambda, f func(Node) bool) {
	if l != nil {
		Walk(l, f)
	}
}

// Extent returns the span of a node from its first byte to its last. The span
// of the node itself can be only that of an operator. The text of a heredoc is
// not included.
func Extent(n Node) Span {
	at := n.At()
	begin, end := at.Off, at.End()
	Walk(n, func(n Node) bool {
		if n == nil {
			return false
		}
		at := n.At()
		begin, end = min(begin, at.Off), max(end, at.End())
		_, apart := n.(*Heredoc)
		return !apart
	})
	return Span{begin, end - begin}
}
