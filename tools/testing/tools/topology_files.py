# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files of real life, as far as a few lines show what is odd about them. All names and GUIDs are
invented. Of each: its text, lines of the plan, all those of links among them, or none if nothing
is made of it; what is said; options."""

PAIR = """vendid=0x2c9
Switch	4 "S-0002c90300000001"		# "leaf" base port 0 lid 1 lmc 0
[1]	"H-0002c90300000101"[1](2c90300000101)		# "one mlx5_0" lid 2 4xNDR

Ca	1 "H-0002c90300000101"		# "one mlx5_0"
[1](2c90300000101)	"S-0002c90300000001"[1]		# lid 2 lmc 0 "leaf" lid 1 4xNDR
"""
PAIR_LINK = "link S-0002c90300000001 1 H-0002c90300000101 1 4x ndr"
FOUND = "links lead to a name that no node has"
MADE = "nodes are known by the lines of others alone, the first here: made of what these say"


def head(link):
    return ("CA: h1 mlx5_0:\n      0x5349000000000011      1    1[  ] " + link +
            "\nSwitch: 0x5349000000000100 leaf:\n")


FILES = {
    "a byte order mark, and lines that end as in DOS": (
        "\xef\xbb\xbf" + PAIR.replace("\n", "\r\n"), [PAIR_LINK], []),
    "16 bits a letter, as Windows saves it": (PAIR.encode("utf-16"), [PAIR_LINK], []),
    "no empty line between nodes": (PAIR.replace("\n\n", "\n"), [PAIR_LINK], []),
    "too many empty lines": (PAIR.replace("\n", "\n\n"), [PAIR_LINK], []),
    "tabs that the log of a terminal has lost": (PAIR.replace("\t", ""), [PAIR_LINK], []),
    "lines of other programs in between": (
        "root@h:~# ibnetdiscover\nibwarn: [42] something \x1b[31mtimed out\n" + PAIR, [PAIR_LINK], [
            "1: cannot make sense of: root@h:~# ibnetdiscover: left out",
            "2: cannot make sense of: ibwarn: [42] something ?[31mtimed out: left out"]),
    "many of them": ("oops\n" * 30 + PAIR, [PAIR_LINK], [
        *(f"{n}: cannot make sense of: oops: left out" for n in range(1, 11)),
        "11: 20 more lines make no sense, the first here: left out"]),
    "heads of chassis": ("""Chassis 1 (guid 0x2c90300000aa)

sysimgguid=0x2c9030000aa		# Chassis 1 slot 2
switchguid=0x2c90300000001(2c90300000001)	# Line 2
Chassis 2
Non-Chassis Nodes
""" + PAIR, [PAIR_LINK], []),
    # As ibdiagnet writes them: port numbers of the case, and of a split port
    "labels of ports": ("""
Switch  65 "S-0002c90300000001"      # "leaf" base port 0 lid 1 lmc 0
[1](1/1/1) "H-0002c90300000101"[1](2c90300000101)      # "one mlx5_0" lid 2 4xNDR
Ca  1 "H-0002c90300000101"      # "one mlx5_0"
[1](B1D2F1/1/1/1)(2c90300000101) "S-0002c90300000001"[1] # lid 2 lmc 0 "leaf" lid 1 4xNDR
""", [PAIR_LINK,
      "node H-0002c90300000101 ca 1 - - - 0x0002c90300000101 0x0002c90300000101 one mlx5_0"], []),
    "ibnetdiscover --full": (PAIR.replace("NDR", "NDR s=4 w=2 v=4"), [PAIR_LINK], []),
    "ibnetdiscover -p": ("""
CA     2  2 0x0002c903000000a2 2x HDR - SW     9 80 0x0002c90300000002 ( 'old - one' - 'spine' )
CA     1  1 0x0002c903000000a1 4x HDR - SW     8  1 0x0002c90300000001 ( 'old - one' - 'leaf' )
SW     8  7 0x0002c90300000001 4x FDR10 - CA     5  1 0x0002c903000000b1 ( 'leaf' - 'two' )
SW     8  3 0x0002c90300000001 4x ???                                    'leaf'
SW     9  3 0x0002c90300000002 4x ???                                    spine
SW     9  4 0x0002c90300000002 4x EDR - RT     7  2 0x0002c903000000c1 ( 'spine' - 'router' )
""", ["link H-0002c903000000a1 1 S-0002c90300000001 1 4x hdr",
      "link H-0002c903000000a1 2 S-0002c90300000002 80 2x hdr",
      "link S-0002c90300000001 7 H-0002c903000000b1 1 4x fdr10",
      "node H-0002c903000000a1 ca 2 - - - 0x0002c903000000a1 0x0002c903000000a1 old - one",
      "link S-0002c90300000002 4 R-0002c903000000c0 2 4x edr",
      "node R-0002c903000000c0 router 2 - - - 0x0002c903000000c0 0x0002c903000000c0 router",
      "node S-0002c90300000002 switch 80 - - - 0x0002c90300000002 0x0002c90300000002 spine"], []),
    "GUIDs that somebody has made illegible, and 129 ports": ("""vendid=0x2c9
