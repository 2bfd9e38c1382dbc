// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of mr.c: regions that the kernel maps, and what invalidates their keys.
 */

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/scatterlist.h>

#include "transport.h"
#include "control/control.h"

/* A queue pair there is its own peer */
#define MADSIM_MR_LID	1

struct madsim_mr_test {
	struct madsim_fabric *fabric;
	struct ib_pd *pd;
	struct ib_mr *mr;
	u8 *pages;
};

/* One host with a device, and a cable between its ports */
static int madsim_mr_start(struct madsim_fabric *fabric, struct madsim_node **node)
{
	int ret;

	mutex_lock(&fabric->mutex);
	fabric->data = true;
	*node = madsim_node_create(fabric, "host", false, 2);
	ret = PTR_ERR_OR_ZERO(*node);
	if (!ret) {
		madsim_link(*node, 1, *node, 2, IB_WIDTH_4X, IB_SPEED_QDR);
		(*node)->want_dev = true;
		ret = madsim_fabric_start(fabric);
		(*node)->ports[1].info.lid = cpu_to_be16(MADSIM_MR_LID);
		madsim_pi_set(&(*node)->ports[1].info, MADSIM_PI_STATE, IB_PORT_ACTIVE);
	}
	mutex_unlock(&fabric->mutex);
	return ret;
}

static int madsim_mr_init(struct kunit *test)
{
	struct madsim_mr_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct madsim_node *node;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->pages = kunit_kzalloc(test, 2 * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->pages);
	t->fabric = madsim_fabric_create("kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->fabric);
	test->priv = t;
	KUNIT_ASSERT_EQ(test, madsim_mr_start(t->fabric, &node), 0);
	t->pd = ib_alloc_pd(&node->dev->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->pd);
	t->mr = ib_alloc_mr(t->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->mr);
	return 0;
}

static void madsim_mr_exit(struct kunit *test)
{
	struct madsim_mr_test *t = test->priv;

	if (!t)
		return;
	if (!IS_ERR_OR_NULL(t->mr))
		ib_dereg_mr(t->mr);
	if (!IS_ERR_OR_NULL(t->pd))
		ib_dealloc_pd(t->pd);
	madsim_fabric_destroy(t->fabric);
}

/* Map a page that begins with a letter. Returns where the region begins then */
static u64 madsim_mr_map_page(struct kunit *test, unsigned int page, u8 letter)
{
	struct madsim_mr_test *t = test->priv;
	u8 *at = t->pages + page * PAGE_SIZE;
	struct scatterlist sg;

	*at = letter;
	sg_init_one(&sg, at, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(t->pd->device, &sg, 1, DMA_TO_DEVICE), 1);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(t->mr, &sg, 1, NULL, PAGE_SIZE), 1);
	return t->mr->iova;
}

static bool madsim_mr_turn_on(struct madsim_mr_test *t)
{
	bool done;

	spin_lock_irq(&t->fabric->lock);
	done = madsim_mr_enable(t->pd, t->mr, t->mr->rkey, IB_ACCESS_REMOTE_READ);
	spin_unlock_irq(&t->fabric->lock);
	return done;
}

static bool madsim_mr_turn_off(struct madsim_mr_test *t)
{
	bool done;

	spin_lock_irq(&t->fabric->lock);
	done = !madsim_mr_invalidate(t->pd, t->mr->rkey);
	spin_unlock_irq(&t->fabric->lock);
	return done;
}

/* The first letter of a region, 0 if its key is not good */
static u8 madsim_mr_letter(struct madsim_mr_test *t, u64 addr)
{
	u8 letter = 0;

	spin_lock_irq(&t->fabric->lock);
	madsim_mr_read(t->pd, t->mr->rkey, addr, &letter, 1, IB_ACCESS_REMOTE_READ);
	spin_unlock_irq(&t->fabric->lock);
	return letter;
}

/* A client may map the next pages while the key for the ones before is still good */
static void madsim_mr_test_mapped_early(struct kunit *test)
{
	struct madsim_mr_test *t = test->priv;
	u64 a, b;

	a = madsim_mr_map_page(test, 0, 'a');
	KUNIT_EXPECT_EQ(test, madsim_mr_letter(t, a), 0);
	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_on(t));
	KUNIT_EXPECT_EQ(test, madsim_mr_letter(t, a), 'a');

	b = madsim_mr_map_page(test, 1, 'b');
	KUNIT_EXPECT_EQ(test, madsim_mr_letter(t, a), 'a');
	KUNIT_EXPECT_FALSE(test, madsim_mr_turn_on(t));

	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_off(t));
	KUNIT_EXPECT_EQ(test, madsim_mr_letter(t, a), 0);
	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_on(t));
	KUNIT_EXPECT_EQ(test, madsim_mr_letter(t, b), 'b');
}

