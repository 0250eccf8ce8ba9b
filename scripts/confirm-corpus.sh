#!/bin/sh
# confirm-corpus.sh: asks an installed puppet (Debian's package puppet-agent, or Puppet's own) about every expression
# and every case of testdata/puppet, and prints those that it answers otherwise than the corpus says. Status 1: there
# are some; 2: the asking failed, also when puppet dies, or gives no answer for CONFIRM_TIMEOUT (60) seconds. What could
# not be compared is told and counted. What versions.txt knows about the installed version is told, and is no failure.
#
#   confirm-corpus.sh              everything
#   confirm-corpus.sh NAME...      these cases (area/name) and tables
#   confirm-corpus.sh --add EXPR   appends an expression with the installed puppet's answer (--table NAME: to that table);
#                                  "go test ./internal/puppettest -update" then notes the kind of an error
#   confirm-corpus.sh --version    the versions of the installed puppet and of the corpus
#
# PUPPET names another puppet; a checkout's is used with RUBYLIB=CHECKOUT/lib PUPPET=CHECKOUT/bin/puppet.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

puppet=${PUPPET:-$(command -v puppet || echo /opt/puppetlabs/bin/puppet)}
if [ ! -e "$puppet" ]; then
	echo 'confirm-corpus: puppet is not installed: install it (apt-get install --no-install-recommends puppet-agent), or say where it is with PUPPET' >&2
	exit 2
fi
# Puppet's own packages have a Ruby of their own; others run with the system's.
ruby=ruby
case $(readlink -f "$puppet") in
/opt/puppetlabs/*) ruby=/opt/puppetlabs/puppet/bin/ruby ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
export LC_ALL=C.UTF-8 TZ=UTC
"$ruby" "$here/confirm-corpus.rb" "$here/../testdata/puppet" "$work" "$@"
