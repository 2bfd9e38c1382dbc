// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Vital product data, as an adapter on PCI has it in sysfs. Programs look there for what
 * an RDMA device is for.
 *
 * Users write NAME;KK=VALUE;KK=VALUE... A part and the resource that is made of the part have
 * the same number of bytes. All parts are in one line, as shells write line by line.
 */

#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "device.h"

/* Tags of resources */
#define MADSIM_VPD_NAME		0x82
#define MADSIM_VPD_FIELDS	0x90
#define MADSIM_VPD_END		0x78

static u8 *madsim_vpd_resource(u8 *at, u8 tag, size_t len)
{
	*at++ = tag;
	put_unaligned_le16(len, at);
	return at + sizeof(__le16);
}

/* The checksum is made here */
static bool madsim_vpd_is_field(const char *part, size_t len)
{
	return len >= 3 && isalnum(part[0]) && isalnum(part[1]) &&
	       part[2] == '=' && len - 3 <= U8_MAX && strncmp(part, "RV", 2);
}

/**
 * madsim_vpd_make - make vital product data of what a user has written
 * @text: zero-terminated
 *
 * Context: process context.
 * Return: it, to be freed by kfree(), NULL if @text is empty, or an ERR_PTR():
 *  * -EFBIG: @text is too long
 *  * -EINVAL: a part is no field, or it has more than a line
 *  * -ENOMEM
 */
struct madsim_vpd *madsim_vpd_make(const char *text)
{
	size_t len = strcspn(text, "\n");
	struct madsim_vpd *vpd;
	u8 *at, *fields, *byte;
	const char *part;

	if (sysfs_streq(text, ""))
		return NULL;
	if (len >= sizeof(vpd->text))
		return ERR_PTR(-EFBIG);
	if (text[len] && text[len + 1])
		return ERR_PTR(-EINVAL);
	vpd = kzalloc_obj(*vpd);
	if (!vpd)
		return ERR_PTR(-ENOMEM);
	memcpy(vpd->text, text, len);

	part = vpd->text;
	len = strcspn(part, ";");
	at = madsim_vpd_resource(vpd->data, MADSIM_VPD_NAME, len);
	memcpy(at, part, len);
	fields = at + len;
	at = madsim_vpd_resource(fields, MADSIM_VPD_FIELDS, 0);
	while (part[len]) {
		part += len + 1;
		len = strcspn(part, ";");
		if (!madsim_vpd_is_field(part, len)) {
			kfree(vpd);
			return ERR_PTR(-EINVAL);
		}
		memcpy(at, part, len);
		at[2] = len - 3;
		at += len;
	}
	memcpy(at, "RV\1", 4);
	madsim_vpd_resource(fields, MADSIM_VPD_FIELDS, at + 1 - fields);
	at += 3;
	for (byte = vpd->data; byte < at; byte++)
		*at -= *byte;
	*++at = MADSIM_VPD_END;
	at++;
	vpd->len = at - vpd->data;
	return vpd;
}

static ssize_t madsim_vpd_read(struct file *file, struct kobject *kobj,
			       const struct bin_attribute *attr, char *buf,
			       loff_t pos, size_t count)
{
	struct madsim_vpd *vpd = dev_get_drvdata(kobj_to_dev(kobj));

	return memory_read_from_buffer(buf, count, &pos, vpd->data, vpd->len);
}

static const BIN_ATTR(vpd, 0400, madsim_vpd_read, NULL, 0);

/* Let a device have a file of vital product data, which stay as long as the device */
int madsim_vpd_show(struct device *dev, struct madsim_vpd *vpd)
{
	if (!vpd)
		return 0;
	dev_set_drvdata(dev, vpd);
	return device_create_bin_file(dev, &bin_attr_vpd);
}
