/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Vectors, as readv() and writev() take them, and io_uring: one MAD an element,
 * each in memory that shows what was written to it and what was not.
 */
#ifndef UMAD_VECTOR_H
#define UMAD_VECTOR_H

#include "utils.h"

#define UMAD_VECTOR	64	/* elements */
#define UMAD_UNTOUCHED	0xa5

struct umad_vector {
	size_t hlen;
	struct iovec iov[UMAD_VECTOR];
	/* A MAD, and room for more */
	__u8 buf[UMAD_VECTOR][2 * (UMAD_HDR_NEW + MAD_SIZE)];
};

static inline size_t umad_mad_len(const struct umad_file *file)
{
	return file->hlen + MAD_SIZE;
}

/* Room for a MAD in each element, and no more than that */
static inline void umad_vector_rooms(struct umad_vector *v, const struct umad_file *file)
{
	int i;

	v->hlen = file->hlen;
	memset(v->buf, UMAD_UNTOUCHED, sizeof(v->buf));
	for (i = 0; i < UMAD_VECTOR; i++)
		v->iov[i] = (struct iovec){ v->buf[i], umad_mad_len(file) };
}

/* Element @i gets @msg */
static inline void umad_vector_put(struct umad_vector *v, int i, const struct umad_file *file,
				   const struct umad_msg *msg)
{
	v->hlen = file->hlen;
	v->iov[i] = (struct iovec){ v->buf[i], umad_pack(file, msg, MAD_SIZE, v->buf[i]) };
}

static inline struct mad umad_vector_mad(const struct umad_vector *v, int i)
{
	struct mad mad;

	memcpy(&mad, v->buf[i] + v->hlen, sizeof(mad));
	return mad;
}

static inline struct ib_user_mad_hdr umad_vector_hdr(const struct umad_vector *v, int i)
{
	struct ib_user_mad_hdr hdr = {};

	memcpy(&hdr, v->buf[i], v->hlen);
	return hdr;
}

/* Whether element @i is as it was, from byte @from on */
static inline bool umad_vector_untouched(const struct umad_vector *v, int i, size_t from)
{
	size_t at;

	for (at = from; at < sizeof(v->buf[i]); at++)
		if (v->buf[i][at] != UMAD_UNTOUCHED)
			return false;
	return true;
}

/* Element @i has a received MAD with the low half of this transaction ID, and no more */
#define umad_vector_expect(v, i, want) do {				\
	struct mad __mad = umad_vector_mad(v, i);			\
									\
	EXPECT_EQ(0, umad_vector_hdr(v, i).status);			\
	EXPECT_EQ((v)->hlen + MAD_SIZE, umad_vector_hdr(v, i).length);	\
	EXPECT_EQ((__u32)(want), (__u32)be64toh(__mad.tid))		\
		TH_LOG("element %d", i);				\
	EXPECT_TRUE(umad_vector_untouched(v, i, (v)->hlen + MAD_SIZE))	\
		TH_LOG("element %d", i);				\
} while (0)

/* MADs of a pair's client, with transaction IDs from @first on */
#define umad_send_mads(self, first, count) do {				\
	struct umad_msg __msg;						\
	__u32 __i;							\
									\
	for (__i = 0; __i < (count); __i++) {				\
		__msg = umad_msg(&(self)->port, (self)->cid, MAD_SEND,	\
				 (first) + __i);			\
		umad_write(&(self)->client, &__msg);			\
	}								\
} while (0)

/* ... which are there when this returns */
#define umad_queue_mads(self, first, count) do {			\
	umad_send_mads(self, first, count);				\
	ASSERT_TRUE(umad_unread_reaches(&(self)->server, count));	\
} while (0)

/* Nothing but the MADs from @first to before @end is left to be read */
#define umad_expect_left(self, first, end) do {				\
	struct umad_msg __got;						\
	__u32 __i;							\
									\
	for (__i = (first); __i < (end); __i++) {			\
		umad_read(&(self)->server, &__got);			\
		EXPECT_EQ(__i, (__u32)be64toh(__got.mad.tid));		\
	}								\
	umad_expect_empty(&(self)->server);				\
} while (0)

/* The reference does not tell */
static inline bool umad_unread_reaches(const struct umad_file *file, long count)
{
	if (!umad_reference())
		return umad_fdinfo_reaches(file, "umad-unread", count, UMAD_SOON_MS);
	umad_sleep_ms(2 * UMAD_QUIET_MS + count * UMAD_QUIET_MS / 2);
	return umad_readable(file, UMAD_SOON_MS);
}

#endif /* UMAD_VECTOR_H */
