// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A conversation over /dev/infiniband/umadN, told as it happens.
 *
 * A clerk keeps notes for whoever asks by MADs of a vendor class; an asker
 * leaves one, reads it back, writes to somebody who is not there and asks the
 * kernel for too much. Both are in this process, each on a descriptor of its
 * own, and know of each other what the wire says. Every line is printed from
 * what a call returned, after it was compared with what it must be.
 *
 *	umad_demo DEVICE PORT
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/umad.h>
#include <infiniband/umad_types.h>

#include "flags.h"

#define NOTE_CLASS	0x3a	/* vendor range 2: an OUI tells vendors apart */
#define NOTE_VERSION	1
#define NOTE_OUI	0x02554d	/* locally administered */
#define NOTES		4
#define LONELY_CLASS	0x0a	/* vendor range 1: nobody serves it here */

#define SOON_MS		2000	/* what must come comes much sooner */
#define PATIENCE_MS	150
#define RETRIES		2
#define UNKNOWN_FLAG	0x100u

#define MAD_LEN		((int)sizeof(struct umad_vendor_packet))
#define WELL_KNOWN_QP	1

struct party {
	const char *name;
	int fd;		/* of libibumad, one per descriptor */
	int agent;	/* for NOTE_CLASS */
	int lonely;	/* agent for LONELY_CLASS */
	void *umad;	/* header and MAD, to send or received */
};

static struct party clerk = { .name = "clerk" };
static struct party asker = { .name = "asker" };
static char notes[NOTES][UMAD_LEN_VENDOR_DATA];

