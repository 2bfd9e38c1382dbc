// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asynchronous events of completion queues, receive queues and queue pairs. Their
 * owners take locks when they hear of one that they also hold when they post. So a
 * worker tells them, as the interrupt of an adapter would, and no lock is held.
 */

#include "transport.h"

static void madsim_events_work(struct work_struct *work)
{
	struct madsim_events *events =
		container_of(work, struct madsim_events, work);
	unsigned int type;

	for (type = 0; type < BITS_PER_LONG; type++) {
		if (!test_and_clear_bit(type, &events->pending))
			continue;
		events->event.event = type;
		if (events->handler)
			events->handler(&events->event, events->context);
	}
}

/* Let the object in events->event have events, of which @handler hears, unless it is NULL */
void madsim_events_init(struct madsim_events *events, struct ib_device *ibdev,
			void (*handler)(struct ib_event *event, void *context), void *context)
{
	INIT_WORK(&events->work, madsim_events_work);
	events->event.device = ibdev;
	events->handler = handler;
	events->context = context;
}

/* Tell of no more events. Sleeps */
void madsim_events_end(struct madsim_events *events)
{
	cancel_work_sync(&events->work);
}

/* Tell an owner of an event. The same event again, before the owner was told, is told once */
void madsim_event(struct madsim_events *events, enum ib_event_type type)
{
	set_bit(type, &events->pending);
	queue_work(madsim_wq, &events->work);
}
