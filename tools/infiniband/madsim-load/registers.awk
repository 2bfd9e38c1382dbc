# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Registers of switches and adapters: lines of a file become commands to the driver.
#
#	NODE REGISTER FIELD=VALUE ...
#	NODE ID KEY VALUE		a command as it is, but for "register"
#
# Registers, fields and values are as mstreg has them. A field is at OFFSET.BIT.WIDTH: of a word
# of 32 bits, whose first bit is the least significant one. "x" and a number make it an array. By a
# field with "!" a request says which of several registers it is about.

function register(name, id, size, fields,	n, i, part)
{
	ids[name] = id
	sizes[name] = size
	n = split(fields, part)
	for (i = 1; i < n; i += 2) {
		where[name, part[i]] = part[i + 1]
		if (part[i + 1] ~ /!/)
			indices[name] = indices[name] " " part[i]
	}
}

BEGIN {
	register("MFCR", "0x9001", 8, "pwm_frequency 0.0.7 pwm_active 4.0.5 tacho_active 4.16.10 " \
		"tacho_active_msb 4.26.6")
	register("MFSM", "0x9003", 8, "n 0.0.2 tacho 0.24.4! rpm 4.0.16")
	register("FORE", "0x9007", 12, "fan_under_limit 0.16.10 fan_under_limit_msb 0.26.6 " \
		"fan_over_limit 4.16.10 fan_over_limit_msb 4.26.6")
	register("MTCAP", "0x9009", 16, "sensor_count 0.0.7 slot_index 0.16.4 " \
		"internal_sensor_count 4.0.7 sensor_map 8.0.64")
	register("MTMP", "0x900a", 32, "sensor_index 0.0.12! slot_index 0.16.4 " \
		"temperature 4.0.16 max_temperature 8.0.16 mte 8.31.1 " \
		"temperature_threshold_hi 12.0.16 temperature_threshold_lo 16.0.16 " \
		"sensor_name_hi 24.0.32 sensor_name_lo 28.0.32")
	register("MSPS", "0x900d", 160, "psu0 0.0.32x20 psu1 80.0.32x20")
	register("MGIR", "0x9020", 160, "device_id 0.0.16 device_hw_revision 0.16.16 pvs 4.0.5 " \
		"technology 4.11.5 num_ports 4.16.8 hw_dev_id 8.0.16 " \
		"manufacturing_base_mac_47_32 16.0.16 manufacturing_base_mac_31_0 20.0.32 " \
		"uptime 28.0.32 sub_minor 32.0.8 minor 32.8.8 major 32.16.8 build_id 36.0.32 " \
		"year 40.0.16 day 40.16.8 month 40.24.8 hour 44.0.16 psid 48.24.8x16 " \
		"ini_file_version 64.0.32 extended_major 68.0.32 extended_minor 72.0.32 " \
		"extended_sub_minor 76.0.32")
	register("MSGI", "0x9021", 128, "serial_number 0.0.32x6 part_number 32.0.32x5 " \
		"revision 56.0.32 product_name 64.0.32x16")
	register("MSCI", "0x902a", 12, "index 0.0.4! version 4.0.32")
	register("MGPIR", "0x9100", 160, "num_of_devices 0.0.8 num_of_modules_per_system 0.8.8 " \
		"devices_per_flash 0.16.8 device_type 0.24.4 slot_index 0.28.4 " \
		"num_of_modules 4.0.8 num_of_slots 4.8.8 max_modules_per_slot 4.16.8")
	register("SPZR", "0x6002", 112, "swid 0.24.8 capability_mask 4.0.32 " \
		"system_image_guid_h 8.0.32 system_image_guid_l 12.0.32 node_guid_h 24.0.32 " \
		"node_guid_l 28.0.32 capability_mask2 40.0.32 max_pkey 44.16.16 " \
		"node_description 48.0.32x16")
	# Page 3, of what is plugged into a port
	register("PDDR", "0x5031", 256, "local_port 0.16.8! page_select 4.0.8! " \
		"cable_breakout 8.16.8 cable_technology 8.24.8 cable_power_class 12.0.8 " \
		"cable_identifier 12.8.8 cable_length 12.16.8 cable_vendor 12.24.4 " \
		"cable_type 12.28.4 max_power 16.24.8 vendor_name 28.0.32x4 vendor_pn 44.0.32x4 " \
		"vendor_rev 60.0.32 fw_version 64.0.32 vendor_sn 68.0.32x4 voltage 84.0.16 " \
		"temperature 84.16.16 rx_power_lane1 88.0.16 rx_power_lane0 88.16.16 " \
		"rx_power_lane3 92.0.16 rx_power_lane2 92.16.16 tx_power_lane1 104.0.16 " \
		"tx_power_lane0 104.16.16 tx_power_lane3 108.0.16 tx_power_lane2 108.16.16 " \
		"tx_bias_lane1 120.0.16 tx_bias_lane0 120.16.16 tx_bias_lane3 124.0.16 " \
		"tx_bias_lane2 124.16.16 temperature_low_th 136.0.16 temperature_high_th 136.16.16 " \
		"wavelength 156.0.16 smf_length 156.16.10")
	for (i = 0; i < 16; i++) {
		digits[i] = sprintf("%x", i)
		nibble[digits[i]] = int(i / 8) % 2 int(i / 4) % 2 int(i / 2) % 2 i % 2
		digit[nibble[digits[i]]] = digits[i]
	}
	for (i = 1; i < 256; i++)
		code[sprintf("%c", i)] = sprintf("%02x", i)
	file = ENVIRON["FILE"]
}

