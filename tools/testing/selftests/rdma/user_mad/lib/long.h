/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages longer than a MAD: data that a seed stands for, so that the
 * receiver can compare every byte, and the buffers it travels in.
 */
#ifndef UMAD_LONG_H
#define UMAD_LONG_H

#include "utils.h"

#define MAD_CLASS_DEVADM	0x10
#define MAD_CLASS_BIS		0x12

/* Time for 16 MiB on a busy machine, before they count as hanging */
#define UMAD_LONG_MS		150000

/* So many bytes behind a message must stay as they were */
#define UMAD_LONG_GUARD		64

struct umad_long {
	__u8 *out;
	__u8 *in;
	size_t max;	/* the longest message, header and all */
};

size_t umad_class_hdr(__u8 mgmt_class);
void umad_pattern(__u8 *data, size_t len, __u32 seed);
size_t umad_pattern_same(const __u8 *data, size_t len, __u32 seed);
int _umad_long_alloc(struct umad_long *msg, size_t max);

#define umad_long_alloc(msg, max)					\
	ASSERT_EQ(0, _umad_long_alloc(msg, max))			\
		TH_LOG("no memory for %zu bytes", (size_t)(max))

void umad_long_free(struct umad_long *msg);
struct umad_msg umad_long_head(const struct umad_port *port, __u32 id, __u8 method, __u64 tid);
size_t umad_long_pack(const struct umad_file *file, const struct umad_msg *head,
		      size_t len, __u32 seed, __u8 *buf);

#define umad_long_write(file, head, len, seed, msg) do {		\
	size_t __size;							\
									\
	ASSERT_LE((file)->hlen + MAD_DEVMGT_HDR + (len), (msg)->max);	\
	__size = umad_long_pack(file, head, len, seed, (msg)->out);	\
	ASSERT_EQ((ssize_t)__size, write((file)->fd, (msg)->out, __size)) \
		TH_LOG("write of %zu: %s", __size, strerror(errno));	\
} while (0)

/*
 * The message that @head and @seed stand for. The caller judges its sender.
 * The lower half of the transaction ID must be that of @head, and what is
 * between the RMPP header and the data.
 */
#define umad_long_expect(file, id_, head, len, seed, msg, size) do {	\
	size_t __hdr = umad_class_hdr((head)->mad.mgmt_class);		\
	size_t __at = (file)->hlen + __hdr;				\
	struct umad_msg __got;						\
									\
	memset(&__got, 0, sizeof(__got));				\
	ASSERT_EQ((ssize_t)(__at + (len)), size);			\
	memcpy(&__got.hdr, (msg)->in, (file)->hlen);			\
	memcpy(&__got.mad, (msg)->in + (file)->hlen, __hdr);		\
	EXPECT_EQ(0, __got.hdr.status);					\
	EXPECT_EQ(id_, __got.hdr.id);					\
	EXPECT_EQ(__at + (len), __got.hdr.length);			\
	EXPECT_EQ((head)->mad.mgmt_class, __got.mad.mgmt_class);	\
	EXPECT_EQ((head)->mad.method, __got.mad.method);		\
	EXPECT_EQ((__u32)be64toh((head)->mad.tid),			\
		  (__u32)be64toh(__got.mad.tid));			\
	EXPECT_EQ((head)->mad.attr_id, __got.mad.attr_id);		\
	EXPECT_EQ((head)->mad.attr_mod, __got.mad.attr_mod);		\
	EXPECT_EQ(0, memcmp((__u8 *)&__got.mad + MAD_RMPP_HDR,		\
			    (const __u8 *)&(head)->mad + MAD_RMPP_HDR,	\
			    __hdr - MAD_RMPP_HDR));			\
	EXPECT_EQ((size_t)(len),					\
		  umad_pattern_same((msg)->in + __at, len, seed));	\
} while (0)

/* Reads it, and nothing may be written behind it */
#define umad_long_read(file, id_, head, len, seed, msg) do {		\
	ssize_t __n;							\
	size_t __g;							\
									\
	ASSERT_TRUE(umad_readable(file, UMAD_LONG_MS))			\
		TH_LOG("nothing to read, %zu bytes were sent",		\
		       (size_t)(len));					\
	memset((msg)->in, 0xa5, (msg)->max + UMAD_LONG_GUARD);		\
	__n = read((file)->fd, (msg)->in, (msg)->max);			\
	ASSERT_LT(0, __n)						\
		TH_LOG("read: %s", strerror(errno));			\
	umad_long_expect(file, id_, head, len, seed, msg, __n);		\
	for (__g = 0; __g < UMAD_LONG_GUARD; __g++)			\
		ASSERT_EQ(0xa5, (msg)->in[__n + __g]);			\
} while (0)

#endif /* UMAD_LONG_H */
