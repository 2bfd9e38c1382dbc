/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A client that keeps books: every request ends in one answer or in one timeout
 * record, unless its agent or device goes first.
 */
#ifndef UMAD_BOOKS_H
#define UMAD_BOOKS_H

#include "utils.h"

#define UMAD_BOOKS_WINDOW	1024	/* requests that are in the books at a time */
#define UMAD_BOOKS_OUTSTANDING	8

struct umad_books {
	struct umad_file file;		/* closed if there is nothing open */
	__u32 id;
	__u32 tid;
	__u8 state[UMAD_BOOKS_WINDOW];
	unsigned int outstanding;
	unsigned long sent, answered, timed_out, lost;
	char why[256];			/* what is wrong, if not empty */
};

bool umad_books_open(struct umad_books *books, const struct umad_port *port, int api);
void umad_books_close(struct umad_books *books);
bool umad_books_is_open(const struct umad_books *books);
bool umad_books_send(struct umad_books *books, struct umad_msg *msg);
bool umad_books_read(struct umad_books *books);
void umad_books_read_all(struct umad_books *books);
bool umad_books_register_again(struct umad_books *books);
void umad_books_finish(struct umad_books *books);

#endif /* UMAD_BOOKS_H */