devid=0xd2f2
Switch 129 "S-0002c90300xxxxxx"	# "left" base port 0 lid 1 lmc 0
[1](1/1/1) "H-0002c90300xxxxxx"[1](2c90300xxxxxx)	# "one" lid 3 4xNDR
[129] "S-0002c90300xxxxxx"[129]	# "right" lid 2 2xNDR
sysimgguid=0x2c90300xxxxxx
switchguid=0x2c90300<redacted>(2c90300<redacted>)
Switch 129 "S-0002c90300xxxxxx"	# "right" base port 0 lid 2 lmc 0
[1](1/1/1) "H-0002c90300xxxxxx"[1](2c90300xxxxxx)	# "two" lid 4 4xEDR
[129] "S-0002c90300xxxxxx"[129]	# "left" lid 1 2xNDR
caguid=0x2c90300xxxxxx
Ca 1 "H-0002c90300xxxxxx"	# "one"
[1](2c90300xxxxxx) "S-0002c90300xxxxxx"[1]	# lid 3 lmc 0 "left" lid 1 4xNDR
sysimgguid=0x2c90300xxxxxx
Ca 1 "H-0002c90300xxxxxx"	# "two"
[1](2c90300xxxxxx) "S-0002c90300xxxxxx"[1]	# lid 4 lmc 0 "right" lid 2 4xEDR
caguid=xxxx
""", ["link S-0002c90300xxxxxx 1 H-0002c90300xxxxxx 1 4x ndr",
      "link S-0002c90300xxxxxx.2 1 H-0002c90300xxxxxx.2 1 4x edr",
      "link S-0002c90300xxxxxx 129 S-0002c90300xxxxxx.2 129 2x ndr"],
     ['8: a second node "S-0002c90300xxxxxx": it becomes "S-0002c90300xxxxxx.2", and has another '
      'GUID',
      '15: a second node "H-0002c90300xxxxxx": it becomes "H-0002c90300xxxxxx.2", and has another '
      'GUID',
      "6: 5 GUIDs cannot be read, the first here: they are others here"]),
    "two nodes with one GUID, two ports with one, and a node twice": ("""Switch 4 "S"
[1] "A"[1]
[2] "B"[1]
[3] "C"[1]
caguid=0x77
Ca 1 "A"
[1](78) "S"[1]
caguid=0x77
Ca 1 "B"
[1](79) "S"[2]
Ca 1 "A"
[1](78) "S"[1]
caguid=0x7a
Ca 1 "C"
[1](78) "S"[3]
""", ["link S 1 A 1 4x qdr", "link S 2 B 1 4x qdr", "link S 3 C 1 4x qdr",
      "node A ca 1 - - - 0x0000000000000077 0x0000000000000078 A", "node B ca 1 - - - - - B",
      "node C ca 1 - - - 0x000000000000007a - C"], [
          '11: a second node "A": the same once more',
          '9: "B" has the GUID of "A": it gets another',
          '14: "C" has the port GUID of "A": it gets another']),
    "links that are less than their ends": ("""Switch 4 "S"
[1] "A"[1]	# "A" lid 1 4xQDR
[2] "B"[1]	# "B" lid 2 4x???
Ca 1 "A"
[1] "S"[1]	# "S" lid 3 1xSDR
Ca 1 "B"
[1] "S"[2]	# "S" lid 3 4xDDR
""", ["link S 1 A 1 1x sdr", "link S 2 B 1 4x ddr"], [
    "3: a link has no speed ???: taken for qdr",
    "2: the ends of the link differ: 4x, 1x: the lesser counts",
    "2: the ends of the link differ: qdr, sdr: the lesser counts"]),
    "two subnets one behind the other, with their router": ("""Switch 4 "S-0002c90300000001"	# "a" base port 0 lid 1 lmc 0
[1] "H-0002c90300000101"[1](2c90300000101) # "one" lid 2 4xNDR
[3] "R-0002c90300000900"[1](2c90300000901) # "rt" lid 3 4xNDR
Ca 1 "H-0002c90300000101" # "one"
[1](2c90300000101) "S-0002c90300000001"[1] # lid 2 lmc 0 "a" lid 1 4xNDR

vendid=0x2c9
devid=0xd2f2
sysimgguid=0x2c90300000900
rtguid=0x2c90300000900
Rt 2 "R-0002c90300000900" # "rt"
[1](2c90300000901) "S-0002c90300000001"[3] # lid 3 lmc 0 "a" lid 1 4xNDR
Switch 4 "S-0002c90300000002"	# "b" base port 0 lid 1 lmc 0
[4] "R-0002c90300000900"[2](2c90300000902) # "rt" lid 2 4xXDR

