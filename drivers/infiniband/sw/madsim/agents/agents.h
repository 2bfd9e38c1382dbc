/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The agents of a node: they answer MADs. */

#ifndef MADSIM_AGENTS_H
#define MADSIM_AGENTS_H

#include <linux/jiffies.h>
#include <rdma/ib_pma.h>

#include "model/model.h"

/* The statuses of responses */
#define MADSIM_OK		IB_MGMT_MAD_STATUS_SUCCESS
#define MADSIM_UNSUPPORTED	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB
#define MADSIM_INVALID		IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

/* How long any agent takes to respond: about a millisecond, as 4.096 us * 2^n */
#define MADSIM_RESP_TIME	8

/* What an agent did with a MAD that it was shown */
enum madsim_verdict {
	MADSIM_PASS,		/* not its business */
	MADSIM_REPLY,		/* turned it into the response */
	MADSIM_CONSUMED,	/* done, no response */
};

/* A wrong key was used: the right one protects its port for @period seconds more */
static inline void madsim_lease_begin(unsigned long *expires, __be16 period)
{
	u16 lease = be16_to_cpu(period);

	if (lease && !*expires)
		*expires = (jiffies + lease * HZ) ?: 1;
}

/* Whether a lease has run out. Without a timer, the next MAD finds that */
static inline bool madsim_lease_ends(unsigned long *expires)
{
	if (!*expires || time_before(jiffies, *expires))
		return false;
	*expires = 0;
	return true;
}

/**
 * struct madsim_request - a Get or Set that an agent has to answer
 * @port:	the end port that got it
 * @in_port:	the port it came in by, if it is an SMP
 * @mod:	attribute modifier
 * @key:	its M_Key or CC_Key
 * @set:	it is a Set
 * @data:	the attribute; what a handler leaves there is the response
 */
struct madsim_request {
	struct madsim_port *port;
	u8 in_port;
	u32 mod;
	__be64 key;
	bool set;
	void *data;
};

/**
 * struct madsim_attribute - an attribute that an agent knows
 * @id:		its number
 * @of:		which nodes have it
 * @settable:	it has a Set
 * @length:	bytes of the response that are the attribute's, the rest is 0
 * @handle:	answers, and returns the status of the MAD
 */
struct madsim_attribute {
	__be16 id;
	enum {
		MADSIM_OF_ALL,
		MADSIM_OF_SWITCHES,
		MADSIM_OF_HOSTS,
	} of;
	bool settable;
	u8 length;
	u16 (*handle)(struct madsim_request *req);
};

/* The attribute that @req is about, NULL if there is no such request here */
static inline const struct madsim_attribute *
madsim_attribute_find(const struct madsim_attribute *table, size_t size,
		      const struct madsim_request *req, __be16 id)
{
	const struct madsim_attribute *attr;

	for (attr = table; attr < table + size; attr++) {
		if (attr->id != id)
			continue;
		if (attr->of == (req->port->node->sw ? MADSIM_OF_HOSTS : MADSIM_OF_SWITCHES))
			return NULL;
		return !req->set || attr->settable ? attr : NULL;
	}
	return NULL;
}

static inline void madsim_class_port_info(struct ib_class_port_info *cpi, u8 class_version)
{
	memset(cpi, 0, sizeof(*cpi));
	cpi->base_version = IB_MGMT_BASE_VERSION;
	cpi->class_version = class_version;
	ib_set_cpi_resp_time(cpi, MADSIM_RESP_TIME);
}

/* Turn a request into its response */
static inline void madsim_reply(struct ib_mad_hdr *hdr, u16 status)
{
	hdr->method = IB_MGMT_METHOD_GET_RESP;
	hdr->status = cpu_to_be16(status);
	if (hdr->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		hdr->status |= IB_SMP_DIRECTION;
}

/*
 * agents.c: which agent answers. The agents that it asks return the status of the response, but
 * for madsim_sma(), which makes the whole response
 */
bool madsim_has_agent(const struct madsim_node *node, u8 mgmt_class);
enum madsim_verdict madsim_gsa(struct madsim_port *port, struct ib_mad *mad);
bool madsim_respond(struct madsim_port *port, u8 in_port, struct madsim_packet *pkt);

/* reset.c: power-on */
void madsim_port_reset(struct madsim_port *port);

/* sma.c: subnet management agent */
enum madsim_verdict madsim_sma(struct madsim_port *port, u8 in_port,
			       struct ib_mad *mad, u32 *len, bool check_mkey);

/* pma.c: performance management agent */
extern const char * const madsim_counter_names[MADSIM_COUNTERS];
u16 madsim_pma(struct madsim_port *port, struct ib_mad *mad);
void madsim_pma_set(struct madsim_port *port, enum madsim_counter which, u64 value);

/* samples.c: what a port counts from one moment to another */
void madsim_samples_init(struct madsim_fabric *fabric);
void madsim_samples_reset(struct madsim_port *port);
u16 madsim_samples_control(struct madsim_port *port, u8 first, u8 last,
			   struct ib_pma_mad *pma, bool set);
u16 madsim_samples_result(struct madsim_port *port, struct ib_pma_mad *pma);
void madsim_samples_skip(struct madsim_port *port, enum madsim_counter which, u64 by);

/* vendor.c: vendor's agent */
#define MADSIM_CLASS_VENDOR		0x0a
#define MADSIM_ATTR_ACCESS_REGISTER	cpu_to_be16(0xff52)

int madsim_register_set(struct madsim_node *node, u32 id, const char *key, const char *value);
void madsim_registers_free(struct madsim_node *node);
u16 madsim_access_register(const struct madsim_node *node, u8 *tlv, size_t room);
u16 madsim_config_space(const struct madsim_node *node, u32 mod, u8 *data, size_t room);
u16 madsim_vendor(const struct madsim_node *node, struct ib_mad_hdr *hdr);

/* cc.c: congestion control agent */
bool madsim_cc_admits(struct madsim_cc *cc, const struct ib_mad *mad);
u16 madsim_cc(struct madsim_port *port, struct ib_mad *mad);

#endif /* MADSIM_AGENTS_H */
