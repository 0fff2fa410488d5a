// A read may be short whatever room there is: of 4 bytes, half are read into a buffer of 4 and into one of 4096.
// run: -s dfs --faults io=1 -- 4
// exit: 2
// line: read 2 of 4
// line: fd_read transfers half of the bytes
// run: -s dfs --faults io=1 -- 4096
// exit: 2
// line: read 2 of 4
// run: -s dfs --faults io=1 -- 1
// exit: 0
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int out = open("/a", O_CREAT | O_WRONLY, 0600);
    if (out < 0 || write(out, "abcd", 4) != 4 || close(out) != 0)
        return 0;
    int in = open("/a", O_RDONLY);
    char room[4096];
    size_t most = argc > 1 ? (size_t)atoi(argv[1]) : sizeof room;
    ssize_t length;
    do
        length = read(in, room, most);
    while (length < 0 && errno == EINTR);
    if (in < 0 || length < 0)
        return 0;
    ssize_t all = most < 4 ? (ssize_t)most : 4;
    if (length != all) {
        printf("read %zd of %zd\n", length, all);
        abort();
    }
    // What was not read is still there.
    return lseek(in, 0, SEEK_CUR) == length ? 0 : 1;
}