vendid=0x2c9
devid=0xd2f2
sysimgguid=0x2c90300000900
rtguid=0x2c90300000900
Rt 2 "R-0002c90300000900" # "rt"
[2](2c90300000902) "S-0002c90300000002"[4] # lid 2 lmc 0 "b" lid 1 4xXDR
""", ["link S-0002c90300000001 1 H-0002c90300000101 1 4x ndr",
      "link S-0002c90300000001 3 R-0002c90300000900 1 4x ndr",
      "link S-0002c90300000002 4 R-0002c90300000900 2 4x xdr",
      "node R-0002c90300000900 router 2 0x2c9 0xd2f2 0x0002c90300000900 0x0002c90300000900 "
      "0x0002c90300000901 rt"], []),
    "a router that shall be an RDMA device": (
        'Rt 1 "R"\n[1] "A"[1]\nCa 1 "A"\n', [],
        ["1: R is a router, which cannot be an RDMA device"], "-N", "R"),
    "a router, and what leads nowhere": ("""Switch 4 "S"
[1] "A"[1]
[2] "B"[1]
[3] "R"[1]
[9] "A"[2]
[4] "S"[4]
[1] "A"[2]
Rt 2 "R"
[1](123) "S"[3]
Ca 0 "Z"
[1] "S"[3]
Ca 2 "A"
[1] to A
[1] "S"[1]
""", ["link S 1 A 1 4x qdr", "link S 3 R 1 4x qdr"], [
    '5: "S" has no port 9: the link is left out',
    "10: 0 ports, a node has 1 to 254: the node is left out",
    "13: cannot make sense of: [1] to A: left out",
    '3: there is no node "B": the link is left out',
    '6: port 4 of "S" is linked to itself: the link is left out',
    '7: port 1 of "S" is linked twice: the first link stays']),
    "an aggregation node is no device": ("""Switch 4 "S"
[1] "AN"[1]
[2] "H"[1]
Ca 1 "AN"	# "Mellanox Technologies Aggregation Node"
[1] "S"[1]
Ca 1 "H"	# "host"
[1] "S"[2]
""", ["link S 1 AN 1 4x qdr", "link S 2 H 1 4x qdr", "device H"], [], "-d", "1"),
    "a chosen switch": (PAIR, [PAIR_LINK, "device S-0002c90300000001"], [],
                        "-d", "0", "-N", "S-0X2C90300000001"),

    # Letters that are no UTF-8
    "Latin-1": ("""
Switch 36 "S-5349000000000134" # "Baie g\xe9n\xe9rale" base port 0 lid 1 lmc 0
[1] "H-53490000000009b2"[1](53490000000009b3) # "n\xf61 HCA-1" lid 2 4xHDR
Ca 1 "H-53490000000009b2" # "n\xf61 HCA-1"
[1](53490000000009b3) "S-5349000000000134"[1] # lid 2 lmc 0 "Baie g\xe9n\xe9rale" lid 1 4xHDR
""", ["link S-5349000000000134 1 H-53490000000009b2 1 4x hdr",
      "node H-53490000000009b2 ca 1 - - - 0x53490000000009b2 0x53490000000009b3 n\xf61 HCA-1"], []),
    "bytes of nothing": (PAIR.replace("leaf", "l\0\xff\xc3\x01f").replace("one", "\xed\xa0\x80"), [
        PAIR_LINK,
        "node S-0002c90300000001 switch 4 0x2c9 - - 0x0002c90300000001 - l\xff\xc3\x01f"], []),
    "a long name in another script": (PAIR.replace("one mlx5_0", "\xe5\x90\x8d" * 40), [
        PAIR_LINK, "node H-0002c90300000101 ca 1 - - - 0x0002c90300000101 0x0002c90300000101 " +
        ("\xe5\x90\x8d" * 40)[:64]], []),

    # Adapters of XDR have four ports
    "planes": ("""Switch 150 "S-5349000000000921" # "U1" enhanced port 0 lid 8 lmc 0
[1] "H-5349000000000010"[1](5349000000000010) # "h1 smi0" lid 3 1xXDR
Ca 4 "H-5349000000000010" # "h1 smi0"
[1](5349000000000010) "S-5349000000000921"[1] # lid 3 lmc 0 "U1" lid 8 1xXDR
""", ["link S-5349000000000921 1 H-5349000000000010 1 1x xdr", "device H-5349000000000010"], []),
    "no device": ("""Switch 4 "S"
