// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Widths and speeds: what a port can do, what two ports agree on, and how PortInfo says it.
 *
 * Here a speed is an IB_SPEED_*, and these are in order. PortInfo has them in three places. SDR to
 * QDR were there from the beginning. FDR to NDR are in the LinkSpeedExt components, XDR in those
 * with a 2. FDR10 is in none, but in an attribute of Mellanox's.
 */

#include "model.h"

#define MADSIM_SPEEDS_BASIC	(IB_SPEED_SDR | IB_SPEED_DDR | IB_SPEED_QDR)
#define MADSIM_SPEEDS_EXT	(IB_SPEED_FDR | IB_SPEED_EDR | IB_SPEED_HDR | \
				 IB_SPEED_NDR)
#define MADSIM_SPEEDS_EXT2	IB_SPEED_XDR

/* Where the first one of each is among the speeds */
#define MADSIM_SHIFT_FDR10	3
#define MADSIM_SHIFT_EXT	4
#define MADSIM_SHIFT_EXT2	8

static_assert(BIT(MADSIM_SHIFT_FDR10) == IB_SPEED_FDR10);
static_assert(BIT(MADSIM_SHIFT_EXT) == IB_SPEED_FDR);
static_assert(BIT(MADSIM_SHIFT_EXT2) == IB_SPEED_XDR);

/* The component that says which ones are enabled can say more than that */
#define MADSIM_ENABLE_SUPPORTED		0xf
#define MADSIM_ENABLE_EXT		0x1f
#define MADSIM_ENABLE_EXT_NONE		30
#define MADSIM_ENABLE_EXT_SUPPORTED	31
#define MADSIM_ENABLE_EXT2		0x7

/* Their bits are not in order */
static const u8 madsim_widths[] = {
	IB_WIDTH_1X, IB_WIDTH_2X, IB_WIDTH_4X, IB_WIDTH_8X, IB_WIDTH_12X
};

/* By number of the bit, as users call them */
const char * const madsim_width_names[MADSIM_WIDTHS] = {
	"1x", "4x", "8x", "12x", "2x"
};

const char * const madsim_speed_names[MADSIM_SPEEDS] = {
	"sdr", "ddr", "qdr", "fdr10", "fdr", "edr", "hdr", "ndr", "xdr"
};

/* 2x came with HDR */
static u8 madsim_widths_up_to(u8 width, u16 speed)
{
	u8 widths = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(madsim_widths); i++) {
		if (madsim_widths[i] != IB_WIDTH_2X || width == IB_WIDTH_2X ||
		    speed >= IB_SPEED_HDR)
			widths |= madsim_widths[i];
		if (madsim_widths[i] == width)
			break;
	}
	return widths;
}

/* What the capability masks of an end port promise of its speeds */
static void madsim_promise(struct madsim_port *end)
{
	u32 mask = be32_to_cpu(end->info.cap_mask) &
		   ~(IB_PORT_EXTENDED_SPEEDS_SUP | IB_PORT_CAP_MASK2_SUP);
	u16 mask2 = 0;

	if (end->info.link_width_supported & IB_WIDTH_2X)
		mask2 |= IB_PORT_LINK_WIDTH_2X_SUP;
	if (end->speeds & IB_SPEED_HDR)
		mask2 |= IB_PORT_LINK_SPEED_HDR_SUP;
	if (end->speeds & IB_SPEED_NDR)
		mask2 |= IB_PORT_LINK_SPEED_NDR_SUP;
	if (end->speeds & MADSIM_SPEEDS_EXT2)
		mask2 |= IB_PORT_EXTENDED_SPEEDS2_SUP |
			 IB_PORT_LINK_SPEED_XDR_SUP;
	if (end->speeds & MADSIM_SPEEDS_EXT)
		mask |= IB_PORT_EXTENDED_SPEEDS_SUP;
	if (mask2)
		mask |= IB_PORT_CAP_MASK2_SUP;
	end->info.cap_mask = cpu_to_be32(mask);
	end->cap_mask2 = mask2;
}

/**
 * madsim_speed_limit - say what a port can do at most
 * @port: the port
 * @width: its widest link, an IB_WIDTH_*
 * @speed: its fastest one, an IB_SPEED_*
 *
 * Narrower and slower links are possible, too, and all of them are enabled. Port 0 of a switch
 * can do what any other port of the switch could since power-on: a subnet manager asks port 0
 * what the switch can do.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_speed_limit(struct madsim_port *port, u8 width, u16 speed)
{
	struct madsim_port *end = madsim_end_port(port);
	struct ib_port_info *info = &port->info;

	port->width = width;
	port->speed = speed;
	port->speeds = speed | (speed - 1);
	port->speeds_enabled = port->speeds;
	info->link_width_supported = madsim_widths_up_to(width, speed);
	info->link_width_enabled = info->link_width_supported;

	end->speeds |= port->speeds;
	end->info.link_width_supported |= info->link_width_supported;
	madsim_promise(end);
}

/* Find the best width and speed that both ends have enabled, if any. fabric->lock is held */
bool madsim_speed_agree(const struct madsim_port *a,
			const struct madsim_port *b, u8 *width, u16 *speed)
{
	u8 widths = a->info.link_width_enabled & b->info.link_width_enabled;
	u16 speeds = a->speeds_enabled & b->speeds_enabled;
	int i = ARRAY_SIZE(madsim_widths);

	if (!widths || !speeds)
		return false;

	do {
		*width = madsim_widths[--i];
	} while (!(widths & *width));
	*speed = BIT(fls(speeds) - 1);
	return true;
}

