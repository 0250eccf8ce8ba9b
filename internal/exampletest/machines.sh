#!/bin/bash
# machines.sh BOLT SCRIPT: runs the shell script SCRIPT as a user with the home directory /home/ann, in the directory fleet, beside
# three machines web1 to web3 that are reached over SSH. Each machine is an overlay of this system's files, in memory. Run it as root, in
# mount, process and network namespaces of its own: unshare --mount --pid --net --fork --kill-child.
set -eu

bolt=$(realpath "$1") script=$2
top=/mnt # sshd requires that only root can write to the directories above a root directory
home=/home/ann
mount -t tmpfs -o mode=755 tmpfs "$top"
mount -t tmpfs tmpfs /home
mount -t proc proc /proc
ip link set lo up
mkdir -p "$home/.ssh" "$home/fleet" "$top/bin" /run/sshd
cp "$bolt" "$top/bin/bolt"
ssh-keygen -q -t ed25519 -N '' -f "$home/.ssh/id_ed25519"
ssh-keygen -q -t ed25519 -N '' -f "$top/host_key"
cat >"$top/sshd_config" <<EOF
HostKey $top/host_key
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
AuthorizedKeysFile $home/.ssh/id_ed25519.pub
Subsystem sftp internal-sftp
ListenAddress 127.0.2.1
ListenAddress 127.0.2.2
ListenAddress 127.0.2.3
EOF
for i in 1 2 3; do
	m=$top/web$i
	mkdir "$m" "$m.upper" "$m.work"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$m.upper,workdir=$m.work" "$m"
	mount -t proc proc "$m/proc"
	mount --rbind /dev "$m/dev"
	echo "web$i" >"$m/etc/hostname"
	printf 'Match LocalAddress 127.0.2.%s\n  ChrootDirectory %s\n' "$i" "$m" >>"$top/sshd_config"
	printf 'Host web%s web%s.example.com\n  HostName 127.0.2.%s\n' "$i" "$i" "$i" >>"$home/.ssh/config"
	printf '127.0.2.%s %s\n' "$i" "$(cut -d' ' -f1,2 "$top/host_key.pub")" >>"$home/.ssh/known_hosts"
done
"$(command -v sshd)" -f "$top/sshd_config"
cd "$home/fleet"
exec env -i PATH="$top/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$home" USER=ann LANG=C.UTF-8 BOLT_POOL_SOCKET="$top/pool/pool.sock" /bin/bash -c "$script"