[1] "G"[8]
Ca 8 "G"	# "a gateway"
[8] "S"[1]
""", [], ["4: no host in it that can be an RDMA device, with 1 to 4 ports; -d 0 makes none"]),
    "switches alone": ("Switch 4 \"S\"\n[1] \"T\"[1]\nSwitch 4 \"T\"\n[1] \"S\"[1]\n", [],
        ["4: no host in it that can be an RDMA device, with 1 to 4 ports; -d 0 makes none"]),
    "a device that cannot be": ("Ca 1 \"A\"\n[1] \"G\"[8]\nCa 8 \"G\"\n", [],
                                ["3: G has 8 ports, an RDMA device has 1 to 4"], "-N", "G"),
    "a device that is not there": (PAIR, [], ["6: there is no node x"], "-N", "x"),

    # Nodes that others name alone
    "blocks of switches alone": ("""
Switch 36 "S-5349000000000100" # "leaf-a" enhanced port 0 lid 14 lmc 0
[19] "S-5349000000000200"[19] # "leaf-b" lid 9 4xQDR
[1] "H-5349000000000010"[2](5349000000000012) # "node-01 HCA-1" lid 1 4xQDR
[2] "H-5349000000000010"[1](5349000000000011) # "node-01 HCA-1" lid 4 4xEDR
Switch 36 "S-5349000000000200" # "leaf-b" enhanced port 0 lid 9 lmc 0
[1] "H-5349000000000030"[2](5349000000000032) # "node-03 HCA-1" lid 3 4xQDR
[19] "S-5349000000000100"[19] # "leaf-a" lid 14 4xQDR
""", ["link S-5349000000000100 19 S-5349000000000200 19 4x qdr",
      "link S-5349000000000100 1 H-5349000000000010 2 4x qdr",
      "link S-5349000000000100 2 H-5349000000000010 1 4x edr",
      "link S-5349000000000200 1 H-5349000000000030 2 4x qdr",
      "node H-5349000000000010 ca 2 - - - 0x5349000000000010 0x5349000000000011 node-01 HCA-1",
      "node H-5349000000000030 ca 2 - - - 0x5349000000000030 0x5349000000000031 node-03 HCA-1",
      "device H-5349000000000010"], [f"4: 2 {MADE}"]),
    "blocks of hosts alone": ("""
Ca 1 "H-5349000000000010" # "h1"
[1] "S-5349000000000100"[7] # lid 2 lmc 0 "leaf" lid 1 4xHDR
Ca 1 "H-5349000000000020" # "h2"
[1] "S-5349000000000100"[9] # lid 3 lmc 0 "leaf" lid 1 4xHDR
""", ["link H-5349000000000010 1 S-5349000000000100 7 4x hdr",
      "link H-5349000000000020 1 S-5349000000000100 9 4x hdr",
      "node S-5349000000000100 switch 9 - - - 0x5349000000000100 - leaf"],
     ['3: there is no node "S-5349000000000100": made of what these say']),
    "blocks of switches alone, with GUIDs made illegible": ("""Switch 36 "S-53490x" # "leaf" lid 9
[1] "H-53490x"[1] # "a" lid 1 4xQDR
[2] "H-53490x"[1] # "b" lid 2 4xQDR
[3] "H-53490x"[1] # "b" lid 3 4xQDR
""", ["link S-53490x 1 H-53490x 1 4x qdr", "link S-53490x 2 H-53490x.2 1 4x qdr",
      "link S-53490x 3 H-53490x.3 1 4x qdr", "node H-53490x.3 ca 1 - - - - - b"], [f"2: 3 {MADE}"]),
    "a switch alone, and ports that cannot be": ("""Switch 4 "S-1"
[1] "H-1"[1]
[2] "H-1"[255]
[3] "S-1"[5]
""", ["link S-1 1 H-1 1 4x qdr"], [
    '3: there is no node "H-1": the link is left out',
    '4: "S-1" has no port 5: the link is left out',
    '2: there is no node "H-1": made of what these say']),
    "ibsim's switches alone": ('Switch 4 "S"\n[1] "A"[1]\n[2] "B"[2] w=12\n', [
        "link S 1 A 1 4x qdr", "link S 2 B 2 12x qdr", "node B ca 2 - - - - - B"], [f"2: 2 {MADE}"]),

    # Names that no node has, or several
    "a name written otherwise": ("""
Ca 1 "H-5349000000000a00" # "node-a"
[1](0x5349000000000a01) "H-0x5349000000000b00"[1](0x5349000000000b01) # lid 1 lmc 0 "b" lid 2 4xEDR
Ca 1 "H-5349000000000B00" # "node-b"
[1](0x5349000000000b01) "H-0X5349000000000A00"[1] # lid 2 lmc 0 "node-a" lid 1 4xEDR
""", ["link H-5349000000000a00 1 H-5349000000000b00 1 4x edr"], []),
    "GUIDs edited, each time otherwise": ("""
