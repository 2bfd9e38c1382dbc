// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * PortSamplesControl and PortSamplesResult: what a port counts from one moment to
 * another. An agent takes one sample at a time. As packets take no time, both
 * moments are of real time. Nothing runs while no sample is taken.
 */

#include "agents.h"

/* Tick n is the time of 10 * (n + 1) bits: of MADSIM_TICK_NS */
#define MADSIM_TICK		255

#define MADSIM_SAMPLE_COUNTERS	5
/* Of three bits that each counter has, the one that says: the mandatory quantities */
#define MADSIM_SAMPLE_MASKS	cpu_to_be32(0x09248000)
#define MADSIM_SAMPLE_WIDTH	4	/* 32 bits */

/* SampleStatus */
#define MADSIM_SAMPLE_DONE	0
#define MADSIM_SAMPLE_WAITS	1
#define MADSIM_SAMPLE_COUNTS	2

/* As on the wire; ib_pma_portsamplescontrol has a hole in front of @option_mask */
struct madsim_samples_control {
	u8 opcode;
	u8 port_select;
	u8 tick;
	u8 counter_width;
	__be32 counter_mask0_9;
	__be16 counter_mask10_14;
	u8 sample_mechanisms;
	u8 sample_status;
	__be64 option_mask;
	__be64 vendor_mask;
	__be32 sample_start;
	__be32 sample_interval;
	__be16 tag;
	__be16 counter_select[15];
	u8 reserved[124];
} __packed;
static_assert(sizeof(struct madsim_samples_control) ==
	      sizeof_field(struct ib_pma_mad, data));

/* The quantities, by what CounterSelect has for them; 0 is none */
static const enum madsim_counter madsim_quantities[] = {
	[1] = MADSIM_XMIT_DATA,
	[2] = MADSIM_RCV_DATA,
	[3] = MADSIM_XMIT_PKTS,
	[4] = MADSIM_RCV_PKTS,
	[5] = MADSIM_XMIT_WAIT,
};

/**
 * struct madsim_samples - what an end port's agent samples; fabric->lock
 * @link:	on fabric->samples while it waits or counts
 * @node:	immutable
 * @first:	first port that is sampled
 * @last:	last one
 * @due:	when it begins, or ends, in jiffies
 * @interval:	how long it counts, in jiffies
 * @control:	components that were set, and SampleStatus
 * @counter:	what the ports had counted as it began. When it is done, what they
 *		have counted since
 */
struct madsim_samples {
	struct list_head link;
	struct madsim_node *node;
	u8 first;
	u8 last;
	unsigned long due;
	unsigned long interval;
	struct madsim_samples_control control;
	u64 counter[MADSIM_SAMPLE_COUNTERS];
};

static u64 madsim_sample_count(const struct madsim_samples *samples, unsigned int i)
{
	u16 select = be16_to_cpu(samples->control.counter_select[i]);
	enum madsim_counter which = madsim_quantities[select];
	struct madsim_port *ports = samples->node->ports;
	unsigned int num;
	u64 sum = 0;

	for (num = samples->first; select && num <= samples->last; num++) {
		madsim_fault_count(&ports[num]);
		sum += ports[num].counters.total[which];
	}
	return sum;
}

/* Begin or end a sample if the time has come. It begins with counters of 0 */
static void madsim_samples_advance(struct madsim_samples *samples, unsigned long now)
{
	struct madsim_samples_control *control = &samples->control;
	unsigned int i;

	while (!list_empty(&samples->link) &&
	       time_after_eq(now, samples->due)) {
		for (i = 0; i < MADSIM_SAMPLE_COUNTERS; i++)
			samples->counter[i] = madsim_sample_count(samples, i) -
					      samples->counter[i];
		if (control->sample_status == MADSIM_SAMPLE_WAITS) {
			control->sample_status = MADSIM_SAMPLE_COUNTS;
			samples->due = now + samples->interval;
		} else {
			control->sample_status = MADSIM_SAMPLE_DONE;
			list_del_init(&samples->link);
		}
	}
}

static void madsim_samples_work(struct work_struct *work)
{
	struct madsim_fabric *fabric =
		container_of(work, struct madsim_fabric, samples_work.work);
	struct madsim_samples *samples, *tmp, *next = NULL;
	unsigned long now;

	spin_lock_irq(&fabric->lock);
	now = jiffies;
	list_for_each_entry_safe(samples, tmp, &fabric->samples, link) {
		madsim_samples_advance(samples, now);
		if (!list_empty(&samples->link) &&
		    (!next || time_before(samples->due, next->due)))
			next = samples;
	}
	if (next)
		queue_delayed_work(madsim_wq, &fabric->samples_work,
				   next->due - now);
	spin_unlock_irq(&fabric->lock);
}

/* Prepare a new fabric for samples. The end of the fabric cancels samples_work */
void madsim_samples_init(struct madsim_fabric *fabric)
{
	INIT_LIST_HEAD(&fabric->samples);
	INIT_DELAYED_WORK(&fabric->samples_work, madsim_samples_work);
}

