# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Debian unstable, where the newest kernel and the newest clients are; see
# suite.sh. Sourced after common.sh, never run.
#
# shellcheck shell=bash disable=SC2154	# top and cache come from common.sh

# The series of kernels that all of this was last seen to pass with; a newer one
# may break what was not made for it.
# shellcheck disable=SC2034	# used by the scripts that source this
tested_series=7.2

# shellcheck source=scripts/kernel/suite.sh
. "$top/scripts/kernel/suite.sh"

unstable=$cache/unstable

# unstable_apt COMMAND ARGUMENT ...: apt-get or apt-cache, of unstable
unstable_apt()
{
	suite_apt unstable "$@"
}

unstable_update()
{
	suite_update unstable linux-source
}

unstable_ask()
{
	suite_ask unstable "$@"
}

unstable_depends()
{
	suite_depends unstable "$@"
}

# unstable_version PACKAGE
unstable_version()
{
	unstable_ask show --no-all-versions "$1" | sed -n 's/^Version: //p'
}

# unstable_release [rt]: the newest kernel's, as `uname -r` says it
unstable_release()
{
	unstable_depends "linux-image-${1:+$1-}amd64" 'linux-image-.*' |
		sed 's/^linux-image-//'
}
