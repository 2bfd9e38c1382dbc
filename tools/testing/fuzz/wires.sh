# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Sourced by guest.sh: frames between two halves, which programs talk across. What comes may
# set anything, so the halves live anew before they have to talk once more.
#
# shellcheck shell=bash disable=SC2154	# program, check and more are of guest.sh

load topology=none || bail "cannot load ib_madsim"
half west
half east
ends="/dev/madsim/west.leaf.4 /dev/madsim/east.leaf.4"

# A frame may make any of these programs fail
talk()
{
	local program
	set +e
	SM_SWEEP=1 sm_start talk madsim0
	while [ -e "$tmp/talk" ]; do
		for program in "ibv_rc_pingpong -m 4096" "ibv_uc_pingpong -m 1024" ibv_ud_pingpong; do
			both timeout 5 $program -n 20 -s 2000
			timeout 10 saquery -C madsim1
		done
	done >/dev/null 2>&1
	sm_end talk
}
touch "$tmp/talk"
talk &
talk=$!
status=0
# shellcheck disable=SC2086	# a word list
"$program" "$@" $ends || status=1
rm "$tmp/talk"
wait $talk
for half in west east; do
	put "$configfs/$half/live" 0
	put "$configfs/$half/live" 1
done
plug "OPEN:${ends% *}" "OPEN:${ends#* }"
sm_start after madsim0
until_true 60 active 2 && both ibv_rc_pingpong -c -n 20 -s 20000 || status=1
sm_end after
pull
"$madsim_load" -r west
"$madsim_load" -r east
unload || status=1
"$check" leaks || status=1
