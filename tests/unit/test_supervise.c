/* test_supervise.c: the table of a worker's states and events. */
#include <CUnit/CUnit.h>

#include "base/check.h"
#include "control/supervise.h"
#include "suite.h"

#define STOP_US 5000000
#define START_US 3000000

static enum supervise_action tell(struct supervise *worker, enum supervise_event event, int64_t now_us)
{
    static const struct supervise_limits limits = {.start_timeout_us = START_US, .stop_timeout_us = STOP_US};
    return supervise_step(worker, event, now_us, &limits);
}

static struct supervise ready_worker(int64_t ready_us)
{
    struct supervise worker = {0};
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_START, 0), SUPERVISE_DO_FORK);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_IS_READY, ready_us), SUPERVISE_DO_NOTHING);
    CU_ASSERT_EQUAL(worker.state, SUPERVISE_READY);
    return worker;
}

static void late_exit_restarts_at_once(void)
{
    struct supervise worker = ready_worker(1000);
    for (int i = 0; i < 100; i++) {
        int64_t now_us = worker.ready_us + SUPERVISE_QUICK_US;
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, now_us), SUPERVISE_DO_FORK);
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_IS_READY, now_us + 10), SUPERVISE_DO_NOTHING);
    }
    CU_ASSERT_EQUAL(worker.quick_exits, 0);
}

static void quick_exits_wait_longer_each_time(void)
{
    struct supervise worker = ready_worker(1000);
    int64_t now_us = 1001, delay_us = SUPERVISE_DELAY_US;
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, now_us), SUPERVISE_DO_FORK); /* the first at once */
    for (int exits = 2; exits <= 50; exits++) { /* never given up: it becomes ready each time */
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_IS_READY, now_us), SUPERVISE_DO_NOTHING);
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, now_us + 1), SUPERVISE_DO_NOTHING);
        CU_ASSERT_EQUAL(worker.state, SUPERVISE_WAITING);
        CU_ASSERT_EQUAL(worker.due_us, now_us + 1 + delay_us);
        now_us = worker.due_us;
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_DUE, now_us), SUPERVISE_DO_FORK);
        CU_ASSERT_EQUAL(worker.due_us, now_us + START_US);
        if (exits < 2 + SUPERVISE_DOUBLINGS_MAX)
            delay_us *= 2;
    }
}

static void no_longer_ready_is_given_up(void)
{
    struct supervise worker = ready_worker(1000);
    enum supervise_action action = tell(&worker, SUPERVISE_EXITED, 9000000);
    int exits = 0;
    for (; action != SUPERVISE_DO_GIVE_UP && exits < 100; exits++) {
        if (worker.state == SUPERVISE_WAITING)
            CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_DUE, worker.due_us), SUPERVISE_DO_FORK);
        action = tell(&worker, SUPERVISE_EXITED, 9000000);
    }
    CU_ASSERT_EQUAL(exits, SUPERVISE_QUICK_EXITS_MAX + 1);
    CU_ASSERT_EQUAL(worker.state, SUPERVISE_GONE);
}

static void never_ready_is_given_up(void)
{
    struct supervise worker = {0};
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_START, 0), SUPERVISE_DO_FORK);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, 5), SUPERVISE_DO_GIVE_UP);
    CU_ASSERT_EQUAL(worker.state, SUPERVISE_GONE);
}

/* One that does not become ready is killed, and its end counts like any other before it was ready. */
static void late_start_is_killed(void)
{
    struct supervise worker = {0};
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_START, 7), SUPERVISE_DO_FORK);
    CU_ASSERT_EQUAL(worker.due_us, 7 + START_US);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_DUE, worker.due_us), SUPERVISE_DO_KILL);
    CU_ASSERT_EQUAL(worker.due_us, 0);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, 9000000), SUPERVISE_DO_GIVE_UP);
    worker = ready_worker(1000);
    CU_ASSERT_EQUAL(worker.due_us, 0);
}

