// What threads share lies in the frame of `main`: it has names there, values of an enumeration have theirs, and who gives a
// lock back before another one takes it is shown.
// flags: -g -O0
// run: --races off
// exit: 2
// line: changes `connection.state` in step
// line: on_data: connection.state is CONNECTED
// line: close_it: connection.state = CLOSED
// line: locks `connection.lock`
// line: unlocks `connection.lock`
// absent: connection.state is 1
#include <assert.h>
#include <pthread.h>

enum state { CONNECTING, CONNECTED, CLOSED };
struct connection {
    pthread_mutex_t lock;
    enum state state;
};

static void *on_data(void *given) {
    struct connection *connection = given;
    pthread_mutex_lock(&connection->lock);
    enum state seen = connection->state;
    pthread_mutex_unlock(&connection->lock);
    if (seen != CONNECTED) return NULL;
    pthread_mutex_lock(&connection->lock);
    assert(connection->state == CONNECTED);
    pthread_mutex_unlock(&connection->lock);
    return NULL;
}

static void *close_it(void *given) {
    struct connection *connection = given;
    pthread_mutex_lock(&connection->lock);
    connection->state = CLOSED;
    pthread_mutex_unlock(&connection->lock);
    return NULL;
}

int main(void) {
    struct connection connection = { .state = CONNECTED };
    pthread_mutex_init(&connection.lock, NULL);
    pthread_t reader, closer;
    pthread_create(&reader, NULL, on_data, &connection);
    pthread_create(&closer, NULL, close_it, &connection);
    pthread_join(reader, NULL);
    pthread_join(closer, NULL);
    return 0;
}
