// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Widths and speeds: what a port can do, what the subnet manager lets it do, and
 * what both ends of a link agree on.
 *
 * PortInfo has three fields for speeds, and three times three values: up to QDR,
 * from FDR to NDR, and XDR. Here a set of speeds is one mask of IB_SPEED_*.
 */

#include <linux/string.h>

#include "madsim.h"

#define MADSIM_SPEEDS_BASIC	(IB_SPEED_SDR | IB_SPEED_DDR | IB_SPEED_QDR)
#define MADSIM_SPEEDS_EXT	(IB_SPEED_FDR | IB_SPEED_EDR | IB_SPEED_HDR | \
				 IB_SPEED_NDR)
#define MADSIM_SPEEDS_EXT2	IB_SPEED_XDR
#define MADSIM_EXT_SHIFT	4	/* from LinkSpeedExt to IB_SPEED_* */
#define MADSIM_EXT2_SHIFT	8	/* likewise, from its second part */

/* Values of LinkSpeedEnabled and the like that are no masks */
#define MADSIM_LEAVE		0
#define MADSIM_ALL_WIDTHS	0xff
#define MADSIM_ALL_BASIC	0xf
#define MADSIM_NO_EXT		30
#define MADSIM_ALL_EXT		31
#define MADSIM_ALL_EXT2		7

/* CapabilityMask and CapabilityMask2 say so of the fastest port */
#define MADSIM_SPEED_CAPS	(IB_PORT_EXTENDED_SPEEDS_SUP | \
				 IB_PORT_CAP_MASK2_SUP)

static const u8 madsim_widths[] = {
	IB_WIDTH_1X, IB_WIDTH_2X, IB_WIDTH_4X, IB_WIDTH_8X, IB_WIDTH_12X,
};

static const char * const madsim_width_names[] = {
	"1X", "2X", "4X", "8X", "12X",
};

/* By the bit of IB_SPEED_* */
static const char * const madsim_speed_names[] = {
	"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR",
};

/**
 * madsim_parse_rate - read the name of a width or of a speed
 * @word: such as "4X" or "QDR", in any case
 * @width: is changed if it is a width
 * @speed: is changed if it is a speed
 *
 * Context: any.
 * Return: 0, or -EINVAL: it is neither.
 */
int madsim_parse_rate(const char *word, u8 *width, u16 *speed)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(madsim_width_names); i++) {
		if (!strcasecmp(word, madsim_width_names[i])) {
			*width = madsim_widths[i];
			return 0;
		}
	}
	for (i = 0; i < ARRAY_SIZE(madsim_speed_names); i++) {
		if (!strcasecmp(word, madsim_speed_names[i])) {
			*speed = BIT(i);
			return 0;
		}
	}
	return -EINVAL;
}

/**
 * madsim_speed_name - how a speed is called
 * @speed: one of IB_SPEED_*
 *
 * Context: any.
 * Return: the name, such as "QDR".
 */
const char *madsim_speed_name(u16 speed)
{
	return madsim_speed_names[fls(speed) - 1];
}

/* FDR10 is no speed of the specification: only those have it that are made so */
static u16 madsim_speeds_up_to(u16 speed)
{
	u16 speeds = speed | (speed - 1);

	return speed == IB_SPEED_FDR10 ? speeds : speeds & ~IB_SPEED_FDR10;
}

/* Two lanes came with HDR, to split a port of four */
static u8 madsim_widths_up_to(u8 width, u16 speed)
{
	u8 mask = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(madsim_widths); i++) {
		if (ib_width_enum_to_int(madsim_widths[i]) >
		    ib_width_enum_to_int(width))
			break;
		if (madsim_widths[i] != IB_WIDTH_2X ||
		    width == IB_WIDTH_2X || speed >= IB_SPEED_HDR)
			mask |= madsim_widths[i];
	}
	return mask;
}

static u16 madsim_speeds_supported(const struct madsim_port *port)
{
	return madsim_speeds_up_to(port->speed);
}

