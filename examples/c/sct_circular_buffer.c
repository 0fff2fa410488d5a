/* SCTBench's circular_buffer: two workers take turns by flags, one inserts its round's number, the other
 * one expects its own. A round in which it is not a worker's turn is lost, so the numbers part.
 *
 * Expected: `circular_buffer` fails its assertion. */
#include <coyote.h>

#define PLACES 10
#define ROUNDS 7
#define ERROR (-1)

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static signed char buffer[PLACES];
static unsigned first, next;
static int send = 1, receive;

static int take(void) {
  if (next > 0 && first < PLACES) {
    first++;
    return buffer[first - 1];
  }
  return ERROR;
}

static void put(int value) {
  buffer[next] = (signed char)value;
  next = (next + 1) % PLACES;
}

static void send_all(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    coyote_mutex_lock(&lock);
    if (send) {
      put(i);
      send = 0;
      receive = 1;
    }
    coyote_mutex_unlock(&lock);
  }
}

static void receive_all(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    coyote_mutex_lock(&lock);
    if (receive) {
      COYOTE_ASSERT(take() == i);
      receive = 0;
      send = 1;
    }
    coyote_mutex_unlock(&lock);
  }
}

COYOTE_TEST(circular_buffer) {
  coyote_thread sending, receiving;
  coyote_thread_create(&sending, send_all, NULL);
  coyote_thread_create(&receiving, receive_all, NULL);
  coyote_thread_join(&sending);
  coyote_thread_join(&receiving);
}
