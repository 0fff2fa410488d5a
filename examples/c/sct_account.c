/* SCTBench's account: a deposit, a withdrawal and a check, each under the lock. The check is wrong: once
 * both are done it expects a balance without the deposit. It fails if it runs last, after it was started
 * first.
 *
 * Expected: `account` fails its assertion. `account_correct`, which adds the deposit, passes. */
#include <coyote.h>

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static int x = 1, y = 2, z = 4;
static int balance = 1;
static int deposit_done, withdraw_done;

static void deposit(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  balance = balance + y;
  deposit_done = 1;
  coyote_mutex_unlock(&lock);
}

static void withdraw(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  balance = balance - z;
  withdraw_done = 1;
  coyote_mutex_unlock(&lock);
}

static void check(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  if (deposit_done && withdraw_done) {
    COYOTE_ASSERT(balance == (x - y) - z);
  }
  coyote_mutex_unlock(&lock);
}

static void check_correctly(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  if (deposit_done && withdraw_done) {
    COYOTE_ASSERT(balance == (x + y) - z);
  }
  coyote_mutex_unlock(&lock);
}

/* Nobody is joined, as in the original. */
static void start(void (*checker)(void *)) {
  coyote_thread checking, depositing, withdrawing;
  coyote_thread_create(&checking, checker, NULL);
  coyote_thread_create(&depositing, deposit, NULL);
  coyote_thread_create(&withdrawing, withdraw, NULL);
}

COYOTE_TEST(account) { start(check); }

COYOTE_TEST(account_correct) { start(check_correctly); }
