// Servers over WASI's sockets, and peers that connect to them.
// run: --listen 4 --test semantics -s dfs
// exit: 0
// run: --listen 4 --test semantics --test echo --test polls --test two_servers -s dpor
// exit: 0
// run: --listen 4 --test semantics --test echo --test polls --test two_servers -s stateful
// exit: 0
// run: --listen 4 --test *_corrected --test echo --test polls --test two_servers -i 2000
// exit: 0
// run: --listen 4 --test *_corrected -s dpor --faults split,net=2
// exit: 0
// run: --listen 4 --test *_corrected --fault-sweep split,net
// exit: 0
// run: --listen 4 --test whole_broken -s dpor
// exit: 0
// line: what is sent over sockets arrives whole
// run: --listen 4 --test whole_broken -i 1000
// exit: 2
// line: bug in test whole_broken: assertion
// line: fault `split`: fd_read transfers
// run: --listen 4 --test whole_broken -s dpor --faults split=1
// exit: 2
// run: --listen 4 --test whole_broken --fault-sweep split
// exit: 2
// run: --listen 4 --test pieces_broken -s dpor
// exit: 2
// line: bug in test pieces_broken: assertion
// run: --listen 4 --test reset_broken -i 1000
// exit: 0
// run: --listen 4 --test reset_broken -i 1000 --faults net.reset
// exit: 2
// line: bug in test reset_broken: assertion
// line: fault `net.reset`: fd_
// run: --listen 4 --test abort_broken -i 1000 --faults net.abort
// exit: 2
// line: fault `net.abort`: sock_accept fails with ECONNABORTED at listener 4
// run: --listen 4 --test ordered -s dpor --races bug
// exit: 0
// run: --listen 4 --test unordered -s dpor --races bug
// exit: 2
// line: bug in test unordered: data-race
// run: --listen 4 --test nobody_connects -i 10
// exit: 2
// line: waits for a connection at listener 4
// run: --listen 4 --test silent -i 10 --faults split=0
// exit: 2
// line: waits for data at the peer's end of connection 0 (descriptor 5)
// run: --listen 4 --test both_full -i 10 --faults split=0
// exit: 2
// line: waits for room at
// run: --listen 4 --test polls_for_nothing -i 10
// exit: 2
// line: waits for a connection at listener 4 or data at the peer's end of connection 0 (descriptor 5)
// run: --listen 3 --test elsewhere -s dfs
// exit: 0
// run: --test echo -i 10
// exit: 7
// line: the guest connects to listener 4: give --listen 4
#include "coyote.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTENER 4

/* The library for WASI reads through the pointers to the address, also where these are null. */
static int accept_at(int listener, int flags) {
  struct sockaddr address;
  socklen_t size = sizeof address;
  return accept4(listener, &address, &size, flags);
}

static int accepted(void) {
  int connection = accept_at(LISTENER, 0);
  COYOTE_ASSERT(connection >= 0);
  return connection;
}

static int connected(void) {
  int connection = coyote_net_connect(LISTENER);
  COYOTE_ASSERT(connection >= 0);
  return connection;
}

/* Writes all. Returns 0 for an error. */
static int put(int connection, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(connection, bytes, length);
    if (written < 0) return 0;
    bytes += written;
    length -= written;
  }
  return 1;
}

/* Reads until the end, or so many bytes. Returns how many, or -1. */
static ssize_t get(int connection, char *bytes, size_t length) {
  size_t all = 0;
  while (all < length) {
    ssize_t some = read(connection, bytes + all, length - all);
    if (some < 0) return -1;
    if (some == 0) break;
    all += some;
  }
  return all;
}

static void *echoes(void *unused) {
  char bytes[8];
  int connection = accepted();
  ssize_t some;
  while ((some = read(connection, bytes, sizeof bytes)) > 0) {
    COYOTE_ASSERT(put(connection, bytes, some));
  }
  COYOTE_ASSERT(some == 0 && close(connection) == 0);
  return unused;
}

COYOTE_TEST(echo) {
  pthread_t server;
  char bytes[8];
  COYOTE_ASSERT(pthread_create(&server, 0, echoes, 0) == 0);
  int connection = connected();
  COYOTE_ASSERT(put(connection, "hello", 5));
  COYOTE_ASSERT(shutdown(connection, SHUT_WR) == 0);
  COYOTE_ASSERT(get(connection, bytes, 8) == 5 && memcmp(bytes, "hello", 5) == 0);
  pthread_join(server, 0);
  COYOTE_ASSERT(close(connection) == 0);
}

/* Two workers accept at the same listener: each connection goes to one of them. */
COYOTE_TEST(two_servers) {
  pthread_t servers[2];
  char byte;
  for (int i = 0; i < 2; i++) COYOTE_ASSERT(pthread_create(&servers[i], 0, echoes, 0) == 0);
  for (int i = 0; i < 2; i++) {
    int connection = connected();
    COYOTE_ASSERT(put(connection, i ? "b" : "a", 1) && get(connection, &byte, 1) == 1 && byte == 'a' + i);
    COYOTE_ASSERT(close(connection) == 0);
  }
  for (int i = 0; i < 2; i++) pthread_join(servers[i], 0);
}