/* What must hold for the account to be true */
#define must(condition, format, ...)					\
	do {								\
		if (!(condition)) {					\
			fflush(stdout);					\
			fprintf(stderr, "umad_demo: FAILED: " format " (%s)\n", \
				##__VA_ARGS__, #condition);		\
			exit(1);					\
		}							\
	} while (0)

static struct umad_vendor_packet *mad_of(struct party *party)
{
	return umad_get_mad(party->umad);
}

static uint64_t tid_of(struct party *party)
{
	return be64toh(mad_of(party)->mad_hdr.tid);
}

static const char *gid_str(const void *gid)
{
	static char text[2][INET6_ADDRSTRLEN];
	static int turn;

	turn ^= 1;
	return inet_ntop(AF_INET6, gid, text[turn], sizeof(text[turn]));
}

static const char *method_str(uint8_t method)
{
	switch (method) {
	case UMAD_METHOD_GET:
		return "Get";
	case UMAD_METHOD_SET:
		return "Set";
	case UMAD_METHOD_GET_RESP:
		return "GetResp";
	default:
		return "?";
	}
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* One line of the account: what the MAD in a party's buffer says */
static void tell(struct party *party, const char *verb, const char *preposition)
{
	struct umad_vendor_packet *mad = mad_of(party);
	ib_mad_addr_t *addr = umad_get_mad_addr(party->umad);

	printf("   %s %-5s %-7s attribute %u, status 0x%04x, TID %08x:%08x, %s %s\n",
	       party->name, verb, method_str(mad->mad_hdr.method),
	       be16toh(mad->mad_hdr.attr_id), be16toh(mad->mad_hdr.status),
	       (uint32_t)(tid_of(party) >> 32), (uint32_t)tid_of(party),
	       preposition, gid_str(addr->gid));
}

static void tell_header(struct party *party)
{
	ib_user_mad_t *umad = party->umad;
	ib_mad_addr_t *addr = umad_get_mad_addr(umad);

	printf("   the header that came back:\n");
	printf("      agent %u, status %u, length %u, QP %u, LID %u, SL %u, P_Key index %u,\n",
	       umad->agent_id, umad->status, umad->length,
	       be32toh(addr->qpn), be16toh(addr->lid), addr->sl,
	       addr->pkey_index);
	printf("      GRH %s, GID index %u, hop limit %u, traffic class %u, flow label %u\n",
	       addr->grh_present ? "present" : "absent", addr->gid_index,
	       addr->hop_limit, addr->traffic_class, be32toh(addr->flow_label));
}

/* Have the party's buffer hold a request without contents */
static void fill_request(struct party *party, const union umad_gid *to,
			 uint8_t mgmt_class, uint8_t method, uint16_t attribute)
{
	static uint32_t tid;
	struct umad_vendor_packet *mad = mad_of(party);
	ib_mad_addr_t grh = { .hop_limit = 64 };

	/* From here on: nobody can have guessed them. */
	if (!tid)
		tid = (uint32_t)time(NULL) << 8;

	memset(party->umad, 0, umad_size() + MAD_LEN);
	umad_set_addr_net(party->umad, 0, htobe32(WELL_KNOWN_QP), 0,
			  htobe32(UMAD_QKEY));
	grh.ib_gid = *to;
	/* umad_set_grh_net() is declared by libibumad, but not in it. */
	umad_set_grh(party->umad, &grh);
	umad_set_pkey(party->umad, 0);

	mad->mad_hdr.base_version = UMAD_BASE_VERSION;
	mad->mad_hdr.mgmt_class = mgmt_class;
	mad->mad_hdr.class_version = NOTE_VERSION;
	mad->mad_hdr.method = method;
	mad->mad_hdr.tid = htobe64(++tid);
	mad->mad_hdr.attr_id = htobe16(attribute);
	if (mgmt_class == NOTE_CLASS) {
		mad->oui[0] = NOTE_OUI >> 16;
		mad->oui[1] = (NOTE_OUI >> 8) & 0xff;
		mad->oui[2] = NOTE_OUI & 0xff;
	}
}

static void send_mad(struct party *party, int agent, int timeout_ms, int retries)
{
	tell(party, "sends", "to");
	must(!umad_send(party->fd, agent, party->umad, MAD_LEN, timeout_ms,
			retries),
	     "%s: umad_send: %s", party->name, strerror(errno));
}

/* The next packet of a party, which must be a MAD for this agent of it */
static void receive_mad(struct party *party, int agent)
{
	int length = MAD_LEN;
	int got;

	must(!umad_poll(party->fd, SOON_MS), "nothing came for the %s",
	     party->name);
	memset(party->umad, 0xee, umad_size() + MAD_LEN);
	got = umad_recv(party->fd, party->umad, &length, 0);
	must(got == agent, "umad_recv of the %s: %d", party->name, got);
	must(length == MAD_LEN, "the %s got %d bytes", party->name, length);
	must(umad_status(party->umad) == 0, "the %s got status %d",
	     party->name, umad_status(party->umad));
	tell(party, "gets", "from");
}

/* The clerk serves one request, which is how it looks at any that comes */
static void serve(const union umad_gid *asked_from)
{
	struct umad_vendor_packet *mad = mad_of(&clerk);
	unsigned int note;

	receive_mad(&clerk, clerk.agent);
	must(!memcmp(umad_get_mad_addr(clerk.umad)->gid, asked_from, 16),
	     "the request comes from another GID than the asker's");

	note = be16toh(mad->mad_hdr.attr_id) - 1;
	if (note >= NOTES)
		mad->mad_hdr.status = htobe16(UMAD_STATUS_ATTR_NOT_SUPPORTED);
	else if (mad->mad_hdr.method == UMAD_METHOD_SET)
		memcpy(notes[note], mad->data, sizeof(notes[note]));
	else
		memcpy(mad->data, notes[note], sizeof(notes[note]));

	/* The address that a request came with leads back to its sender. */
	mad->mad_hdr.method = UMAD_METHOD_GET_RESP;
	send_mad(&clerk, clerk.agent, 0, 0);
}

/* The asker gets the answer to a request with this TID and attribute */
static void get_answer(int agent, const struct umad_vendor_packet *request,
		       const union umad_gid *asked, uint16_t status)
{
	struct umad_vendor_packet *mad = mad_of(&asker);
	ib_mad_addr_t *addr = umad_get_mad_addr(asker.umad);
	ib_user_mad_t *umad = asker.umad;

	receive_mad(&asker, agent);
	must(mad->mad_hdr.method == UMAD_METHOD_GET_RESP &&
	     mad->mad_hdr.mgmt_class == request->mad_hdr.mgmt_class &&
	     mad->mad_hdr.attr_id == request->mad_hdr.attr_id,
	     "the answer is one to another question");
	must((uint32_t)tid_of(&asker) ==
	     (uint32_t)be64toh(request->mad_hdr.tid),
	     "the answer has the TID of another request");
	must(be16toh(mad->mad_hdr.status) == status,
	     "the answer has status 0x%04x", be16toh(mad->mad_hdr.status));
	must(addr->grh_present && !memcmp(addr->gid, asked, 16),
	     "the answer comes from %s", gid_str(addr->gid));
	must(be32toh(addr->qpn) == WELL_KNOWN_QP &&
	     umad->length == umad_size() + MAD_LEN,
	     "the answer has a wrong header");
}

static void introduce(const umad_port_t *port, const union umad_gid *gid)
{
	const uint8_t oui[3] = { NOTE_OUI >> 16, (NOTE_OUI >> 8) & 0xff,
				 NOTE_OUI & 0xff };
	struct umad_reg_attr ask = {
		.mgmt_class = NOTE_CLASS,
		.mgmt_class_version = NOTE_VERSION,
		.oui = NOTE_OUI,
	};
	long serves[16 / sizeof(long)] = {
		1 << UMAD_METHOD_GET | 1 << UMAD_METHOD_SET,
	};
	long none[16 / sizeof(long)] = { 0 };
	uint32_t agent;
	int rc;

	printf("%s port %d: %s, GID %s\n", port->ca_name, port->portnum,
	       port->link_layer, gid_str(gid));
	printf("\nTwo parties open the port, each on a descriptor of its own, and register\n");

	clerk.fd = umad_open_port(port->ca_name, port->portnum);
	must(clerk.fd >= 0, "umad_open_port: %s; is ib_umad loaded?", strerror(-clerk.fd));
	asker.fd = umad_open_port(port->ca_name, port->portnum);
	must(asker.fd >= 0, "umad_open_port: %s", strerror(-asker.fd));

	/* umad_size() is known only now: the kernel decided on the header. */
	clerk.umad = umad_alloc(1, umad_size() + MAD_LEN);
	asker.umad = umad_alloc(1, umad_size() + MAD_LEN);
	must(clerk.umad && asker.umad, "out of memory");

	clerk.agent = umad_register_oui(clerk.fd, NOTE_CLASS, 0, (uint8_t *)oui,
					serves);
	must(clerk.agent >= 0, "umad_register_oui: %s", strerror(errno));
	printf("   clerk umad_register_oui: agent %d, serves class 0x%02x, OUI %06x\n",
	       clerk.agent, NOTE_CLASS, NOTE_OUI);

	rc = umad_register2(asker.fd, &ask, &agent);
	must(!rc, "umad_register2: %s", strerror(rc));
	asker.agent = agent;
	printf("   asker umad_register2:    agent %d, asks the same class and OUI\n",
	       asker.agent);

	asker.lonely = umad_register(asker.fd, LONELY_CLASS, NOTE_VERSION, 0,
				     none);
	must(asker.lonely >= 0, "umad_register: %s", strerror(errno));
	must(asker.lonely != asker.agent, "two agents with one id");
	printf("   asker umad_register:     agent %d, asks class 0x%02x, which nobody serves\n",
	       asker.lonely, LONELY_CLASS);
}

static void leave_a_note(const union umad_gid *gid)
{
	struct umad_vendor_packet request;
	char text[UMAD_LEN_VENDOR_DATA] = "";
	time_t now = time(NULL);

	strftime(text, sizeof(text), "Remember that it is %T UTC", gmtime(&now));

	printf("\n1. The asker leaves a note with the clerk: \"%s\"\n", text);
	fill_request(&asker, gid, NOTE_CLASS, UMAD_METHOD_SET, 1);
	memcpy(mad_of(&asker)->data, text, sizeof(text));
	request = *mad_of(&asker);
	send_mad(&asker, asker.agent, SOON_MS, 0);
	serve(gid);
	get_answer(asker.agent, &request, gid, UMAD_STATUS_SUCCESS);
	printf("   The asker chose the lower half of the TID. The upper half is the kernel's:\n");
	printf("   by it the kernel finds the agent that an answer is for.\n");

	printf("\n2. and asks for it\n");
	fill_request(&asker, gid, NOTE_CLASS, UMAD_METHOD_GET, 1);
	request = *mad_of(&asker);
	send_mad(&asker, asker.agent, SOON_MS, 0);
	serve(gid);
	get_answer(asker.agent, &request, gid, UMAD_STATUS_SUCCESS);
	must(!memcmp(mad_of(&asker)->data, text, sizeof(text)),
	     "the note came back changed");
	tell_header(&asker);
	printf("   the note that came back: \"%.*s\"\n", UMAD_LEN_VENDOR_DATA,
	       (char *)mad_of(&asker)->data);

	printf("\n3. and for one that the clerk has no place for\n");
	fill_request(&asker, gid, NOTE_CLASS, UMAD_METHOD_GET, NOTES + 1);
	request = *mad_of(&asker);
	send_mad(&asker, asker.agent, SOON_MS, 0);
	serve(gid);
	get_answer(asker.agent, &request, gid, UMAD_STATUS_ATTR_NOT_SUPPORTED);
	printf("   status 0x%04x: \"attribute not supported\", says the clerk\n",
	       UMAD_STATUS_ATTR_NOT_SUPPORTED);
}

static void time_out(const union umad_gid *gid)
{
	union umad_gid nobody = *gid;
	struct umad_vendor_packet request;
	int length = MAD_LEN;
	double start, took;
	int got;

	nobody.global.interface_id ^= htobe64(0xdead);
	printf("\n4. The asker writes to %s, where nobody is: %d ms patience, %d retries\n",
	       gid_str(&nobody), PATIENCE_MS, RETRIES);
	fill_request(&asker, &nobody, NOTE_CLASS, UMAD_METHOD_GET, 1);
	request = *mad_of(&asker);
	start = now_ms();
	send_mad(&asker, asker.agent, PATIENCE_MS, RETRIES);

	must(umad_poll(asker.fd, PATIENCE_MS) == -ETIMEDOUT,
	     "something came at once");
	must(!umad_poll(asker.fd, SOON_MS), "not even a timeout came");
	got = umad_recv(asker.fd, asker.umad, &length, 0);
	took = now_ms() - start;

	must(got == asker.agent, "umad_recv of the timeout: %d", got);
	must(umad_status(asker.umad) == ETIMEDOUT, "status %d is no timeout",
	     umad_status(asker.umad));
	must(length == sizeof(struct umad_hdr), "a timeout record of %d bytes",
	     length);
	must((uint32_t)tid_of(&asker) == (uint32_t)be64toh(request.mad_hdr.tid),
	     "the timeout of another request");
	must(took >= PATIENCE_MS * (RETRIES + 1), "gave up after %.0f ms", took);
	tell(&asker, "gets", "for");
	printf("   its own request, the first %d bytes of it, after %.0f ms,\n",
	       length, took);
	printf("   with status %d (%s) in the header\n",
	       umad_status(asker.umad), strerror(umad_status(asker.umad)));
}

static void be_refused(void)
{
	struct umad_reg_attr greedy = {
		.mgmt_class = NOTE_CLASS,
		.mgmt_class_version = NOTE_VERSION,
		.oui = NOTE_OUI,
		.method_mask = { 1 << UMAD_METHOD_GET },
	};
	struct umad_reg_attr fancy = {
		.mgmt_class = LONELY_CLASS,
		.mgmt_class_version = NOTE_VERSION,
		.flags = UNKNOWN_FLAG,
	};
	uint32_t flags = UNKNOWN_FLAG;
	uint32_t agent;
	int rc;

	printf("\n5. The asker asks the kernel for more than it can have\n");
	rc = umad_register2(asker.fd, &greedy, &agent);
	must(rc == EINVAL, "the clerk's method was given away: %d", rc);
	printf("   asker umad_register2 to serve Get, which is the clerk's: %s\n",
	       strerror(rc));

	rc = umad_register2(asker.fd, &fancy, &agent);
	must(rc == EINVAL, "an unknown flag was accepted: %d", rc);
	printf("   asker umad_register2 with flag 0x%x, which is unknown: %s\n",
	       UNKNOWN_FLAG, strerror(rc));

	rc = flags_refused(umad_get_fd(asker.fd), LONELY_CLASS, &flags);
	must(rc == EINVAL, "an unknown flag was accepted: %d", rc);
	must(flags == UMAD_USER_RMPP, "supported flags are 0x%x", flags);
	printf("   the same by ioctl, which shows the flags that the kernel does support: 0x%x\n",
	       flags);
}

static void part(const union umad_gid *gid)
{
	struct umad_vendor_packet request;

	printf("\n6. The asker tries class 0x%02x, which nobody serves: the kernel answers\n",
	       LONELY_CLASS);
	fill_request(&asker, gid, LONELY_CLASS, UMAD_METHOD_GET, 1);
	request = *mad_of(&asker);
	send_mad(&asker, asker.lonely, SOON_MS, 0);
	get_answer(asker.lonely, &request, gid, UMAD_STATUS_ATTR_NOT_SUPPORTED);

	printf("\n7. The clerk unregisters: now nobody serves its class either\n");
	must(!umad_unregister(clerk.fd, clerk.agent), "umad_unregister: %s",
	     strerror(errno));
	fill_request(&asker, gid, NOTE_CLASS, UMAD_METHOD_GET, 1);
	request = *mad_of(&asker);
	send_mad(&asker, asker.agent, SOON_MS, 0);
	get_answer(asker.agent, &request, gid, UMAD_STATUS_ATTR_NOT_SUPPORTED);
	must(umad_poll(clerk.fd, 0) == -ETIMEDOUT, "the clerk got one more");

	must(!umad_unregister(asker.fd, asker.agent) &&
	     !umad_unregister(asker.fd, asker.lonely), "umad_unregister: %s",
	     strerror(errno));
	must(umad_unregister(asker.fd, asker.agent), "unregistered it twice");
	must(!umad_close_port(asker.fd) && !umad_close_port(clerk.fd),
	     "umad_close_port failed");
	printf("\nEvery answer was what it had to be.\n");
}

int main(int argc, char **argv)
{
	union umad_gid gid;
	umad_port_t port;
	char *end = "";
	long number = 0;
	int rc;

	if (argc == 3)
		number = strtol(argv[2], &end, 10);
	if (number <= 0 || *end) {
		fprintf(stderr, "usage: umad_demo DEVICE PORT, as in: umad_demo rxe0 1\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);

	must(!umad_init(), "umad_init failed");
	rc = umad_get_port(argv[1], number, &port);
	must(!rc, "%s port %ld: %s", argv[1], number, strerror(-rc));
	gid.global.subnet_prefix = port.gid_prefix;
	gid.global.interface_id = port.port_guid;

	introduce(&port, &gid);
	leave_a_note(&gid);
	time_out(&gid);
	be_refused();
	part(&gid);

	umad_free(clerk.umad);
	umad_free(asker.umad);
	umad_release_port(&port);
	umad_done();
	return 0;
}
