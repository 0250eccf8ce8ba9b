package environment

import (
	"sync"

	"bolt/puppet/check"
	"bolt/puppet/syntax"
)

const (
	// maxTemplates and maxTemplateBytes limit the cache of parsed templates:
	// one template is often rendered for many resources.
	maxTemplates     = 64
	maxTemplateBytes = 1 << 20
)

// templates caches parsed templates by everything that their programs depend
// on. So a file that has changed is a new template.
type templates struct {
	mu    sync.Mutex // guards the fields below
	kept  map[template]*syntax.Program
	bytes int
}

type template struct {
	name, text string
	tasks      bool
}

// parse is the Template of builtin.Options.
func (t *templates) parse(name, text string, tasks bool) (*syntax.Program, error) {
	key := template{name, text, tasks}
	t.mu.Lock()
	p := t.kept[key]
	t.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := syntax.ParseTemplate(syntax.NewFile(name, text), syntax.Options{Tasks: tasks})
	if err != nil {
		return nil, err
	}
	if err := check.Program(p, check.Options{Tasks: tasks}).Err(); err != nil {
		return nil, err
	}
	t.keep(key, p)
	return p, nil
}

func (t *templates) keep(key template, p *syntax.Program) {
	if len(key.text) > maxTemplateBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) >= maxTemplates || t.bytes+len(key.text) > maxTemplateBytes || t.kept == nil {
		t.kept, t.bytes = map[template]*syntax.Program{}, 0
	}
	t.kept[key] = p
	t.bytes += len(key.text)
}
