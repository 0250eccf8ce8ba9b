#!/bin/sh
# Installs a package from the server that has the builds of OpenVox.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"
. "$PT__installdir/sh_task_helper/files/os.sh"
task=install_build_artifact
. "$PT__installdir/openvox_bootstrap/files/common.sh"

package=$(given "${PT_package-}" openvox-agent)
version=$(given "${PT_version-}" '')
artifacts_source=$(given "${PT_artifacts_source-}" https://artifacts.voxpupuli.org)

plain package "$package"
only package "$package" 'a-z0-9.+-'
plain version "$version"
only version "$version" 'A-Za-z0-9.~_-'
source_url artifacts_source "$artifacts_source"

platform
needs_root
manager

# Snapshots have no release number in the name of their file.
number=-1
case $version in
*SNAPSHOT*) number= ;;
esac
machine=$(uname -m)
case $kind:$package:$machine in
deb:openvox-server:* | deb:openvoxdb:* | deb:openvoxdb-termini:*) arch=all ;;
rpm:openvox-server:* | rpm:openvoxdb:* | rpm:openvoxdb-termini:*) arch=noarch ;;
deb:*:x86_64) arch=amd64 ;;
deb:*:aarch64) arch=arm64 ;;
*) arch=$machine ;;
esac
case $kind:$family in
deb:*) name=${package}_$version$number%2B$family${release}_$arch.deb ;;
*:fedora) name=$package-$version$number.fc$release.$arch.rpm ;;
*) name=$package-$version$number.$family$release.$arch.rpm ;;
esac
directory=$package
[ "$package" != openvoxdb-termini ] || directory=openvoxdb

download "$artifacts_source/$directory/$version/$name" "$PT__installdir/package.$kind"
install_file "$PT__installdir/package.$kind"
say "Installed $package, version $version."
finish
