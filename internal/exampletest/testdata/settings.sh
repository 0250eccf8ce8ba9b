#!/bin/sh
# Prepares a disposable root for the manifests of examples/settings. The programs are those of this system, except three. A root
# has no running systemd, and must not load modules into the kernel: the stand-ins of systemctl and modprobe record their
# calls in /run/calls, and keep states in files. Their answers are those of systemd 252 and kmod 30. localedef takes 5 s of
# CPU for a locale: its stand-in copies the locale C.UTF-8. locale-gen, which runs it, and locale -a are the real ones.
set -eu

mkdir -p /etc/modprobe.d /etc/modules-load.d /run/units /sys/module/usb_storage /srv/uploads "/lib/modules/$(uname -r)"
: >/sys/module/usb_storage/initstate # a loaded module, which is not built in
: >/run/calls
: >"/lib/modules/$(uname -r)/modules.builtin"
echo systemd >/run/comm
mount --bind /run/comm /proc/1/comm

cat >/usr/bin/systemctl <<'END'
#!/bin/sh
echo "systemctl $*" >>/run/calls
cd /run/units
file() { ls "/etc/systemd/system/$1" "/lib/systemd/system/$1" 2>/dev/null | head -n 1; }
enabled() {
	if [ -e "$1.enabled" ]; then echo enabled; elif grep -q '\[Install\]' "$(file "$1")"; then echo disabled; else echo static; fi
}
property() {
	case $1 in
	Id) echo "$u" ;;
	LoadState) if [ "$(file "$u")" ]; then echo loaded; else echo not-found; fi ;;
	ActiveState) if [ -e "$u.active" ]; then echo active; else echo inactive; fi ;;
	UnitFileState) [ ! "$(file "$u")" ] || enabled "$u" ;;
	NeedDaemonReload)
		if [ -e "$u.loaded" ] && [ "$(find "$(file "$u")" "/etc/systemd/system/$u.d" -newer "$u.loaded" 2>/dev/null)" ]; then echo yes; else echo no; fi
		;;
	esac
}
verb=$1 properties=
shift
for word; do
	shift
	case $word in
	--property=*) properties=$(echo "${word#*=}" | tr , ' ') ;;
	--*) ;;
	*.service | *.timer) set -- "$@" "$word" ;;
	*) set -- "$@" "$word.service" ;;
	esac
done
status=0 gap=
for u; do
	if [ "$verb" != show ] && [ ! "$(file "$u")" ]; then
		echo "Unit $u could not be found." >&2
		status=5
		continue
	fi
	case $verb in
	show)
		printf "$gap"
		gap='\n'
		for p in $properties; do echo "$p=$(property "$p")"; done
		;;
	is-enabled) enabled "$u"; [ "$(enabled "$u")" != disabled ] || status=1 ;;
	is-active) property ActiveState; [ -e "$u.active" ] || status=3 ;;
	start | restart) touch "$u.active" "$u.loaded" ;;
	stop) rm -f "$u.active" "$u.loaded" ;;
	enable) touch "$u.enabled" ;;
	disable) rm -f "$u.enabled" ;;
	esac
done
[ "$verb" != daemon-reload ] || touch -c ./*.loaded
exit $status
END

cat >/usr/sbin/modprobe <<'END'
#!/bin/sh
echo "modprobe $*" >>/run/calls
case $1 in
-r) rm -r "/sys/module/$(echo "$2" | tr - _)" ;;
*)
	mkdir "/sys/module/$(echo "$1" | tr - _)"
	: >"/sys/module/$(echo "$1" | tr - _)/initstate"
	;;
esac
END

cat >/usr/bin/localedef <<'END'
#!/bin/sh
for last; do :; done
cp -r /usr/lib/locale/C.utf8 "/usr/lib/locale/$(echo "$last" | sed 's/UTF-8/utf8/')"
END
chmod 755 /usr/bin/systemctl /usr/sbin/modprobe /usr/bin/localedef

# What the manifests change.
for unit in cron nftables; do
	printf '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/$unit.service
	mkdir -p /etc/systemd/system/$unit.service.d
	rm -f /etc/systemd/system/$unit.service.d/*
done
systemctl start cron
ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime
echo '# de_DE.UTF-8 UTF-8' >/etc/locale.gen
rm -f /usr/lib/locale/locale-archive /etc/default/locale /etc/sudoers.d/deploy /etc/nftables.conf
id www-data >/dev/null

# The packages of the venv and of apt come from directories, because a root has no network.
python3 - <<'END'
import os, zipfile
os.makedirs('/srv/wheels', exist_ok=True)
for name, version in ('requests', '2.32.3'), ('requests', '2.32.4'), ('gunicorn', '23.0.0'):
    with zipfile.ZipFile(f'/srv/wheels/{name}-{version}-py3-none-any.whl', 'w') as wheel:
        info = f'{name}-{version}.dist-info/'
        wheel.writestr(name + '.py', f'version = "{version}"\n')
        wheel.writestr(info + 'METADATA', f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n')
        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(info + 'RECORD', ''.join(f'{f},,\n' for f in [*wheel.namelist(), info + 'RECORD']))
END
printf '[global]\nno-index = true\nfind-links = /srv/wheels\n' >/etc/pip.conf
rm -f /var/lib/apt/lists/*_*
. /etc/os-release
for arch in all amd64 arm64; do
	mkdir -p "/srv/repo/dists/$VERSION_CODENAME-pgdg/main/binary-$arch"
	cp /srv/project/repo/Packages "/srv/repo/dists/$VERSION_CODENAME-pgdg/main/binary-$arch"
done
cp /srv/project/repo/InRelease "/srv/repo/dists/$VERSION_CODENAME-pgdg"
cp /srv/project/repo/client.deb /srv/project/repo/key.asc /srv/repo
sed -i 's,https://apt.postgresql.org/pub/repos/apt,file:///srv/repo,; s,https://www.postgresql.org/media/keys/ACCC4CF8.asc,/srv/repo/key.asc,' /srv/project/apt_source.pp
