// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of mr.c: regions that the kernel maps.
 */

#include <kunit/test.h>
#include <linux/scatterlist.h>

#include "verbs.h"

struct madsim_mr_test {
	struct madsim_fabric *fabric;
	struct ib_pd *pd;
	struct ib_mr *mr;
	u8 *pages;
};

/* One host with a device */
static int madsim_mr_start(struct madsim_fabric *fabric, struct madsim_node **node)
{
	int ret;

	mutex_lock(&fabric->mutex);
	fabric->data = true;
	*node = madsim_node_create(fabric, "host", false, 1);
	ret = PTR_ERR_OR_ZERO(*node);
	if (!ret) {
		(*node)->want_dev = true;
		ret = madsim_fabric_start(fabric);
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

static struct kunit_case madsim_mr_tests[] = {
	KUNIT_CASE(madsim_mr_test_mapped_early),
	KUNIT_CASE(madsim_mr_test_copied),
	{}
};

static struct kunit_suite madsim_mr_suite = {
	.name = "madsim_mr",
	.init = madsim_mr_init,
	.exit = madsim_mr_exit,
	.test_cases = madsim_mr_tests,
};

kunit_test_suite(madsim_mr_suite);
