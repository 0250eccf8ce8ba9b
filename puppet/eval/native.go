package eval

import (
	"fmt"
	"slices"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A signature is a Signature, parsed.
type signature struct {
	params []sigParam
	lo, hi int // arguments; hi < 0: as many as come
	rest   bool
	block  blockNeed
	blo    int // arguments that the block is called with
	bhi    int // < 0: as many as come
	btype  value.Type
	words  string // the type of the block as it is written
	run    func(*Call) (value.Value, error)
}

type sigParam struct {
	name string
	typ  value.Type // nil: any; of a rest parameter its elements'
	word string     // the type as it is written
}

type blockNeed uint8

const (
	noBlock blockNeed = iota
	mayBlock
	mustBlock
)

// signatures returns the parsed signatures of a function. Types of modules can
// be in them, and are evaluated: so nothing is locked, and what was made with
// types that are yet in work is not kept.
func (f *Function) signatures(t *thread) ([]signature, error) {
	if p := f.parsed.Load(); p != nil {
		return *p, nil
	}
	w, private := t.w, t.private
	t.w = t.w.lib.world // functions are shared; an Interp's own types are not theirs
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

// parseBlock reads the type of a block.
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

// tupleSize returns how many elements a tuple has; hi < 0: no limit.
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

// accepts tells whether a call fits.
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

// testing counts the work that accepts has with large arguments.
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

// param returns the parameter that argument i is for.
func (s *signature) param(i int) *sigParam {
	return &s.params[min(i, len(s.params)-1)]
}

// takes tells whether the block fits, or its absence.
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

// native calls a function that is written in Go.
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

// run runs a function of Go.
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

// noSignature describes a call that fits no signature.
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

// arity returns how many arguments a function takes; hi < 0: as many as come.
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

// meantBy returns the signatures that a call can have been meant for: those
// that take as many arguments and such a block; if there are none, all.
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

// why says what is wrong with a call.
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

// maxWord is how much of a type signatures show in messages.
const maxWord = 60

// String returns the signature as messages show it.
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

// create is new(type, args…) where there is no function new.
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

// catalog refuses what needs a catalog where there is none.
func (t *thread) catalog(at pos, what string) error {
	if t.in.env.Builder != nil && !t.in.env.Tasks {
		return nil
	}
	return t.fail(at, "catalog-operation", "%s needs a catalog, and there is none here", what)
}