static void fails(ssize_t result, int error) {
  COYOTE_ASSERT(result == -1 && errno == error);
}

COYOTE_TEST(semantics) {
  coyote_choose_bool(); /* A test without a choice has no verdict. */
  char bytes[16];
  struct stat stat;
  COYOTE_ASSERT(fstat(LISTENER, &stat) == 0);
  fails(read(LISTENER, bytes, 1), ENOTCONN);
  fails(accept_at(3, 0), ENOTSOCK);
  fails(accept_at(99, 0), EBADF);
  COYOTE_ASSERT(fcntl(LISTENER, F_SETFL, O_NONBLOCK) == 0 && fcntl(LISTENER, F_GETFL) & O_NONBLOCK);
  fails(accept_at(LISTENER, 0), EAGAIN);
  int peer = connected(), server = accept_at(LISTENER, SOCK_NONBLOCK);
  COYOTE_ASSERT(server >= 0);
  int is = 0;
  socklen_t size = sizeof is;
  COYOTE_ASSERT(getsockopt(server, SOL_SOCKET, SO_TYPE, &is, &size) == 0 && is == SOCK_STREAM);
  fails(read(server, bytes, 4), EAGAIN);
  fails(lseek(server, 0, SEEK_CUR), ESPIPE);
  fails(pread(server, bytes, 1, 0), ESPIPE);
  fails(accept_at(server, 0), EINVAL);
  fails(shutdown(LISTENER, SHUT_WR), ENOTCONN);
  COYOTE_ASSERT(send(peer, "abc", 3, 0) == 3);
  COYOTE_ASSERT(recv(server, bytes, 16, MSG_PEEK) == 3 && recv(server, bytes, 2, 0) == 2);
  COYOTE_ASSERT(memcmp(bytes, "ab", 2) == 0 && read(server, bytes, 16) == 1 && bytes[0] == 'c');
  /* What is sent is bounded. */
  static char many[65535];
  COYOTE_ASSERT(write(server, many, sizeof many) == sizeof many && write(server, many, 5) == 1);
  fails(write(server, many, 5), EAGAIN);
  COYOTE_ASSERT(read(peer, many, 6) == 6 && write(server, many, 9) == 6);
  /* The other end reads the rest, and then the end. */
  COYOTE_ASSERT(shutdown(server, SHUT_WR) == 0);
  fails(write(server, "x", 1), EPIPE);
  COYOTE_ASSERT(get(peer, many, sizeof many) == 65535 && read(peer, many, 9) == 1 && read(peer, many, 9) == 0);
  COYOTE_ASSERT(write(peer, "y", 1) == 1 && close(peer) == 0);
  COYOTE_ASSERT(read(server, bytes, 9) == 1 && bytes[0] == 'y' && read(server, bytes, 9) == 0);
  COYOTE_ASSERT(close(server) == 0);
  fails(read(server, bytes, 1), EBADF);
  /* The first write to an end that is closed succeeds. */
  peer = connected(), server = accepted();
  COYOTE_ASSERT(close(server) == 0 && write(peer, "z", 1) == 1);
  fails(write(peer, "z", 1), EPIPE);
  COYOTE_ASSERT(read(peer, bytes, 1) == 0 && close(peer) == 0);
  /* Bytes that nobody has read reset the connection when it is closed. */
  peer = connected(), server = accepted();
  COYOTE_ASSERT(write(peer, "unread", 6) == 6 && write(server, "answer", 6) == 6 && close(server) == 0);
  COYOTE_ASSERT(read(peer, bytes, 9) == 6);
  fails(read(peer, bytes, 9), ECONNRESET);
  COYOTE_ASSERT(read(peer, bytes, 9) == 0 && close(peer) == 0);
  /* A listener that is closed leaves nobody behind. */
  peer = connected();
  COYOTE_ASSERT(close(LISTENER) == 0);
  fails(read(peer, bytes, 9), ECONNRESET);
  COYOTE_ASSERT(close(peer) == 0 && coyote_net_connect(LISTENER) == -ECONNREFUSED);
}

static void *answers(void *unused) {
  int connection = accepted();
  COYOTE_ASSERT(put(connection, "!", 1));
  return unused;
}

COYOTE_TEST(polls) {
  char byte;
  pthread_t server;
  struct pollfd waits[2] = {{LISTENER, POLLIN, 0}, {0, POLLIN, 0}};
  COYOTE_ASSERT(poll(waits, 1, 0) == 0);
  COYOTE_ASSERT(poll(waits, 1, 1000) == 0);
  int peer = connected();
  COYOTE_ASSERT(poll(waits, 1, -1) == 1 && waits[0].revents & POLLIN);
  COYOTE_ASSERT(pthread_create(&server, 0, answers, 0) == 0);
  waits[0].fd = waits[1].fd = peer;
  waits[0].events = POLLOUT;
  COYOTE_ASSERT(poll(waits, 2, -1) >= 1 && waits[0].revents & POLLOUT);
  int ready = poll(waits + 1, 1, 1000);
  COYOTE_ASSERT(ready == 0 || waits[1].revents & POLLIN);
  COYOTE_ASSERT(poll(waits + 1, 1, -1) == 1 && read(peer, &byte, 1) == 1 && byte == '!');
  pthread_join(server, 0);
}