Switch 36 "S-5349000000000112" # "36-Port" base port 0 lid 16 lmc 0
[33] "H-5349000000000331"[1] # "r3-1014 HCA-1" lid 10 4xQDR
[34] "H-5349000000000341"[1] # "r3-1015 HCA-1" lid 5 4xQDR
[35] "H-5349000000000351"[1] # "r3-1016 HCA-1" lid 3 4xQDR
Ca 1 "H-5349000000000355" # "r3-1016 HCA-1"
[1] "S-5349000000000999"[35] # lid 3 lmc 0 "36-Port" lid 16 4xQDR
Ca 1 "H-5349000000000345" # "1015 HCA-1"
[1] "S-5349000000000998"[34] # lid 5 lmc 0 "36-Port" lid 16 4xQDR
""", ["link S-5349000000000112 35 H-5349000000000355 1 4x qdr",
      "link S-5349000000000112 34 H-5349000000000345 1 4x qdr"], [
          '3: there is no node "H-5349000000000331": the link is left out',
          f"4: 4 {FOUND}, the first here: found by LID, port and description"]),
    "GUIDs edited, and no LIDs": ("""
Switch 36 "S-5349000000000112" # "leaf" base port 0 lid 0 lmc 0
[33] "H-5349000000000331"[1] # "h HCA-1" lid 0 4xQDR
[34] "H-5349000000000341"[1] # "h HCA-1" lid 0 4xQDR
[35] "H-5349000000000351"[1] # "g HCA-1" lid 0 4xQDR
Ca 1 "H-5349000000000335" # "h HCA-1"
[1] "S-5349000000000999"[33] # lid 0 lmc 0 "leaf" lid 0 4xQDR
Ca 1 "H-5349000000000345" # "h HCA-1"
[1] "S-5349000000000112"[34] # lid 0 lmc 0 "leaf" lid 0 4xQDR
Ca 1 "H-5349000000000355" # "g HCA-1"
""", ["link S-5349000000000112 33 H-5349000000000335 1 4x qdr",
      "link S-5349000000000112 34 H-5349000000000345 1 4x qdr",
      "link S-5349000000000112 35 H-5349000000000355 1 4x qdr"], [
          f"3: 4 {FOUND}, the first here: found by LID, port and description"]),
    "what was found gives way to what is said": ("""
Switch 36 "S" # "leaf" base port 0 lid 16 lmc 0
[1] "gone"[1] # "h" lid 5 4xQDR
[2] "A"[1] # "h" lid 0 4xQDR
Ca 1 "A" # "h"
[1] "S"[2] # lid 5 lmc 0 "leaf" lid 0 4xQDR
""", ["link S 2 A 1 4x qdr"], [
    '3: port 1 of "A" is linked twice: the first link stays',
    '3: there is no node "gone": found by LID, port and description']),
    "a LID that is somebody else's by now": ("""
Switch 36 "S" # "leaf" base port 0 lid 16 lmc 0
[1] "gone"[1] # "h" lid 5 4xQDR
Switch 36 "T" # "leaf" base port 0 lid 20 lmc 0
[2] "A"[1] # "g" lid 5 4xQDR
Ca 1 "A" # "g"
[1] "T"[2] # lid 5 lmc 0 "leaf" lid 20 4xQDR
""", ["link T 2 A 1 4x qdr"], ['3: there is no node "gone": the link is left out']),
    "three hosts of one name": ("""Switch 36 "S" # "leaf" base port 0 lid 16 lmc 0
[1] "H-x"[1] # "h" lid 1 4xQDR
[2] "H-x"[1] # "h" lid 2 4xQDR
[3] "H-x"[1] # "h" lid 3 4xQDR
Ca 1 "H-x" # "h"
[1] "S"[2] # lid 2 lmc 0 "leaf" lid 16 4xQDR
Ca 1 "H-x" # "h"
[1] "S"[3] # lid 3 lmc 0 "leaf" lid 16 4xQDR
Ca 1 "H-x" # "h"
[1] "S"[1] # lid 1 lmc 0 "leaf" lid 16 4xQDR
""", ["link S 1 H-x.3 1 4x qdr", "link S 2 H-x 1 4x qdr", "link S 3 H-x.2 1 4x qdr"], [
    '7: a second node "H-x": it becomes "H-x.2", and has another GUID',
    '9: a second node "H-x": it becomes "H-x.3", and has another GUID']),
    "three hosts of one name, two of them the same": ("""Switch 36 "S"
[1] "H-x"[1]
[2] "H-x"[1]
Ca 1 "H-x"
[1] "S"[1]
Ca 1 "H-x"
[1] "S"[2]
Ca 1 "H-x"
[1] "S"[2]
""", ["link S 1 H-x 1 4x qdr", "link S 2 H-x.2 1 4x qdr"], [
    '6: a second node "H-x": it becomes "H-x.2", and has another GUID',
    '8: a second node "H-x": the same once more']),

    # iblinkinfo: the other end has a LID, a port and a description. What is as usual in it, and
    # with -l, topology.py writes itself
    "iblinkinfo, where no subnet manager has been": (
        head('==( 4X  25.78125 Gbps Initialize/  LinkUp)==>       0    1[  ] "leaf" ( )').replace(
            " 1    1[", " 0    1[") + """
           0    1[  ] ==( 4X  25.78125 Gbps Initialize/  LinkUp)==>       0    1[  ] "h1 mlx5_0" ( )
           0    2[  ] ==( 4X  25.78125 Gbps Initialize/  LinkUp)==>       0    1[  ] "h1 mlx5_0" ( )
