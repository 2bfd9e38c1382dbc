// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vendor's agent: registers that NVIDIA's switches and adapters have, for temperatures,
 * fans, cables and more.
 *
 * Users write the bytes of a register. What they mean is known to the programs that read
 * them, and to madsim-load. An ID is the number of a register, the number of an attribute of the
 * class, or, above 0xffff, an address in the configuration space, where the bytes begin.
 */

#include <linux/hex.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "agents.h"

#define MADSIM_VENDOR_VERSION	1

/* Where a MAD of the class has its attribute: behind a key, which is not checked */
#define MADSIM_VENDOR_DATA	32
#define MADSIM_VENDOR_ROOM	(IB_MGMT_MAD_SIZE - MADSIM_VENDOR_DATA)

/* Attributes of the class. AccessRegister has the number that it has in SMPs */
#define MADSIM_ATTR_GMP_CONFIG_SPACE	0x50
#define MADSIM_ATTR_GMP_REGISTER	0x51

/* Status of the latter for an unknown register */
#define MADSIM_NO_REGISTER	0x14

/* A part of a register in one of its responses, behind the number of the part */
#define MADSIM_GMP_BLOCK	220

/*
 * AccessRegister: two headers with types and lengths in words, and the register. The first one has
 * the status in byte 2, the ID in bytes 4 and 5, the method and the bit of a response in byte 6.
 */
#define MADSIM_TLV_OPERATION	0x0804
#define MADSIM_TLV_REGISTER	0x1800
#define MADSIM_TLV_LENGTH	0x7ff
#define MADSIM_TLV_SIZE		20
#define MADSIM_TLV_QUERY	1
#define MADSIM_TLV_RESPONSE	BIT(7)

/* Its status */
#define MADSIM_TLV_OK		0
#define MADSIM_TLV_UNKNOWN	3
#define MADSIM_TLV_NO_REGISTER	4
#define MADSIM_TLV_NO_METHOD	6
#define MADSIM_TLV_BAD		7

/**
 * struct madsim_register - what a user has written for requests of one kind
 * @list:	on node->registers, the latest first
 * @id:		of which register
 * @key:	hexadecimal digits with which the data of such a request begins, "." for any
 * @len:	bytes of the value
 * @value:	what the response has, with @key behind it
 */
struct madsim_register {
	struct list_head list;
	u32 id;
	char *key;
	size_t len;
	u8 value[];
};

static bool madsim_register_fits(const struct madsim_register *reg, const u8 *data, size_t len)
{
	size_t i;
	u8 digit;

	for (i = 0; reg->key[i]; i++) {
		if (reg->key[i] == '.')
			continue;
		if (i / 2 >= len)
			return false;
		digit = i % 2 ? data[i / 2] & 0xf : data[i / 2] >> 4;
		if (digit != hex_to_bin(reg->key[i]))
			return false;
	}
	return true;
}

/* Answer with a register from @begin on. Returns 0, or the status of AccessRegister */
static u8 madsim_register_read(const struct madsim_node *node, u32 id,
			       size_t begin, u8 *data, size_t len)
{
	u8 status = MADSIM_TLV_NO_REGISTER;
	struct madsim_register *reg;

	list_for_each_entry(reg, &node->registers, list) {
		if (reg->id != id)
			continue;
		/* The one of another key, such as a sensor that there is not */
		status = MADSIM_TLV_BAD;
		if (!madsim_register_fits(reg, data, len))
			continue;
		memset(data, 0, len);
		if (begin < reg->len)
			memcpy(data, reg->value + begin,
			       min(len, reg->len - begin));
		return MADSIM_TLV_OK;
	}
	return status;
}

/**
 * madsim_register_set - give a node a register, or another value
 * @node: the node
 * @id: the ID, see the head of this file
 * @key: requests whose data begins with these hexadecimal digits get this value. "." is for any
 *	digit. Of several keys that fit, the one counts that was written last
 * @value: hexadecimal digits of the bytes, or NULL: there is no such register any more
 *
 * Context: process context.
 * Return: 0, -ENOMEM, or -EINVAL if @key or @value has anything else.
 */
int madsim_register_set(struct madsim_node *node, u32 id, const char *key, const char *value)
{
	struct madsim_register *reg = NULL, *old, *next;
	size_t len, size = strlen(key) + 1;

	if (strspn(key, "0123456789abcdefABCDEF.") + 1 != size)
		return -EINVAL;
	if (value) {
		len = strlen(value) / 2;
		reg = kzalloc_flex(*reg, value, len + size);
		if (!reg)
			return -ENOMEM;
		if (value[2 * len] || hex2bin(reg->value, value, len)) {
			kfree(reg);
			return -EINVAL;
		}
		reg->id = id;
		reg->len = len;
		reg->key = memcpy(reg->value + len, key, size);
	}

	spin_lock_irq(&node->fabric->lock);
	list_for_each_entry_safe(old, next, &node->registers, list) {
		if (old->id == id && !strcasecmp(old->key, key)) {
			list_del(&old->list);
			kfree(old);
		}
	}
	if (reg)
		list_add(&reg->list, &node->registers);
	spin_unlock_irq(&node->fabric->lock);
	return 0;
}

