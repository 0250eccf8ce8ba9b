package eval

import (
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A signature is a parsed Signature.
type signature struct {
	params []sigParam
	lo, hi int // number of arguments; hi < 0: no maximum
	rest   bool
	block  blockNeed
	blo    int // number of arguments that the block is called with
	bhi    int // < 0: no maximum
	btype  value.Type
	words  string // the type of the block in the source
	run    func(*Call) (value.Value, error)
}

type sigParam struct {
	name string
	typ  value.Type // nil: any; for a rest parameter, the type of its elements
	word string     // the type in the source
}

type blockNeed uint8

const (
	noBlock blockNeed = iota
	mayBlock
	mustBlock
)

// signatures returns the parsed signatures of a function. They can contain
// types of modules, which are evaluated. Therefore no lock is held, and the
// result is not cached if it refers to types that are still being resolved.
func (f *Function) signatures(t *thread) ([]signature, error) {
	if p := f.parsed.Load(); p != nil {
		return *p, nil
	}
	w, private := t.w, t.private
	t.w = t.w.lib.world // functions are shared and cannot use the types of an Interp
	t.private = false
	defer func() { t.w, t.private = w, t.private || private }()
	sigs := make([]signature, 0, len(f.Signatures))
	for i := range f.Signatures {
		s, err := t.parseSignature(&f.Signatures[i])
		if err != nil {
			return nil, fmt.Errorf("internal error: signature %d of %s: %w", i+1, f.Name, err)
		}
		sigs = append(sigs, s)
	}
	if !t.private {
		f.parsed.Store(&sigs)
	}
	return sigs, nil
}

func (t *thread) parseSignature(in *Signature) (s signature, err error) {
	s = signature{run: in.Run}
	p, err := syntax.Parse(syntax.NewFile("", "f() |"+in.Params+"| {}"), syntax.Options{})
	if err != nil {
		return s, err
	}
	call, is := p.Body.Exprs[0].(*syntax.Call)
	if !is || call.Lambda == nil {
		return s, fmt.Errorf("parameters %q", in.Params)
	}
	for _, p := range call.Lambda.Params {
		q := sigParam{name: p.Name, word: "Any"}
		lo, hi := 1, 1
		if p.Value != nil {
			lo = 0
		}
		if p.Type != nil {
			if q.typ, err = t.typeFrom(pos{}, compileExpr(nil, p.Type), t.in.top); err != nil {
				return s, err
			}
			q.word = value.TypeString(q.typ)
		}
		if p.Rest {
			s.rest = true
			lo, hi = 0, -1
			if q.typ != nil {
				q.typ, lo, hi = restType(q.typ)
			}
		}
		if _, any := q.typ.(value.AnyType); any {
			q.typ = nil
		}
		s.lo += lo
		if s.hi += hi; hi < 0 {
			s.hi = -1
		}
		s.params = append(s.params, q)
	}
	return s, t.parseBlock(&s, in.Block)
}

// parseBlock parses the type of a block.
func (t *thread) parseBlock(s *signature, text string) error {
	if text == "" {
		return nil
	}
	typ, err := t.parseType(pos{}, text)
	if err != nil {
		return err
	}
	s.block, s.words = mustBlock, text
	if o, is := typ.(*value.OptionalType); is {
		s.block, typ = mayBlock, o.Type
	}
	c, is := typ.(*value.CallableType)
	if !is {
		return fmt.Errorf("block %q", text)
	}
	s.blo, s.bhi = 0, -1
	if c.Params == nil {
		s.btype, s.blo = nil, -1 // any block
		return nil
	}
	s.blo, s.bhi = tupleSize(c.Params)
	for _, p := range c.Params.Types {
		switch p.(type) {
		case value.UnitType:
		default:
			s.btype = c
		}
	}
	return nil
}

// tupleSize returns the number of elements of a tuple. If hi < 0, the number is
// unlimited.
func tupleSize(t *value.TupleType) (lo, hi int) {
	if t.Size == nil {
		return len(t.Types), len(t.Types)
	}
	hi = -1
	if t.Size.HasMax {
		hi = int(t.Size.Max)
	}
	if t.Size.HasMin {
		lo = int(t.Size.Min)
	}
	return lo, hi
}

// accepts reports whether a call fits the signature.
func (s *signature) accepts(t *thread, args []value.Value, block *Closure) bool {
	if len(args) < s.lo || s.hi >= 0 && len(args) > s.hi {
		return false
	}
	for i, v := range args {
		p := s.param(i)
		if p.typ != nil && !instance(p.typ, v) {
			return false
		}
	}
	return s.takes(t, block)
}

// testing counts the work of accepts for large arguments.
func (s *signature) testing(t *thread, at pos, args []value.Value) error {
	for i, v := range args {
		switch v.(type) {
		case *value.Array, *value.Hash, value.String:
			if len(s.params) == 0 || s.param(i).typ == nil {
				continue
			}
			if err := t.testing(at, s.param(i).typ, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// param returns the parameter of argument i.
func (s *signature) param(i int) *sigParam {
	return &s.params[min(i, len(s.params)-1)]
}

// takes reports whether the signature accepts the block, or its absence.
func (s *signature) takes(t *thread, block *Closure) bool {
	if block == nil {
		return s.block != mustBlock
	}
	if s.block == noBlock {
		return false
	}
	if s.blo < 0 {
		return true
	}
	lo, hi := block.Arity()
	if hi >= 0 && s.bhi < 0 || lo > s.blo || hi >= 0 && s.bhi > hi {
		return false
	}
	if s.btype == nil {
		return true
	}
	typ, err := block.callable(t)
	return err == nil && value.Assignable(s.btype, typ)
}

// native calls a function that is implemented in Go.
func (t *thread) native(s *Scope, at pos, name string, f *Function, args []value.Value, block *Closure) (value.Value, error) {
	if f.Catalog {
		if err := t.catalog(at, "the function "+f.Name); err != nil {
			return nil, err
		}
	}
	sigs, err := f.signatures(t)
	if err != nil {
		return nil, t.fail(at, "internal", "%v", err)
	}
	for i := range sigs {
		if err := sigs[i].testing(t, at, args); err != nil {
			return nil, err
		}
		if sigs[i].accepts(t, args, block) {
			return t.run(s, at, name, sigs[i].run, args, block)
		}
	}
	return nil, t.noSignature(at, f.Name, sigs, args, block)
}

// run runs a function that is implemented in Go.
func (t *thread) run(s *Scope, at pos, name string, run func(*Call) (value.Value, error), args []value.Value, block *Closure) (value.Value, error) {
	if t.depth >= t.deep {
		return nil, t.fail(at, "too-deep", "calls are nested deeper than %d", t.deep)
	}
	if t.poll--; t.poll <= 0 {
		if err := t.look(at); err != nil {
			return nil, err
		}
	}
	if err := t.climb(at, 0); err != nil {
		return nil, err
	}
	t.depth++
	if t.nested == len(t.calls) {
		t.calls = append(t.calls, &Call{})
	}
	c := t.calls[t.nested]
	t.nested++
	*c = Call{Site: Site{Interp: t.in, Scope: s, t: t, at: at}, Name: name, Args: args, Block: block}
	v, err := run(c)
	*c = Call{}
	t.nested--
	t.depth--
	t.descend(0)
	if err != nil {
		return nil, t.wrap(at, err)
	}
	if v == nil {
		return value.Undef{}, nil
	}
	return v, t.given(at, v)
}

// noSignature returns the error of a call that fits no signature.
func (t *thread) noSignature(at pos, name string, sigs []signature, args []value.Value, block *Closure) error {
	if lo, hi := arity(sigs); len(args) < lo || hi >= 0 && len(args) > hi {
		return t.fail(at, "argument-count", "%s", expected(name, lo, hi, len(args)))
	}
	meant := meantBy(t, sigs, args, block)
	if len(meant) == 1 {
		return t.fail(at, "type-mismatch", "%s(): %s", name, meant[0].why(t, args, block))
	}
	var b strings.Builder
	b.WriteString(name)
	b.WriteString("() takes one of")
	var told []string
	for _, s := range meant {
		line := fmt.Sprintf("\n  (%s): %s", s, s.why(t, args, block))
		if !slices.Contains(told, line) {
			told = append(told, line)
			b.WriteString(line)
		}
	}
	return t.fail(at, "type-mismatch", "%s", b.String())
}

// arity returns the number of arguments of a function. If hi < 0, the number is
// unlimited.
func arity(sigs []signature) (lo, hi int) {
	for i := range sigs {
		s := &sigs[i]
		if i == 0 {
			lo, hi = s.lo, s.hi
			continue
		}
		lo = min(lo, s.lo)
		if s.hi < 0 || hi < 0 {
			hi = -1
		} else {
			hi = max(hi, s.hi)
		}
	}
	return lo, hi
}

// meantBy returns the signatures that accept the number of arguments and the
// block of a call. If there are none, it returns all signatures.
func meantBy(t *thread, sigs []signature, args []value.Value, block *Closure) []*signature {
	var meant, all []*signature
	for i := range sigs {
		s := &sigs[i]
		all = append(all, s)
		if len(args) >= s.lo && (s.hi < 0 || len(args) <= s.hi) && s.takes(t, block) {
			meant = append(meant, s)
		}
	}
	if meant == nil {
		return all
	}
	return meant
}

// why describes why a call does not fit the signature.
func (s *signature) why(t *thread, args []value.Value, block *Closure) string {
	if len(args) < s.lo || s.hi >= 0 && len(args) > s.hi {
		return fmt.Sprintf("it takes %s, got %d", count(s.lo, s.hi), len(args))
	}
	for i, v := range args {
		if p := s.param(i); p.typ != nil && !value.Instance(p.typ, v) {
			return value.Mismatch("parameter '"+p.name+"'", p.typ, v)
		}
	}
	switch {
	case block == nil:
		return "it needs a block"
	case s.block == noBlock:
		return "it takes no block"
	}
	lo, hi := block.Arity()
	if hi >= 0 && s.bhi < 0 || lo > s.blo || hi >= 0 && s.bhi > hi {
		return fmt.Sprintf("its block is called with %s, but takes %s", count(s.blo, s.bhi), span(lo, hi))
	}
	return "its block takes other arguments"
}

// maxWord is the length to which messages shorten a type in a signature.
const maxWord = 60

// String returns the signature for messages.
func (s *signature) String() string {
	var b strings.Builder
	for i, p := range s.params {
		if i > 0 {
			b.WriteString(", ")
		}
		if name, _, more := strings.Cut(p.word, "["); more && len(p.word) > maxWord {
			b.WriteString(name + "[…]")
		} else {
			b.WriteString(p.word)
		}
		b.WriteByte(' ')
		if s.rest && i == len(s.params)-1 {
			b.WriteByte('*')
		}
		b.WriteString(p.name)
	}
	if s.words != "" {
		if len(s.params) > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.words + " block")
	}
	return b.String()
}

// callable returns the type of a block.
func (b *Closure) callable(t *thread) (value.Type, error) {
	size := func(lo, hi int) *value.IntegerType {
		return &value.IntegerType{Min: int64(lo), Max: int64(hi), HasMin: true, HasMax: hi >= 0}
	}
	if b.native != nil {
		return value.NewCallableType(value.NewTupleType([]value.Type{value.AnyType{}}, size(b.min, b.max)), nil, nil), nil
	}
	return t.callableOf(b.code, b.scope)
}

// callableOf returns the type of a function or a block.
func (t *thread) callableOf(c *code, outer *Scope) (value.Type, error) {
	types, err := t.typesOf(c, &Scope{outer: outer, named: outer.named})
	if err != nil {
		return nil, err
	}
	list := make([]value.Type, len(c.params))
	lo, hi := c.min, c.max
	for i := range list {
		if list[i] = types.params[i]; list[i] == nil {
			list[i] = value.AnyType{}
		}
		if c.params[i].rest {
			lo += types.lo
			if types.hi >= 0 {
				hi = len(c.params) - 1 + types.hi
			}
		}
	}
	size := &value.IntegerType{Min: int64(lo), Max: int64(hi), HasMin: true, HasMax: hi >= 0}
	return value.NewCallableType(value.NewTupleType(list, size), nil, types.returns), nil
}

// create implements new(type, args…) if the function new does not exist.
func (t *thread) create(at pos, args []value.Value) (value.Value, error) {
	if len(args) == 0 {
		return nil, t.fail(at, "argument-count", "new() takes a type")
	}
	typ, is := args[0].(value.Type)
	if !is {
		return nil, t.fail(at, "type-mismatch", "new(): %s is not a type", t.inspect(args[0]))
	}
	v, err := value.New(typ, args[1:])
	if err != nil {
		return nil, t.wrap(at, err)
	}
	return v, nil
}

// catalog returns an error without a catalog. The argument what describes the
// operation that needs one.
func (t *thread) catalog(at pos, what string) error {
	if t.in.env.Builder != nil && !t.in.env.Tasks {
		return nil
	}
	return t.fail(at, "catalog-operation", "%s needs a catalog, which is not available here", what)
}
