package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"bolt/apply/provider"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/atomicfile"
)

// resourceTypes are the types that the helper can apply.
func resourceTypes() map[string]resource.Type {
	all := provider.All()
	if all["File"] == nil {
		all["File"] = fileType{}
	}
	return all
}

type notifyType struct{}

func (notifyType) New(r *resource.Resource) (resource.Item, error) {
	text, given, err := r.Text("message")
	if !given {
		text = r.Title
	}
	return &notify{r, text}, err
}

type notify struct {
	r    *resource.Resource
	text string
}

func (n *notify) Read(context.Context, *resource.Host) error { return nil }
func (n *notify) Plan() ([]resource.Change, error) {
	return []resource.Change{{Property: "message", Is: "absent", Should: n.text}}, nil
}
func (n *notify) Do(_ context.Context, h *resource.Host, _ *resource.Change) error {
	h.Logf(n.r.Ref, report.Notice, "%s", n.text)
	return nil
}

type fileType struct{}

func (fileType) New(r *resource.Resource) (resource.Item, error) { return &file{r: r}, nil }

type file struct {
	r    *resource.Resource
	want string
	is   string
	none bool
}

func (f *file) Parallel() {}
func (f *file) Read(_ context.Context, h *resource.Host) error {
	f.want, _, _ = f.r.Text("content")
	b, err := os.ReadFile(f.r.Title)
	f.is, f.none = string(b), errors.Is(err, os.ErrNotExist)
	return nil
}
func (f *file) Plan() ([]resource.Change, error) {
	if f.none || f.r.File == nil && f.is != f.want {
		return []resource.Change{{Property: "content", Name: "content_changed"}}, nil
	}
	return nil, nil
}
func (f *file) Do(_ context.Context, h *resource.Host, _ *resource.Change) error {
	if f.r.File != nil {
		in, err := h.Content(f.r.File.Sum[len("{sha256}"):])
		if err != nil {
			return err
		}
		defer in.Close()
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return atomicfile.WriteUnsynced(f.r.Title, b, 0o644)
	}
	return atomicfile.WriteUnsynced(f.r.Title, []byte(f.want), 0o644)
}

type execType struct{}

func (execType) New(r *resource.Resource) (resource.Item, error) {
	command, given, err := r.Text("command")
	if !given {
		command = r.Title
	}
	only, _ := r.Bool("refreshonly", false)
	creates, _, _ := r.Text("creates")
	return &execute{r: r, command: command, only: only, creates: creates, session: r.Title == "session"}, err
}

type execute struct {
	r                *resource.Resource
	command, creates string
	only, session    bool
	there            bool
}

func (e *execute) Read(context.Context, *resource.Host) error {
	_, err := os.Stat(e.creates)
	e.there = e.creates != "" && err == nil
	return nil
}
func (e *execute) Plan() ([]resource.Change, error) {
	if e.only || e.there {
		return nil, nil
	}
	return []resource.Change{{Property: "returns", Name: "executed_command"}}, nil
}
func (e *execute) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	out, err := h.Run(ctx, &resource.Command{Argv: []string{"/bin/sh", "-c", e.command}, Env: h.Env, Session: e.session})
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("exit %d", out.Code)
	}
	return err
}
func (e *execute) Refresh(ctx context.Context, h *resource.Host, made []resource.Change) error {
	return e.Do(ctx, h, nil)
}
