#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Partitions by UFM's REST API, as ib-kubernetes asks for them: what it says becomes the P_Keys
# of the ports

. "$(dirname "$0")/lib.sh"

have python3
load topology=none || ktap_bail "cannot load ib_madsim"
printf '%s\n' 'Switch 4 "S1"' '[1] "H1"[1]' '[2] "H2"[1]' '[3] "H3"[1]' 'Hca 1 "H1"' '[1] "S1"[1]' \
	'Hca 1 "H2"' '[1] "S1"[2]' 'Hca 1 "H3"' '[1] "S1"[3]' >"$tmp/topology"
"$madsim_load" -n lab -d 3 "$tmp/topology" || ktap_bail "cannot make the fabric"

# rest METHOD PATH [JSON]: prints the answer; status 1 and the status of HTTP for a refusal
rest()
{
	python3 - "$@" <<-'END'
		import sys, urllib.request
		method, path, *body = sys.argv[1:]
		request = urllib.request.Request(f"http://127.0.0.1:8080/ufmRest{path}", method=method,
		                                 data=body[0].encode() if body else None)
		try:
		    print(urllib.request.urlopen(request).read().decode())
		except urllib.error.HTTPError as error:
		    sys.exit(f"{error.code}: {error.read().decode()}")
	END
}
refused()
{
	local status=$1
	shift
	! rest "$@" >"$tmp/answer" 2>&1 && grep "^$status: " "$tmp/answer"
}

"$here/../../infiniband/madsim-load/madsim-ufm" "$tmp/partitions" >"$tmp/ufm.log" 2>&1 &
ufm=$!
leave()
{
	kill $ufm
	at_end
}
trap leave EXIT
check "it answers" until_true 30 says ib_madsim rest GET /app/ufm_version
SM_MORE="partition_config_file $tmp/partitions" sm_start sm "$(device H1)"
check "all ports become active" until_true 30 active 3

first=$(device H2) second=$(device H3)
one=$(port_guid "$first") two=$(port_guid "$second")
one=${one#0x} two=${two#0x}
# has DEVICE [P_KEY]: besides that of all
has()
{
	diff <(grep -hv 0x0000 "/sys/class/infiniband/$1/ports/1/pkeys"/* | sort) \
		<(printf '%s\n' 0xffff ${2-} | sort)
}
both()
{
	has "$first" "${1-}" && has "$second" "${2-}"
}
check "two members" rest POST /resources/pkeys \
	"{\"pkey\": \"0x0012\", \"ip_over_ib\": true, \"membership\": \"full\", \"guids\": [\"$one\"]}"
check "one of them limited" rest POST /resources/pkeys \
	"{\"pkey\": \"0x0012\", \"membership\": \"limited\", \"guids\": [\"$two\"]}"
check "which their ports become" until_true 30 both 0x8012 0x0012
check "they are listed" says "\"0x12\": .*\"guid\": \"$one\".*\"guid\": \"$two\", \"membership\": \"limited\"" \
	rest GET '/resources/pkeys/?guids_data=true'
check "one leaves" rest POST /actions/remove_guids_from_pkey \
	"{\"pkey\": \"0x0012\", \"guids\": [\"$one\"]}"
check "and its port has no such P_Key" until_true 30 both "" 0x0012
check "the partition goes" rest DELETE /resources/pkeys/0x0012
check "and nobody has its P_Key" until_true 30 both
check "the nodes" says "\"system_name\": \"H1\".*\"type\": \"host\".*\"type\": \"switch\"" \
	rest GET /resources/systems
check "the ports" says "\"guid\": \"$one\".*\"lid\": $(lid "$first"), \"logical_state\": \"Active\"" \
	rest GET /resources/ports
refusals()
{
	refused 400 POST /resources/pkeys '{"pkey": "0x8000", "guids": []}' &&
		refused 400 POST /resources/pkeys '{"pkey": "0x12", "guids": ["12"]}' &&
		refused 400 POST /resources/pkeys '{"pkey": "0x12", "membership": "both"}' &&
		refused 400 POST /resources/pkeys '{"pkey": "0x12", "guids": null}' &&
		refused 400 POST /resources/pkeys '{' && refused 400 POST /resources/pkeys '[]' &&
		refused 404 POST /actions/remove_guids_from_pkey '{"pkey": "0x13", "guids": []}' &&
		refused 404 DELETE /resources/pkeys/0x13 &&
		refused 400 DELETE /resources/pkeys/0x7fff && refused 404 GET /resources/events &&
		says '"ip_over_ib": true}$' rest GET /resources/pkeys/0x7fff || return 1
	! grep -e 0x0013 -e 0x0012 "$tmp/partitions"
}
check "what is refused changes nothing" refusals
sm_end sm
check "the end of the fabric" "$madsim_load" -r lab
the_end
