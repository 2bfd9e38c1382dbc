#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Send a datagram with a Q_Key that is not the receiver's, for qkey.sh

qkey.py FROM TO Q_KEY [QPN]: to a queue pair of the device TO, or to the one that has that
number. qkey.py FROM TO --many Q_KEY: ten datagrams, whose last one has that Q_Key, the one
before it a Q_Key less, and so on. Prints the numbers of the two queue pairs.
"""

import sys
import time

from pyverbs.addr import AH, AHAttr
from pyverbs.wr import SendWR

from rdma import e, pair

SL = 3
MANY = 10
# Between two datagrams: time enough for a trap to be sent
PAUSE = 0.02


def main(last, qpn=None, many=1):
    a, b = pair(e.IBV_QPT_UD)
    b.receive(b.sge(4096))
    qpn = qpn or b.qp.qp_num
    wr = SendWR(wr_id=1, num_sge=1, sg=[a.sge(256)], opcode=e.IBV_WR_SEND,
                send_flags=e.IBV_SEND_SIGNALED)
    ah = AH(a.pd, attr=AHAttr(dlid=b.lid, sl=SL, port_num=1, is_global=0))
    for qkey in range(last - many + 1, last + 1):
        wr.set_wr_ud(ah, qpn, qkey)
        a.qp.post_send(wr)
        a.completes(e.IBV_WC_SUCCESS)
        time.sleep(PAUSE)
    b.silent()
    print(f"{a.qp.qp_num:#x} {qpn:#x}")


if sys.argv[3] == "--many":
    main(int(sys.argv[4], 0), many=MANY)
else:
    main(*(int(argument, 0) for argument in sys.argv[3:]))