/* For want of processes or descriptors nobody is given up who has served. */
static void no_process_is_tried_again(void)
{
    struct supervise worker = ready_worker(1000), never = {0};
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, 9000000), SUPERVISE_DO_FORK);
    for (int i = 0; i < 100; i++) {
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_NOT_FORKED, 9000000), SUPERVISE_DO_NOTHING);
        CU_ASSERT_EQUAL(worker.state, SUPERVISE_WAITING);
        CU_ASSERT(worker.due_us > 9000000);
        CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_DUE, worker.due_us), SUPERVISE_DO_FORK);
    }
    CU_ASSERT_EQUAL(tell(&never, SUPERVISE_START, 0), SUPERVISE_DO_FORK);
    CU_ASSERT_EQUAL(tell(&never, SUPERVISE_NOT_FORKED, 1), SUPERVISE_DO_GIVE_UP);
}

static void drain_then_kill(void)
{
    struct supervise worker = ready_worker(1000);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_STOP, 2000), SUPERVISE_DO_DRAIN);
    CU_ASSERT_EQUAL(worker.due_us, 2000 + STOP_US);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_STOP, 3000), SUPERVISE_DO_NOTHING);
    CU_ASSERT_EQUAL(worker.due_us, 2000 + STOP_US);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_DUE, worker.due_us), SUPERVISE_DO_KILL);
    CU_ASSERT_EQUAL(worker.due_us, 0);
    CU_ASSERT_EQUAL(tell(&worker, SUPERVISE_EXITED, 9000000), SUPERVISE_DO_NOTHING);
    CU_ASSERT_EQUAL(worker.state, SUPERVISE_GONE);
}

static void stop_at_once_from_every_state(void)
{
    struct supervise starting = {.state = SUPERVISE_STARTING}, waiting = {.state = SUPERVISE_WAITING, .due_us = 7};
    struct supervise stopping = {.state = SUPERVISE_STOPPING, .due_us = 7}, none = {0};
    CU_ASSERT_EQUAL(tell(&starting, SUPERVISE_KILL, 1), SUPERVISE_DO_KILL);
    CU_ASSERT_EQUAL(tell(&stopping, SUPERVISE_KILL, 1), SUPERVISE_DO_KILL);
    CU_ASSERT_EQUAL(tell(&waiting, SUPERVISE_KILL, 1), SUPERVISE_DO_NOTHING);
    CU_ASSERT_EQUAL(waiting.state, SUPERVISE_GONE);
    CU_ASSERT_EQUAL(waiting.due_us, 0);
    CU_ASSERT_EQUAL(tell(&none, SUPERVISE_KILL, 1), SUPERVISE_DO_NOTHING);
    CU_ASSERT_EQUAL(none.state, SUPERVISE_GONE);
}

/* Once gone, nothing brings it back; and no event in any state leads outside the states. */
static void gone_is_final_and_table_is_closed(void)
{
    for (int event = 0; event < SUPERVISE_EVENTS; event++) {
        struct supervise gone = {.state = SUPERVISE_GONE};
        CU_ASSERT_EQUAL(tell(&gone, (enum supervise_event)event, 1), SUPERVISE_DO_NOTHING);
        CU_ASSERT_EQUAL(gone.state, SUPERVISE_GONE);
        for (int state = 0; state < SUPERVISE_STATES; state++) {
            struct supervise worker = {.state = (enum supervise_state)state, .was_ready = true};
            (void)tell(&worker, (enum supervise_event)event, 1);
            CU_ASSERT(worker.state >= 0 && worker.state < SUPERVISE_STATES);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"an exit after a second of service restarts at once", late_exit_restarts_at_once},
        {"quick exits wait longer each time, and are never given up", quick_exits_wait_longer_each_time},
        {"a worker that becomes ready no more is given up", no_longer_ready_is_given_up},
        {"a worker that never became ready is given up", never_ready_is_given_up},
        {"a worker that does not become ready is killed", late_start_is_killed},
        {"no process is tried again", no_process_is_tried_again},
        {"drain, then kill", drain_then_kill},
        {"stop at once from every state", stop_at_once_from_every_state},
        {"gone is final, the table is closed", gone_is_final_and_table_is_closed},
    };
    return suite_main("supervise", cases, COUNT_OF(cases), argc, argv);
}