/* Forget what an end port samples. fabric->lock is held */
void madsim_samples_reset(struct madsim_port *port)
{
	lockdep_assert_held(&port->node->fabric->lock);

	if (port->samples)
		list_del(&port->samples->link);
	kfree(port->samples);
	port->samples = NULL;
}

/* No sample counts what setting a counter adds to it, which is @by. fabric->lock is held */
void madsim_samples_skip(struct madsim_port *port, enum madsim_counter which, u64 by)
{
	struct madsim_samples *samples;
	unsigned int i;

	lockdep_assert_held(&port->node->fabric->lock);

	list_for_each_entry(samples, &port->node->fabric->samples, link) {
		const struct madsim_samples_control *control = &samples->control;

		if (samples->node != port->node || port->num < samples->first ||
		    port->num > samples->last ||
		    control->sample_status != MADSIM_SAMPLE_COUNTS)
			continue;
		for (i = 0; i < MADSIM_SAMPLE_COUNTERS; i++) {
			u16 select = be16_to_cpu(control->counter_select[i]);

			if (select && madsim_quantities[select] == which)
				samples->counter[i] += by;
		}
	}
}

static u16 madsim_samples_set(struct madsim_port *port, u8 first, u8 last,
			      const struct madsim_samples_control *in)
{
	struct madsim_fabric *fabric = port->node->fabric;
	struct madsim_samples *samples = port->samples;
	struct madsim_samples_control *control;
	unsigned int i;

	for (i = 0; i < MADSIM_SAMPLE_COUNTERS; i++) {
		if (be16_to_cpu(in->counter_select[i]) >=
		    ARRAY_SIZE(madsim_quantities))
			return MADSIM_INVALID;
	}
	if (!samples) {
		samples = kzalloc_obj(*samples, GFP_ATOMIC);
		if (!samples)
			return IB_MGMT_MAD_STATUS_BUSY;
		INIT_LIST_HEAD(&samples->link);
		samples->node = port->node;
		port->samples = samples;
	}
	/* One that has not ended is not disturbed */
	if (!list_empty(&samples->link))
		return MADSIM_OK;

	control = &samples->control;
	control->port_select = in->port_select;
	control->sample_start = in->sample_start;
	control->sample_interval = in->sample_interval;
	control->tag = in->tag;
	memcpy(control->counter_select, in->counter_select,
	       MADSIM_SAMPLE_COUNTERS * sizeof(*in->counter_select));
	control->sample_status = MADSIM_SAMPLE_WAITS;
	samples->first = first;
	samples->last = last;
	samples->due = jiffies +
		nsecs_to_jiffies((u64)be32_to_cpu(in->sample_start) *
				 MADSIM_TICK_NS);
	samples->interval =
		nsecs_to_jiffies((u64)be32_to_cpu(in->sample_interval) *
				 MADSIM_TICK_NS);
	memset(samples->counter, 0, sizeof(samples->counter));
	list_add_tail(&samples->link, &fabric->samples);
	mod_delayed_work(madsim_wq, &fabric->samples_work, 0);
	return MADSIM_OK;
}

/* Answer Get and Set of PortSamplesControl for some ports. Returns the status of the response */
u16 madsim_samples_control(struct madsim_port *port, u8 first, u8 last,
			   struct ib_pma_mad *pma, bool set)
{
	struct madsim_samples_control *control = (void *)pma->data;
	u8 select = control->port_select;
	u16 status;

	lockdep_assert_held(&port->node->fabric->lock);

	if (pma->mad_hdr.attr_mod)
		return MADSIM_INVALID;
	if (set) {
		status = madsim_samples_set(port, first, last, control);
		if (status)
			return status;
	}

	memset(control, 0, sizeof(*control));
	control->port_select = select;
	if (port->samples) {
		madsim_samples_advance(port->samples, jiffies);
		*control = port->samples->control;
	}
	control->tick = MADSIM_TICK;
	control->counter_width = MADSIM_SAMPLE_WIDTH;
	control->counter_mask0_9 = MADSIM_SAMPLE_MASKS;
	return MADSIM_OK;
}

/* Answer Get of PortSamplesResult. Returns the status of the response */
u16 madsim_samples_result(struct madsim_port *port, struct ib_pma_mad *pma)
{
	struct ib_pma_portsamplesresult *result = (void *)pma->data;
	struct madsim_samples *samples = port->samples;
	unsigned int i;

	lockdep_assert_held(&port->node->fabric->lock);

	if (pma->mad_hdr.attr_mod)
		return MADSIM_INVALID;

	memset(pma->data, 0, sizeof(pma->data));
	if (!samples)
		return MADSIM_OK;

	madsim_samples_advance(samples, jiffies);
	result->tag = samples->control.tag;
	result->sample_status = cpu_to_be16(samples->control.sample_status);
	if (!list_empty(&samples->link))
		return MADSIM_OK;
	for (i = 0; i < MADSIM_SAMPLE_COUNTERS; i++)
		result->counter[i] = cpu_to_be32(min_t(u64, U32_MAX,
						       samples->counter[i]));
	return MADSIM_OK;
}
