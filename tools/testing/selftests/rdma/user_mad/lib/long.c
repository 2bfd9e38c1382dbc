// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "long.h"

/* Where the data begins: what the kernel's MAD layer makes of the classes */
size_t umad_class_hdr(__u8 mgmt_class)
{
	switch (mgmt_class) {
	case MAD_CLASS_SA:
		return MAD_SA_HDR;
	case MAD_CLASS_DEVMGT:
	case MAD_CLASS_DEVADM:
	case MAD_CLASS_BIS:
		return MAD_DEVMGT_HDR;
	case 0x30 ... 0x4f:
		return MAD_VENDOR_HDR;
	default:
		return MAD_HDR;
	}
}

static __u32 umad_pattern_next(__u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 24;
}

void umad_pattern(__u8 *data, size_t len, __u32 seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		data[i] = umad_pattern_next(&seed);
}

/* Where it begins to differ, or @len */
size_t umad_pattern_same(const __u8 *data, size_t len, __u32 seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (data[i] != umad_pattern_next(&seed))
			break;
	return i;
}

int _umad_long_alloc(struct umad_long *msg, size_t max)
{
	msg->max = max;
	msg->out = malloc(max);
	msg->in = malloc(max + UMAD_LONG_GUARD);
	return msg->out && msg->in ? 0 : -1;
}

void umad_long_free(struct umad_long *msg)
{
	free(msg->out);
	free(msg->in);
}

/* A message that is sent again up to three times where no acknowledgment comes */
struct umad_msg umad_long_head(const struct umad_port *port, __u32 id, __u8 method, __u64 tid)
{
	struct umad_msg head = umad_msg(port, id, method, tid);

	umad_make_active(&head);
	head.hdr.retries = 3;
	return head;
}

/* @head and @len bytes of data behind its class header; returns the size */
size_t umad_long_pack(const struct umad_file *file, const struct umad_msg *head,
		      size_t len, __u32 seed, __u8 *buf)
{
	size_t at = umad_pack(file, head, umad_class_hdr(head->mad.mgmt_class), buf);

	umad_pattern(buf + at, len, seed);
	return at + len;
}
