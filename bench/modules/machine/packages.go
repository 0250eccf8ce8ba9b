package machine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is a stub of a Debian package. The table packages of the stand-ins lists its files. A package that is not in the table has no
// files.
type Package struct{ Name, Version string }

// prepare writes the stand-ins and the repository of packages into a root.
func prepare(root string, standins fs.FS, packages []Package) error {
	systemctl, err := fs.ReadFile(standins, "systemctl")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "usr/bin/systemctl"), systemctl, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"run/systemd/system", "etc/systemd/system", "lib/systemd/system", "var/lib/standins/active", "srv/packages"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"etc/hostname":         "web1\n",
		"etc/resolv.conf":      "",
		"etc/apt/sources.list": "deb [trusted=yes] file:/srv/packages ./\n",
		"etc/apt/apt.conf.d/50stubs": "Acquire::Languages \"none\";\nAPT::Sandbox::User \"root\";\n" + // and no other repository can be reached
			"Acquire::http::Proxy \"http://127.0.0.1:9/\";\nAcquire::https::Proxy \"http://127.0.0.1:9/\";\nAcquire::Retries \"0\";\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	packed, err := fs.ReadFile(standins, "packages")
	if err != nil {
		return err
	}
	contents := table(packed)
	status, err := os.ReadFile(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return err
	}
	var index bytes.Buffer
	for _, p := range append([]Package{{"systemd", "252"}, {"kmod", "30"}}, packages...) {
		if bytes.Contains(status, []byte("Package: "+p.Name+"\n")) {
			continue // the base has the real package
		}
		if err := build(root, p, contents[p.Name], &index); err != nil {
			return fmt.Errorf("the stub of the package %s: %w", p.Name, err)
		}
	}
	return os.WriteFile(filepath.Join(root, "srv/packages/Packages"), index.Bytes(), 0o644)
}

// build makes a package with the real dpkg-deb and adds it to the index of the repository.
func build(root string, p Package, contents []string, index *bytes.Buffer) error {
	dir, err := os.MkdirTemp("", "stub-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <root@localhost>\nDescription: stub\n", p.Name, p.Version)
	files := map[string]string{"DEBIAN/control": control}
	modes := map[string]os.FileMode{}
	var script strings.Builder
	script.WriteString("#!/bin/sh\nset -e\n")
	for _, c := range contents {
		kind, value, _ := strings.Cut(c, ":")
		switch {
		case strings.HasSuffix(c, "/"):
			if err := os.MkdirAll(filepath.Join(dir, c), 0o755); err != nil {
				return err
			}
		case strings.HasPrefix(c, "/"):
			files[c] = "# stub\n"
			if strings.Contains(c, "bin/") {
				files[c], modes[c] = "#!/bin/sh\nexit 0\n", 0o755
			}
		case kind == "unit":
			files["/lib/systemd/system/"+value+".service"] = "[Unit]\nDescription=" + value + "\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
		case kind == "user":
			fmt.Fprintf(&script, "id %[1]s >/dev/null 2>&1 || useradd --system --user-group --no-create-home --shell /usr/sbin/nologin %[1]s\n", value)
		default:
			return fmt.Errorf("the content %q is neither a path nor a unit nor a user", c)
		}
	}
	files["DEBIAN/postinst"], modes["DEBIAN/postinst"] = script.String(), 0o755
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := modes[name]
		if mode == 0 {
			mode = 0o644
		}
		if err := os.WriteFile(file, []byte(files[name]), mode); err != nil {
			return err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	name := strings.ReplaceAll(p.Name+"_"+p.Version, ":", "%3a") + ".deb"
	deb := filepath.Join(root, "srv/packages", name)
	if out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", "-Znone", dir, deb).CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb: %w\n%s", err, out)
	}
	data, err := os.ReadFile(deb)
	if err != nil {
		return err
	}
	fmt.Fprintf(index, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", control, name, len(data), sha256.Sum256(data))
	return nil
}
