# Targets are listed by "make help".

PREFIX  ?= /usr/local
DESTDIR ?=
# A tag without its v and how far behind it is, or the next version to come.
VERSION ?= $(or $(patsubst v%,%,$(shell git describe --tags --dirty 2>/dev/null)),0.1.0-dev)
GO      ?= go

# The version is ours to give; git's refusal to read a tree of another owner shall not end a build.
export GOFLAGS += -buildvcs=false

LDFLAGS := -s -w -X main.version=$(VERSION)
MANDIR   = $(DESTDIR)$(PREFIX)/share/man/man1
SHARE    = $(DESTDIR)$(PREFIX)/share
UNITDIR  = $(DESTDIR)$(PREFIX)/lib/systemd/user

.DEFAULT_GOAL := build
.PHONY: build helpers demo test containers roots puppetserver check confirm bench man completion install dist clean help

build: helpers ## build bin/bolt and bin/bolt-clouds, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/bolt ./cmd/bolt
	CGO_ENABLED=0 $(GO) -C clouds build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/bolt-clouds ./cmd/bolt-clouds

helpers: ## build the helpers that bolt sends to the machines that it changes, for bolt to embed
	@GO='$(GO)' scripts/helpers.sh

demo: build ## show bolt at work on a throwaway farm of SSH servers
	@scripts/setup.sh demo
	@scripts/demo.sh bin/bolt

test: helpers ## run the whole test suite with the race detector (installs what it needs when root)
	@scripts/setup.sh test
	@scripts/test.sh

containers: ## run the contract of connections in real containers of docker and podman (root; no part of test)
	scripts/containers.sh $(GO) test -count=1 -tags containers -run TestReal -timeout 30m ./transport/container

roots: ## run the tests of dnf, zypper, pacman, pip, gem, npm and libuser in a root that has them (root; no part of test)
	scripts/roots.sh $(GO) test -count=1 -tags roots ./apply/provider/pkg ./apply/provider/account

puppetserver: helpers ## run the tests with a real Puppet Server in a root that has it (root; no part of test)
	scripts/puppetserver.sh $(GO) test -count=1 -tags puppetserver -run TestPuppetServer ./cmd/bolt

check: ## formatting, vet, staticcheck, go.mod, architecture: all of them, also after a failure
	@scripts/check.sh

confirm: ## compare the corpus in testdata/puppet with an installed puppet
	@scripts/confirm-corpus.sh

bench: build ## measure against ssh, clush, pdsh, pssh and ansible, and at 1,000 and 5,000 targets
	scripts/bench.sh bin/bolt

man: build ## write the manual page to dist/man
	rm -rf dist/man && mkdir -p dist/man
	bin/bolt man >dist/man/bolt.1

completion: build ## write shell completions to dist/completion
	rm -rf dist/completion && mkdir -p dist/completion
	for s in bash zsh fish; do bin/bolt completion $$s >dist/completion/bolt.$$s || exit 1; done

install: man completion ## install below PREFIX (/usr/local), staged in DESTDIR
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/bin bin/bolt bin/bolt-clouds
	install -D -m 0644 -t $(MANDIR) dist/man/*.1
	install -D -m 0644 dist/completion/bolt.bash $(SHARE)/bash-completion/completions/bolt
	install -D -m 0644 dist/completion/bolt.zsh $(SHARE)/zsh/site-functions/_bolt
	install -D -m 0644 dist/completion/bolt.fish $(SHARE)/fish/vendor_completions.d/bolt.fish
	install -d $(UNITDIR) && sed 's|^ExecStart=bolt|ExecStart=$(PREFIX)/bin/bolt|' systemd/bolt-pool.service >$(UNITDIR)/bolt-pool.service
	install -D -m 0644 -t $(UNITDIR) systemd/bolt-pool.socket

dist: helpers ## write release archives for Linux, with checksums, to dist
	GO='$(GO)' VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' scripts/dist.sh

clean: ## remove what the other targets wrote
	rm -rf bin dist
	rm -f apply/remote/embedded/data/sums apply/remote/embedded/data/*.gz

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
