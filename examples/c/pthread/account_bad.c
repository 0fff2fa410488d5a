/* A deposit, a withdrawal and a check, each under the lock; the check forgets the deposit. After
 * SCTBench's account.
 *
 * Expected: the assertion fails when the check comes last. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int start = 1, deposited = 2, withdrawn = 4;
static int balance = 1;
static int deposit_done, withdraw_done;

static void *deposit(void *unused) {
  pthread_mutex_lock(&lock);
  balance += deposited;
  deposit_done = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *withdraw(void *unused) {
  pthread_mutex_lock(&lock);
  balance -= withdrawn;
  withdraw_done = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *check(void *unused) {
  pthread_mutex_lock(&lock);
  if (deposit_done && withdraw_done) {
    assert(balance == start - deposited - withdrawn);
  }
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t checker, depositor, withdrawer;
  pthread_create(&checker, NULL, check, NULL);
  pthread_create(&depositor, NULL, deposit, NULL);
  pthread_create(&withdrawer, NULL, withdraw, NULL);
  pthread_exit(NULL);
}
