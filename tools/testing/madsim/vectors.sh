#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Completion vectors: the CPU that calls the handler of a completion queue. NVMe over Fabrics
# has one queue for each CPU, and asks for another vector for each.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib/nvme.sh"

[ "$(nproc)" -ge 2 ] || leave_out "one CPU has one vector"
kernel_has "ib_ipoib nvmet-rdma nvme-rdma loop"
have losetup taskset

events=/sys/kernel/tracing

leave()
{
	disconnect 2>/dev/null
	stop_serving
	at_end
}
trap leave EXIT

# Handlers of ib_core that madsim calls, with the completion queue: those of the disk's host
# and those of its target
watch()
{
	mount_tracing
	# To know the names of tasks, the kernel would patch tracepoints of the scheduler: QEMU's
	# emulation of several CPUs may die of that
	put $events/trace_options norecord-cmd
	put $events/kprobe_events "p:host ib_cq_completion_softirq cq=%di:x64"
	echo "p:target ib_cq_completion_workqueue cq=%di:x64" >>$events/kprobe_events
	put $events/events/kprobes/enable 1
}

# From each CPU, so that requests are posted and answered on all
read_disk()
{
	local cpu
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		taskset -c $cpu dd if="$(disk)" of=/dev/null bs=4k count=200 iflag=direct
	done
}

# spread END: each completion queue of the disk has its handler called by one CPU, not all
# of them by the same. Those that have few calls are the MAD layer's
spread()
{
	put $events/events/kprobes/enable 0
	awk -v end=" $1:" '
	match($0, /\[[0-9]+\]/) && index($0, end) {
		calls[$NF]++
		cpus[$NF, substr($0, RSTART, RLENGTH)]++
	}
	END {
		for (i in cpus) {
			split(i, at, SUBSEP)
			print cpus[i], at[1] " on " at[2]
			if (calls[at[1]] >= 100) {
				several += cpus[i] != calls[at[1]]
				used[at[2]]
			}
		}
		exit several || length(used) < 2
	}' $events/trace
}

check "two hosts" hosts
check "a target" serve
check "a disk" eval 'watch; connect; read_disk'
check "each vector of its host has a CPU" spread host
check "each vector of its target has a CPU" spread target
disconnect
rm -f $target/ports/1/subsystems/madsim
sm_end first
put $events/kprobe_events "" || true

finish
