// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "books.h"

enum {
	FREE,
	SENT,
	DONE,
};

bool umad_books_is_open(const struct umad_books *books)
{
	return books->file.fd > 0;
}

/* What has not ended so far is over with its agent */
static void umad_books_forget(struct umad_books *books)
{
	books->lost += books->outstanding;
	books->outstanding = 0;
	memset(books->state, FREE, sizeof(books->state));
}

void umad_books_close(struct umad_books *books)
{
	umad_close(&books->file);
	umad_books_forget(books);
}

bool umad_books_open(struct umad_books *books, const struct umad_port *port, int api)
{
	struct umad_reg reg = umad_reg_send_only(api);

	if (_umad_open_agent(port, &umad_abi_new, &reg, &books->file)) {
		umad_books_close(books);
		return false;
	}
	books->id = reg.id;
	return true;
}

/* @msg gets the agent and the transaction ID of the books */
bool umad_books_send(struct umad_books *books, struct umad_msg *msg)
{
	__u8 *state = &books->state[books->tid % UMAD_BOOKS_WINDOW];

	if (books->outstanding == UMAD_BOOKS_OUTSTANDING || *state == SENT)
		return false;
	msg->hdr.id = books->id;
	msg->mad.tid = htobe64(books->tid);
	if (_umad_write(&books->file, msg) < 0)
		return false;
	*state = SENT;
	books->tid++;
	books->outstanding++;
	books->sent++;
	return true;
}

/* False when there is nothing to read */
bool umad_books_read(struct umad_books *books)
{
	struct umad_msg msg;
	__u32 tid;

	if (_umad_read(&books->file, &msg) < 0) {
		if (errno == EIO)
			umad_books_close(books);
		else if (errno != EAGAIN)
			snprintf(books->why, sizeof(books->why), "read: %s", strerror(errno));
		return false;
	}

	tid = be64toh(msg.mad.tid);
	if (books->state[tid % UMAD_BOOKS_WINDOW] != SENT || books->tid - tid > UMAD_BOOKS_WINDOW)
		snprintf(books->why, sizeof(books->why),
			 "request %u of %u ended twice, or was never made: status %u, method %#x",
			 tid, books->tid, msg.hdr.status, msg.mad.method);
	books->state[tid % UMAD_BOOKS_WINDOW] = DONE;
	books->outstanding--;
	if (msg.hdr.status)
		books->timed_out++;
	else
		books->answered++;
	return true;
}

void umad_books_read_all(struct umad_books *books)
{
	while (umad_books_is_open(books) && umad_books_read(books))
		;
}

/* What was queued before can be read afterwards. False if that was the end of it */
bool umad_books_register_again(struct umad_books *books)
{
	struct umad_reg reg = umad_reg_send_only(2);

	if (!_umad_unregister(&books->file, books->id)) {
		umad_books_read_all(books);
		umad_books_forget(books);
		if (umad_books_is_open(books) && !_umad_register(&books->file, &reg)) {
			books->id = reg.id;
			return true;
		}
	}
	umad_books_close(books);
	return false;
}

static bool umad_books_balance(const struct umad_books *books, char *text, size_t size)
{
	return !umad_sysfs_read(text, size, "/proc/self/fdinfo/%d", books->file.fd) &&
	       strstr(text, "umad-agents:\t1\n") && strstr(text, "umad-outstanding:\t0\n") &&
	       strstr(text, "umad-unread:\t0\n") && strstr(text, "umad-dropped:\t0");
}

/* Nothing is outstanding any more, and all of it is accounted for */
void umad_books_finish(struct umad_books *books)
{
	long long end = umad_now_ms() + UMAD_SOON_MS;
	char text[1024];

	while (umad_books_is_open(books) && books->outstanding && umad_now_ms() < end) {
		umad_readable(&books->file, 100);
		umad_books_read_all(books);
	}
	if (books->outstanding)
		snprintf(books->why, sizeof(books->why), "%u requests never ended",
			 books->outstanding);
	/* An answer can be read before the request is done with */
	while (umad_books_is_open(books) && !umad_books_balance(books, text, sizeof(text)) &&
	       umad_now_ms() < end) {
		umad_sleep_ms(5);
		umad_books_read(books);
	}
	/* What is read of a device that goes is void: the second read knows */
	if (umad_books_is_open(books) && !umad_books_balance(books, text, sizeof(text)) &&
	    !umad_books_read(books) && umad_books_is_open(books))
		snprintf(books->why, sizeof(books->why), "fdinfo does not balance: %.200s", text);
	umad_books_close(books);
	if (books->sent != books->answered + books->timed_out + books->lost)
		snprintf(books->why, sizeof(books->why),
			 "%lu sent, but %lu answered, %lu timed out, %lu lost with their device or agent",
			 books->sent, books->answered, books->timed_out, books->lost);
}