/* A key that is to go is good for no other copy, and gone when those under way have ended */
static void madsim_mr_test_copied(struct kunit *test)
{
	struct madsim_mr_test *t = test->priv;
	u64 a = madsim_mr_map_page(test, 0, 'a');
	struct ib_sge sge = { .addr = a, .length = 1, .lkey = t->mr->lkey };
	struct madsim_span span = { .pd = t->pd, .sge = &sge };

	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_on(t));
	spin_lock_irq(&t->fabric->lock);
	madsim_span_hold(&span, 1, 1);
	KUNIT_EXPECT_EQ(test, madsim_mr_invalidate(t->pd, t->mr->rkey), -EBUSY);
	spin_unlock_irq(&t->fabric->lock);
	KUNIT_EXPECT_EQ(test, madsim_mr_letter(t, a), 0);
	KUNIT_EXPECT_FALSE(test, madsim_mr_turn_on(t));
	KUNIT_EXPECT_FALSE(test, madsim_mr_turn_off(t));

	spin_lock_irq(&t->fabric->lock);
	madsim_span_hold(&span, 1, -1);
	spin_unlock_irq(&t->fabric->lock);
	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_off(t));
	KUNIT_EXPECT_FALSE(test, madsim_mr_turn_off(t));
	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_on(t));
}

/* A queue pair that is connected to itself, and waits for ever, but does not retry */
static struct ib_qp *madsim_mr_connect(struct kunit *test, struct ib_cq *cq)
{
	struct madsim_mr_test *t = test->priv;
	struct ib_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr attr = { .port_num = 1, .path_mtu = IB_MTU_256 };
	struct ib_qp *qp = ib_create_qp(t->pd, &init);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	attr.dest_qp_num = qp->qp_num;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_dlid(&attr.ah_attr, MADSIM_MR_LID);
	attr.qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
					      IB_QP_PORT | IB_QP_ACCESS_FLAGS));
	attr.qp_state = IB_QPS_RTR;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV |
					      IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
					      IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER));
	attr.qp_state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
					      IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
					      IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC));
	return qp;
}

/* The peer that asks for that waits, too, and hears of nothing else */
static void madsim_mr_test_remote(struct kunit *test)
{
	struct madsim_mr_test *t = test->priv;
	const struct ib_cq_init_attr attr = { .cqe = 2 };
	struct ib_cq *cq = ib_create_cq(t->pd->device, NULL, NULL, NULL, &attr);
	struct ib_sge sge = {
		.addr = madsim_mr_map_page(test, 0, 'a'),
		.length = 1,
		.lkey = t->mr->lkey,
	};
	struct madsim_span span = { .pd = t->pd, .sge = &sge };
	const struct ib_send_wr send = {
		.opcode = IB_WR_SEND_WITH_INV,
		.ex.invalidate_rkey = t->mr->rkey,
	};
	const struct ib_recv_wr recv = {};
	unsigned int done, tries = 1000;
	struct ib_wc wc[2] = {};
	struct ib_qp *qp;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	qp = madsim_mr_connect(test, cq);
	KUNIT_EXPECT_TRUE(test, madsim_mr_turn_on(t));
	spin_lock_irq(&t->fabric->lock);
	madsim_span_hold(&span, 1, 1);
	spin_unlock_irq(&t->fabric->lock);
	KUNIT_EXPECT_EQ(test, 0, ib_post_recv(qp, &recv, NULL));
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(qp, &send, NULL));
	flush_workqueue(madsim_wq);
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(cq, 1, wc));

	spin_lock_irq(&t->fabric->lock);
	madsim_span_hold(&span, 1, -1);
	spin_unlock_irq(&t->fabric->lock);
	for (done = 0; done < 2 && tries--; msleep(1))
		done += ib_poll_cq(cq, 2 - done, wc + done);
	KUNIT_EXPECT_EQ(test, 2, done);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, wc[0].status);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, wc[1].status);
	KUNIT_EXPECT_FALSE(test, madsim_mr_turn_off(t));
	ib_destroy_qp(qp);
	ib_destroy_cq(cq);
}

static struct kunit_case madsim_mr_tests[] = {
	KUNIT_CASE(madsim_mr_test_mapped_early),
	KUNIT_CASE(madsim_mr_test_copied),
	KUNIT_CASE(madsim_mr_test_remote),
	{}
};

static struct kunit_suite madsim_mr_suite = {
	.name = "madsim_mr",
	.init = madsim_mr_init,
	.exit = madsim_mr_exit,
	.test_cases = madsim_mr_tests,
};

kunit_test_suite(madsim_mr_suite);
