# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Sourced by guest.sh: frames between two halves, which programs talk across. What comes may
# set anything, so the halves live anew before they have to talk once more.
#
# shellcheck shell=bash disable=SC2154	# fuzz, look and more are of guest.sh

load topology=none || ktap_bail "cannot load ib_madsim"
half west
half east
ends="/dev/madsim/west.leaf.4 /dev/madsim/east.leaf.4"
[ "$what" = wires ] || ends=${ends//leaf.4/leaf.4.stream}

# What frames have set is gone then
anew()
{
	local half
	for half in west east; do
		put "$configfs/$half/live" 0
		put "$configfs/$half/live" 1
	done
}

# A frame may make all of that fail
talk()
{
	set +e
	renice -n 10 $BASHPID >/dev/null
	while [ -e "$tmp/talk" ]; do
		anew
		SM_SWEEP=1 sm_start talk madsim0
		until_true 4 active 2
		timeout 10 saquery -C madsim1 &
		printf "%s\n" rc_data rc_imm rc_invalidate rc_atomic uc_data ud_pieces |
			timeout 5 "$here/../madsim/verbs.py" madsim0 madsim1 -
		sm_end talk
	done >/dev/null 2>&1
}
touch "$tmp/talk"
talk &
talk=$!
# shellcheck disable=SC2086	# a word list
fuzz "$@" $ends
rm "$tmp/talk"
wait $talk
anew
plug "OPEN:${ends% *}" "OPEN:${ends#* }"
sm_start after madsim0
check "the halves can talk once more" eval '
	until_true 60 active 2
	until_true 5 both ibv_rc_pingpong -c -n 20 -s 20000'
sm_end after
pull
"$madsim_load" -r west
"$madsim_load" -r east
check "unload" unload
check "no memory is lost" "$look" leaks
finish