CA: h1 mlx5_0:
      0x5349000000000021      0    1[  ] ==( 4X  25.78125 Gbps Initialize/  LinkUp)==>       0    2[  ] "leaf" ( )
""", ["link H-5349000000000011 1 S-5349000000000100 1 4x edr",
      "link S-5349000000000100 2 H-5349000000000021 1 4x edr"], []),
    "iblinkinfo --switches-only -p": ("""Switch: 0x5349000000000100 leaf "A":
      2    1[ 1] ==( 4X   10.0 Gbps (FDR10) Active/  LinkUp) (HOQ:16 VL_Stall:7)==>  1  1[  ] "h1 HCA-1" ( )
      2    2[ 2] ==( 4X   10.0 Gbps Active/  LinkUp) (HOQ:16 VL_Stall:7)==>  5  2[  ] "h1 HCA-1" ( )
      2    3[ 3] ==(12X   10.0 Gbps Active/  LinkUp) (HOQ:16 VL_Stall:7)==>  6  1[  ] "h1 HCA-1" ( )
      2    4[ 4] ==( 4X   10.0 Gbps Active/  LinkUp) (HOQ:16 VL_Stall:7)==>  "Port not available"
      2    5[ 5] ==( 4X   10.0 Gbps Active/  LinkUp) (HOQ:16 VL_Stall:7)==>  3  7[  ] "spine" ( )
Switch: 0x5349000000000200 spine:
      3    7[ 7] ==( 4X   10.0 Gbps Active/  LinkUp) (HOQ:16 VL_Stall:7)==>  2  5[  ] "leaf "A"" ( )
""", ["link S-5349000000000100 5 S-5349000000000200 7 4x qdr",
      "link S-5349000000000100 1 h1_HCA-1 1 4x fdr10", "link S-5349000000000100 2 h1_HCA-1 2 4x qdr",
      "link S-5349000000000100 3 h1_HCA-1.2 1 12x qdr", "node h1_HCA-1 ca 2 - - - - - h1 HCA-1"],
     [f"2: 2 {MADE}"]),
    "iblinkinfo, a router and a LID of nobody": (
        head('==( 4X   14.0625 Gbps Active/  LinkUp)==>       9    1[  ] "spine" ( )') + """
           2    1[  ] ==( 4X   14.0625 Gbps Active/  LinkUp)==>       7    1[  ] "rt" ( )
Router: rt:
      0x5349000000000021      7    1[  ] ==( 4X   14.0625 Gbps Active/  LinkUp)==>       2    1[  ] "leaf" ( )
