// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each host has numbers of its own, and all of them have the sums in the end:
 * MPI_Allreduce() of messages from 8 bytes to 256 KiB, which each process compares.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST	32768

static long mine[MOST], sum[MOST];

int main(int argc, char **argv)
{
	char host[MPI_MAX_PROCESSOR_NAME];
	int rank, size, length, count, i;
	long wrong = 0, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Get_processor_name(host, &length);
	printf("process %d of %d is on %s\n", rank, size, host);
	fflush(stdout);

	for (count = 1; count <= MOST; count *= 8) {
		for (i = 0; i < count; i++)
			mine[i] = (rank + 1L) * (i + 1);
		MPI_Allreduce(mine, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		/* 1 + 2 + ... + size, each times i + 1 */
		for (i = 0; i < count; i++)
			wrong += sum[i] != size * (size + 1L) / 2 * (i + 1);
	}
	MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%d processes, %ld wrong sums\n", size, all);
	MPI_Finalize();
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