static u16 madsim_speeds_enabled(const struct madsim_port *port)
{
	u8 ext = port->ext.speed_enabled & 0x1f;
	u16 speeds = port->info.linkspeedactive_enabled & MADSIM_SPEEDS_BASIC;

	if (port->speed == IB_SPEED_FDR10)
		speeds |= IB_SPEED_FDR10;
	if (ext != MADSIM_NO_EXT)
		speeds |= ext << MADSIM_EXT_SHIFT;
	speeds |= (port->info.resv & 0x7) << MADSIM_EXT2_SHIFT;
	return speeds & madsim_speeds_supported(port);
}

/* The fastest port of those that share a CapabilityMask */
static u16 madsim_fastest(const struct madsim_port *end)
{
	const struct madsim_node *node = end->node;
	u16 speed = 0;
	unsigned int i;

	if (!node->is_switch)
		return end->speed;
	for (i = 1; i <= node->nports; i++)
		speed = max(speed, node->ports[i].speed);
	return speed;
}

static void madsim_speed_caps(struct madsim_port *end)
{
	u16 speed = madsim_fastest(end), mask2 = 0;
	u32 caps = be32_to_cpu(end->info.cap_mask) & ~MADSIM_SPEED_CAPS;

	if (speed >= IB_SPEED_FDR)
		caps |= IB_PORT_EXTENDED_SPEEDS_SUP;
	if (speed >= IB_SPEED_HDR)
		mask2 |= IB_PORT_LINK_WIDTH_2X_SUP | IB_PORT_LINK_SPEED_HDR_SUP;
	if (speed >= IB_SPEED_NDR)
		mask2 |= IB_PORT_LINK_SPEED_NDR_SUP;
	if (speed >= IB_SPEED_XDR)
		mask2 |= IB_PORT_EXTENDED_SPEEDS2_SUP |
			 IB_PORT_LINK_SPEED_XDR_SUP;
	if (mask2)
		caps |= IB_PORT_CAP_MASK2_SUP;
	end->info.cap_mask = cpu_to_be32(caps);
	end->ext.cap_mask2 = cpu_to_be16(mask2);
}

/**
 * madsim_speed_reset - let a port do all that it can
 * @port: the port; its width and speed say what that is
 *
 * That of an end port tells of it in CapabilityMask. For a switch's port 0 this is all
 * there is to do.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_speed_reset(struct madsim_port *port)
{
	struct ib_port_info *info = &port->info;
	u16 speeds = madsim_speeds_supported(port);
	u8 ext = (speeds & MADSIM_SPEEDS_EXT) >> MADSIM_EXT_SHIFT;
	u8 ext2 = (speeds & MADSIM_SPEEDS_EXT2) >> MADSIM_EXT2_SHIFT;

	lockdep_assert_held(&port->node->fabric->lock);

	if (port->num) {
		info->link_width_supported =
			madsim_widths_up_to(port->width, port->speed);
		info->link_width_enabled = info->link_width_supported;
		madsim_set_high(&info->linkspeed_portstate,
				speeds & MADSIM_SPEEDS_BASIC);
		madsim_set_low(&info->linkspeedactive_enabled,
			       speeds & MADSIM_SPEEDS_BASIC);
		port->ext.speed_active_supported = ext;
		port->ext.speed_enabled = ext;
		info->resv = ext2 << 3 | ext2;
	}
	if (madsim_is_end_port(port))
		madsim_speed_caps(port);
}

/**
 * madsim_speed_valid - whether a port can have what a Set(PortInfo) asks for
 * @port: not a switch's port 0
 * @in: the PortInfo
 * @ext: its last bytes, or NULL if the subnet manager knows no extended speeds
 *
 * Context: any; fabric->lock is held.
 * Return: true if it can.
 */