function fail(message)
{
	printf "%s:%d: %s\n", file, NR, message >"/dev/stderr"
	exit 1
}

# The bits of hexadecimal digits
function to_bits(hex,	bits, i)
{
	for (i = 1; i <= length(hex); i++)
		bits = bits nibble[substr(hex, i, 1)]
	return bits
}

function to_hex(bits,	hex, i)
{
	for (i = 1; i <= length(bits); i += 4)
		hex = hex digit[substr(bits, i, 4)]
	return hex
}

function zeros(count)
{
	return sprintf("%0" count "d", 0)
}

# Have "bits", which are those of a register, say that a field has a value
function set_field(name, field, value,	element, part, count, width, at, add, i)
{
	element = ""
	if (field ~ /\[[0-9]+\]$/) {
		element = field
		gsub(/^[^[]*\[|\]$/, "", element)
		sub(/\[.*/, "", field)
	}
	if (!((name, field) in where))
		fail(name " has no field " field)
	split(where[name, field], part, /[.x!]/)
	width = part[3]
	count = where[name, field] ~ /x/ ? part[4] : 1
	at = part[1] * 8 + (width < 32 ? 32 - part[2] - width : 0)
	if (element != "" && element + 0 >= count)
		fail(field " has " count " elements")

	if (value ~ /^".*"$/ || value !~ /^(0[xX][0-9a-fA-F]+|[0-9]+)$/) {
		gsub(/^"|"$/, "", value)
		if (element == "")
			width *= count
		for (i = 1; i <= length(value); i++)
			add = add to_bits(code[substr(value, i, 1)])
		if (length(add) < width)
			add = add zeros(width - length(add))
	} else {
		if (count > 1 && element == "")
			fail(field " has " count " elements: write " field "[0]=" value)
		if (value ~ /^0[xX]/)
			add = to_bits(tolower(substr(value, 3)))
		else for (i = value; i >= 1; i = int(i / 2))
			add = i % 2 add
		sub(/^0+/, "", add)
		if (length(add) < width)
			add = zeros(width - length(add)) add
	}
	if (length(add) > width)
		fail(field " has " width " bits: " value " does not fit")
	at += element * part[3]
	bits = substr(bits, 1, at) add substr(bits, at + width + 1)
}

# The digits of "bits" that fields with "!" are in
function make_key(name,	field, part, n, i, k, key, hex, last)
{
	hex = to_hex(bits)
	n = split(indices[name], field)
	for (i = 1; i <= n; i++) {
		split(where[name, field[i]], part, /[.!]/)
		last = part[1] * 2 + 8 - part[2] / 4
		for (k = last - part[3] / 4 + 1; k <= last; k++)
			key[k] = substr(hex, k, 1)
	}
	hex = ""
	for (k in key)
		last = k + 0 > last + 0 ? k + 0 : last + 0
	for (i = 1; i <= last; i++)
		hex = hex (i in key ? key[i] : ".")
	return hex == "" ? "." : hex
}

# What programs ask before they read registers, by "bits" of MGIR: GeneralInfo, which says that
# a register may have any length, and words of the configuration space. These are the number of the
# device, a mailbox whose last command has ended, and had said that there are registers, and the
# lock of the mailbox, which is free
function print_identity(node,	device, at, lock)
{
	device = to_hex(substr(bits, 81, 16))
	at = device ~ /^024[7b]$/ ? "080000" : "100000"
	lock = at == "080000" ? "0xa24f8" : device == "024d" ? "0xa68f8" : "0xa52f8"
	print node, "register 0x17 .", to_hex(substr(bits, 1, 1024)) "00100000"
	print node, "register 0xf0014 .", "00" to_hex(substr(bits, 9, 8)) device
	print node, "register 0x" at " .", "01" substr(at, 1, 4) "20" zeros(56) "20000000" zeros(2040)
	print node, "register " lock " .", zeros(8)
}

{
	sub(/\r$/, "")
	line = $0
	sub(/^[ \t]*#.*/, "")
}

!NF { next }

$2 ~ /^[0-9]/ {
	if (NF != 4)
		fail("cannot make sense of: " line)
	print $1, "register", $2, $3, $4
	next
}

!($2 in ids) { fail("no register " $2 " is known here") }

{
	node = $1
	name = $2
	bits = zeros(sizes[name] * 8)
	sub(/^[ \t]*[^ \t]+[ \t]+[^ \t]+[ \t]*/, "")
	while (match($0, /^[a-z0-9_]+(\[[0-9]+\])?=("[^"]*"|[^ \t"]+)([ \t]+|$)/)) {
		word = substr($0, 1, RLENGTH)
		$0 = substr($0, RLENGTH + 1)
		sub(/[ \t]+$/, "", word)
		set_field(name, substr(word, 1, index(word, "=") - 1),
			  substr(word, index(word, "=") + 1))
	}
	if ($0 != "")
		fail("cannot make sense of: " $0)
	print node, "register", ids[name], make_key(name), to_hex(bits)
	if (name == "MGIR")
		print_identity(node)
}
