#!/bin/sh
# containers.sh COMMAND...: runs a command beside a docker daemon and two containers of its own, one of docker's and
# one of podman's, and ends them with it. The command finds them by the names in BOLT_TEST_CONTAINER, and the
# daemon's socket in DOCKER_HOST. The containers share this machine's files, processes and network, so that tests
# can look at what happens there.
#
# It needs root, dockerd, podman and runc, and a kernel that lets containers be started, as not every container does.
set -eu

for program in dockerd docker podman runc unshare; do
	command -v $program >/dev/null || { echo "containers: $program is not installed (Debian's docker.io, podman, runc)" >&2; exit 1; }
done
# What tests mount is to be seen in the containers, and nowhere else.
if [ -z "${BOLT_CONTAINERS_MOUNTS-}" ]; then
	BOLT_CONTAINERS_MOUNTS=1 exec unshare --mount --propagation shared "$0" "$@"
fi

dir=$(mktemp -d /tmp/bolt-containers-XXXXXX)
name=bolt-test-$$
daemon=
finish() {
	docker rm -f "$name" >/dev/null 2>&1 || true
	podman rm -f -t 0 "$name" >/dev/null 2>&1 || true
	[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon" || true; }
	awk -v d="$dir/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

mkdir "$dir/bin" "$dir/root"
cat >"$dir/bin/podman" <<EOF
#!/bin/sh
exec $(command -v podman) --root $dir/podman --runroot $dir/podman.run --storage-driver=vfs --cgroup-manager=cgroupfs \\
	--events-backend=none --log-level=warn --runtime runc "\$@"
EOF
chmod 755 "$dir/bin/podman"
export PATH="$dir/bin:$PATH" DOCKER_HOST="unix://$dir/docker.sock" BOLT_TEST_CONTAINER="$name"

# The image is this machine's users and nothing else: all other files are the machine's own.
cd "$dir/root"
mkdir etc tmp usr home var root proc sys dev run
for d in bin sbin lib lib64; do ln -s usr/$d $d; done
cp /etc/passwd /etc/group etc
shared="--network=host --uts=host --pid=host -w /root -v /tmp:/tmp:rslave"
for d in usr etc home var root run; do shared="$shared -v /$d:/$d"; done

dockerd --data-root "$dir/docker" --exec-root "$dir/docker.run" --pidfile "$dir/docker.pid" -H "$DOCKER_HOST" \
	--storage-driver vfs --bridge none --iptables=false --ip6tables=false >"$dir/docker.log" 2>&1 &
daemon=$!
n=0
until docker version >/dev/null 2>&1; do
	n=$((n + 1))
	[ $n -lt 100 ] || { echo "containers: dockerd does not start" >&2; tail -5 "$dir/docker.log" >&2; exit 1; }
	sleep 0.1
done
tar -c . | docker import - bolt-test >/dev/null
limits="--ulimit nofile=1024:1024 --ulimit nproc=1024:1024"
# shellcheck disable=SC2086 # lists of words
docker run -d --name "$name" $shared bolt-test sleep 100000 >/dev/null
# shellcheck disable=SC2086
podman run -d --name "$name" $limits $shared --rootfs "$dir/root" sleep 100000 >/dev/null
cd "$OLDPWD"
"$@"
