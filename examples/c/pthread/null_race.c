/* A user asks whether there is a connection and sends; meanwhile another thread closes it. Both is done
 * under the lock.
 *
 * Expected: passes. */
#include <pthread.h>
#include <stdlib.h>

struct connection {
  int sent;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *volatile connection;

static void *use(void *unused) {
  pthread_mutex_lock(&lock);
  if (connection) {
    connection->sent++;
  }
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *close_it(void *unused) {
  pthread_mutex_lock(&lock);
  struct connection *closed = connection;
  connection = NULL;
  pthread_mutex_unlock(&lock);
  free(closed);
  return unused;
}

int main(void) {
  pthread_t user, closer;
  connection = calloc(1, sizeof *connection);
  pthread_create(&user, NULL, use, NULL);
  pthread_create(&closer, NULL, close_it, NULL);
  pthread_join(user, NULL);
  pthread_join(closer, NULL);
  return 0;
}
