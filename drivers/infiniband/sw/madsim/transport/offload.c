// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What IPoIB leaves to an adapter: the checksums of what it sends, and to cut what TCP sends
 * into segments. Its datagrams begin with an Ethertype and two reserved bytes.
 */

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/sizes.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>

#include "transport.h"

#define MADSIM_IPOIB_HEADER	4

/* More is too much for one turn under fabric->lock */
#define MADSIM_LSO_BYTES	SZ_64K

/* The header of IPv4 in a datagram of IPoIB. NULL if it is of a fragment, or is none */
static struct iphdr *madsim_ip(void *data, u32 len)
{
	struct iphdr *ip = data + MADSIM_IPOIB_HEADER;

	if (len < MADSIM_IPOIB_HEADER + sizeof(*ip) ||
	    *(__be16 *)data != htons(ETH_P_IP) || ip->version != 4 ||
	    ip->ihl * 4 < sizeof(*ip) || ip_is_fragment(ip))
		return NULL;
	return ip;
}

/* Set the checksums of IPv4 and of TCP or UDP. Returns whether the datagram has such checksums */
bool madsim_offload_checksum(void *data, u32 len)
{
	struct iphdr *ip = madsim_ip(data, len);
	u32 headers, rest;
	__sum16 *check;
	void *payload;

	if (!ip)
		return false;
	headers = ip->ihl * 4;
	payload = (void *)ip + headers;
	rest = ntohs(ip->tot_len) - headers;
	if (ntohs(ip->tot_len) < headers ||
	    ntohs(ip->tot_len) > len - MADSIM_IPOIB_HEADER)
		return false;
	if (ip->protocol == IPPROTO_TCP && rest >= sizeof(struct tcphdr))
		check = &((struct tcphdr *)payload)->check;
	else if (ip->protocol == IPPROTO_UDP && rest >= sizeof(struct udphdr))
		check = &((struct udphdr *)payload)->check;
	else
		return false;

	*check = 0;
	/* 0 would say that there is none */
	*check = csum_tcpudp_magic(ip->saddr, ip->daddr, rest, ip->protocol,
				   csum_partial(payload, rest, 0)) ?: CSUM_MANGLED_0;
	ip->check = 0;
	ip->check = ip_fast_csum(ip, ip->ihl);
	return true;
}

/*
 * Whether the data of a send can be cut into segments, as it has the header of the first segment:
 * of TCP over IPv4, and no more. That a segment is longer than the MTU is an error of its
 * completion, as it is of other datagrams
 */
bool madsim_offload_fits(const struct madsim_send *send)
{
	const struct ib_ud_wr *ud = ud_wr(send->wr);
	const struct tcphdr *tcp;
	const struct iphdr *ip;
	u32 at;

	if (ud->mss <= 0 || ud->hlen <= 0 || !send->length || send->length > MADSIM_LSO_BYTES)
		return false;
	ip = madsim_ip(ud->header, ud->hlen);
	if (!ip || ip->protocol != IPPROTO_TCP)
		return false;
	at = MADSIM_IPOIB_HEADER + ip->ihl * 4;
	tcp = ud->header + at;
	return ud->hlen >= at + sizeof(*tcp) && tcp->doff * 4 >= sizeof(*tcp) &&
	       ud->hlen == at + tcp->doff * 4;
}

/* Make the header of a segment of @len bytes, without checksums, @at bytes into the data */
void madsim_offload_header(const struct madsim_send *send, u32 at, void *data, u32 len)
{
	const struct ib_ud_wr *ud = ud_wr(send->wr);
	struct iphdr *ip = data + MADSIM_IPOIB_HEADER;
	u64 end = at + len - ud->hlen;
	struct tcphdr *tcp;

	memcpy(data, ud->header, ud->hlen);
	ip->tot_len = htons(len - MADSIM_IPOIB_HEADER);
	ip->id = htons(ntohs(ip->id) + at / ud->mss);
	tcp = (void *)ip + ip->ihl * 4;
	tcp->seq = htonl(ntohl(tcp->seq) + at);
	if (end < send->length) {
		tcp->fin = 0;
		tcp->psh = 0;
	}
}