/* Free the registers of a node that no MAD reaches any more */
void madsim_registers_free(struct madsim_node *node)
{
	struct madsim_register *reg, *next;

	list_for_each_entry_safe(reg, next, &node->registers, list)
		kfree(reg);
}

/* Answer a Set(AccessRegister) in the @room bytes of @tlv. Returns the status of the MAD */
u16 madsim_access_register(const struct madsim_node *node, u8 *tlv, size_t room)
{
	u16 head = get_unaligned_be16(tlv + 16);
	size_t words = head & MADSIM_TLV_LENGTH;
	u8 status;

	if (list_empty(&node->registers))
		return MADSIM_UNSUPPORTED;
	if (get_unaligned_be16(tlv) != MADSIM_TLV_OPERATION ||
	    (head & ~MADSIM_TLV_LENGTH) != MADSIM_TLV_REGISTER)
		status = MADSIM_TLV_UNKNOWN;
	else if ((tlv[6] & ~MADSIM_TLV_RESPONSE) != MADSIM_TLV_QUERY)
		status = MADSIM_TLV_NO_METHOD;
	else if (words < 2 || MADSIM_TLV_SIZE + 4 * (words - 1) > room)
		status = MADSIM_TLV_BAD;
	else
		status = madsim_register_read(node, get_unaligned_be16(tlv + 4),
					      0, tlv + MADSIM_TLV_SIZE,
					      4 * (words - 1));
	tlv[2] = status;
	tlv[6] |= MADSIM_TLV_RESPONSE;
	return MADSIM_OK;
}

/* Answer ConfigSpaceAccess: @mod has an address, a mode, and a length. Nothing is written */
u16 madsim_config_space(const struct madsim_node *node, u32 mod, u8 *data, size_t room)
{
	u32 address = mod >> 24 << 16 | (mod & U16_MAX);
	u32 mode = mod >> 22 & 3, len = 4 * (mod >> 16 & 0x3f);
	struct madsim_register *reg;

	if (list_empty(&node->registers))
		return MADSIM_UNSUPPORTED;
	if (mode || !len || len > room)
		return MADSIM_INVALID;
	list_for_each_entry(reg, &node->registers, list) {
		if (reg->id > U16_MAX && address >= reg->id &&
		    address - reg->id + len <= reg->len) {
			memcpy(data, reg->value + address - reg->id, len);
			return MADSIM_OK;
		}
	}
	return MADSIM_INVALID;
}

/* AccessRegister for registers of any size, a part at a time */
static u16 madsim_gmp_register(const struct madsim_node *node, u16 id, u8 *data)
{
	u32 begin = get_unaligned_be16(data) * MADSIM_GMP_BLOCK;

	switch (madsim_register_read(node, id, begin, data + 4,
				     MADSIM_GMP_BLOCK)) {
	case MADSIM_TLV_OK:
		return MADSIM_OK;
	case MADSIM_TLV_NO_REGISTER:
		return MADSIM_NO_REGISTER;
	default:
		return MADSIM_INVALID;
	}
}

u16 madsim_vendor(const struct madsim_node *node, struct ib_mad_hdr *hdr)
{
	u8 *data = (u8 *)hdr + MADSIM_VENDOR_DATA;
	u32 mod = be32_to_cpu(hdr->attr_mod);
	u16 id = be16_to_cpu(hdr->attr_id);

	if (hdr->class_version != MADSIM_VENDOR_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (id == MADSIM_ATTR_GMP_CONFIG_SPACE)
		return madsim_config_space(node, mod, data, MADSIM_VENDOR_ROOM);
	if (hdr->method == IB_MGMT_METHOD_SET)
		return hdr->attr_id == MADSIM_ATTR_ACCESS_REGISTER ?
			madsim_access_register(node, data, MADSIM_VENDOR_ROOM) :
			MADSIM_UNSUPPORTED;
	if (id == MADSIM_ATTR_GMP_REGISTER)
		return madsim_gmp_register(node, mod, data);
	return madsim_register_read(node, id, 0, data, MADSIM_VENDOR_ROOM) ?
		MADSIM_UNSUPPORTED : MADSIM_OK;
}
