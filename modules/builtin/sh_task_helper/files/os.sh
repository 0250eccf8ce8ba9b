# Which operating system this is, in variables: os_name, os_family, os_full,
# os_major and os_minor (of its release), os_codename, os_description and os_id.
# What is not known is empty. The values are those of facter 4.

# os_release FILE: reads a file of the form of os-release(5), without running it.
os_release() {
	while IFS= read -r os_line || [ -n "$os_line" ]; do
		os_value=${os_line#*=}
		case $os_value in
		\"*\") os_value=${os_value#\"} os_value=${os_value%\"} ;;
		\'*\') os_value=${os_value#\'} os_value=${os_value%\'} ;;
		esac
		case $os_line in
		ID=*) ID=$os_value ;;
		ID_LIKE=*) ID_LIKE=$os_value ;;
		NAME=*) NAME=$os_value ;;
		PRETTY_NAME=*) PRETTY_NAME=$os_value ;;
		VERSION=*) VERSION=$os_value ;;
		VERSION_CODENAME=*) VERSION_CODENAME=$os_value ;;
		VERSION_ID=*) VERSION_ID=$os_value ;;
		esac
	done <"$1"
}

# os_first_line FILE: the first line of a file, if it can be read.
os_first_line() {
	os_line=
	[ ! -r "$1" ] || IFS= read -r os_line <"$1" || :
	printf '%s' "$os_line"
}

os_lower() { printf '%s' "$1" | LC_ALL=C tr ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz; }
os_upper() { printf '%s' "$1" | LC_ALL=C tr abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ; }

# os_capital WORD: the word with one capital letter, the first.
os_capital() {
	os_rest=${1#?}
	printf '%s%s' "$(os_upper "${1%"$os_rest"}")" "$(os_lower "$os_rest")"
}

# os_version VERSION: sets the release to a version and its first two parts.
os_version() {
	os_full=$1
	os_major=${1%%.*}
	os_minor=
	case $1 in
	*.*) os_minor=${1#*.} os_minor=${os_minor%%.*} ;;
	esac
}

# os_red_hat FILE: reads a release file of the Red Hat family, "NAME release
# VERSION (CODENAME)".
os_red_hat() {
	os_description=$(os_first_line "$1")
	case $os_description in
	*release*) ;;
	*) return 1 ;;
	esac
	os_codename=
	case $os_description in
	*'('*')'*) os_codename=${os_description##*\(} os_codename=${os_codename%%\)*} ;;
	esac
	os_id=
	for os_word in ${os_description%%release*}; do
		[ "$(os_lower "$os_word")" = linux ] || os_id=$os_id$os_word
	done
	os_version "$(printf '%s\n' "${os_description#*release}" | awk '{ print $1 }')"
}

# os_debian: sets what distributions of the Debian family have in common.
os_debian() {
	os_id=$(os_capital "$ID")
	os_codename=$VERSION_CODENAME
	if [ -z "$os_codename" ]; then
		case $VERSION in
		*'('*')') os_codename=${VERSION##*\(} os_codename=${os_codename%\)} ;;
		*' '*) os_codename=$(os_lower "$(printf '%s\n' "$VERSION" | awk '{ print $(NF - 1) }')") ;;
		esac
	fi
}

ID='' ID_LIKE='' NAME='' PRETTY_NAME='' VERSION='' VERSION_CODENAME='' VERSION_ID=''
os_name='' os_family='' os_full='' os_major='' os_minor='' os_codename='' os_description='' os_id=''

for os_file in /etc/os-release /usr/lib/os-release; do
	if [ -r "$os_file" ]; then
		os_release "$os_file"
		break
	fi
done
if [ -z "$ID" ]; then
	# What is older than os-release(5), or no Linux.
	for os_file in /etc/oracle-release /etc/redhat-release; do
		if os_red_hat "$os_file"; then
			ID=rhel ID_LIKE=rhel NAME=${os_description%%release*} VERSION_ID=$os_full
			break
		fi
	done
fi

# Names of more than one word are their first one, but for some.
os_lower_name=$(os_lower "$NAME")
case $os_lower_name in
red* | oracle* | arch* | manjaro*) os_name=$(printf '%s\n' "$NAME" | awk '{ print $1 $2 }') ;;
*) os_name=${NAME%% *} ;;
esac
case $os_lower_name in
arch* | manjaro*) os_name=$(os_capital "$os_name") ;;
virtuozzo*) os_name=${os_name}Linux ;;
esac
[ "$ID" != linuxmint ] || os_name=Linuxmint
[ -n "$os_name" ] || os_name=$(uname -s)

os_like=$(os_lower "${ID_LIKE:-$ID}")
case $os_like in
*redhat* | *rhel* | *fedora* | *centos* | *scientific* | *cloudlinux* | *oraclelinux* | *amazon* | *xenserver* | *xcp-ng* | *virtuozzo* | *photon* | *mariner*) os_family=RedHat ;;
*debian* | *ubuntu* | *linuxmint* | *devuan*) os_family=Debian ;;
*sles* | *sled* | *suse*) os_family=Suse ;;
*gentoo*) os_family=Gentoo ;;
*arch* | *manjaro*) os_family=Archlinux ;;
*mandrake* | *mandriva* | *mageia*) os_family=Mandrake ;;
'') os_family=$(uname -s) ;;
*) os_family=$(os_capital "${os_like%% *}") ;;
esac

# A version of one number is "12.0" to facter where it comes from os-release.
os_dotted=$VERSION_ID
case $os_dotted in
'' | *.*) ;;
*) os_dotted=$os_dotted.0 ;;
esac
case $ID in
debian | raspbian | devuan)
	os_file=/etc/debian_version
	[ "$ID" != devuan ] || os_file=/etc/devuan_version
	os_version "$(os_first_line "$os_file")"
	[ -n "$os_full" ] || os_version "$VERSION_ID"
	case $os_minor in
	0[123456789]*) os_minor=${os_minor#0} ;;
	esac
	os_description=$PRETTY_NAME
	os_debian
	;;
amzn)
	os_red_hat /etc/system-release || os_version "$VERSION_ID"
	;;
alpine)
	os_version "$(os_first_line /etc/alpine-release)"
	[ -n "$os_full" ] || os_version "$VERSION_ID"
	os_description=$PRETTY_NAME os_id=Alpine
	;;
*)
	os_description=$PRETTY_NAME
	case $os_family in
	Debian) # Ubuntu and its like: the version is one word
		os_full=$os_dotted os_major=$os_dotted
		os_debian
		;;
	RedHat)
		os_red_hat /etc/redhat-release || {
			os_description=$PRETTY_NAME os_codename=$VERSION_CODENAME
			os_id=$os_name
			os_version "$os_dotted"
		}
		;;
	Suse)
		os_version "$os_dotted"
		os_codename=${VERSION_CODENAME:-n/a}
		case $VERSION_ID in
		12*) os_id='SUSE LINUX' ;;
		*) os_id=SUSE ;;
		esac
		;;
	*)
		os_full=$os_dotted os_major=$os_dotted
		os_codename=$VERSION_CODENAME os_id=$(os_capital "$ID")
		;;
	esac
	;;
esac
if [ -z "$ID" ]; then
	os_version "$(uname -r)"
fi
