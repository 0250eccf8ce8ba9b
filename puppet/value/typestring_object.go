package value

// object writes the definition of an object type. Its keys are words, the names
// of its members are strings.
func (w *typeWriter) object(t *ObjectType) {
	w.objectBody(t, w.typeSet == nil || !w.typeSet.defines(t))
}

func (w *typeWriter) objectBody(t *ObjectType, named bool) {
	expand, args := w.expand, w.args
	w.expand, w.args = false, 0
	w.text("Object[{")
	for k, v := range t.initHash().All() {
		key := string(k.(String))
		if key == "name" && !named {
			continue
		}
		w.key(key)
		switch key {
		case "attributes", "functions":
			w.members(v.(*Hash))
		default:
			w.value(v)
		}
	}
	w.text("}]")
	w.expand, w.args = expand, args
}

// key begins an entry whose key is a word.
func (w *typeWriter) key(name string) {
	w.arg()
	w.text(name)
	w.text(" => ")
}

func (w *typeWriter) members(members *Hash) {
	args := w.args
	w.args = 0
	w.text("{")
	for k, v := range members.All() {
		w.arg()
		w.value(k)
		w.text(" => ")
		if h, ok := v.(*Hash); ok {
			w.member(h)
		} else {
			w.value(v)
		}
	}
	w.text("}")
	w.args = args
}

// member writes the description of a member. Its kind is a word, too.
func (w *typeWriter) member(h *Hash) {
	w.words(h, func(key string, v Value) {
		if kind, ok := v.(String); ok && key == "kind" {
			w.text(string(kind))
			return
		}
		w.value(v)
	})
}

// set writes the definition of a type set, with the short names of its types.
// It does not write only the name.
func (w *typeWriter) set(t *TypeSetType) {
	args := w.args
	w.args = 0
	w.text("TypeSet[{")
	for k, v := range t.initHash().All() {
		key := string(k.(String))
		w.key(key)
		switch key {
		case "types":
			outer := w.typeSet
			w.typeSet = t
			w.words(v.(*Hash), w.setType)
			w.typeSet = outer
		case "references":
			w.words(v.(*Hash), func(_ string, v Value) { w.value(v) })
		default:
			w.value(v)
		}
	}
	w.args = args
	w.text("}]")
}

// setType writes a type of a set. It writes the definition of an object type.
func (w *typeWriter) setType(_ string, v Value) {
	if o, ok := v.(*ObjectType); ok && w.expand {
		w.objectBody(o, false)
		return
	}
	w.value(v)
}

// words writes a hash whose keys are words.
func (w *typeWriter) words(h *Hash, value func(key string, v Value)) {
	args := w.args
	w.args = 0
	w.text("{")
	for k, v := range h.All() {
		key := string(k.(String))
		w.key(key)
		value(key, v)
	}
	w.text("}")
	w.args = args
}