static void *sends_eight(void *unused) {
  COYOTE_ASSERT(put(connected(), "abcdefgh", 8));
  return unused;
}

static void *sends_four_twice(void *unused) {
  int peer = connected();
  COYOTE_ASSERT(put(peer, "abcd", 4) && put(peer, "efgh", 4));
  return unused;
}

/* Mistake: it takes what one read returns for the message. */
static void reads_once(void *(*client)(void *)) {
  char bytes[8];
  pthread_t peer;
  COYOTE_ASSERT(pthread_create(&peer, 0, client, 0) == 0);
  COYOTE_ASSERT(read(accepted(), bytes, 8) == 8);
  pthread_join(peer, 0);
}

COYOTE_TEST(whole_broken) {
  reads_once(sends_eight);
}

COYOTE_TEST(pieces_broken) {
  reads_once(sends_four_twice);
}

static void *may_fail_to_send(void *unused) {
  put(connected(), "abcdefgh", 8);
  return unused;
}

COYOTE_TEST(whole_corrected) {
  char bytes[8];
  pthread_t peer;
  COYOTE_ASSERT(pthread_create(&peer, 0, may_fail_to_send, 0) == 0);
  int connection = accept_at(LISTENER, 0);
  if (connection < 0) {
    COYOTE_ASSERT(errno == ECONNABORTED);
  } else {
    ssize_t all = get(connection, bytes, 8);
    COYOTE_ASSERT(all == 8 || (all == -1 && errno == ECONNRESET) || all == 0);
  }
  pthread_join(peer, 0);
}

COYOTE_TEST(reset_broken) {
  char bytes[8];
  pthread_t peer;
  COYOTE_ASSERT(pthread_create(&peer, 0, may_fail_to_send, 0) == 0);
  COYOTE_ASSERT(get(accepted(), bytes, 8) == 8);
  pthread_join(peer, 0);
}

COYOTE_TEST(abort_broken) {
  pthread_t peer;
  COYOTE_ASSERT(pthread_create(&peer, 0, may_fail_to_send, 0) == 0);
  accepted();
  pthread_join(peer, 0);
}

int told;

static void *tells(void *connection) {
  told = 1;
  put((int)(long)connection, "!", 1);
  return 0;
}

/* What is received was sent before: no data race. */
COYOTE_TEST(ordered) {
  char byte;
  pthread_t peer;
  int connection = connected();
  COYOTE_ASSERT(pthread_create(&peer, 0, tells, (void *)(long)connection) == 0);
  COYOTE_ASSERT(get(accepted(), &byte, 1) == 1 && told == 1);
  pthread_join(peer, 0);
}

/* What is received by another call tells nothing of the sender. */
COYOTE_TEST(unordered) {
  pthread_t peer;
  int connection = connected();
  COYOTE_ASSERT(pthread_create(&peer, 0, tells, (void *)(long)connection) == 0);
  close(accepted());
  COYOTE_ASSERT(told <= 1);
  pthread_join(peer, 0);
}

COYOTE_TEST(nobody_connects) {
  accepted();
}

COYOTE_TEST(silent) {
  char byte;
  int peer = connected();
  (void)peer;
  close(open("/x", O_CREAT | O_RDWR, 0666));
  int server = accepted();
  COYOTE_ASSERT(read(peer, &byte, 0) == 0);
  (void)server;
}

static void *fills(void *connection) {
  static char many[1 << 17];
  put((int)(long)connection, many, sizeof many);
  return 0;
}

COYOTE_TEST(both_full) {
  pthread_t ends[2];
  int peer = connected(), server = accepted();
  pthread_create(&ends[0], 0, fills, (void *)(long)peer);
  pthread_create(&ends[1], 0, fills, (void *)(long)server);
  for (int i = 0; i < 2; i++) pthread_join(ends[i], 0);
}

COYOTE_TEST(polls_for_nothing) {
  int peer = connected();
  struct pollfd waits[2] = {{LISTENER, POLLIN, 0}, {peer, POLLIN, 0}};
  accepted();
  poll(waits, 2, -1);
}

/* A listener at descriptor 3: the root directory is elsewhere, and is still found. */
COYOTE_TEST(elsewhere) {
  coyote_choose_bool();
  int peer = coyote_net_connect(3), server = accept_at(3, 0), file = open("/x", O_CREAT | O_RDWR, 0666);
  COYOTE_ASSERT(peer >= 0 && server >= 0 && file >= 0);
}