""", ["link S-5349000000000100 1 R-5349000000000021 1 4x fdr",
      "node R-5349000000000021 router 1 - - - 0x5349000000000021 0x5349000000000021 rt",
      "node H-5349000000000011 ca 1 - - - 0x5349000000000011 0x5349000000000011 h1 mlx5_0"], [
    '2: no node has LID 9 and the description "spine": the link is left out']),
    "iblinkinfo -l, the lines of a switch": (
        """0x5349000000000100 "leaf-a" 2 1[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 0x5349000000000012 1 2[  ] "h1" ( )
0x5349000000000100 "leaf-a" 2 31[  ] ==( 1X 212.5 Gbps Active/ LinkUp)==> 0x5349000000000200 2 40[  ] "spine" ( )
0x5349000000000100 "leaf-a" 2 9[  ] ==( 4X 2.5 Gbps Active/ LinkUp)==> nobody
""", ["link S-5349000000000100 1 H-5349000000000011 2 4x hdr",
      "link S-5349000000000100 31 S-5349000000000200 40 1x xdr",
      "node H-5349000000000011 ca 2 - - - 0x5349000000000011 0x5349000000000011 h1"], []),

    "opensm-subnet.lst": ("""
{ CA Ports:02 SystemGUID:0002c90300165e63 NodeGUID:0002c90300165e60 PortGUID:0002c90300165e62 VenID:000002C9 DevID:1003 Rev:00000000 {h1 HCA-1} LID:0005 PN:02 } { SW-SM Ports:24 SystemGUID:0002c90300688830 NodeGUID:0002c90300688830 PortGUID:0002c90300688831 VenID:000002C9 DevID:C738 Rev:000000A1 {leaf {1} } LID:0002 PN:14 } PHY=4x LOG=ACT SPD=FDR10
{ SW-SM Ports:24 SystemGUID:0002c90300688830 NodeGUID:0002c90300688830 PortGUID:0002c90300688831 VenID:000002C9 DevID:C738 Rev:000000A1 {leaf {1} } LID:0002 PN:14 } { CA Ports:02 SystemGUID:0002c90300165e63 NodeGUID:0002c90300165e60 PortGUID:0002c90300165e62 VenID:000002C9 DevID:1003 Rev:00000000 {h1 HCA-1} LID:0005 PN:02 } PHY=4x LOG=ACT SPD=FDR10
{ SW-SM Ports:24 SystemGUID:0002c90300688830 NodeGUID:0002c90300688830 PortGUID:0002c90300688831 VenID:000002C9 DevID:C738 Rev:000000A1 {leaf {1} } LID:0002 PN:15 } { Rt Ports:02 SystemGUID:0002c90300165e73 NodeGUID:0002c90300165e70 PortGUID:0002c90300165e72 VenID:000002C9 DevID:1003 Rev:00000000 {rt} LID:0006 PN:02 } PHY=4x LOG=INI SPD=50
""", ["node H-0002c90300165e60 ca 2 0x2c9 0x1003 0x0002c90300165e63 0x0002c90300165e60 "
      "0x0002c90300165e61 h1 HCA-1",
      "node S-0002c90300688830 switch 36 0x2c9 0xc738 0x0002c90300688830 0x0002c90300688830 "
      "0x0002c90300688831 leaf {1} ",
      "node R-0002c90300165e70 router 2 0x2c9 0x1003 0x0002c90300165e73 0x0002c90300165e70 "
      "0x0002c90300165e71 rt",
      "link H-0002c90300165e60 2 S-0002c90300688830 20 4x fdr10",
      "link S-0002c90300688830 21 R-0002c90300165e70 2 4x hdr"], []),
    "ibdiagnet2.lst, a rate that nobody knows": ("""
{ CA Ports:01 SystemGUID:0002c90300165e63 NodeGUID:0002c90300165e60 PortGUID:0002c90300165e60 VenID:000002c9 DevID:1003 Rev:00000000  LID:0005 PN:01 } { SW Ports:24 SystemGUID:0002c90300688830 NodeGUID:0002c90300688830 PortGUID:0002c90300688830 VenID:000002c9 DevID:c738 Rev:000000a1  LID:0002 PN:14 } PHY=?? LOG=ACT SPD=EDR20
""", ["link H-0002c90300165e60 1 S-0002c90300688830 20 4x qdr"], [
    "2: a link has no width ??: taken for 4x", "2: a link has no speed EDR20: taken for qdr"]),

    "ibdiagnet2.db_csv": ("""
START_NODES
NodeGUID,NodeDesc,NodeType,NumPorts,PortGUID,LocalPortNum,VendorID,DeviceID,SystemImageGUID
0x0002c90300000101,"h1, mlx5_0",1,2,0x0002c90300000102,2,N/A,4123,N/A
0x0002c90300000001,"leaf",2,40,0x0002c90300000001,0,713,0xd2f0,0x0002c90300000001
0x0002c90300000009,"rt",3,2,0x0002c90300000009,1,713,0xd2f0,0x0002c90300000001
END_NODES
START_EXTENDED_NODE_INFO
NodeGUID,SL2VL
0x0002c90300000101,oops
END_EXTENDED_NODE_INFO
START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x2c90300000101,2,0x2c90300000001,40
0x2c90300000001,7,0x2c90300000009,1
0x2c90300000001,8,0x2c90300000008,1
END_LINKS
START_PORTS
NodeGuid,PortNum,LinkWidthActv,LinkSpeedActv
0x0002c90300000101,2,16,2048
END_PORTS
""", ["node H-0002c90300000101 ca 2 - 0x101b - 0x0002c90300000101 0x0002c90300000101 h1, mlx5_0",
      "node S-0002c90300000001 switch 40 0x2c9 0xd2f0 0x0002c90300000001 0x0002c90300000001 "
      "0x0002c90300000001 leaf",
      "node R-0002c90300000009 router 2 0x2c9 0xd2f0 0x0002c90300000001 0x0002c90300000009 "
      "0x0002c90300000009 rt",
      "link H-0002c90300000101 2 S-0002c90300000001 40 2x ndr",
      "link S-0002c90300000001 7 R-0002c90300000009 1 4x qdr"], [
          "16: a link of a node that the file does not have: left out"]),
    "ibdiagnet2.db_csv, without a column": (
        "START_NODES\nNodeDesc,NumPorts\n\"a\",1\nEND_NODES\n" + PAIR, [PAIR_LINK],
        ["2: NODES has no column for the GUID of a node: the section is left out"]),

    "ibsim: defaults, modules, aliases": ("""module = "left"
width=12
speed=2
Switch 8 "S"
[1] "A"
[2] "A"[2] w=1
[3] "@up"
@[8] "trunk"
Hca 2 "A"
[1] "S"[1]
[2] "S"[2] w=1
Hca 1 "B"
@[1] "up"
module = "right"
extspeed=4
width=4
Switch 8 "S"
[1] "left#S"[7]
[2] "left@trunk"
do Link "S"
pdebug = 0
include "more.net"
""", ["link left#S 1 left#A 1 12x ddr", "link left#S 2 left#A 2 1x ddr", "link left#S 3 left#B 1 12x ddr",
      "link right#S 1 left#S 7 4x hdr", "link right#S 2 left#S 8 4x hdr", "device left#A"], [
          "22: a file in a file: more.net: left out"]),

    "topology.conf": ("""# Slurm
SwitchName=leaf1 Nodes=h[1-3],login LinkSpeed=100
switchname=leaf2 nodes=h[08,10-11]b,\\
	gpu[1-2]n[1-2]
SwitchName=spine Switches=leaf[1-2]
SwitchName=other Nodes=h1 Switches=lost
""", ["link leaf1 1 h1 1 4x qdr", "link leaf1 2 h2 1 4x qdr", "link leaf1 3 h3 1 4x qdr",
      "link leaf1 4 login 1 4x qdr", "link leaf2 1 h08b 1 4x qdr", "link leaf2 2 h10b 1 4x qdr",
      "link leaf2 3 h11b 1 4x qdr", "link leaf2 4 gpu1n1 1 4x qdr", "link leaf2 5 gpu1n2 1 4x qdr",
      "link leaf2 6 gpu2n1 1 4x qdr", "link leaf2 7 gpu2n2 1 4x qdr", "link spine 1 leaf1 5 4x qdr",
      "link spine 2 leaf2 8 4x qdr", "link other 1 h1 2 4x qdr", "node h1 ca 2 - - - - - h1",
      "node spine switch 2 - - - - - spine"], ['6: there is no node "lost": the link is left out']),
    "topology.conf, what is no list": ("""SwitchName=a Nodes=h[1-3
SwitchName=b Nodes=h[1-99999999]
SwitchName=c Nodes=h[x]
SwitchName=d Nodes=h[1-2]
BlockName=e Nodes=h[1-2]
""", ["link d 1 h1 1 4x qdr", "link d 2 h2 1 4x qdr"], [
    *(f"{n}: cannot make sense of: {text}: left out" for n, text in enumerate(
        ("SwitchName=a Nodes=h[1-3", "SwitchName=b Nodes=h[1-99999999]", "SwitchName=c Nodes=h[x]"), 1)),
    "5: a block does not say which switches there are: left out"]),

    "what ibhosts prints": ('Ca	: 0x5349000000000010 ports 1 "h1 mlx5_0"\n', [], [
        '1: cannot make sense of: Ca?: 0x5349000000000010 ports 1 "h1 mlx5_0": left out',
        "1: no node in it; what ibhosts and ibswitches print has no links, those of ibnetdiscover "
        "are wanted"]),
    "nothing": ("", [], ["0: no node in it"]),
    "ibsim: options of links": (
        'Switch 4 "S"\n[1] "A"[1] w=1 s=7 e=15\n[2] "B"[1] s=7\n[3] "C"[1] s=3\n[4] "D"[1] e=3 w=8\n'
        'Ca 1 "A"\nCa 1 "B"\nCa 1 "C"\nCa 1 "D"\n[1] "S"[4] w=3 s=8 e=16\n', [
            "link S 1 A 1 1x ndr", "link S 2 B 1 4x qdr", "link S 3 C 1 4x ddr",
            "link S 4 D 1 8x edr"], [
                "10: w=3 is none of 1, 2, 4, 8, 12: left out",
                "10: s=8 is not between 1 and 7: left out",
                "10: e=16 is not between 0 and 15: left out"]),
    "wires": ('Switch 4 "S"\n[1] "A"[1]\n[2] wire w=4 e=2\n[2] wire\n[9] wire\nCa 1 "A"\n', [
        "link S 1 A 1 4x qdr", "wire S 2 4x edr"], [
            "5: a wire without a port: left out",
            '4: port 2 of "S" is linked twice: the first link stays']),
    "names with quotes, dashes and what else a shell knows": ("""Switch 4 "-o'brien's"
[1] "a\\b"[1]
[2] "*"[1]
[3] "$x`y`;z"[1]
Hca 1 "a\\b"
Hca 1 "*"
Hca 1 "$x`y`;z"
""", ["link -o'brien's 1 a\\b 1 4x qdr", "link -o'brien's 2 * 1 4x qdr",
      "link -o'brien's 3 $x`y`;z 1 4x qdr", "device a\\b", "device *"], [],
        "-d", "0", "-N", "a\\b", "-N", "*"),
}