/**
 * madsim_speed_read - fill in what PortInfo says of speeds
 * @port: the port
 * @pi: PortInfo
 * @extended: the requester knows extended speeds
 *
 * For a requester that does not know them, a link with such a speed has QDR.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_speed_read(const struct madsim_port *port, union madsim_port_info *pi, bool extended)
{
	u16 supported = port->speeds, enabled = port->speeds_enabled;
	u16 active = port->speed_active;
	u8 basic = active;

	if (active == IB_SPEED_FDR10 || (active > IB_SPEED_FDR10 && !extended))
		basic = IB_SPEED_QDR;
	else if (active > IB_SPEED_FDR10)
		basic = 0;
	madsim_pi_set(&pi->base, MADSIM_PI_SPEED_SUPPORTED,
		      supported & MADSIM_SPEEDS_BASIC);
	madsim_pi_set(&pi->base, MADSIM_PI_SPEED_ENABLED,
		      enabled & MADSIM_SPEEDS_BASIC);
	madsim_pi_set(&pi->base, MADSIM_PI_SPEED_ACTIVE, basic);

	pi->cap_mask2 = cpu_to_be16(port->cap_mask2);
	pi->speed_ext =
		(active & MADSIM_SPEEDS_EXT) >> MADSIM_SHIFT_EXT << 4 |
		(supported & MADSIM_SPEEDS_EXT) >> MADSIM_SHIFT_EXT;
	pi->speed_ext_enabled =
		(enabled & MADSIM_SPEEDS_EXT) >> MADSIM_SHIFT_EXT;
	if (supported & MADSIM_SPEEDS_EXT && !(enabled & MADSIM_SPEEDS_EXT))
		pi->speed_ext_enabled = MADSIM_ENABLE_EXT_NONE;
	/* A reserved bit, and then 2, 2 and 3 */
	pi->base.resv = active >> MADSIM_SHIFT_EXT2 << 5 |
			supported >> MADSIM_SHIFT_EXT2 << 3 |
			enabled >> MADSIM_SHIFT_EXT2;
}

/* Let @value replace a part of @speeds, but for 0, which is "no change" */
static bool madsim_enable(u16 *speeds, u16 supported, u16 part, u16 value)
{
	if (!value)
		return true;
	if (value & ~(supported & part))
		return false;
	*speeds = (*speeds & ~part) | value;
	return true;
}

/**
 * madsim_speed_wanted - find out which speeds a Set(PortInfo) enables
 * @port: the port
 * @pi: PortInfo as it came
 * @extended: the extended speeds count
 * @speeds: the result
 *
 * Context: any; fabric->lock is held.
 * Return: false if @pi enables what the port does not support.
 */
bool madsim_speed_wanted(const struct madsim_port *port,
			 const union madsim_port_info *pi, bool extended,
			 u16 *speeds)
{
	u16 basic = madsim_pi_get(&pi->base, MADSIM_PI_SPEED_ENABLED);
	u16 ext = pi->speed_ext_enabled & MADSIM_ENABLE_EXT;
	u16 ext2 = pi->base.resv & MADSIM_ENABLE_EXT2;

	*speeds = port->speeds_enabled;
	if (basic == MADSIM_ENABLE_SUPPORTED)
		basic = port->speeds & MADSIM_SPEEDS_BASIC;
	if (!madsim_enable(speeds, port->speeds, MADSIM_SPEEDS_BASIC, basic))
		return false;
	if (!extended)
		return true;

	if (!madsim_enable(speeds, port->speeds, MADSIM_SPEEDS_EXT2,
			   ext2 << MADSIM_SHIFT_EXT2))
		return false;
	if (ext == MADSIM_ENABLE_EXT_NONE) {
		*speeds &= ~(MADSIM_SPEEDS_EXT | MADSIM_SPEEDS_EXT2);
		return true;
	}
	ext <<= MADSIM_SHIFT_EXT;
	if (ext == MADSIM_ENABLE_EXT_SUPPORTED << MADSIM_SHIFT_EXT)
		ext = port->speeds & MADSIM_SPEEDS_EXT;
	return madsim_enable(speeds, port->speeds, MADSIM_SPEEDS_EXT, ext);
}

/**
 * madsim_speed_fdr10 - answer a request for Mellanox's ExtendedPortInfo
 * @port: the port that is meant
 * @epi: the attribute; becomes the response
 * @set: it is a Set
 *
 * Context: any; fabric->lock is held.
 * Return: false if it enables FDR10, and the port does not support it.
 */
bool madsim_speed_fdr10(struct madsim_port *port, struct madsim_ext_port_info *epi, bool set)
{
	bool change = set && epi->state_change_enable & 1;
	bool enable = epi->speed_enabled & 1;

	if (change && enable && !(port->speeds & IB_SPEED_FDR10))
		return false;
	if (change)
		port->speeds_enabled = (port->speeds_enabled & ~IB_SPEED_FDR10) |
				       enable << MADSIM_SHIFT_FDR10;

	memset(epi, 0, sizeof(*epi));
	epi->speed_supported = !!(port->speeds & IB_SPEED_FDR10);
	epi->speed_enabled = !!(port->speeds_enabled & IB_SPEED_FDR10);
	epi->speed_active = port->speed_active == IB_SPEED_FDR10;
	return true;
}
