package project

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"bolt/format/fault"
	"bolt/internal/glob"
	"bolt/internal/readfile"
)

// Script returns the text of a script.
func Script(ctx context.Context, path string) ([]byte, error) {
	if err := CheckFile("script", path); err != nil {
		return nil, err
	}
	data, err := readfile.Read(ctx, path, readfile.Payload)
	if err != nil {
		return nil, fault.File(path, err, "The script '%s' is unreadable: %v", path, fault.WithoutPath(err))
	}
	return data, nil
}

// Upload returns the source of an upload. It tries, in this order: a path that exists,
// a path with a home directory, and a pattern. Only a pattern has matches. home is the
// user's home directory, "" if it is unknown.
func Upload(path, home string) (source string, matches []string, err error) {
	if _, err := os.Lstat(path); err != nil {
		path = withHome(path, home)
	}
	if _, lerr := os.Lstat(path); lerr != nil && strings.ContainsAny(path, "*?[") {
		matches = filesMatching(path)
	}
	if matches == nil {
		err := CheckTree("source file", path)
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint == "" && strings.ContainsAny(path, "*?[") {
			f.Hint = "No local file has this name, and none matches it as a pattern."
		}
		return path, nil, err
	}
	names := make(map[string]string, len(matches))
	for _, m := range matches {
		if err := CheckTree("source file", m); err != nil {
			return "", nil, err
		}
		if other, taken := names[filepath.Base(m)]; taken {
			return "", nil, fault.New("bolt/file-error", "The pattern '%s' matches '%s' and '%s', which would be uploaded to the same file.", path, other, m)
		}
		names[filepath.Base(m)] = m
	}
	return path, matches, nil
}

// withHome replaces ~ or ~USER at the beginning of a path with a home directory. A
// path whose home directory is unknown stays as it is.
func withHome(path, home string) string {
	name, _, _ := strings.Cut(path, "/")
	login, ok := strings.CutPrefix(name, "~")
	if !ok {
		return path
	}
	dir := home
	if login != "" {
		u, err := user.Lookup(login)
		if err != nil {
			return path
		}
		dir = u.HomeDir
	}
	if dir == "" {
		return path
	}
	return strings.TrimSuffix(dir, "/") + path[len(name):] // a slash at the end has a meaning
}

// filesMatching expands a pattern as a shell does: a name that begins with a dot is
// only matched by a dot. The files are sorted by their names; nil if there are none.
// A pattern that ends in a slash only matches directories. A malformed pattern, such as
// a single [, matches nothing.
func filesMatching(pattern string) []string {
	onlyDirs := strings.HasSuffix(pattern, "/")
	pattern = filepath.Clean(pattern)
	found, _ := filepath.Glob(glob.Classes(pattern))
	parts := strings.Split(pattern, "/")
	var files []string
	for _, file := range found {
		if !shows(parts, strings.Split(file, "/")) {
			continue
		}
		if info, err := os.Stat(file); onlyDirs && (err != nil || !info.IsDir()) {
			continue
		}
		files = append(files, file)
	}
	return files
}

// shows reports whether each part of a path that begins with a dot corresponds to a
// part of the pattern that begins with a dot.
func shows(pattern, path []string) bool {
	for i, part := range path {
		if strings.HasPrefix(part, ".") && i < len(pattern) && !strings.HasPrefix(strings.TrimPrefix(pattern[i], `\`), ".") {
			return false
		}
	}
	return true
}