bool madsim_speed_valid(const struct madsim_port *port,
			const struct ib_port_info *in,
			const struct madsim_port_ext *ext)
{
	const struct ib_port_info *info = &port->info;
	u8 width = in->link_width_enabled;
	u8 basic = in->linkspeedactive_enabled & 0xf;
	u8 fast;

	lockdep_assert_held(&port->node->fabric->lock);

	if (width != MADSIM_ALL_WIDTHS && width & ~info->link_width_supported)
		return false;
	if (basic != MADSIM_ALL_BASIC &&
	    basic & ~(info->linkspeed_portstate >> 4))
		return false;
	if (!ext)
		return true;
	fast = ext->speed_enabled & 0x1f;
	return fast == MADSIM_ALL_EXT || fast == MADSIM_NO_EXT ||
	       !(fast & ~(port->ext.speed_active_supported & 0xf));
}

/**
 * madsim_speed_set - take over what a Set(PortInfo) lets a port do
 * @port: not a switch's port 0
 * @in: the PortInfo, which is valid
 * @ext: its last bytes, or NULL if the subnet manager knows no extended speeds
 *
 * The link keeps its width and speed until it trains again.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_speed_set(struct madsim_port *port, const struct ib_port_info *in,
		      const struct madsim_port_ext *ext)
{
	struct ib_port_info *info = &port->info;
	u8 width = in->link_width_enabled;
	u8 basic = in->linkspeedactive_enabled & 0xf;
	u8 fast, fastest;

	lockdep_assert_held(&port->node->fabric->lock);

	if (width != MADSIM_LEAVE)
		info->link_width_enabled = width & info->link_width_supported;
	if (basic != MADSIM_LEAVE)
		madsim_set_low(&info->linkspeedactive_enabled,
			       basic & (info->linkspeed_portstate >> 4));
	if (!ext)
		return;
	fast = ext->speed_enabled & 0x1f;
	fastest = in->resv & 0x7;
	if (fast == MADSIM_ALL_EXT)
		port->ext.speed_enabled = port->ext.speed_active_supported & 0xf;
	else if (fast != MADSIM_LEAVE)
		port->ext.speed_enabled = fast;
	if (fastest == MADSIM_ALL_EXT2)
		fastest = info->resv >> 3 & 0x3;
	if (fastest != MADSIM_LEAVE)
		info->resv = (info->resv & 0xf8) |
			     (fastest & (info->resv >> 3 & 0x3));
}

/**
 * madsim_speed_agree - what a link comes up with
 * @a: one end
 * @b: the other end
 * @width: is set to the widest that both have enabled, an IB_WIDTH_*
 * @speed: is set to the fastest, an IB_SPEED_*
 *
 * Context: any; fabric->lock is held.
 * Return: false if there is none.
 */
bool madsim_speed_agree(const struct madsim_port *a,
			const struct madsim_port *b, u8 *width, u16 *speed)
{
	u8 widths = a->info.link_width_enabled & b->info.link_width_enabled;
	u16 speeds = madsim_speeds_enabled(a) & madsim_speeds_enabled(b);
	int i;

	lockdep_assert_held(&a->node->fabric->lock);

	*width = 0;
	for (i = 0; i < ARRAY_SIZE(madsim_widths); i++) {
		if (widths & madsim_widths[i])
			*width = madsim_widths[i];
	}
	*speed = speeds ? BIT(fls(speeds) - 1) : 0;
	return *width && *speed;
}

/**
 * madsim_speed_activate - tell with what a link has come up
 * @port: one end
 * @width: an IB_WIDTH_*
 * @speed: an IB_SPEED_*
 *
 * Who knows no extended speeds is told QDR of what is faster.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_speed_activate(struct madsim_port *port, u8 width, u16 speed)
{
	u8 ext = (speed & MADSIM_SPEEDS_EXT) >> MADSIM_EXT_SHIFT;
	u8 ext2 = (speed & MADSIM_SPEEDS_EXT2) >> MADSIM_EXT2_SHIFT;

	lockdep_assert_held(&port->node->fabric->lock);

	port->speed_active = speed;
	port->info.link_width_active = width;
	madsim_set_high(&port->info.linkspeedactive_enabled,
			min_t(u16, speed, IB_SPEED_QDR));
	madsim_set_high(&port->ext.speed_active_supported, ext);
	port->info.resv = (port->info.resv & 0x1f) | ext2 << 5;
}
